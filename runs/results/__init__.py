"""What runs measured: artifacts, rows made of outputs, measures, annotations, and the pages and endpoints of runs."""

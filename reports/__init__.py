"""What the runs mean: curves, ceilings, comparisons, figures."""

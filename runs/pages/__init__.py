"""What the pages of runs and matrices show: rows in, plain values out, so that templates only write them down."""

"""Measures of one run, in numpy: concurrency, stability, steady state, sustained load."""

"""Verdicts of runs against a baseline, and comparisons of any two groups of runs."""

"""Results in the course of time: histories, change points, baselines, verdicts, alerts."""

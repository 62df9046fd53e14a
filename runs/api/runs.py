"""Runs and what was measured in them: lists, numbers, series, artifacts, annotations, deleting."""

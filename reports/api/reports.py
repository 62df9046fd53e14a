"""Frozen reports: made, revised, their links rotated and taken back."""

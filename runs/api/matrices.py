"""Matrices and sweeps: preview, submit, follow, cancel."""

"""Benchsite: the wiring of the site, and who may do what."""

__version__ = "0.1.0"

"""The client of Benchsite: results judged offline, and a site driven from a terminal or a pipeline."""

__version__ = "0.1.0"

"""Benchsite: the wiring of the site, and who may do what."""

# Whatever process sends a task finds the broker through this application, which must be loaded before it does.
from benchsite.celery import app as celery_app

__all__ = ["celery_app"]
__version__ = "0.1.0"

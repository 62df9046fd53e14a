from importlib import import_module

from django.apps import AppConfig


class BenchsiteConfig(AppConfig):
    """The site itself: it has commands (`up`, `down`, `demo`) and templates, but no models."""

    name = "benchsite"

    def ready(self) -> None:
        """Whatever process sends a task finds the broker through the Celery application, which must be loaded first."""
        import_module("benchsite.celery")

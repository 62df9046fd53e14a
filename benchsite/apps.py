from django.apps import AppConfig


class BenchsiteConfig(AppConfig):
    """The site itself: it has commands (`up`, `down`, `demo`) and templates, but no models."""

    name = "benchsite"

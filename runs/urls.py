"""Addresses of the pages of `runs`: what is benchmarked, and what happened."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []

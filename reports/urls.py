"""Addresses of the pages and figures of `reports`: what the runs mean."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []

"""Addresses of the pages of `workers`."""

from django.urls import URLPattern, URLResolver, path

from workers import views

urlpatterns: list[URLPattern | URLResolver] = [
    path("load-generators/", views.load_generators, name="load-generators"),
    path("queue/", views.queue, name="queue"),
]

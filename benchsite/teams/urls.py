"""Signing in and out."""

from django.urls import path

from benchsite.teams import views

urlpatterns = [
    path("sign-in/", views.sign_in, name="sign-in"),
    path("sign-in/once/<str:token>", views.sign_in_once, name="sign-in-once"),
    path("sign-out/", views.sign_out, name="sign-out"),
    path("team/", views.choose_team, name="choose-team"),
]

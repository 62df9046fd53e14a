"""Addresses of the pages about baselines, verdicts against them, and badges."""

from django.urls import path

from reports.views import baselines

urlpatterns = [
    path("baselines/", baselines.baselines, name="baselines"),
    path("baselines/set/", baselines.set_to, name="baseline-set"),
    path("baselines/<uuid:pk>/unset/", baselines.unset, name="baseline-unset"),
    path("badges/new/", baselines.badge_add, name="badge-add"),
    path("badges/<str:token>/revoke/", baselines.badge_revoke, name="badge-revoke"),
    path("runs/<uuid:pk>/verdict/", baselines.run_verdict, name="run-against"),
]

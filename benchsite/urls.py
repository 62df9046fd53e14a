"""The whole site's addresses."""

from django.contrib import admin
from django.urls import include, path

from benchsite.api import api
from benchsite.site import views
from benchsite.site.health import healthz, readyz
from benchsite.site.metrics import metrics

handler404 = "benchsite.site.gone.not_found"

urlpatterns = [
    # First: a permalink is read far more often than any other page, and each pattern before its own takes time.
    path("r/", include("reports.published.urls")),
    path("", views.home, name="home"),
    path("latest/", views.news, name="news"),
    path("team/limits/", views.limits, name="team-limits"),
    path("glossary/", views.glossary, name="glossary"),
    path("help/", views.help_document, name="help"),
    path("help/<path:name>/", views.help_document, name="help-document"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("api/v1/", api.urls),
    path("", include("benchsite.accounts.urls")),
    path("", include("benchsite.notifications.urls")),
    path("", include("runs.urls")),
    path("", include("reports.urls")),
    path("", include("workers.urls")),
    path("admin/", admin.site.urls),
]

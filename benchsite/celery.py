"""The Celery application: tasks live in `workers.tasks`, the broker is Redis, results are rows in PostgreSQL."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
# Django's checks import every page, which takes two seconds of a core, and say nothing of a worker.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("benchsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["workers"])

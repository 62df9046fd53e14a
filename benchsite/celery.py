"""The Celery application: tasks live in `workers.tasks`, the broker is Redis, results are rows in PostgreSQL."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")

# Without Celery's set-up of Django: load generators have no database and load no models.
app = Celery("benchsite", fixups=[])
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["workers"])

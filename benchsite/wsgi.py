"""The WSGI entry point, served by gunicorn."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.template import engines
from django.urls import reverse

from runs.catalog import load_catalog

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")

application = get_wsgi_application()
# What the first request would load: each worker would by itself, and each of its threads that has a request by then.
import_module(settings.ROOT_URLCONF)
engines.all()
reverse("home")  # makes the table of all addresses
load_catalog()

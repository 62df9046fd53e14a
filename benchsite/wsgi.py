"""The WSGI entry point, served by gunicorn."""

import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")

application = get_wsgi_application()
# Django would load the pages with the first request, in each worker.
import_module(settings.ROOT_URLCONF)

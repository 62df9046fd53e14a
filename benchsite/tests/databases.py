"""The database of a test, for the processes that are to see the same rows."""

from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection


def database_url() -> str:
    """Its URL."""
    return urlsplit(settings.DATABASE_URL)._replace(path=f"/{connection.settings_dict['NAME']}").geturl()

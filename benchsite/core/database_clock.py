"""The one clock of a site, whichever machine asks."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """PostgreSQL's time when the statement begins."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchall()[0][0]
    return now

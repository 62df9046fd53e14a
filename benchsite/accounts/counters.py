"""Counters in PostgreSQL, for limits that hold whatever Redis does."""

from collections.abc import Iterable
from typing import Final

from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from benchsite.accounts.models import Counter

ADD: Final = """
INSERT INTO teams_counter AS counter (key, used, ends_at)
VALUES (%(key)s, LEAST(%(number)s, %(limit)s), clock_timestamp() + make_interval(secs => %(window_s)s))
ON CONFLICT (key) DO UPDATE SET
    used = LEAST(CASE WHEN counter.ends_at > clock_timestamp() THEN counter.used ELSE 0 END + %(number)s, %(limit)s),
    ends_at = CASE WHEN counter.ends_at > clock_timestamp() THEN counter.ends_at ELSE EXCLUDED.ends_at END
WHERE counter.used < %(limit)s OR counter.ends_at <= clock_timestamp()
RETURNING used
"""


def add(key: str, limit: int, window_s: float, number: int = 1) -> int | None:
    """Count `number` more, and return how many that makes; None once the window of `key` has `limit` of them."""
    with connection.cursor() as cursor:
        cursor.execute(ADD, {"key": key, "limit": limit, "window_s": window_s, "number": number})
        row = cursor.fetchone()
    if row:
        return int(row[0])
    return None


def take_back(keys: Iterable[str]) -> None:
    """Count one less under each of these keys."""
    Counter.objects.filter(key__in=list(keys), used__gt=0).update(used=F("used") - 1)


def delete_expired() -> None:
    """Delete the counters whose window is over."""
    Counter.objects.filter(ends_at__lte=Now()).delete()

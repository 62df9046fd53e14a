"""Waiting for a run to end before it is judged: at most half a minute, and four requests at a time over the whole site.

Who may wait is decided by advisory locks of PostgreSQL: they hold over all processes, and go when a connection goes.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connection

from runs.models import Run
from runs.models.run import Status

MAX_S: Final = 30
PLACES: Final = 4
RETRY_AFTER_S: Final = 10
EVERY_S: Final = 0.5
_LOCKS: Final = 0x62_65_6E_63  # "benc": the class of these locks


class TooManyWaiting(Exception):
    """Every place is taken: ask again later."""


@contextmanager
def place() -> Iterator[None]:
    """One of the few places of those who wait. Raises TooManyWaiting."""
    with connection.cursor() as cursor:
        taken = next((number for number in range(PLACES) if _try(cursor, number)), None)
        if taken is None:
            raise TooManyWaiting
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_LOCKS, taken])


def _try(cursor, number: int) -> bool:  # type: ignore[no-untyped-def]
    cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCKS, number])
    return bool(cursor.fetchone()[0])


def wait_for_end(run: Run, seconds: float) -> None:
    """Until the run has ended, or so long; its row is read anew. Raises TooManyWaiting where it would have to wait."""
    if run.status in Status.terminal() or seconds <= 0:
        return
    until = time.monotonic() + min(seconds, MAX_S)
    with place():
        while run.status not in Status.terminal() and (left := until - time.monotonic()) > 0:
            time.sleep(min(EVERY_S, left))
            run.refresh_from_db(fields=["status", "finished_at", "verdict", "throughput_ops_s", "reason", "evidence"])

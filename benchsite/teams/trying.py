"""Who may have a webhook tried right now: whoever asks waits for the receiver, in a thread that serves pages.

Of a team it is one at a time, over all processes: an advisory lock of PostgreSQL, which goes when its connection goes.
Of one process it is few, whatever number of teams somebody makes, so that the other threads go on serving.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from django.db import connection

AT_ONCE: Final = 2  # in one process
RETRY_AFTER_S: Final = 5  # A receiver has no longer to answer.
_LOCKS: Final = 0x68_6F_6F_6B  # "hook": the class of these locks
_places: Final = threading.BoundedSemaphore(AT_ONCE)


class TryLater(Exception):
    """Another one has to end first. The message says so, and what to do."""


@contextmanager
def place(team: UUID) -> Iterator[None]:
    """Room for one test of this team. Raises TryLater."""
    if not _places.acquire(blocking=False):
        raise TryLater(f"Other tests of webhooks are under way. Ask again in {RETRY_AFTER_S} s.")
    try:
        with _lock_of(team):
            yield
    finally:
        _places.release()


@contextmanager
def _lock_of(team: UUID) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", [_LOCKS, str(team)])
        if not cursor.fetchone()[0]:
            raise TryLater(f"Another test is under way for this team. Ask again in {RETRY_AFTER_S} s.")
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", [_LOCKS, str(team)])

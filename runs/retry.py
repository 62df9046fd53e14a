"""Repeats an operation while PostgreSQL or the artifact store does not answer.

Every operation that is passed here can be repeated: it is fenced on a claim, replaces what it wrote, or only reads.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import psycopg
from django.db import InterfaceError, OperationalError, connection, transaction

from runs.artifacts import ArtifactDamaged, storage_is_there

log = logging.getLogger(__name__)
# An outage of minutes loses nothing; a longer one ends the operation with its error.
RETRY_TIMEOUT_S: Final = 600.0
MIN_DELAY_S: Final = 0.1
MAX_DELAY_S: Final = 5.0
# Of a lost connection; psycopg's own comes from waiting for notifications.
DATABASE_ERRORS: Final = (OperationalError, InterfaceError, psycopg.OperationalError)
STORAGE_ERRORS: Final = (*DATABASE_ERRORS, OSError)

Result = TypeVar("Result")


def retry(
    operation: Callable[[], Result],
    *,
    errors: tuple[type[Exception], ...] = DATABASE_ERRORS,
    check: Callable[[], None] = lambda: None,
    timeout_s: float = RETRY_TIMEOUT_S,
) -> Result:
    """The operation's result, at its first attempt that meets none of `errors`.

    A broken connection to the database is replaced before each new attempt. `check` is called before it, too, and ends
    the attempts by raising. After `timeout_s` the last error is raised. Within a transaction there is one attempt,
    since the transaction cannot go on after an error.
    """
    if connection.in_atomic_block:
        return operation()
    end, delay_s = time.monotonic() + timeout_s, MIN_DELAY_S
    while True:
        try:
            return operation()
        except errors as error:
            if not is_transient(error) or time.monotonic() + delay_s > end:
                raise
            log.warning("%s; trying again in %.1f s.", str(error).strip().partition("\n")[0], delay_s)
            connection.close_if_unusable_or_obsolete()
        time.sleep(delay_s)
        delay_s = min(2 * delay_s, MAX_DELAY_S)
        check()


@contextmanager
def contained(message: str, *values: object) -> Iterator[None]:
    """A transaction whose failure is logged as this message and ends nothing else, unless the connection was lost."""
    try:
        with transaction.atomic():
            yield
    except DATABASE_ERRORS:
        raise
    except Exception:
        log.exception(message, *values)


def is_transient(error: Exception) -> bool:
    """Whether the same operation may succeed later: false for a file that is missing or damaged for good."""
    if isinstance(error, FileNotFoundError):
        return not storage_is_there()  # The whole store is away, not this file.
    return not isinstance(error, ArtifactDamaged)

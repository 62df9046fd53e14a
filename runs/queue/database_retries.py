"""Repeats an operation while PostgreSQL or the artifact store does not answer.

Every operation that is passed here can be repeated: it is fenced on a claim, replaces what it wrote, or only reads.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import psycopg
from django.db import InterfaceError, OperationalError, connection, transaction

from benchsite.core.backoff import RETRY_TIMEOUT_S, retry_with_backoff
from runs.results.artifacts import ArtifactDamaged, storage_is_there

log = logging.getLogger(__name__)
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
    """`retry_with_backoff`, with a broken connection to the database replaced before each new attempt.

    Within a transaction there is one attempt, since the transaction cannot go on after an error.
    """

    def prepare() -> None:
        connection.close_if_unusable_or_obsolete()
        check()

    if connection.in_atomic_block:
        return operation()
    return retry_with_backoff(operation, errors=errors, check=prepare, timeout_s=timeout_s, is_transient=is_transient)


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

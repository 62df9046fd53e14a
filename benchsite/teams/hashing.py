"""Hashing passwords is slow on purpose: a process does few at once, so that its other threads go on answering.

Whoever would wait long is told to come again (`Busy`, which `benchsite.teams.middleware` answers with 503).
"""

import threading
from typing import Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher

MOST_AT_ONCE: Final = 2
MOST_WAITING: Final = 3  # of the eight threads of a process, some are left for everybody else
LONGEST_WAIT_S: Final = 4.0

_going = threading.BoundedSemaphore(MOST_AT_ONCE)
_there = threading.BoundedSemaphore(MOST_AT_ONCE + MOST_WAITING)


class Busy(Exception):
    """Too many passwords are looked at just now."""


class BoundedHasher(PBKDF2PasswordHasher):
    """Django's usual one, its hashes included, a few at once."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        if not _there.acquire(blocking=False):
            raise Busy
        try:
            if not _going.acquire(timeout=LONGEST_WAIT_S):
                raise Busy
            try:
                return super().encode(password, salt, iterations)
            finally:
                _going.release()
        finally:
            _there.release()

"""Hashing passwords is slow on purpose: a process does few at once, so that its other threads go on answering.

Whoever comes beyond them is told to come again (`Busy`, which `benchsite.accounts.middleware` answers with 503).
"""

import threading
from typing import Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher

MAX_AT_ONCE: Final = 3  # of the eight threads of a process
_slots = threading.BoundedSemaphore(MAX_AT_ONCE)


class Busy(Exception):
    """Too many passwords are looked at just now."""


class BoundedHasher(PBKDF2PasswordHasher):
    """Django's usual one, its hashes included, a few at once."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        if not _slots.acquire(blocking=False):
            raise Busy
        try:
            return super().encode(password, salt, iterations)
        finally:
            _slots.release()

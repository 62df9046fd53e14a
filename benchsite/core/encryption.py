"""Secrets that the site must be able to use, kept so that a copy of the database alone does not tell them.

They are sealed by Fernet (AES-128-CBC with HMAC-SHA256) under a key made from SECRET_KEY, which is no part of the
database. What was sealed under a key of SECRET_KEY_FALLBACKS can be opened for as long as it stands there.
"""

from base64 import urlsafe_b64encode
from functools import lru_cache
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from benchsite.core.messages import OTHER_SECRET_KEY

# What a key is for, so that no two uses of SECRET_KEY share one.
WEBHOOKS: Final = b"benchsite: secrets of webhooks, 1"
CLIENT_PROPERTIES: Final = b"benchsite: secret client properties, 1"
INVITATIONS: Final = b"benchsite: links of invitations, 1"
SECOND_FACTORS: Final = b"benchsite: secrets of second factors, 1"


class CannotOpen(Exception):
    """It was sealed under a key that the site has no more. The message says what to do."""


def seal(secret: str, purpose: bytes = WEBHOOKS) -> str:
    """The secret, as it is kept; empty stays empty."""
    if secret:
        return _keys(purpose)[0].encrypt(secret.encode()).decode()
    return ""


def unseal(sealed: str, purpose: bytes = WEBHOOKS) -> str:
    """The sealed text. Raises CannotOpen."""
    if not sealed:
        return ""
    try:
        return MultiFernet(_keys(purpose)).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise CannotOpen(OTHER_SECRET_KEY) from None


def is_current(sealed: str, purpose: bytes = WEBHOOKS) -> bool:
    """Whether it is kept under today's key and none of the fallbacks; empty is."""
    try:
        return not sealed or bool(_keys(purpose)[0].decrypt(sealed.encode()))
    except InvalidToken:
        return False


def _keys(purpose: bytes) -> list[Fernet]:
    return [_key(secret_key, purpose) for secret_key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


@lru_cache(maxsize=16)
def _key(secret_key: str, purpose: bytes) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(secret_key.encode())
    return Fernet(urlsafe_b64encode(derived))

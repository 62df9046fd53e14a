"""Detached Ed25519 signatures (RFC 8032) of published bytes; those of the same bytes are always the same."""

from functools import lru_cache
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

from benchsite.core import paths

CONTENT_TYPE: Final = "application/octet-stream"  # 64 bytes
# Distinguishes this key from every other that is derived from the same text.
PURPOSE: Final = b"benchsite: signatures of reports, 1"


def sign(data: bytes) -> bytes:
    """The signature of these bytes, 64 bytes."""
    return _keys()[0].sign(data)


def public_keys() -> bytes:
    """The public keys in PEM, one below the other: today's, then the former ones."""
    return b"".join(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) for key in _keys())


def _keys() -> list[Ed25519PrivateKey]:
    text = settings.SIGNING_KEY or paths.stored_secret(settings.SIGNING_KEY_FILE)
    return [_key(secret) for secret in (text, *settings.SIGNING_KEY_FALLBACKS)]


@lru_cache(maxsize=8)
def _key(text: str) -> Ed25519PrivateKey:
    seed = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE).derive(text.encode())
    return Ed25519PrivateKey.from_private_bytes(seed)

"""What a site that others reach must have, or it does not start. Standard library and `benchsite.core.env` only."""

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from benchsite.core.messages import SITE_AT_ROOT, WRITE_HTTPS

# What `.env.example` has in the place of a key. Whoever copies the file must put their own there.
SAMPLE_KEY: Final = "replace-this-by-the-answer-of-openssl-rand-hex-32-or-the-site-does-not-start"
MIN_KEY_LENGTH: Final = 50
MIN_CHARACTERS: Final = 8  # different ones: "aaaa..." is long and no secret
MAKE_ONE: Final = 'python -c "import secrets; print(secrets.token_urlsafe(50))"'
A_YEAR_S: Final = 365 * 24 * 3600


def refuse_unsafe(*, debug: bool, embedded: bool, secret_key: str, url: str) -> None:
    """Raises ImproperlyConfigured where a site in production would be open to everybody, naming the variable."""
    if debug:
        raise ImproperlyConfigured(
            "BENCHSITE_PRODUCTION=True and BENCHSITE_DEBUG=True exclude each other: a debugging site shows its settings"
            " to everybody. Leave out BENCHSITE_DEBUG."
        )
    if embedded:
        raise ImproperlyConfigured(
            "BENCHSITE_PRODUCTION=True needs DATABASE_URL and REDIS_URL: the private servers are for one machine."
        )
    if SAMPLE_KEY in secret_key:
        raise ImproperlyConfigured(f"BENCHSITE_SECRET_KEY is the sample of .env.example. Make a key: {MAKE_ONE}")
    if len(secret_key) < MIN_KEY_LENGTH or len(set(secret_key)) < MIN_CHARACTERS:
        raise ImproperlyConfigured(
            f"BENCHSITE_SECRET_KEY is too easy to guess: it needs {MIN_KEY_LENGTH} random characters. {MAKE_ONE}"
        )
    if not url:
        raise ImproperlyConfigured(
            "BENCHSITE_URL is not set: give the address that people type, such as https://bench.example.org."
        )


def checked_url(url: str, variable: str = "BENCHSITE_URL") -> str:
    """The site's address without a slash at its end; empty where none is set. Raises ImproperlyConfigured."""
    if not url:
        return ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ImproperlyConfigured(WRITE_HTTPS.format(variable=variable, url=url))
    if parts.path.strip("/") or parts.query or parts.fragment or parts.username:
        raise ImproperlyConfigured(SITE_AT_ROOT.format(variable=variable, url=url))
    return f"{parts.scheme}://{parts.netloc}"


def get_host(url: str) -> list[str]:
    """The name in the site's address, for the hosts that it answers to."""
    host = urlsplit(url).hostname
    if host:
        return [host]
    return []


def is_loopback(address: str) -> bool:
    """Whether this is an address of this very machine."""
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return address == "localhost"

"""The one-time sign-in link of a one-machine site: whoever starts the site is signed in without a password."""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now
from django.urls import reverse

from benchsite.accounts.messages import SIGN_IN_LINKS_EMBEDDED_ONLY
from benchsite.accounts.models import SignInLink, User

TOKEN_BYTES = 16  # 128 bits, beyond guessing within the link's life
LIFE = timedelta(minutes=15)


class LinksNotAllowed(Exception):
    """The site is not a one-machine site with its own servers, so nobody gets in without a password."""


def digest(token: str) -> str:
    """The stored digest of a token. It is random, so one plain SHA-256 suffices: there is nothing to guess from."""
    return hashlib.sha256(token.encode()).hexdigest()


def make_link(user: User) -> str:
    """The path of a link that signs `user` in once within 15 minutes. The token is nowhere but in it.

    Raises LinksNotAllowed unless the site runs on its embedded servers.
    """
    if not settings.EMBEDDED:
        raise LinksNotAllowed(SIGN_IN_LINKS_EMBEDDED_ONLY)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    SignInLink.objects.filter(expires_at__lt=Now()).delete()
    SignInLink.objects.create(user=user, token_sha256=digest(token), expires_at=Now() + LIFE)
    return reverse("sign-in-once", args=[token])


def use_link(token: str) -> User | None:
    """The user whose link this is, and the link is used up; None when it is unknown, used, or too old.

    Compare-and-swap: of two requests at the same moment exactly one updates the row.
    """
    if not settings.EMBEDDED:
        return None
    link = SignInLink.objects.filter(token_sha256=digest(token))
    # On the row's own columns alone: with a join Django asks a subquery, which PostgreSQL does not ask again after
    # waiting for another update of the row, and every one of the waiting would win.
    if not link.filter(used_at__isnull=True, expires_at__gt=Now()).update(used_at=Now()):
        return None
    user = link.select_related("user").get().user
    if user.is_active:
        return user
    return None

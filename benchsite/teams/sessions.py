"""In which browsers a person is signed in and how to end that, and the one-time link of a one-machine site."""

import hashlib
import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from benchsite.teams import audit
from benchsite.teams.models import SignedIn, SignInLink, User

TOKEN_BYTES = 16  # 128 bits, beyond guessing within the link's life
LIFE = timedelta(minutes=15)


class LinksNotAllowed(Exception):
    """The site is not a one-machine site with its own servers, so nobody gets in without a password."""


def digest(token: str) -> str:
    """What is kept of a token. It is random, so one plain SHA-256 suffices: there is nothing to guess from."""
    return hashlib.sha256(token.encode()).hexdigest()


def make_link(user: User) -> str:
    """The path of a link that signs `user` in once within 15 minutes. The token is nowhere but in it.

    Raises LinksNotAllowed unless the site runs on its embedded servers.
    """
    if not settings.EMBEDDED:
        raise LinksNotAllowed(
            "One-time sign-in links exist only on a site with its own embedded servers (no DATABASE_URL, no REDIS_URL):"
            " sign in with a password, which `manage.py createsuperuser` sets."
        )
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
    return user if user.is_active else None


MAX_BROWSER = 200


@receiver(user_logged_in, dispatch_uid="remember_session")
def remember(sender: type[User], request: HttpRequest, user: User, **signal: Any) -> None:
    """Every way in counts: password, one-time link, invitation."""
    if not request.session.session_key:
        request.session.save()
    SignedIn.objects.update_or_create(
        session_key=request.session.session_key,
        defaults={
            "user": user,
            "browser": request.headers.get("User-Agent", "")[:MAX_BROWSER].replace("\0", ""),
            "address": request.META.get("REMOTE_ADDR") or None,
        },
    )
    audit.note("sign_in", team=None, actor=user)


@receiver(user_logged_out, dispatch_uid="forget_session")
def forget(sender: type[User], request: HttpRequest, user: User | None, **signal: Any) -> None:
    SignedIn.objects.filter(session_key=request.session.session_key).delete()
    if isinstance(user, User):
        audit.note("sign_out", team=None, actor=user)


@receiver(user_login_failed, dispatch_uid="note_refused_sign_in")
def note_refused(
    sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **signal: Any
) -> None:
    """Every form of name and password tells it, the admin's too."""
    name = str(credentials.get("username", ""))
    account = User.objects.filter(username=name).first() if "\0" not in name else None
    audit.note_refused(account, request.META.get("REMOTE_ADDR", "") if request else "")


def sessions_of(user: User) -> QuerySet[SignedIn]:
    """Those that still let somebody in; what is left of others goes."""
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    user.signed_in.exclude(session_key__in=alive).delete()
    return user.signed_in.all()


@transaction.atomic
def end(signed_in: SignedIn) -> None:
    """Sign that browser out."""
    Session.objects.filter(session_key=signed_in.session_key).delete()
    signed_in.delete()
    audit.note("session_ended", team=None, actor=signed_in.user, subject=signed_in.browser)

"""In which browsers a person is signed in, and how to end that from another one."""

from typing import Any

from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from benchsite.accounts import audit
from benchsite.accounts.models import SignedIn, User

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
    account = None
    if "\0" not in name:
        account = User.objects.filter(username=name).first()
    audit.note_refused(account, request.META.get("REMOTE_ADDR", "") if request else "")


def get_sessions(user: User) -> QuerySet[SignedIn]:
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

"""Guessing passwords: whoever states too many wrong ones waits before the next is looked at, in every form.

Counted for each name from each address, so that nobody can keep somebody else out from elsewhere, and for an address as
a whole, so that nobody tries one password with all names. PostgreSQL counts: Redis may be away, full, or forget.
"""

import hashlib
import ipaddress
import logging
from collections.abc import Sequence
from typing import Any, Final

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

from benchsite.accounts import counters
from benchsite.accounts.models import Counter

log = logging.getLogger(__name__)
WINDOW_S: Final = 15 * 60
MAX_PER_NAME: Final = 10
MAX_PER_ADDRESS: Final = 100
TOO_MANY: Final = "too-many"  # the code of the form's error
TOO_MANY_TEXT: Final = f"Too many wrong passwords came from here. Wait {WINDOW_S // 60} minutes, then try again."


def counted(limits: Sequence[tuple[str, int]], window_s: int) -> bool:
    """Count one more attempt under each key; False, and under none, once one of the keys has as many as its limit.

    Attempts are counted before they are looked at, so that many at once are no more than many in a row.
    """
    for number, (key, limit) in enumerate(limits):
        if counters.add(key, limit, window_s) is None:
            # Waiting is no attempt: who keeps on trying one name does not keep the whole address out.
            counters.take_back(key for key, _ in limits[:number])
            return False
    return True


class GuardedSignIn(forms.Form):
    """Mixed into a form of name and password, before it looks at either."""

    def clean(self) -> dict[str, Any]:
        request = getattr(self, "request", None)
        name, password = (str(self.cleaned_data.get(field, "")) for field in ("username", "password"))
        if request is None or not name or not password:
            return super().clean() or {}

        keys = _keys(request, name)
        if not counted(list(zip(keys, (MAX_PER_NAME, MAX_PER_ADDRESS), strict=True)), WINDOW_S):
            log.warning("Too many wrong passwords from %s: it has to wait.", request.META.get("REMOTE_ADDR"))
            raise forms.ValidationError(TOO_MANY_TEXT, code=TOO_MANY)

        is_wrong = False
        try:
            return super().clean() or {}
        except forms.ValidationError:
            is_wrong = True
            raise
        finally:
            if not is_wrong:  # The password was right, or nobody looked at it.
                counters.take_back(keys)


class SignInForm(GuardedSignIn, AuthenticationForm):
    """Name and password."""


class GuardedPasswordChange(PasswordChangeForm):
    """The form that asks for the old password: who came by somebody's session does not guess it there."""

    def clean_old_password(self) -> str:
        key = f"guess:account:{self.user.pk}"
        if not counted([(key, MAX_PER_NAME)], WINDOW_S):
            log.warning("Too many wrong passwords in the account of %s: it has to wait.", self.user.pk)
            raise forms.ValidationError(TOO_MANY_TEXT, code=TOO_MANY)
        password = super().clean_old_password()
        counters.take_back([key])
        return password


@receiver(user_logged_in, dispatch_uid="forget_wrong_passwords")
def forget(sender: object, request: HttpRequest, user: Any, **signal: Any) -> None:
    """Who knows the password may mistype it again. The address keeps its count: it may know one of many."""
    Counter.objects.filter(key=_keys(request, user.get_username())[0]).delete()


def _keys(request: HttpRequest, name: str) -> tuple[str, str]:
    """The counters of the name from this address, and of the address."""
    where = _network(request.META.get("REMOTE_ADDR") or "")
    digest = hashlib.sha256(name.strip().casefold().encode(errors="replace")).hexdigest()
    return f"guess:{where}:{digest}", f"guess:{where}"


def _network(address: str) -> str:
    """An IPv4 address, or the network of an IPv6 one: whoever has one of those has all of them."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if known.version == 4:
        return str(known)
    return str(ipaddress.ip_network((int(known), 64), strict=False))

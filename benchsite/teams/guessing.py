"""Guessing passwords: whoever states too many wrong ones waits before the next is looked at, in every form.

Counted for each name from each address, so that nobody can keep somebody else out from elsewhere, and for an address as
a whole, so that nobody tries one password with all names.
"""

import hashlib
import ipaddress
import logging
from typing import Any, Final

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.core.cache import cache
from django.dispatch import receiver
from django.http import HttpRequest
from redis.exceptions import RedisError

log = logging.getLogger(__name__)
WINDOW_S: Final = 15 * 60
MOST_OF_A_NAME: Final = 10
MOST_OF_AN_ADDRESS: Final = 100
TOO_MANY: Final = "too-many"  # the code of the form's error
SAID: Final = f"Too many wrong passwords came from here. Wait {WINDOW_S // 60} minutes, then try again."


def is_guessing(request: HttpRequest | None, name: str) -> bool:
    """Whether the next password for this name from this address is not to be looked at."""
    if request is None:
        return False
    try:
        counted = cache.get_many(_keys(request, name))
    except RedisError:
        return False  # Nobody is locked out because nobody can count.
    limits = zip(_keys(request, name), (MOST_OF_A_NAME, MOST_OF_AN_ADDRESS), strict=True)
    return any(counted.get(key, 0) >= most for key, most in limits)


class GuardedSignIn(forms.Form):
    """Mixed into a form of name and password, before it looks at either."""

    def clean(self) -> dict[str, Any]:
        if is_guessing(getattr(self, "request", None), str(self.cleaned_data.get("username", ""))):
            raise forms.ValidationError(SAID, code=TOO_MANY)
        return super().clean() or {}


class SignInForm(GuardedSignIn, AuthenticationForm):
    """Name and password."""


@receiver(user_login_failed, dispatch_uid="count_wrong_password")
def count(sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **signal: Any) -> None:
    """One more wrong password."""
    if request is None:
        return
    name = str(credentials.get("username", ""))
    try:
        for key in _keys(request, name):
            cache.add(key, 0, WINDOW_S)
            cache.incr(key)
    except (RedisError, ValueError):  # gone, or its time ended at this very moment
        return
    if is_guessing(request, name):
        log.warning("Too many wrong passwords from %s: it has to wait.", request.META.get("REMOTE_ADDR"))


@receiver(user_logged_in, dispatch_uid="forget_wrong_passwords")
def forget(sender: object, request: HttpRequest, user: Any, **signal: Any) -> None:
    """Who knows the password may mistype it again. The address keeps its count: it may know one of many."""
    try:
        cache.delete(_keys(request, user.get_username())[0])
    except RedisError:
        return


def _keys(request: HttpRequest, name: str) -> tuple[str, str]:
    """Of the name from this address, and of the address."""
    where = _network(request.META.get("REMOTE_ADDR") or "")
    digest = hashlib.sha256(name.strip().casefold().encode(errors="replace")).hexdigest()
    return f"guess:{where}:{digest}", f"guess:{where}"


def _network(address: str) -> str:
    """An IPv4 address, or the network of an IPv6 one: whoever has one of those has all of them."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    return str(known) if known.version == 4 else str(ipaddress.ip_network((int(known), 64), strict=False))

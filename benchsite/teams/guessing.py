"""Guessing passwords: whoever states too many wrong ones waits before the next is looked at, in every form.

Counted for each name from each address, so that nobody can keep somebody else out from elsewhere, and for an address as
a whole, so that nobody tries one password with all names.
"""

import hashlib
import ipaddress
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.signals import user_logged_in
from django.core.cache import cache
from django.dispatch import receiver
from django.http import HttpRequest
from redis.exceptions import RedisError

from benchsite.teams.hashing import Busy

log = logging.getLogger(__name__)
WINDOW_S: Final = 15 * 60
MOST_OF_A_NAME: Final = 10
MOST_OF_AN_ADDRESS: Final = 100
TOO_MANY: Final = "too-many"  # the code of the form's error
SAID: Final = f"Too many wrong passwords came from here. Wait {WINDOW_S // 60} minutes, then try again."


def claim(request: HttpRequest, name: str) -> bool:
    """Counts one more password for this name from this address; False: it is not to be looked at.

    Before it is looked at, so that many at once are no more than many in a row. `take_back` where it was no guess.
    """
    counted = []
    try:
        for key, most in zip(_keys(request, name), (MOST_OF_A_NAME, MOST_OF_AN_ADDRESS), strict=True):
            counted.append(key)
            if _counted(key) > most:
                # Waiting is no guess: who keeps on trying one name does not keep the whole address out.
                _uncount(counted)
                return False
    except (RedisError, ValueError):  # gone, or its time ended at this very moment
        return True  # Nobody is locked out because nobody can count.
    return True


def take_back(request: HttpRequest, name: str) -> None:
    """What was claimed was no guess: the password was right, or nobody looked at it."""
    try:
        _uncount(_keys(request, name))
    except RedisError:
        return


def _counted(key: str) -> int:
    cache.add(key, 0, WINDOW_S)
    now = cache.incr(key)
    if now == 1:  # Perhaps it ended just before, and what counts without an end would keep somebody out for ever.
        cache.touch(key, WINDOW_S)
    return now


def _uncount(keys: Iterable[str]) -> None:
    for key in keys:
        with suppress(ValueError):  # its time ended, or its person came in
            cache.decr(key)


class GuardedSignIn(forms.Form):
    """Mixed into a form of name and password, before it looks at either."""

    def clean(self) -> dict[str, Any]:
        request = getattr(self, "request", None)
        name, password = (str(self.cleaned_data.get(field, "")) for field in ("username", "password"))
        if request is None or not name or not password:
            return super().clean() or {}
        if not claim(request, name):
            log.warning("Too many wrong passwords from %s: it has to wait.", request.META.get("REMOTE_ADDR"))
            raise forms.ValidationError(SAID, code=TOO_MANY)
        try:
            cleaned = super().clean() or {}
        except Busy:
            take_back(request, name)
            raise
        take_back(request, name)
        return cleaned


class SignInForm(GuardedSignIn, AuthenticationForm):
    """Name and password."""


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

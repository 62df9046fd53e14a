"""The second factor: codes of an authenticator app, and recovery codes in their place; django-allauth makes both.

Guesses are counted as those of passwords are, for an account. Secrets are encrypted in the database.
"""

import re
from contextlib import suppress
from typing import Any, Final

from allauth.account.authentication import get_authentication_records
from allauth.mfa import signals
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.utils import is_mfa_enabled
from django import forms
from django.conf import settings
from django.db import transaction
from django.dispatch import Signal, receiver
from django.http import HttpRequest

from benchsite.accounts import audit
from benchsite.accounts.login_throttling import MAX_PER_NAME, TOO_MANY, WINDOW_S, GuardedPasswordChange, counted
from benchsite.accounts.messages import CODE_USED, KEY_CHANGED, TOO_MANY_CODES
from benchsite.accounts.models import Counter, User
from benchsite.core.encryption import SECOND_FACTORS, CannotOpen, is_current, seal, unseal

# A code is valid for its own 30 s and the 30 s before and after, for clocks that differ.
CODE_LIFE_S: Final = 90
TYPES: Final = Authenticator.Type
AUDITED: Final = {
    (signals.authenticator_added, TYPES.TOTP): "second_factor_on",
    (signals.authenticator_removed, TYPES.TOTP): "second_factor_off",
    (signals.authenticator_reset, TYPES.RECOVERY_CODES): "recovery_codes_renewed",
    (signals.authenticator_used, TYPES.RECOVERY_CODES): "recovery_code_used",
}


def must_set_up(request: HttpRequest) -> bool:
    """Whether the site requires a second factor, this person has none, and came without the identity provider."""
    if not settings.REQUIRE_SECOND_FACTOR or not request.user.is_authenticated:
        return False
    methods = [record["method"] for record in get_authentication_records(request, request.user)]
    return "socialaccount" not in methods and not is_mfa_enabled(request.user, [TYPES.TOTP])


class Adapter(DefaultMFAAdapter):  # type: ignore[misc]
    def encrypt(self, text: str) -> str:
        return seal(text, SECOND_FACTORS)

    def decrypt(self, encrypted_text: str) -> str:
        return unseal(encrypted_text, SECOND_FACTORS)


class GuardedCode(forms.Form):
    """Mixed into a form that checks a code of `user`."""

    user: User
    code = forms.CharField(
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}),
    )

    def clean_code(self) -> str:
        guesses = f"guess:code:{self.user.pk}"
        digits = re.sub(r"\D", "", self.cleaned_data["code"])
        if not counted([(guesses, MAX_PER_NAME)], WINDOW_S):
            raise forms.ValidationError(TOO_MANY_CODES.format(minutes=WINDOW_S // 60), code=TOO_MANY)
        if not counted([(f"{guesses}:{digits}", 1)], CODE_LIFE_S):
            raise forms.ValidationError(CODE_USED)

        try:
            code: str = super().clean_code()  # type: ignore[misc]
        except CannotOpen:
            raise forms.ValidationError(KEY_CHANGED) from None

        Counter.objects.filter(key=guesses).delete()
        return code


class SignInCode(GuardedCode, AuthenticateForm):  # type: ignore[misc]
    pass


class CodeAgain(GuardedCode, ReauthenticateForm):  # type: ignore[misc]
    pass


class FirstCode(GuardedCode, ActivateTOTPForm):  # type: ignore[misc]
    pass


class PasswordAgain(GuardedPasswordChange):
    """The password of somebody who is signed in, counted with those of the page of the account."""

    new_password1 = new_password2 = None  # type: ignore[assignment]
    old_password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )


@receiver([signal for signal, _ in AUDITED], dispatch_uid="note_second_factor")
def note(signal: Signal, user: User, authenticator: Authenticator, **kwargs: Any) -> None:
    """An operator removes that of somebody else."""
    kind = AUDITED.get((signal, authenticator.type))
    if kind:
        audit.note(kind, team=None, actor=user, subject=authenticator.user.get_username())


@receiver(signals.authentication_failed, dispatch_uid="note_refused_code")
def note_refused(request: HttpRequest, user: User, **kwargs: Any) -> None:
    audit.note_refused(user, request.META.get("REMOTE_ADDR", ""))


@transaction.atomic
def encrypt_again() -> int:
    """Encrypts under today's key what was encrypted under a former one; returns how many secrets those were."""
    changed = 0
    for authenticator in Authenticator.objects.select_for_update():
        name = "seed"
        if authenticator.type == TYPES.TOTP:
            name = "secret"
        if is_current(authenticator.data[name], SECOND_FACTORS):
            continue
        with suppress(CannotOpen):  # Signing in states it.
            authenticator.data[name] = seal(unseal(authenticator.data[name], SECOND_FACTORS), SECOND_FACTORS)
            authenticator.save(update_fields=["data"])
            changed += 1

    return changed

"""Signing in through an identity provider (OpenID Connect), where an operator has named one; django-allauth does it.

Nobody gets in by the provider alone: a person with an account connects it on the page of the account, and somebody new
needs an invitation to a team, unless the operator lets everybody of that provider in.
"""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse
from requests import Session

from benchsite.accounts import membership, oidc
from benchsite.accounts.messages import SIGN_IN_CONNECTED
from benchsite.accounts.models import User

PROVIDER_ID = "sso"
INVITED = "invited_by"  # in the session: the token of the invitation that somebody is about to accept


def provider() -> dict[str, str] | None:
    """Its name on pages, and where their forms are posted to; None where the operator has named no provider."""
    if not settings.OIDC_URL:
        return None
    return {"name": settings.OIDC_NAME, "login": reverse("openid_connect_login", args=[PROVIDER_ID])}


def connected(user: User) -> bool:
    """Whether this person can sign in through the provider."""
    exists: bool = SocialAccount.objects.filter(user=user, provider=PROVIDER_ID).exists()
    return exists


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """What allauth does besides: it makes no accounts by itself and sends no messages of its own."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        return None


class SocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Who comes from the provider without an account here."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        if settings.OIDC_SIGN_UP == "everybody":
            return True
        token = request.session.get(INVITED, "")
        return bool(token) and membership.find_invitation(token) is not None

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """An address that the provider vouches for needs no link of ours."""
        user: User = super().save_user(request, sociallogin, form)
        if user.email and any(
            address.verified and address.email == user.email for address in sociallogin.email_addresses
        ):
            user.confirmed_email = user.email
            user.save(update_fields=["confirmed_email"])
        return user

    def get_requests_session(self) -> Session:
        return oidc.make_session()

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: SocialAccount) -> str:
        messages.success(request, SIGN_IN_CONNECTED.format(name=settings.OIDC_NAME))
        return reverse("account")

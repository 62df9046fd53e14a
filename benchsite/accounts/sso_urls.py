"""Addresses of signing in through an identity provider: what django-allauth needs of its own, and not one page more."""

from allauth.account.views import account_inactive
from allauth.socialaccount.views import login_cancelled, login_error
from django.urls import path, reverse_lazy
from django.views.generic.base import RedirectView

from benchsite.accounts import oidc

to_sign_in = RedirectView.as_view(url=reverse_lazy("sign-in"))
to_account = RedirectView.as_view(url=reverse_lazy("account"))

urlpatterns = [
    path("<slug:provider_id>/login/", oidc.login, name="openid_connect_login"),
    path("<slug:provider_id>/login/callback/", oidc.callback, name="openid_connect_callback"),
    path("cancelled/", login_cancelled, name="socialaccount_login_cancelled"),
    path("error/", login_error, name="socialaccount_login_error"),
    path("inactive/", account_inactive, name="account_inactive"),
    # Names that allauth leads to, and what stands there instead.
    path("sign-in/", to_sign_in, name="account_login"),
    path("sign-up/", to_sign_in, name="account_signup"),
    path("more/", to_sign_in, name="socialaccount_signup"),
    path("connections/", to_account, name="socialaccount_connections"),
]

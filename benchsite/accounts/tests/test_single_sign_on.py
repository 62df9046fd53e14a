"""Signing in through an identity provider: nobody gets in by the provider alone, and nothing is there without one."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.socialaccount.models import SocialAccount
from django.test import Client

from benchsite.accounts import membership
from benchsite.accounts.models import AuditEntry, Membership, Role, SignedIn, User
from benchsite.accounts.tests.identity_provider import CLIENT_ID, SECRET, identity_provider
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def provider(settings):
    with identity_provider() as provider:
        settings.OIDC_URL, settings.OIDC_NAME = provider.url, "Example SSO"
        app = {
            "provider_id": "sso",
            "name": "Example SSO",
            "client_id": CLIENT_ID,
            "secret": SECRET,
            "settings": {"server_url": provider.url},
        }
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}}
        yield provider


def get_redirect_url(url):
    """Where the provider sends a browser back to."""
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *args):
            return None

    try:
        build_opener(Stay).open(Request(url), timeout=5)
    except HTTPError as redirect:
        with redirect:
            return redirect.headers["Location"]
    raise AssertionError("The provider did not redirect.")


def come(client, **fields):
    """Press the button, visit the provider, come back; the last response."""
    process = "?process=connect" if fields.pop("connect", False) else ""
    away = client.post(f"/sso/sso/login/{process}", fields)
    assert away.status_code == 302, away.content
    back = urlsplit(get_redirect_url(away["Location"]))
    assert back.path == "/sso/sso/login/callback/"
    return client.get(f"{back.path}?{back.query}", follow=True)


def who(client):
    return User.objects.filter(pk=client.session.get("_auth_user_id")).first()


def test_nothing_of_it_is_there_without_a_provider(client):
    assert "through" not in client.get("/sign-in/").content.decode()
    assert client.post("/sso/sso/login/").status_code == 404
    assert client.get("/sso/sso/login/callback/").status_code == 404


def test_the_sign_in_page_offers_it(client, provider):
    assert "Sign in through Example SSO" in client.get("/sign-in/").content.decode()


def test_somebody_unknown_is_not_let_in(client, provider):
    response = come(client)
    assert "follow an invitation" in response.content.decode()
    assert who(client) is None and not User.objects.exists()


def test_an_invitation_lets_somebody_in(client, provider):
    team = make_team(name="Storage")
    token = membership.invite(team, make_user(team=team, role=Role.ADMIN), role=Role.RUNNER)
    assert "Go on through Example SSO" in client.get(f"/invited/{token}").content.decode()
    response = come(client, next=f"/invited/{token}")
    assert "Join as grace" in response.content.decode()
    client.post(f"/invited/{token}")
    grace = who(client)
    assert grace.username == "grace" and not grace.has_usable_password() and not grace.is_staff
    assert Membership.objects.get(user=grace).role == Role.RUNNER
    assert SignedIn.objects.filter(user=grace).count() == 1
    assert AuditEntry.objects.filter(kind="sign_in", actor=grace).exists()
    # The second time the provider suffices.
    again = Client()
    come(again)
    assert who(again) == grace


def test_a_withdrawn_invitation_lets_nobody_in(client, provider):
    team = make_team(name="Storage")
    admin = make_user(team=team, role=Role.ADMIN)
    token = membership.invite(team, admin, role=Role.RUNNER)
    client.get(f"/invited/{token}")
    membership.withdraw(team.invitations.get(), admin)
    come(client)
    assert who(client) is None and User.objects.count() == 1


def test_a_person_connects_an_account_that_is_there(provider):
    ada = make_user(team=make_team(), username="ada")
    client = Client()
    client.force_login(ada)
    assert "Connect" in client.get("/account/").content.decode()
    come(client, connect=True)
    assert SocialAccount.objects.get().user == ada
    assert "You can sign in through Example SSO" in client.get("/account/").content.decode()
    other = Client()
    come(other)
    assert who(other) == ada


def test_an_equal_name_or_address_takes_nobodys_account(client, provider, settings):
    """The provider's “grace” is not the person of that name or e-mail who has an account here."""
    settings.OIDC_SIGN_UP = "everybody"
    grace = make_user(team=make_team(), username="grace", email="grace@example.org")
    come(client)
    assert who(client) not in (None, grace) and who(client).username != "grace"


def test_requires_no_second_factor_of_people_of_the_provider(client, provider, settings):
    """It does of the same person with the password, who can switch it on: then the provider does not suffice."""
    settings.REQUIRE_SECOND_FACTOR = True
    ada = make_user(team=make_team(), username="ada")
    SocialAccount.objects.create(user=ada, provider="sso", uid="42")
    come(client)
    assert client.get("/account/").status_code == 200
    with_password = Client()
    with_password.post("/sign-in/", {"username": "ada", "password": "correct horse"})
    assert with_password.get("/account/").status_code == 302

    TOTP.activate(ada, generate_totp_secret())
    again = Client()
    come(again)
    assert who(again) is None


def test_a_closed_account_stays_closed(client, provider):
    ada = make_user(team=make_team(), username="ada")
    SocialAccount.objects.create(user=ada, provider="sso", uid="42")
    User.objects.filter(pk=ada.pk).update(is_active=False)
    come(client)
    assert who(client) is None


def test_turning_back_and_forged_answers_let_nobody_in(client, provider):
    make_user(username="ada")
    provider.refuses = True
    assert "turned back" in come(client).content.decode()
    forged = client.get("/sso/sso/login/callback/?code=x&state=forged", follow=True)
    assert who(client) is None and forged.status_code in (200, 401)
    assert "did not say who you are" in forged.content.decode()


def test_it_begins_with_a_form_and_goes_on_only_within_the_site(client, provider):
    strict = Client(enforce_csrf_checks=True)
    assert strict.post("/sso/sso/login/").status_code == 403
    assert client.get("/sso/sso/login/").status_code == 200
    ada = make_user(username="ada")
    SocialAccount.objects.create(user=ada, provider="sso", uid="42")
    response = come(client, next="https://evil.example/")
    assert all("evil" not in url for url, _ in response.redirect_chain)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("", "form-action 'self';"),
        ("https://login.example.org:8443/realms/lab", "form-action 'self' https://login.example.org:8443;"),
    ],
)
def test_policy_allows_form_action_only_to_the_provider(url, allowed):
    """Browsers refuse a form whose answer leads where the Content-Security-Policy does not say."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "benchsite.settings", "BENCHSITE_OIDC_URL": url}
    argv = [sys.executable, "-c", "from django.conf import settings; print(settings.CONTENT_SECURITY_POLICY)"]
    stdout = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert allowed in stdout

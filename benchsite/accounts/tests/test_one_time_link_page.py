"""The page behind a one-time sign-in link."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from benchsite.accounts.models import SignInLink
from benchsite.accounts.sign_in_link import make_link
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def link(settings):
    settings.EMBEDDED = True
    return make_link(make_user(team=make_team(), username="ada"))


def test_it_only_shows_a_button_when_it_is_opened(link):
    client = Client()
    response = client.get(link)
    assert response.status_code == 200
    assert b"Sign in with this link" in response.content
    assert "_auth_user_id" not in client.session
    assert SignInLink.objects.get().used_at is None


def test_it_signs_in_when_the_button_is_pressed(link):
    client = Client()
    response = client.post(link)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.get(reverse("databases")).status_code == 200


def test_it_works_once(link):
    Client().post(link)
    client = Client()
    response = client.post(link)
    assert response.status_code == 410
    assert b"no longer works" in response.content
    assert "_auth_user_id" not in client.session


def test_it_ends_after_its_time(link):
    SignInLink.objects.update(expires_at=Now() - timedelta(seconds=1))
    assert Client().post(link).status_code == 410


def test_it_says_the_same_of_a_token_that_never_was(link):
    assert Client().post(reverse("sign-in-once", args=["x" * 22])).status_code == 410


@pytest.mark.parametrize("method", ["get", "post"])
def test_it_tells_no_other_page_its_address(link, method):
    assert getattr(Client(), method)(link)["Referrer-Policy"] == "no-referrer"


def test_it_needs_the_token_of_the_form(link):
    assert Client(enforce_csrf_checks=True).post(link).status_code == 403
    assert SignInLink.objects.get().used_at is None


@pytest.fixture
def careful() -> Client:
    """A browser that is asked for its CSRF token."""
    return Client(enforce_csrf_checks=True)


def test_it_takes_the_form_of_a_browser_that_hides_its_origin(user, careful, settings):
    settings.EMBEDDED = True
    path = make_link(user)
    token = careful.get(path).cookies[settings.CSRF_COOKIE_NAME].value
    response = careful.post(path, {"csrfmiddlewaretoken": token}, headers={"origin": "null"})
    assert response.status_code == 302
    assert careful.get("/").status_code == 200


@pytest.mark.parametrize("headers", [{"origin": "null"}, {"origin": "http://elsewhere.example"}, {}])
def test_it_refuses_a_forged_form(user, careful, settings, headers):
    settings.EMBEDDED = True
    path = make_link(user)
    careful.get(path)
    forged = {"csrfmiddlewaretoken": "x" * 64}
    assert careful.post(path, forged, headers=headers).status_code == 403
    assert not user.sign_in_links.filter(used_at__isnull=False).exists()


@pytest.mark.parametrize(
    ("address", "page"), [("/team/members/", "/team/members/"), ("//elsewhere.example/", "/"), ("", "/")]
)
def test_it_leads_to_a_page_of_this_site(client, link, address, page):
    assert client.post(f"{link}?next={address}").url == page

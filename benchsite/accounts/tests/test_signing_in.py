"""Name and password, the way out, and the team to look at."""

import pytest
from django.test import Client
from django.urls import reverse

from runs.tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db
SIGN_IN = "/sign-in/"


@pytest.fixture
def person():
    return make_user(team=make_team(), username="ada")


def sign_in(client, **changes):
    return client.post(SIGN_IN, {"username": "ada", "password": "correct horse", **changes})


def test_it_signs_in_with_name_and_password(person):
    client = Client()
    response = sign_in(client)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.get(reverse("databases")).status_code == 200


def test_it_refuses_a_wrong_password_and_keeps_the_name(person):
    response = sign_in(Client(), password="wrong")
    assert response.status_code == 422
    assert b'value="ada"' in response.content
    assert b"wrong" not in response.content


def test_it_goes_on_to_the_page_that_was_asked_for(person):
    client = Client()
    response = client.get(reverse("databases"))
    assert response["Location"] == f"{SIGN_IN}?next={reverse('databases')}"
    assert reverse("databases") in client.get(response["Location"]).content.decode()
    assert sign_in(client, next=reverse("databases"))["Location"] == reverse("databases")


@pytest.mark.parametrize("address", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_it_never_leads_to_another_site(person, address):
    assert sign_in(Client(), next=address)["Location"] == "/"


def test_it_signs_out_by_post_only(person):
    client = Client()
    sign_in(client)
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/")["Location"] == SIGN_IN
    assert client.get(reverse("databases")).status_code == 302


def test_it_changes_the_session_when_somebody_signs_in(person):
    client = Client()
    client.get(SIGN_IN)
    client.session["kept"] = 1
    before = client.session.session_key
    sign_in(client)
    assert client.session.session_key != before


def test_it_tells_somebody_without_a_team_what_to_do():
    client = Client()
    client.force_login(make_user(username="lonely"))
    response = client.get(reverse("databases"))
    assert response.status_code == 403
    assert b"not in a team yet" in response.content
    assert reverse("team-add").encode() in response.content.partition(b"<main")[2]


def test_it_looks_at_the_team_that_was_chosen(person):
    other = make_team(name="Zebra")
    person.teams.add(other)
    client = Client()
    sign_in(client)
    client.post(reverse("choose-team"), {"team": str(other.pk)})
    assert client.get(reverse("databases")).wsgi_request.team == other


def test_it_offers_the_other_teams_of_a_person(person):
    other = make_team(name="Zebra")
    client = Client()
    sign_in(client)
    assert b"Change to" not in client.get(reverse("databases")).content
    person.teams.add(other)
    assert b"Change to Zebra" in client.get(reverse("databases")).content


def test_it_says_that_a_form_expired(person):
    response = Client(enforce_csrf_checks=True).post(SIGN_IN, {"username": "ada"})
    assert response.status_code == 403
    assert b"The form was no longer valid" in response.content


def test_it_ignores_a_chosen_team_that_is_not_ones_own(person):
    client = Client()
    sign_in(client)
    client.post(reverse("choose-team"), {"team": str(make_team(name="Foreign").pk)})
    assert client.get(reverse("databases")).wsgi_request.team.name != "Foreign"


def test_it_sends_a_strict_content_security_policy(person):
    policy = Client().get(SIGN_IN)["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe-eval" not in policy
    assert "script-src" not in policy  # so default-src decides: no inline script

"""Passwords cannot be tried out one after the other: not on the site's page, and not on the admin's."""

from ipaddress import ip_address
from random import randrange

import pytest
from django.test import Client

from benchsite.accounts import counters
from benchsite.accounts.login_throttling import MAX_PER_ADDRESS, MAX_PER_NAME
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def here():
    """An address that no other test has come from."""
    return str(ip_address("10.0.0.0") + randrange(1, 2**24))


@pytest.fixture
def person():
    return make_user(team=make_team(), username="ada", is_staff=True, is_superuser=True)


def tried(password, address, *, name="ada", page="/sign-in/"):
    return Client(REMOTE_ADDR=address).post(page, {"username": name, "password": password})


def test_the_right_password_waits_after_too_many_wrong_ones(person, here):
    assert {tried("wrong", here).status_code for _ in range(MAX_PER_NAME)} == {422}
    refused = tried("correct horse", here)
    assert refused.status_code == 429 and int(refused["Retry-After"]) > 0
    assert b"Wait 15 minutes" in refused.content


def test_nobody_is_kept_out_from_elsewhere(person, here):
    for _ in range(MAX_PER_NAME):
        tried("wrong", here)
    assert tried("correct horse", "192.0.2.1").status_code == 302


def test_one_password_is_not_tried_with_all_names(person, here):
    counters.add(f"guess:{here}", MAX_PER_ADDRESS, 60, MAX_PER_ADDRESS - 1)
    assert tried("wrong", here, name="somebody").status_code == 422
    assert tried("correct horse", here).status_code == 429


def test_who_knows_the_password_may_mistype_it_again(person, here):
    for _ in range(2):
        assert {tried("wrong", here).status_code for _ in range(MAX_PER_NAME - 1)} == {422}
        assert tried("correct horse", here).status_code == 302


def test_the_admin_page_counts_too(person, here):
    for _ in range(MAX_PER_NAME):
        tried("wrong", here, page="/admin/login/")
    refused = tried("correct horse", here, page="/admin/login/?next=/admin/")
    assert b"Wait 15 minutes" in refused.content
    assert tried("correct horse", here).status_code == 429


def test_all_addresses_of_a_network_are_one(person):
    network = f"2001:db8:{randrange(2**16):x}"
    for number in range(MAX_PER_NAME):
        tried("wrong", f"{network}:2::{number + 1:x}")
    assert tried("correct horse", f"{network}:2:ffff::1").status_code == 429
    assert tried("correct horse", f"{network}:3::1").status_code == 302


def test_a_site_whose_redis_is_gone_lets_people_in_and_counts(person, here, settings):
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}}
    assert tried("correct horse", here).status_code == 302
    assert {tried("wrong", here).status_code for _ in range(MAX_PER_NAME)} == {422}
    assert tried("correct horse", here).status_code == 429


def test_next_window_begins_with_no_attempt(person, here):
    counters.add(f"guess:{here}", MAX_PER_ADDRESS, 0, MAX_PER_ADDRESS)
    assert tried("correct horse", here).status_code == 302


def test_a_session_does_not_guess_the_password(person):
    """The right one waits too, also in another browser; other people's accounts do not."""
    browsers = [Client(), Client()]
    for browser in browsers:
        browser.force_login(person)
    forms = {"new_password1": "another horse 42", "new_password2": "another horse 42"}
    for _ in range(MAX_PER_NAME):
        assert browsers[0].post("/account/", {"old_password": "wrong", **forms}).status_code == 422
    refused = browsers[1].post("/account/", {"old_password": "correct horse", **forms})
    assert refused.status_code == 429 and int(refused["Retry-After"]) > 0
    other = make_user(team=make_team(name="Another"), username="grace")
    browsers[0].force_login(other)
    assert browsers[0].post("/account/", {"old_password": "correct horse", **forms}).status_code == 302

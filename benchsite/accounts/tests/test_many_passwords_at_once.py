"""Many passwords at once: no more are looked at than of as many in a row, and the rest of the site goes on."""

import threading
from random import randrange

import pytest
from django.contrib.auth.hashers import check_password, make_password
from django.test import Client

from benchsite.accounts import password_hashing
from benchsite.accounts.login_throttling import MAX_PER_NAME
from benchsite.accounts.models import Counter
from runs.tests.factories import make_team, make_user

HASHER = "benchsite.accounts.password_hashing.BoundedHasher"


@pytest.fixture
def here():
    """An address that no other test has come from."""
    return f"10.{randrange(256)}.{randrange(256)}.{randrange(1, 255)}"


@pytest.fixture
def quick(settings, monkeypatch):
    """The site's own hashing, made cheap."""
    settings.PASSWORD_HASHERS = [HASHER]
    monkeypatch.setattr(password_hashing.BoundedHasher, "iterations", 1000)


def tried(password, address):
    return Client(REMOTE_ADDR=address).post("/sign-in/", {"username": "ada", "password": password})


@pytest.mark.slow
def test_forty_at_once_are_ten_looked_at(race, here):
    make_user(team=make_team(), username="ada")
    answers = [result.status_code for result in race(lambda: tried("wrong", here), times=40)]
    assert (answers.count(422), answers.count(429)) == (MAX_PER_NAME, 40 - MAX_PER_NAME)
    assert Counter.objects.get(key=f"guess:{here}").used == MAX_PER_NAME
    assert tried("correct horse", here).status_code == 429


@pytest.mark.django_db
def test_a_right_password_counts_for_nothing(here):
    make_user(team=make_team(), username="ada")
    assert tried("correct horse", here).status_code == 302
    assert not Counter.objects.filter(used__gt=0).exists()


@pytest.mark.django_db
def test_one_beyond_the_limit_is_told_to_come_again(quick, here, monkeypatch):
    make_user(team=make_team(), username="ada")
    monkeypatch.setattr(password_hashing, "_slots", threading.Semaphore(0))
    answer = tried("correct horse", here)
    assert answer.status_code == 503 and int(answer["Retry-After"]) > 0
    assert b"Nothing was changed" in answer.content
    assert not Counter.objects.filter(used__gt=0).exists()


def test_a_process_hashes_few_at_once(quick, monkeypatch):
    going, may_end, refused = [], threading.Event(), []

    def slow(self, password, salt, iterations=None):
        going.append(1)
        may_end.wait(30)
        return "hash"

    def encode():
        try:
            password_hashing.BoundedHasher().encode("a", "b")
        except password_hashing.Busy:
            refused.append(1)
            may_end.set()

    monkeypatch.setattr(password_hashing.PBKDF2PasswordHasher, "encode", slow)
    threads = [threading.Thread(target=encode) for _ in range(password_hashing.MAX_AT_ONCE + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(going), len(refused)) == (password_hashing.MAX_AT_ONCE, 1)


def test_hashes_made_before_are_still_good(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    made = make_password("correct horse")
    settings.PASSWORD_HASHERS = [HASHER]
    assert check_password("correct horse", made)

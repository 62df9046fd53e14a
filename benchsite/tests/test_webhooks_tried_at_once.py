"""Tests of webhooks wait for their receivers, but never in so many threads that nobody else is served."""

import threading
import time
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection
from django.urls import reverse

from benchsite.teams import trying, webhooks
from benchsite.teams.models import Delivery, Role, Webhook
from benchsite.teams.posting import post
from benchsite.teams.tests.receivers import receiving
from benchsite.tests.asking import problem, program_of
from benchsite.tests.databases import database_url
from conftest import signed_in
from runs.tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def unhurried(settings, monkeypatch):
    """Who is waited for is waited for until the test lets it go."""
    settings.WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    monkeypatch.setitem(post.__kwdefaults__, "deadline_s", 60.0)


def until(condition, patience_s=30):
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def hook(team, url):
    return webhooks.make(team, make_user(team=team), name="chat", url=url, kinds=["regression"])[0]


def tried(team):
    return program_of(team, "webhooks:write").ask("POST", f"/webhooks/{Webhook.objects.get(team=team).pk}/test")


@contextmanager
def trying_meanwhile(slow, *teams):
    """A test of each team's webhook hangs during the block, and has ended after it."""

    def ask(team):
        try:
            answers.append(tried(team).json()["state"])
        finally:
            connection.close()

    answers = []
    threads = [threading.Thread(target=ask, args=[team]) for team in teams]
    for thread in threads:
        thread.start()
    try:
        until(lambda: len(slow.got) == len(teams))
        yield
    finally:
        slow.let_go.set()
        for thread in threads:
            thread.join()
    assert answers == ["delivered"] * len(teams)


def test_a_team_has_one_test_under_way(team):
    admin, other = signed_in(make_user(team=team, role=Role.ADMIN)), make_team()
    with receiving(delay_s=60) as slow, receiving() as quick:
        made = hook(team, slow.url)
        hook(other, quick.url)
        with trying_meanwhile(slow, team):
            refused = tried(team)
            assert "Another test is under way" in problem(refused, 409, "in-flight")["detail"]
            assert refused["Retry-After"] == str(trying.RETRY_AFTER_S)
            page = admin.post(reverse("webhook-test", args=[made.pk]), follow=True)
            assert "The test was not sent. Another test is under way" in page.content.decode()
            assert tried(other).json()["state"] == "delivered"
        assert tried(team).json()["state"] == "delivered"
    assert Delivery.objects.count() == 3  # Nothing is kept of what was refused.


def test_a_process_has_only_so_many_under_way_whatever_number_of_teams_asks():
    teams = [make_team() for _ in range(trying.AT_ONCE + 1)]
    with receiving(delay_s=60) as slow:
        for team in teams:
            hook(team, slow.url)
        with trying_meanwhile(slow, *teams[:-1]):
            assert "Other tests" in problem(tried(teams[-1]), 409, "in-flight")["detail"]
        assert tried(teams[-1]).json()["state"] == "delivered"


def test_what_was_killed_in_the_middle_refuses_nobody(team):
    with receiving() as quick:
        hook(team, quick.url)
        with psycopg.connect(database_url(), autocommit=True) as killed:
            killed.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", [trying._LOCKS, str(team.pk)])
            problem(tried(team), 409, "in-flight")
        until(lambda: tried(team).status_code == 200)

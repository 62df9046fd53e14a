"""Tests of webhooks wait for their receivers, but never in so many threads that nobody else is served."""

import threading
import time
from contextlib import contextmanager

import pytest
from django.db import connection
from django.urls import reverse

from benchsite.accounts.models import Delivery, Role, Webhook
from benchsite.core.http_client import post
from benchsite.notifications import deliveries, webhooks
from benchsite.notifications.tests.receivers import receiving
from benchsite.tests.asking import make_program, problem
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
    return make_program(team, "webhooks:write").ask("POST", f"/webhooks/{Webhook.objects.get(team=team).pk}/test")


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


def test_a_process_has_only_so_many_under_way(team):
    admin, other = signed_in(make_user(team=team, role=Role.ADMIN)), make_team()
    slow_ones = [make_team() for _ in range(deliveries.TESTS_AT_ONCE)]
    with receiving(delay_s=60) as slow, receiving() as quick:
        made = hook(team, quick.url)
        for one in (*slow_ones, other):
            hook(one, slow.url)
        with trying_meanwhile(slow, *slow_ones):
            refused = tried(other)
            assert "Other tests of webhooks are under way" in problem(refused, 409, "in-flight")["detail"]
            assert refused["Retry-After"] == str(deliveries.RETRY_TEST_AFTER_S)
            page = admin.post(reverse("webhook-test", args=[made.pk]), follow=True)
            assert "The test was not sent. Other tests of webhooks are under way" in page.content.decode()
        assert tried(other).json()["state"] == "delivered"
    assert Delivery.objects.count() == deliveries.TESTS_AT_ONCE + 1  # Nothing is kept of what was refused.

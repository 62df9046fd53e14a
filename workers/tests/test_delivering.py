"""The loop that delivers notices: beside the scheduler's, never in its way, and nothing lost with its process."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import psycopg
import pytest
from django.conf import settings as site
from django.db.models.functions import Now
from django.utils import timezone

from benchsite.accounts.models import Delivery, Membership, Preference, User, Webhook
from benchsite.core.http_client import post
from benchsite.notifications import webhooks
from benchsite.notifications.deliveries import MAX_PER_TEAM, WEBHOOKS_AT_ONCE
from benchsite.notifications.mail import mail_server
from benchsite.notifications.notices import note
from benchsite.notifications.tests.receivers import mail_sink, receiving
from benchsite.tests.databases import database_url
from runs.models import Run
from runs.tests.factories import make_conductors, make_run, make_sweep, make_team, make_user
from workers.conductor.delivery_loop import Deliverer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
FINISHED = "matrix_finished"


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.WEBHOOK_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def hook(team, user):
    return lambda url: webhooks.make(team, user, name="chat", url=url, kinds=[FINISHED])


@pytest.fixture
def deliverer(transactional_db):
    """Makes loops; at the end everybody is let go, and no attempt outlives the test whose rows it writes."""
    made = []

    def make():
        made.append(Deliverer())
        return made[-1]

    yield make
    until(lambda: not any(loop.under_way for loop in made))


@pytest.fixture
def patient(monkeypatch):
    """Who is waited for is waited for until the test lets it go, however busy the machine is."""
    monkeypatch.setitem(post.__kwdefaults__, "deadline_s", 60.0)


def until(condition, patience_s=30):
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@contextmanager
def scheduler():
    """`manage.py scheduler` as the site starts it, on the test's database."""
    process = subprocess.Popen(
        [sys.executable, site.BASE_DIR / "manage.py", "scheduler"],
        env={**os.environ, "DATABASE_URL": database_url(), "BENCHSITE_WEBHOOK_NETWORKS": "127.0.0.0/8"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_slow_receiver_keeps_no_other_waiting(team, user, hook, deliverer, patient):
    loop = deliverer()
    with receiving(delay_s=60) as slow, receiving() as quick:
        kept = hook(slow.url)[0]
        hook(quick.url)
        for number in range(6):
            note(FINISHED, team, subject=f"Done {number}")
        until(lambda: loop.tick() == 0 and len(quick.got) == 6)
        until(lambda: slow.got)
        assert len(slow.got) == 1
        assert [one.webhook_id for one in loop.under_way.values() if one.webhook_id == kept.pk] == [kept.pk]
        slow.let_go.set()
        until(lambda: not loop.under_way)


def test_slow_receivers_of_a_team_do_not_delay_other_teams(team, user, hook, deliverer, patient):
    loop = deliverer()
    other = make_team()
    with receiving(delay_s=60) as slow, receiving() as quick:
        for number in range(webhooks.MAX_WEBHOOKS):
            hook(f"{slow.url}/{number}")
        webhooks.make(other, make_user(team=other), name="chat", url=quick.url, kinds=[FINISHED])
        note(FINISHED, team, subject="Slow")
        assert loop.tick() == MAX_PER_TEAM
        note(FINISHED, other, subject="Quick")
        assert loop.tick() == 1
        until(lambda: quick.got)
        until(lambda: len(loop.under_way) == MAX_PER_TEAM)
        assert loop.tick() == 0
        slow.let_go.set()
        until(lambda: not loop.under_way and loop.tick() == 0)
    assert len(slow.got) == webhooks.MAX_WEBHOOKS
    assert not Delivery.objects.exclude(state="delivered").exists()


def test_mail_goes_out_while_every_webhook_hangs(team, user, hook, deliverer, patient, monkeypatch, settings):
    monkeypatch.setattr("benchsite.notifications.deliveries.WEBHOOKS_AT_ONCE", 1)
    loop = deliverer()
    User.objects.filter(pk=user.pk).update(email="runa@example.org", confirmed_email="runa@example.org")
    Preference.objects.create(membership=Membership.objects.get(user=user, team=team), kind=FINISHED)
    with receiving(delay_s=60) as slow, mail_sink() as (port, messages):
        server = mail_server(f"smtp://127.0.0.1:{port}")
        settings.MAIL_SERVER, settings.EMAIL_BACKEND = server, server.backend
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.host, server.port
        for number in range(2):
            hook(f"{slow.url}/{number}")
        note(FINISHED, team, subject="Done")
        until(lambda: loop.tick() == 0 and messages)
        until(lambda: [bool(one.webhook_id) for one in loop.under_way.values()] == [True])
        slow.let_go.set()
        until(lambda: not loop.under_way and loop.tick() == 0)
    assert (len(slow.got), len(messages)) == (2, 1)


def test_two_loops_deliver_each_notice_once(team, user, hook, deliverer):
    loops = [deliverer(), deliverer()]
    with receiving() as receiver:
        hook(receiver.url)
        for number in range(8):
            note(FINISHED, team, subject=f"Done {number}")
        until(lambda: [loop.tick() for loop in loops] and not Delivery.objects.filter(state="waiting").exists())
        until(lambda: not any(loop.under_way for loop in loops))
    assert len(receiver.got) == 8
    assert len({got.headers["webhook-id"] for got in receiver.got}) == 8


def test_many_notices_to_one_receiver_follow_each_other_at_once(team, user, hook, deliverer, monkeypatch):
    monkeypatch.setattr(
        "workers.conductor.delivery_loop.TICK_S", 60.0
    )  # Waiting for it between two notices would take twenty minutes.
    loop = deliverer()
    with receiving() as receiver:
        hook(receiver.url)
        for number in range(20):
            note(FINISHED, team, subject=f"Done {number}")
        loop.ended.set()  # The loop need not wait for its first look.
        loop.start()
        try:
            until(lambda: len(receiver.got) == 20)
        finally:
            loop.stop()
        until(lambda: not loop.under_way)


def test_stopped_it_ends_at_once_and_begins_nothing_more(team, user, hook, deliverer, monkeypatch):
    monkeypatch.setattr("workers.conductor.delivery_loop.TICK_S", 60.0)
    with receiving() as receiver:
        hook(receiver.url)
        loop = deliverer()
        loop.start()
        began = time.monotonic()
        note(FINISHED, team, subject="Done")
        loop.stop()
        assert time.monotonic() - began < 30  # not the minute between two looks
        assert not loop.thread.is_alive()
    assert receiver.got == []
    assert Delivery.objects.get().state == "waiting"


def test_an_error_of_ours_is_tried_again_later(team, user, hook, deliverer, monkeypatch, caplog):
    monkeypatch.setattr("benchsite.notifications.deliveries.build_body", lambda notice: 1 / 0)
    with receiving() as receiver:
        hook(receiver.url)
        note(FINISHED, team, subject="Done")
        loop = deliverer()
        loop.tick()
        until(lambda: not loop.under_way)
    left = Delivery.objects.get()
    assert (left.state, left.attempts) == ("waiting", 1)
    assert left.next_at > timezone.now()
    assert "was not finished" in caplog.text


@pytest.mark.slow
def test_killed_in_the_middle_it_loses_nothing(team, user, hook):
    with receiving(delay_s=30) as receiver:
        hook(receiver.url)
        made = note(FINISHED, team, subject="Done")
        with scheduler() as process:
            until(lambda: receiver.got, 60)
            process.send_signal(signal.SIGKILL)
            process.wait()
        left = Delivery.objects.get()
        assert (left.state, left.attempts) == ("waiting", 1)
        assert left.next_at > timezone.now()  # Its lease; after it whoever looks tries again.
        Delivery.objects.update(next_at=Now())
        receiver.delay_s = 0
        receiver.let_go.set()
        with scheduler():
            until(lambda: Delivery.objects.get().state == "delivered", 60)
    assert [got.headers["webhook-id"] for got in receiver.got] == [str(made.pk)] * 2
    assert Webhook.objects.get().failures == 0


@pytest.mark.slow
def test_a_slow_receiver_does_not_delay_the_scheduler(team, user, hook):
    """While every receiver hangs, a run that has just been queued is looked at as soon as ever."""
    with receiving(delay_s=30) as slow:
        for _ in range(WEBHOOKS_AT_ONCE // MAX_PER_TEAM):
            some = make_team()
            admin = make_user(team=some)
            for number in range(MAX_PER_TEAM):
                webhooks.make(some, admin, name="chat", url=f"{slow.url}/{number}", kinds=[FINISHED])
            note(FINISHED, some, subject="Done")
        with scheduler():
            until(lambda: len(slow.got) == WEBHOOKS_AT_ONCE, 60)
            sweep = make_sweep(team=make_team())
            began = time.monotonic()
            run = make_run(sweep, status="queued")
            make_conductors()
            with psycopg.connect(database_url(), autocommit=True) as listener:
                listener.execute("NOTIFY benchsite_queue")
            until(lambda: not Run.objects.filter(pk=run.pk, status="queued").exists(), 10)
            took = time.monotonic() - began
    assert took < 3


@pytest.mark.slow
def test_the_scheduler_tells_of_a_finished_matrix(team, user, hook):
    from runs.queue import lifecycle

    with receiving() as receiver, scheduler():
        hook(receiver.url)
        run = make_run(make_sweep(team=team), status="queued", priority=-1)
        lifecycle.request_cancel(run, make_user(team=team))
        until(lambda: receiver.got, 60)
    assert b'"kind": "matrix_finished"' in receiver.got[0].body

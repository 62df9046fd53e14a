"""The scheduler as a real process starts runs while Redis hangs (SIGSTOP), and while a schedule is submitted."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest
from django.conf import settings as site
from django.db.models.functions import Now
from django.utils import timezone

from benchsite.tests.databases import database_url
from runs.models import LoadGenerator, Run, Schedule
from runs.models.run import Status
from runs.plans.submission import wake_scheduler
from runs.tests.factories import make_conductors, make_load_generator, make_run, make_schedule, make_sweep
from workers.generator.executables import find_redis

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
RUNS = 4


def until(condition, timeout_s):
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"waited {timeout_s} s"
        time.sleep(0.05)


@contextmanager
def running(*argv, **options):
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def redis_server(work_folder):
    address = work_folder / "redis.sock"
    with running(find_redis()[0].path, "--port", "0", "--unixsocket", address, "--save", "") as process:
        until(address.exists, 10)
        yield process, f"unix://{address}?db=0"


@pytest.fixture
def scheduler(redis_server):
    environment = {**os.environ, "DATABASE_URL": database_url(), "REDIS_URL": redis_server[1]}
    with running(sys.executable, site.BASE_DIR / "manage.py", "scheduler", env=environment) as process:
        yield process


def queue_run():
    run = make_run(make_sweep(), status="queued")
    make_conductors()
    wake_scheduler()
    return run


def dispatched(run):
    return lambda: Run.objects.filter(pk=run.pk, status=Status.DISPATCHED).exists()


def test_starts_runs_while_redis_hangs(redis_server, scheduler):
    """Each message to a hung Redis fails after six seconds or more; the runs start without that delay."""
    until(dispatched(queue_run()), 60)  # The scheduler is up.
    redis_server[0].send_signal(signal.SIGSTOP)
    began = time.monotonic()
    for _ in range(RUNS):
        until(dispatched(queue_run()), 30)
    assert time.monotonic() - began < RUNS * 6
    scheduler.send_signal(signal.SIGTERM)
    assert scheduler.wait(timeout=30) == 0


def test_starts_runs_while_schedule_is_submitted(scheduler):
    """A lock on the table of matrices holds the submission; the run becomes startable only then."""
    generator = make_load_generator(enabled=False)
    sweep = make_sweep()
    run = make_run(sweep, status="queued", generators=[generator])
    make_conductors()
    make_schedule(sweep.team, sweep.matrix, is_active=True, next_at=timezone.now() + timedelta(days=1))
    with psycopg.connect(database_url()) as other:
        other.execute("LOCK TABLE runs_matrix IN EXCLUSIVE MODE")
        Schedule.objects.update(next_at=timezone.now())
        waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'runs_matrix'::regclass AND NOT granted"
        until(lambda: other.execute(waiting).fetchone() != (0,), 60)
        LoadGenerator.objects.filter(pk=generator.pk).update(enabled=True, last_seen_at=Now())
        wake_scheduler()
        until(dispatched(run), 20)

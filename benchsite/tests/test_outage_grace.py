"""After an outage nothing is reaped before heartbeats could arrive again."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.db.models.functions import Now

from benchsite.local import components
from benchsite.tests.databases import database_url
from runs.models import Run
from runs.models.run import Status
from runs.queue.reasons import Reason
from runs.tests.factories import make_run, make_sweep
from runs.timeouts import HEARTBEAT_INTERVAL_S, RUN_SILENT_AFTER
from workers.conductor.heartbeat import OutageGrace
from workers.tests.trees import until

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[components.Component]:
    part = components.scheduler()
    part.log = tmp_path / "scheduler.log"
    part.env = {"DATABASE_URL": database_url()}
    part.start(tmp_path / "supervised")
    try:
        until(lambda: part.ready(part), "the scheduler is not ready", patience_s=60)
        yield part
    finally:
        assert part.guarded is not None
        part.guarded.stop()


def backend_of_scheduler() -> int:
    with connection.cursor() as cursor:
        # Other databases have schedulers of other tests.
        cursor.execute(
            "SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = database "
            "WHERE datname = current_database() AND locktype = 'advisory' AND granted AND objid = 7305061"
        )
        return int(cursor.fetchall()[0][0])


@pytest.mark.long
def test_scheduler_reaps_two_intervals_after_its_reconnect(scheduler):
    until(lambda: "Scheduling." in scheduler.log.read_text(), "the scheduler does not schedule")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [backend_of_scheduler()])
    run = make_run(make_sweep(), status=Status.RUNNING)
    Run.objects.filter(pk=run.pk).update(heartbeat_at=Now() - 2 * RUN_SILENT_AFTER)
    began = time.monotonic()
    until(lambda: Run.objects.filter(pk=run.pk, status=Status.FAILED).exists(), "it was not reaped", patience_s=60)
    assert time.monotonic() - began > 2 * HEARTBEAT_INTERVAL_S - 1
    run.refresh_from_db()
    assert run.reason == Reason.WORKER_LOST
    assert scheduler.log.read_text().count("Scheduling.") == 2


def test_grace_begins_anew_after_a_gap():
    grace = OutageGrace()
    assert not grace.is_over()
    grace._ends_at = 0.0  # Its time has passed.
    assert grace.is_over()
    grace._answered_at -= HEARTBEAT_INTERVAL_S + 1  # PostgreSQL did not answer for so long.
    assert not grace.is_over()

"""PostgreSQL terminates connections in every stage of a run: nothing is lost and nothing is doubled."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import psycopg
import pytest

from benchsite.tests.databases import database_url
from benchsite.tests.live_site import site
from runs.models import ClientRun, Run, RunEvent
from runs.models.run import Phase, Stage, Status

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
TERMINATE = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = ANY(%s)
"""


@contextmanager
def connections_terminated(*parts: str, every_s: float) -> Iterator[list[int]]:
    """All connections of these parts of the site, again and again; yields how many there were each time."""
    over, counts = threading.Event(), []

    def terminate() -> None:
        with psycopg.connect(database_url(), autocommit=True) as connection:
            while not over.wait(every_s):
                row = connection.execute(TERMINATE, [list(parts)]).fetchone()
                assert row is not None
                counts.append(row[0])

    thread = threading.Thread(target=terminate)
    thread.start()
    try:
        yield counts
    finally:
        over.set()
        thread.join()


def test_connections_terminated_in_every_stage(site):
    with connections_terminated("conductor", "scheduler", "generator-1", "generator-2", every_s=0.5) as counts:
        matrix = site.submit(("redis", "everysec"), rungs=[2], measure_s=3)
        runs = site.until_ended(matrix)
    assert [(run.status, run.reason_detail) for run in runs] == [(Status.SUCCEEDED, "")] * 2
    assert sum(counts) >= 10
    for run in runs:
        assert run.measurement_sets.get().clients_merged == 2
        assert ClientRun.objects.filter(run=run).count() == 2
        stages = [Stage.LOADING] if run.phase == Phase.LOAD else [Stage.PREPARING, Stage.MEASURING]
        assert Counter(RunEvent.objects.filter(run=run, kind="stage").values_list("new", flat=True)) == Counter(
            [Stage.PROVISIONING, *stages, Stage.COLLECTING, Stage.JUDGING]
        )
        statuses = RunEvent.objects.filter(run=run, kind="status").order_by("pk").values_list("new", flat=True)
        assert list(statuses)[-3:] == [Status.DISPATCHED, Status.RUNNING, Status.SUCCEEDED]
        assert len(statuses) in (3, 4)  # Queued, where submission says so.


def test_web_server_is_killed_while_a_run_measures(site):
    """Load generators reach the site by it alone, and try again until it is back."""
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=6)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    measuring = ClientRun.objects.filter(run=run, state=ClientRun.State.RUNNING)
    site.until(lambda: measuring.count() == 2, 60, "both clients to measure")
    web = psutil.Process(site.pid("web"))
    for process in (web, *web.children(recursive=True)):
        process.kill()
    site.until(lambda: site.parts["web"].died, 20, "the web server to be gone")
    time.sleep(8)  # Until the clients have ended, and found nobody who stores their output.
    assert ClientRun.objects.filter(run=run).exclude(output_stored_at=None).count() == 0
    site.start("web")
    runs = site.until_ended(matrix)
    assert [(run.status, run.reason_detail) for run in runs] == [(Status.SUCCEEDED, "")] * 2
    assert runs[1].measurement_sets.get().clients_merged == 2

"""Runs in modes that wait for a replica: measured, then with a node or the conductor killed under the load."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from benchsite.tests.live_site import LiveSite, get_servers, servers_and_clients
from runs.models import Deployment, Matrix, Run
from runs.models.run import Phase, Status
from runs.queue.reasons import Reason
from runs.results.recording.server_samples import get_sample_artifacts, read_counters
from runs.tests.factories import make_database
from workers.systems.build import build

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]
MODES = [("redis", "everysec-wait-1"), ("postgresql", "on-standby"), ("mariadb", "flush-1-semi-sync")]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[LiveSite]:
    build(settings.YCSB_DIR, ["redis", "postgresql", "mariadb"])
    with LiveSite(tmp_path) as live:
        yield live


@pytest.mark.parametrize(("system", "mode"), MODES, ids=[system for system, _ in MODES])
def test_run_ends_with_its_reason_when_a_node_is_killed(site: LiveSite, system: str, mode: str):
    def with_replica(matrix: Matrix) -> None:
        cluster = matrix.entries.select_related("database__cluster").get().database.cluster
        database = make_database(
            team=matrix.team, cluster=cluster, system=system, name="Pair", version="", settings={"nodes": "2"}
        )
        matrix.entries.update(database=database, mode=mode)

    matrix = site.submit(("redis", "off"), rungs=[2, 4, 6, 8, 10], measure_s=8, before=with_replica)

    def run_with(threads: int) -> Run:
        return Run.objects.filter(matrix=matrix, threads=threads, phase=Phase.MEASURE).latest("id")

    def until_failed(run: Run) -> Run:
        site.until(lambda: Run.objects.filter(pk=run.pk, status=Status.FAILED).exists(), 90, "the run to fail")
        run.refresh_from_db()
        return run

    def until_measured(threads: int) -> Run:
        site.until(lambda: run_with(threads).stage == "measuring", 240, f"{threads} threads to be measured")
        site.until_measured(run_with(threads))
        return run_with(threads)

    site.until(lambda: run_with(2).status in Status.terminal(), 240, "the first rung to end")
    measured = run_with(2)
    assert measured.status == Status.SUCCEEDED, measured.reason_detail
    before, after = measured.evidence["before"], measured.evidence["after"]
    assert before["in_force"] and before["topology"] == after["topology"] and before["topology"]["nodes_up"] == "2"
    assert before["found"]["replicas"] == "1"
    counters = read_counters(get_sample_artifacts(measured))
    assert counters is not None and any(name.startswith("replication_lag_") for name in counters.columns)

    for threads, number in ((4, 1), (8, 0)):
        run = until_measured(threads)
        pids = Deployment.objects.get(matrix=matrix).process["pids"]
        os.kill(pids[number], signal.SIGKILL)
        lost = until_failed(run)
        assert lost.reason == Reason.SERVER_LOST, lost.reason_detail
        assert ("Node 2 ended" in lost.reason_detail) == (number == 1), lost.reason_detail

    assert run_with(6).status == Status.SUCCEEDED, run_with(6).reason_detail
    run = until_measured(10)
    assert len(get_servers(matrix)) >= 2
    os.kill(site.pid("conductor"), signal.SIGKILL)
    site.until(lambda: servers_and_clients() == [], 90, "servers and clients to be gone")
    site.start("conductor")
    assert until_failed(run).reason == Reason.WORKER_LOST
    site.until(run.reruns.exists, 60, "the run to be queued again")
    site.until_ended(matrix, 240)
    again = run.reruns.get()
    assert (again.is_retry, again.status) == (True, Status.SUCCEEDED), again.reason_detail
    assert not list(settings.WORK_DIR.iterdir())

"""Real clients against real servers, from the queue to the verdict, and every way in which that can be cut short."""

import os
import re
import signal
import uuid
from pathlib import Path

import psutil
import pytest
from django.conf import settings
from django.db.models import Sum

from benchsite.tests.live_site import LiveSite, site
from runs import artifacts, lifecycle
from runs.models import ClientRun, Database, Deployment, LoadGenerator, Matrix, Measurement, Run, Series
from runs.models.run import Phase, Reason, Status, Verdict
from runs.tests.factories import make_user
from runs.ycsb.redact import HIDDEN
from runs.ycsb.summary import parse_summary
from workers.models import Lease
from workers.site_client import SiteClient
from workers.tests.conducting import conduct_run

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


OTHER = {"redis": "0" * 64, "postgresql": "0" * 64}  # digests that no build has


def processes_of(text: str) -> list[psutil.Process]:
    """Processes with `text` in their command line."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(text in part for part in process.info["cmdline"] or ()):
            found.append(process)
    return found


def until_measured(site: LiveSite, run: Run) -> None:
    """Until the clients have written what they measured in their first second."""
    site.until_stage(run, "measuring")
    logs = lambda: settings.WORK_DIR.glob("*/hdr/READ.hdr")  # noqa: E731
    site.until(lambda: any("HISTFA" in log.read_text() for log in logs()), 20, "the first second to be measured")


def servers_and_clients() -> list[psutil.Process]:
    return processes_of(str(settings.TARGETS_DIR)) + processes_of(str(settings.WORK_DIR))


def test_it_measures_merges_and_judges_a_small_matrix(site):
    matrix = site.submit(("redis", "everysec"), ("postgresql", "on"), rungs=[2, 4])
    runs = site.until_ended(matrix)
    assert [(run.name, run.status, run.reason_detail) for run in runs if run.status != Status.SUCCEEDED] == []
    assert [run.phase for run in runs] == [Phase.LOAD, Phase.MEASURE, Phase.MEASURE] * 2
    for run in runs:
        kept = run.measurement_sets.get()
        assert (kept.clients_merged, kept.clients_expected) == (2, 2)
        assert run.verdict in (Verdict.PASS, Verdict.WARN)
        assert run.evidence["before"]["in_force"] and run.evidence["after"]["in_force"]
        assert run.evidence["rows"] == 10_000
        operations = {"INSERT"} if run.phase == Phase.LOAD else {"READ", "UPDATE"}
        assert set(kept.measurements.values_list("operation", flat=True)) == operations
        assert Measurement.objects.filter(measurement_set=kept, failed__gt=0).count() == 0
        assert Series.objects.filter(run=run, interval_s=1).count() == len(operations)
    loads = [run for run in runs if run.phase == Phase.LOAD]
    assert [run.measurement_sets.get().operations for run in loads] == [10_000, 10_000]
    assert loads[1].evidence["disk"]["median_us"] > 0
    # A load's window is its whole run, so the merged counts are what the clients themselves printed, to the last one.
    for run in loads:
        printed = [
            parse_summary(artifacts.open_artifact(artifact).decode()).operations["INSERT"].count
            for artifact in run.artifacts.filter(kind="summary")
        ]
        merged = Measurement.objects.filter(measurement_set__run=run).aggregate(n=Sum("count"))["n"]
        assert len(printed) == 2
        assert sum(printed) == merged
        # What a client may have inserted, of which the marker of a data set tells.
        clients = run.client_runs.all()
        assert [client.facts["inserts"] - client.order["threads"] for client in clients] == [5_000, 5_000]

    # A message delivered twice does nothing.
    before = {run.pk: (run.status, run.finished_at, run.events.count()) for run in runs}
    conduct_run(runs[1].pk)
    client_run = ClientRun.objects.filter(run=runs[1], load_generator__name="generator-1").first()
    environment = site.environments["generator-1"]
    generator = SiteClient(environment["BENCHSITE_SITE_URL"], environment["BENCHSITE_GENERATOR_TOKEN"])
    assert generator.claim(client_run.pk, uuid.uuid4()) is None
    again = Run.objects.filter(matrix=matrix)
    assert {run.pk: (run.status, run.finished_at, run.events.count()) for run in again} == before

    # Nothing is left of the servers, their data, or the clients.
    gone = Deployment.objects.filter(state=Deployment.State.GONE)
    site.until(lambda: gone.count() == 2, 30, "the deployments to be given up")
    folders = [Path(folder) for folder in gone.values_list("folder", flat=True)]
    site.until(lambda: not any(folder.exists() for folder in folders), 30, "the data to be removed")
    assert servers_and_clients() == []

    # No password of a server was stored where a page could show it.
    secrets = {
        (client.order["properties"].get(name), name)
        for client in ClientRun.objects.all()
        for name in ("redis.password", "postgresql.password")
        if name in client.order["properties"]
    }
    assert secrets == {(HIDDEN, "redis.password"), (HIDDEN, "postgresql.password")}
    for run in runs:
        for artifact in run.artifacts.filter(kind__in=["properties", "server_config", "stderr", "stdout"]):
            text = artifacts.open_artifact(artifact).decode()
            assert not re.search(r"(password|requirepass)\s*[= ]\s*[^\s\[*<]{8}", text), artifact


def test_it_gives_up_a_run_whose_load_generator_is_killed_and_goes_on(site):
    matrix = site.submit(("redis", "off"), rungs=[2, 4], measure_s=10)
    run = Run.objects.get(matrix=matrix, threads=2, phase=Phase.MEASURE)
    site.until_stage(run, "measuring")
    assert len(processes_of(str(settings.WORK_DIR))) >= 2
    os.kill(site.pid("generator-1"), signal.SIGKILL)
    site.until(lambda: Run.objects.filter(pk=run.pk, status=Status.FAILED).exists(), 90, "the run to fail")
    run.refresh_from_db()
    assert run.reason == Reason.WORKER_LOST
    assert "generator-1" in run.reason_detail
    assert processes_of(str(settings.WORK_DIR)) == []
    site.start("generator-1")
    stored = run.client_runs.get(number=0).artifacts.filter(kind="stderr")
    site.until(stored.exists, 30, "the killed client's output to be stored")
    runs = site.until_ended(matrix)
    site.until(lambda: list(settings.WORK_DIR.iterdir()) == [], 10, "the clients' folders to be removed")
    assert [run.status for run in runs[2:]] == [Status.SUCCEEDED] * 2, runs[2].reason_detail
    assert runs[2].pk == run.reruns.get(is_retry=True).pk


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(["conductor"], id="conductor", marks=pytest.mark.long),
        pytest.param(["scheduler", "conductor", "generator-1", "generator-2"], id="everything"),
    ],
)
def test_what_was_killed_and_is_started_again_ends_its_runs_at_once(site, parts):
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=6)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_stage(run, "measuring")
    for part in parts:
        os.kill(site.pid(part), signal.SIGKILL)
    site.until(lambda: servers_and_clients() == [], 30, "servers and clients to be gone")
    site.start(*parts)
    site.until(lambda: Run.objects.filter(pk=run.pk, status=Status.FAILED).exists(), 5, "the run to be ended")
    run.refresh_from_db()
    assert (run.reason, run.reason_detail) == (Reason.WORKER_LOST, "The process of its conductor ended.")
    runs = {ended.pk: ended for ended in site.until_ended(matrix)}
    again = runs[run.reruns.get().pk]
    # The data set went with the server, so it was loaded anew.
    assert again.needs_id != run.needs_id
    assert (again.is_retry, again.status) == (True, Status.SUCCEEDED), again.reason_detail


def test_conductor_that_is_stopped_interrupts_its_run(site):
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=20)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    until_measured(site, run)
    site.parts["conductor"].guarded.stop()
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.FAILED, Reason.INTERRUPTED)
    assert "stopped by an operator" in run.reason_detail and "measuring" in run.reason_detail
    assert run.artifacts.filter(kind="hdr").exists()
    assert servers_and_clients() == []
    assert not Lease.objects.filter(run=run).exists()
    again = run.reruns.get()
    assert (again.is_retry, again.created_at) == (True, run.created_at)
    assert again.status in (Status.QUEUED, Status.DISPATCHED)


def test_it_stops_a_run_that_is_cancelled(site):
    matrix = site.submit(("redis", "off"), rungs=[2, 4], measure_s=30)
    run = Run.objects.get(matrix=matrix, threads=2, phase=Phase.MEASURE)
    until_measured(site, run)
    lifecycle.request_cancel_matrix(matrix, make_user())
    runs = site.until_ended(matrix, 40)
    assert [found.status for found in runs] == [Status.SUCCEEDED, Status.CANCELLED, Status.CANCELLED]
    assert runs[1].reason == Reason.CANCELLED_BY_USER
    assert runs[1].artifacts.filter(kind="hdr").exists()
    assert processes_of(str(settings.WORK_DIR)) == []


def test_it_survives_a_server_that_is_killed_under_the_load(site):
    matrix = site.submit(("redis", "off"), rungs=[2, 4], measure_s=3)
    run = Run.objects.get(matrix=matrix, threads=2, phase=Phase.MEASURE)
    until_measured(site, run)
    os.kill(Deployment.objects.get(matrix=matrix).process["pid"], signal.SIGKILL)
    runs = {found.name: found for found in site.until_ended(matrix)}
    lost = runs["redis off A 2t r1"]
    assert (lost.status, lost.reason) == (Status.FAILED, Reason.SERVER_LOST)
    assert lost.artifacts.filter(kind="server_log").exists()
    assert lost.artifacts.filter(kind="hdr").exists()
    # Without persistence its data is gone, so it is loaded anew before the next rung.
    assert runs["redis off load r2"].status == Status.SUCCEEDED
    assert runs["redis off A 4t r1"].status == Status.SUCCEEDED


def test_it_says_why_a_server_did_not_come_up(site):
    def greedy(matrix: Matrix) -> None:
        Database.objects.filter(entries__matrix=matrix).update(settings={"shared_buffers": "500GB"})

    runs = site.until_ended(site.submit(("postgresql", "on"), rungs=[2], before=greedy))
    load, measured = runs
    assert (load.status, load.reason) == (Status.FAILED, Reason.SERVER_DID_NOT_START)
    assert "could not map anonymous shared memory" in load.reason_detail
    assert (measured.status, measured.reason) == (Status.CANCELLED, Reason.LOAD_FAILED)
    assert servers_and_clients() == []


def test_it_refuses_clients_of_another_build(site):
    matrix = site.submit(("redis", "off"), rungs=[2], before=lambda _: LoadGenerator.objects.update(bindings=OTHER))
    load = site.until_ended(matrix)[0]
    assert (load.status, load.reason) == (Status.FAILED, Reason.BINDING_MISMATCH)
    assert "make bindings" in load.reason_detail

"""Guards stop a run that cannot succeed: stalled, failing, with a full disk, or with the wrong number of records."""

import contextlib
import os
import re
import signal
import threading
import time
from types import SimpleNamespace

import pytest
import redis
from django.db import connection
from django.utils import timezone

from runs.catalog import load_catalog
from runs.models import ClientRun, Deployment, Run
from runs.models.run import Phase, Status
from runs.queue.lifecycle import INFRASTRUCTURE
from runs.queue.reasons import Reason
from runs.tests.factories import (
    WORKLOAD_A,
    make_client_run,
    make_cluster,
    make_database,
    make_load_generator,
    make_matrix,
    make_run,
    make_sweep,
)
from runs.tests.pages import artifact_folder
from runs.timeouts import CLIENT_STALL_TIMEOUT_S
from runs.ycsb.command import client_properties_for_run
from runs.ycsb.properties import check_workload
from workers.conductor.deployment import Standing, stop_all
from workers.errors import RunFailed
from workers.generator import enrolment, guards
from workers.generator.client import Client, run_client
from workers.generator.guards import ProgressGuard, disk_problem
from workers.generator.site_client import site_client
from workers.processes.process import run_process
from workers.systems.build import build
from workers.tests.conducting import conduct_run
from workers.tests.external import external_run

__all__ = ["artifact_folder"]
UPDATES = {"readproportion": "0", "updateproportion": "1", "recordcount": "100", "requestdistribution": "uniform"}


# --- one client's progress --------------------------------------------------------------------------------------------


def progress(*intervals):
    """A guard that started at 100 s and saw these (time, succeeded, failed)."""
    guard = ProgressGuard(100.0)
    for now, succeeded, failed in intervals:
        guard.add(now, succeeded, failed)
    return guard


def test_stall_begins_with_the_last_success():
    assert progress().stall(100 + CLIENT_STALL_TIMEOUT_S - 0.1) == ""
    assert progress().stall(100 + CLIENT_STALL_TIMEOUT_S) == "No operation succeeded for 60 s."
    guard = progress((101, 10, 0), (130, 1, 0), (131, 0, 5), (132, 0, 0))
    assert guard.stall(130 + CLIENT_STALL_TIMEOUT_S - 0.1) == ""
    assert guard.stall(130 + CLIENT_STALL_TIMEOUT_S) != ""


def test_errors_must_prevail_without_a_break():
    failing = [(101.0 + second, 4, 6) for second in range(31)]
    assert progress(*failing[:-1]).errors() == ""
    assert progress(*failing).errors().startswith("186 of 310 operations failed within 30 s; the limit is ")
    # One sound interval, although the errors outnumber the successes over the whole time.
    guard = progress(*failing[:20], (121, 5, 5), *[(second, 4, 6) for second in range(122, 140)])
    assert guard.errors() == ""


def test_one_failing_second_before_a_stall_is_left_to_the_stall():
    assert progress((101, 0, 5), *[(second, 0, 0) for second in range(102, 150)]).errors() == ""


def test_interval_without_operations_does_not_end_errors():
    """Each of two threads waits 10 s for an answer and fails."""
    intervals = [(101, 50, 0), *[(second, 0, 0 if second % 10 else 2) for second in range(102, 142)]]
    assert progress(*intervals[:-2]).errors() == ""
    assert "8 of 8 operations failed" in progress(*intervals).errors()


def test_full_disk_is_named(tmp_path, monkeypatch):
    assert disk_problem(tmp_path, "data folder") == ""
    monkeypatch.setattr(guards, "MAX_DISK_SHARE", 0.0)
    problem = disk_problem(tmp_path, "data folder")
    assert f"the data folder {tmp_path} is " in problem and "Free space there" in problem


# --- real clients and servers -----------------------------------------------------------------------------------------


@pytest.fixture
def server(servers):
    return servers("redis", "off").start()


@pytest.fixture
def client_run(live_server, server, settings, tmp_path, artifact_folder):
    """A client run that updates records of a real Redis for 50 s; its load generator is this process."""
    settings.WORK_DIR = tmp_path / "work"
    settings.GENERATOR_SITE_URL, settings.GENERATOR_TOKEN = live_server.url, enrolment.make("lab-1")
    site_client.cache_clear()
    binding = load_catalog().system("redis").binding
    properties = client_properties_for_run(
        check_workload({**WORKLOAD_A, **UPDATES}), phase="measure", client=0, clients=1, threads=2, duration_s=50,
        binding_properties={**server.client_properties({}), "redis.timeout_ms": "500"},
    )  # fmt: skip
    order = {
        "binding": binding.name, "digest": build(settings.YCSB_DIR, [binding.name])[binding.name].digest,
        "java_class": binding.java_class, "phase": "measure", "threads": 2, "target_ops_s": None, "duration_s": 50,
        "deadline_s": 90, "properties": properties,
    }  # fmt: skip
    run = make_run(make_sweep(), threads=2, status="running")
    Run.objects.filter(pk=run.pk).update(starts_at=timezone.now())
    yield make_client_run(run, generator=make_load_generator(name="lab-1"), order=order)
    site_client().close()


@contextlib.contextmanager
def measuring(client_run, work):
    """From when the client has written what it measured in its first second; its output is stored at the end."""

    def carry_out():
        try:
            run_client(client_run.pk)
        finally:
            connection.close()

    thread = threading.Thread(target=carry_out)
    thread.start()
    try:
        end = time.monotonic() + 60
        while not any("HISTFA" in log.read_text() for log in work.glob("*/hdr/UPDATE.hdr")):
            assert time.monotonic() < end and thread.is_alive()
            time.sleep(0.1)
        yield
    finally:
        thread.join(60)
    client_run.refresh_from_db()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_hung_server_ends_the_client(client_run, server, monkeypatch, settings):
    with measuring(client_run, settings.WORK_DIR):
        monkeypatch.setattr(guards, "CLIENT_STALL_TIMEOUT_S", 2.0)
        os.kill(server.process["pid"], signal.SIGSTOP)
    assert (client_run.state, client_run.reason) == (ClientRun.State.FAILED, Reason.NO_PROGRESS)
    assert re.match(r"No operation succeeded for \d+ s\.", client_run.reason_detail)
    assert {"hdr", "stderr"} <= set(client_run.artifacts.values_list("kind", flat=True))
    assert client_run.reason not in INFRASTRUCTURE
    assert "-XX:TieredStopAtLevel=1" not in client_run.command


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_refused_operations_end_the_client(client_run, server, monkeypatch, settings):
    """Redis refuses every write once its memory is full. The run is so short that its client compiles once only."""
    client_run.order["duration_s"] = 29
    client_run.save(update_fields=["order"])
    with (
        measuring(client_run, settings.WORK_DIR),
        redis.Redis(server.host, server.port, password=server.password) as admin,
    ):
        monkeypatch.setattr(guards, "CLIENT_ERRORS_TIMEOUT_S", 2.0)
        admin.config_set("maxmemory-policy", "noeviction")
        admin.config_set("maxmemory", 1)
    assert (client_run.state, client_run.reason) == (ClientRun.State.FAILED, Reason.TOO_MANY_ERRORS)
    assert re.match(r"[\d,]+ of [\d,]+ operations failed within \d+ s;", client_run.reason_detail)
    assert "-XX:TieredStopAtLevel=1" in client_run.command
    assert {"hdr", "stderr"} <= set(client_run.artifacts.values_list("kind", flat=True))


@pytest.mark.slow
def test_full_work_disk_ends_the_client(monkeypatch, tmp_path):
    """A process that prints a status line and would go on."""
    monkeypatch.setattr(guards, "MAX_DISK_SHARE", 0.0)
    reporter = SimpleNamespace(lines=[], run_ended=False)
    client = Client(
        None,
        {"order": {"deadline_s": 60, "binding": "redis", "properties": {}}, "label": "test"},
        SimpleNamespace(path=tmp_path, client_run_id="1"),
        reporter,
    )
    ended = run_process(
        ["/bin/sh", "-c", "echo '1 sec: 5 operations; 5 current ops/sec;' >&2; exec sleep 60"],
        registry=tmp_path / "registry", label="test", on_stderr_line=client._read_line, should_stop=client._should_stop,
    )  # fmt: skip
    result = client._conclude(ended)
    assert result.reason == Reason.GENERATOR_UNFIT and f" {tmp_path} is " in result.reason_detail
    assert len(reporter.lines) == 1


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_full_data_disk_fails_the_run(site, settings, monkeypatch, artifact_folder):
    """A server that the conductor starts; the run is not retried."""
    settings.TARGETS_DIR, settings.GUARDED_DIR = site.targets, site.registry
    monkeypatch.setattr(guards, "MAX_DISK_SHARE", 0.0)
    cluster = make_cluster(provisioner="process")
    matrix = make_matrix(team=cluster.team)
    sweep = make_sweep(matrix=matrix, database=make_database(cluster=cluster), mode="off", phase=Phase.LOAD)
    run = make_run(sweep, status=Status.DISPATCHED, phase=Phase.LOAD, generators=[make_load_generator()])
    try:
        conduct_run(run.pk)
    finally:
        stop_all()
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.FAILED, Reason.DISK_FULL), run.reason_detail
    assert str(site.targets) in run.reason_detail
    assert not run.reruns.exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_wrong_row_count_fails_the_load(servers):
    """A server that took none of the records."""
    provisioner = servers("redis", "off")
    server = provisioner.start()
    run = external_run(server, recordcount="1000")
    deployment = Deployment.objects.create(
        cluster=run.cluster, database=run.sweep.database, matrix=run.matrix, mode=run.mode
    )
    with pytest.raises(RunFailed, match="0 of 1,000 records are there") as failed:
        Standing(deployment, provisioner, server, fresh=False).rows_after(run)
    assert failed.value.reason == Reason.WRONG_ROW_COUNT

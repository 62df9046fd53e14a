"""Real clients against real servers, from the queue to the verdict, on one site that stays up for all these tests."""

import base64
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest
import redis
from django.conf import settings
from django.db.models import Sum
from django.test import Client

from benchsite.core.generator_access import read_access
from benchsite.tests.databases import database_url
from benchsite.tests.live_site import GENERATORS, LiveSite, get_clients, get_servers, rejections, shared_site as site
from benchsite.tests.searching import files_with, tables_with
from runs.models import (
    ClientRun,
    Database,
    Deployment,
    Finding,
    LoadGenerator,
    Matrix,
    Measurement,
    Run,
    RunEvent,
    Series,
)
from runs.models.run import Phase, Stage, Status
from runs.queue import lifecycle
from runs.queue.reasons import Reason
from runs.results import artifacts
from runs.results.recording.server_samples import get_sample_artifacts, read_counters, read_host_samples
from runs.tests.factories import make_database, make_user
from runs.tests.programs import Program
from runs.ycsb.redact import HIDDEN
from runs.ycsb.summary import parse_summary
from workers.generator.site_client import SiteClient
from workers.tests.conducting import conduct_run

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

OTHER = {"redis": "0" * 64, "postgresql": "0" * 64}  # digests that no build has
# Ends by itself, whatever becomes of the test.
BURN = "import time; end = time.process_time() + 60\nwhile time.process_time() < end: pass"
TERMINATE = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = ANY(%s)
"""


@pytest.fixture
def burner():
    with subprocess.Popen([sys.executable, "-c", BURN]) as process:
        yield process
        process.kill()


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


@contextmanager
def monitored_redis(path: Path) -> Iterator[None]:
    """Every command that the site's Redis gets, written to a file."""
    with socket.socket(socket.AF_UNIX) as connection, path.open("wb", buffering=0) as output:
        connection.connect(urlsplit(settings.REDIS_URL).path)
        connection.sendall(b"MONITOR\r\n")
        thread = threading.Thread(target=shutil.copyfileobj, args=[connection.makefile("rb", buffering=0), output])
        thread.start()
        try:
            yield
        finally:
            connection.shutdown(socket.SHUT_RDWR)
            thread.join()


@contextmanager
def recorded(source: Callable[[], Iterable[str]]) -> Iterator[set[str]]:
    """The texts that `source` gives, asked ten times a second until the block ends."""
    over, texts = threading.Event(), set[str]()

    def record() -> None:
        while not over.wait(0.1):
            texts.update(source())

    thread = threading.Thread(target=record)
    thread.start()
    try:
        yield texts
    finally:
        over.set()
        thread.join()


def process_texts() -> Iterator[str]:
    """The command line and the environment of every process."""
    for pid in psutil.pids():
        for name in ("cmdline", "environ"):
            with suppress(OSError):
                yield Path(f"/proc/{pid}/{name}").read_text(errors="replace")


@dataclass
class Observed:
    """A small matrix that was measured while all that could give a password away was recorded."""

    matrix: Matrix
    runs: list[Run]
    secrets: set[str]
    commands: str  # of the site's Redis
    processes: set[str]


@pytest.fixture(scope="module")
def observed(site: LiveSite, tmp_path_factory: pytest.TempPathFactory) -> Observed:
    commands = tmp_path_factory.mktemp("redis") / "commands"
    with monitored_redis(commands), recorded(process_texts) as processes:
        matrix = site.submit(("redis", "everysec"), ("postgresql", "on"), rungs=[2], measure_s=4)
        secrets = set()
        for run in Run.objects.filter(matrix=matrix, phase=Phase.MEASURE).order_by("position"):
            site.until_measured(run)
            assert run.sweep is not None
            deployment = Deployment.objects.get(matrix=matrix, database=run.sweep.database)
            password = (Path(deployment.folder) / "password").read_text().strip()
            clients = [settings.WORK_DIR / str(client.pk) / "ycsb.properties" for client in run.client_runs.all()]
            assert all(password in path.read_text() for path in clients)
            assert {path.stat().st_mode & 0o777 for path in clients} == {0o600}
            assert {path.parent.stat().st_mode & 0o777 for path in clients} == {0o700}
            secrets.add(password)
            others = files_with(secrets, settings.VAR_DIR) - set(clients)
            assert not [path for path in others if not path.is_relative_to(settings.TARGETS_DIR)]
            assert tables_with(secrets) == []
        runs = site.until_ended(matrix)
    assert [(run.name, run.status, run.reason_detail) for run in runs if run.status != Status.SUCCEEDED] == []
    return Observed(matrix, runs, secrets, commands.read_text(errors="replace"), processes)


def test_password_reaches_the_clients_alone(observed):
    """In a property file of mode 0600 while they run: no command line, variable, message, log or table holds it."""
    secrets, sent, processes = observed.secrets, observed.commands, observed.processes
    assert len(secrets) == 2 and min(map(len, secrets)) > 20
    bodies = [base64.b64decode(body).decode() for body in re.findall(r'body\\": \\"([\w+/=]+)', sent)]
    assert any(str(run.client_runs.first().pk) in body for run in observed.runs for body in bodies)
    assert any(str(settings.WORK_DIR) in text for text in processes)
    assert not [text for text in [sent, *bodies, *processes] if any(secret in text for secret in secrets)]
    assert files_with(secrets, settings.WORK_DIR) == set()
    assert tables_with(secrets) == []


def test_password_is_on_no_page_and_in_no_answer(observed):
    """Pages and reports are made of tables and artifacts, which were searched for it while the runs went on."""
    team = observed.matrix.team
    browser, program = Client(), Program(team, make_user(team=team))
    browser.force_login(make_user(team=team))

    answers = [browser.get(f"/runs/{run.pk}/") for run in observed.runs]
    answers += [program.get(f"/api/v1/runs/{run.pk}") for run in observed.runs]
    answers += [browser.get(f"/artifacts/{artifact.pk}/") for run in observed.runs for artifact in run.artifacts.all()]

    assert {answer.status_code for answer in answers} == {200}
    texts = [b"".join(answer).decode(errors="replace") for answer in answers]
    assert not [text for text in texts if any(secret in text for secret in observed.secrets)]
    assert any("redis.password" in text for text in texts)


def test_it_measures_merges_and_judges_a_small_matrix(site, observed):
    matrix, runs = observed.matrix, observed.runs
    assert [run.phase for run in runs] == [Phase.LOAD, Phase.MEASURE] * 2
    for run in runs:
        kept = run.measurement_sets.get()
        assert (kept.clients_merged, kept.clients_expected) == (2, 2)
        assert run.verdict and rejections(run) == []
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
    access = read_access(Path(site.environments["generator-1"]["BENCHSITE_GENERATOR_FILE"]))
    generator = SiteClient(access["site_url"], access["credential"])
    assert generator.claim(client_run.pk, uuid.uuid4()) is None
    again = Run.objects.filter(matrix=matrix)
    assert {run.pk: (run.status, run.finished_at, run.events.count()) for run in again} == before

    # Nothing is left of the servers, their data, or the clients.
    gone = Deployment.objects.filter(matrix=matrix, state=Deployment.State.GONE)
    site.until(lambda: gone.count() == 2, 30, "the deployments to be given up")
    folders = [Path(folder) for folder in gone.values_list("folder", flat=True)]
    site.until(lambda: not any(folder.exists() for folder in folders), 30, "the data to be removed")
    assert get_servers(matrix) + get_clients(matrix) == []

    # No password of a server was stored where a page could show it.
    secrets = {
        (client.order["properties"].get(name), name)
        for client in ClientRun.objects.filter(run__matrix=matrix)
        for name in ("redis.password", "postgresql.password")
        if name in client.order["properties"]
    }
    assert secrets == {(HIDDEN, "redis.password"), (HIDDEN, "postgresql.password")}
    for run in runs:
        for artifact in run.artifacts.filter(kind__in=["properties", "server_config", "stderr", "stdout"]):
            text = artifacts.open_artifact(artifact).decode()
            assert not re.search(r"(password|requirepass)\s*[= ]\s*[^\s\[*<]{8}", text), artifact


def test_it_stops_a_run_that_is_cancelled(site):
    matrix = site.submit(("redis", "off"), rungs=[2, 4], measure_s=30)
    run = Run.objects.get(matrix=matrix, threads=2, phase=Phase.MEASURE)
    site.until_measured(run)
    lifecycle.request_cancel_matrix(matrix, make_user())
    runs = site.until_ended(matrix, 40)
    assert [run.status for run in runs] == [Status.SUCCEEDED, Status.CANCELLED, Status.CANCELLED]
    assert runs[1].reason == Reason.CANCELLED_BY_USER
    assert runs[1].artifacts.filter(kind="hdr").exists()
    assert get_clients(matrix) == []


def test_rejects_wrong_data_of_a_server(site):
    """Records that change under the load: clients verify what they read, and count it under VERIFY."""

    def with_verification(matrix: Matrix) -> None:
        workload = matrix.workloads.get()
        workload.properties["dataintegrity"] = "true"
        workload.save()

    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=4, before=with_verification)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_measured(run)
    deployment = Deployment.objects.get(matrix=matrix)
    password = (Path(deployment.folder) / "password").read_text().strip()
    with redis.Redis(deployment.host, deployment.port, password=password) as server:
        for key in server.scan_iter("user*", count=1000):
            server.hset(key, "field0", "wrong")

    load, measured = site.until_ended(matrix)

    assert (load.status, measured.status) == (Status.SUCCEEDED, Status.SUCCEEDED), measured.reason_detail
    assert "V33" not in dict(rejections(load))
    finding = measured.measurement_sets.get().findings.get(check_id="V33")
    assert (measured.verdict, finding.severity) == ("reject", "reject")
    wrong, total = map(int, re.findall(r"\d+", finding.measured.replace(",", "")))
    assert 0 < wrong < total


def test_it_survives_a_server_that_is_killed_under_the_load(site):
    matrix = site.submit(("redis", "off"), rungs=[2, 4], measure_s=3)
    run = Run.objects.get(matrix=matrix, threads=2, phase=Phase.MEASURE)
    site.until_measured(run)
    os.kill(Deployment.objects.get(matrix=matrix).process["pid"], signal.SIGKILL)
    runs = {run.name: run for run in site.until_ended(matrix)}
    lost = runs["redis off A 2t r1"]
    assert (lost.status, lost.reason) == (Status.FAILED, Reason.SERVER_LOST)
    assert lost.artifacts.filter(kind="server_log").exists()
    assert lost.artifacts.filter(kind="hdr").exists()
    # Without persistence its data is gone, so it is loaded anew before the next rung.
    assert runs["redis off load r2"].status == Status.SUCCEEDED
    assert runs["redis off A 4t r1"].status == Status.SUCCEEDED


@pytest.mark.parametrize(
    ("system", "mode"),
    [
        pytest.param("memcached", "none", marks=[pytest.mark.long, pytest.mark.needs("memcached")]),
        pytest.param("rocksdb", "no-sync", marks=pytest.mark.long),
        pytest.param("redis-cluster", "everysec", marks=pytest.mark.long),
    ],
)
def test_measures_further_systems(site, system, mode):
    def with_system(matrix):
        database = matrix.entries.select_related("database").get().database
        other = make_database(team=matrix.team, cluster=database.cluster, system=system, name="Other", version="")
        matrix.entries.update(database=other, mode=mode)
        if system == "rocksdb":  # One process at a time has its data.
            matrix.load_generators.remove(matrix.load_generators.last())

    matrix = site.submit(("redis", "off"), rungs=[4], before=with_system)
    runs = site.until_ended(matrix)
    assert [(run.status, run.reason_detail) for run in runs] == [(Status.SUCCEEDED, "")] * 2
    for run in runs:
        before, after = run.evidence["before"], run.evidence["after"]
        assert before["in_force"] and before["topology"] == after["topology"] and run.evidence["rows"] == 10_000
        assert run.evidence["server_version"] == before["topology"]["version"]
        assert not run.measurement_sets.get().measurements.filter(failed__gt=0).exists()


def test_it_says_why_a_server_did_not_come_up(site):
    def greedy(matrix: Matrix) -> None:
        Database.objects.filter(entries__matrix=matrix).update(settings={"shared_buffers": "500GB"})

    matrix = site.submit(("postgresql", "on"), rungs=[2], before=greedy)
    load, measured = site.until_ended(matrix)
    assert (load.status, load.reason) == (Status.FAILED, Reason.SERVER_DID_NOT_START)
    assert "could not map anonymous shared memory" in load.reason_detail
    assert (measured.status, measured.reason) == (Status.CANCELLED, Reason.LOAD_FAILED)
    assert get_servers(matrix) == []


def test_it_refuses_clients_of_another_build(site):
    [bindings] = {tuple(bindings.items()) for bindings in LoadGenerator.objects.values_list("bindings", flat=True)}
    matrix = site.submit(("redis", "off"), rungs=[2], before=lambda _: LoadGenerator.objects.update(bindings=OTHER))
    load = site.until_ended(matrix)[0]
    LoadGenerator.objects.update(bindings=dict(bindings))
    assert (load.status, load.reason) == (Status.FAILED, Reason.BINDING_MISMATCH)
    assert "make bindings" in load.reason_detail


def test_tells_cpus_of_servers_clients_and_foreign_processes(site, burner):
    matrix = site.submit(("redis", "everysec"), rungs=[2], measure_s=3)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_stage(run, "measuring")
    run.refresh_from_db()
    cpus = run.evidence["cpus"]
    assert cpus["servers"] and cpus["clients"] and not set(cpus["servers"]) & set(cpus["clients"])
    server = psutil.Process(Deployment.objects.get(matrix=matrix).process["pid"])
    clients = [
        process for process in psutil.process_iter(["cwd"]) if str(settings.WORK_DIR) in (process.info["cwd"] or "")
    ]
    assert clients
    assert server.cpu_affinity() == cpus["servers"]
    assert {tuple(process.cpu_affinity()) for process in clients} == {tuple(cpus["clients"])}

    runs = site.until_ended(matrix)
    assert [run.status for run in runs] == [Status.SUCCEEDED] * 2, [run.reason_detail for run in runs]
    measured = next(run for run in runs if run.phase == Phase.MEASURE)
    finding = Finding.objects.get(measurement_set__run=measured, check_id="V24")
    assert "the database on 1 core" in finding.message or len(cpus["servers"]) > 1

    # Both generators and the server share one machine: it is sampled once, by the conductor, which knows the server.
    samples = read_host_samples(measured, get_sample_artifacts(measured))
    assert [host.machine for host in samples] == [measured.spec["cluster"]["machines"][0]["name"]]
    host = samples[0]
    assert len(host) >= 3  # of 1 s warm-up, 3 s measured and 2 s tail
    for owner in ("servers_cores", "clients_cores", "benchsite_cores"):
        assert 0 < host.mean(owner) < host.cores
    assert host.mean("other_cores") > 0.1 * host.cores
    # Its counters were read beside it, and both are summed up with the cut.
    counters = read_counters(get_sample_artifacts(measured))
    assert len(counters) >= 3 and counters.mean("cache_hits_per_s") > 0
    kept = measured.measurement_sets.get().server_use
    assert kept["hit_ratio"] == 1.0
    assert {use["resource"] for use in kept["uses"]} & {"CPU", "a core"}
    finding = Finding.objects.get(measurement_set__run=measured, check_id="V25")
    assert finding.severity == Finding.Severity.WARN  # Purpose demo never rejects for it.
    assert re.fullmatch(r"[\d.]+ of \d+ cores during \d+\s% of the window", finding.measured)


@pytest.mark.long
def test_merges_four_clients_while_connections_are_terminated(site):
    """Two clients of each generator; nothing is lost and nothing is doubled, whatever the stage."""
    assert set(LoadGenerator.objects.values_list("slots", flat=True)) == {2}
    with connections_terminated("conductor", "scheduler", *GENERATORS, every_s=0.5) as counts:
        matrix = site.submit(("redis", "everysec"), rungs=[8], measure_s=3, processes_per_generator=2)
        runs = site.until_ended(matrix)
    assert [(run.status, run.reason_detail) for run in runs] == [(Status.SUCCEEDED, "")] * 2
    assert sum(counts) >= 10
    for run in runs:
        clients = list(run.client_runs.select_related("load_generator"))
        assert Counter(client.load_generator.name for client in clients) == dict.fromkeys(GENERATORS, 2)
        # None began before all were connected.
        assert max(client.ready_at for client in clients) <= run.starts_at
        assert all(client.facts["started_epoch_s"] >= run.starts_at.timestamp() - 0.1 for client in clients)
        kept = run.measurement_sets.get()
        assert (kept.clients_merged, kept.clients_expected) == (4, 4)
        assert {entry["number"] for entry in kept.clients} == {0, 1, 2, 3}
        stages = [Stage.LOADING] if run.phase == Phase.LOAD else [Stage.PREPARING, Stage.MEASURING]
        assert Counter(RunEvent.objects.filter(run=run, kind="stage").values_list("new", flat=True)) == Counter(
            [Stage.PROVISIONING, *stages, Stage.COLLECTING, Stage.JUDGING]
        )
        statuses = RunEvent.objects.filter(run=run, kind="status").order_by("pk").values_list("new", flat=True)
        assert list(statuses)[-3:] == [Status.DISPATCHED, Status.RUNNING, Status.SUCCEEDED]
        assert len(statuses) in (3, 4)  # Queued, where submission says so.
    measured = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    assert [client.order["threads"] for client in measured.client_runs.all()] == [2, 2, 2, 2]
    assert measured.evidence["rows"] == 10_000

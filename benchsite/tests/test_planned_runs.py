"""Plans with client groups, open loads, settling, inserts and exporters, from the queue to results on real servers."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import psutil
import pytest
from django.test import Client
from django.urls import reverse
from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from benchsite.accounts import tokens
from benchsite.accounts.models import Role
from benchsite.tests.live_site import LiveSite, rejections, shared_site as site
from runs.models import Artifact, ClientRun, Finding, Matrix, MeasurementSet, Phase, Run, Workload
from runs.models.run import Status
from runs.plans.plan_spec import PlanGroup
from runs.queue import lifecycle
from runs.results.recording import recompute
from runs.results.recording.recut import recut
from runs.results.recording.server_samples import read_exporters
from runs.tests.factories import make_user, make_workload
from runs.tests.world import browser
from runs.ycsb.command import TAIL_S
from runs.ycsb.properties import CORE_WORKLOADS, check_workload
from workers.probe.node_probe import PUSH_INTERVAL_S
from workers.tests.test_node_probe import PROBE

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]
READS = {"readproportion": "1.0", "updateproportion": "0.0"}
SCANS = {"readproportion": "0.0", "updateproportion": "0.0", "scanproportion": "1.0", "maxscanlength": "50"}
RATE = 400
OPEN = {"ladder": Matrix.Ladder.TARGET, "threads": 16, "arrivals": "poisson"}
WARMUP_S, SETTLE_S, MEASURE_S = 1, 12, 8
RECORDS = 2_000


@pytest.fixture(scope="module", autouse=True)
def networks() -> Iterator[None]:
    """Where exporters may be, in the environment of the site that starts behind it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHSITE_EXTERNAL_NETWORKS", "127.0.0.0/8")
        yield


def measure_run(site: LiveSite, system: str, mode: str, **fields: Any) -> tuple[Run, MeasurementSet]:
    """The measured run of a plan of one rung, once all its runs have succeeded."""
    runs = site.until_ended(site.submit((system, mode), repeats=1, **fields))
    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}
    run = next(run for run in runs if run.phase == Phase.MEASURE)
    return run, run.measurement_sets.get(is_current=True)


def measure_groups(
    site: LiveSite, system: str, mode: str, mix: dict[str, str], groups: list[PlanGroup], **ladder: str
) -> tuple[Run, MeasurementSet]:
    """A run with these groups, whose workload "Beside" has that mix over the records of the ladder."""

    def add_groups(matrix: Matrix) -> None:
        own = matrix.workloads.get()
        make_workload(team=matrix.team, name="Beside", short_name="X", properties={**own.properties, **mix})
        matrix.workloads.update(properties={**own.properties, **ladder})
        Matrix.objects.filter(pk=matrix.pk).update(groups=[group.model_dump() for group in groups])

    return measure_run(site, system, mode, rungs=[8], measure_s=6, before=add_groups)


def group(name: str, **fields: Any) -> PlanGroup:
    return PlanGroup(name=name, workload="Beside", **{"threads": 2, **fields})


@pytest.fixture(scope="module")
def grouped(site: LiveSite) -> tuple[Run, MeasurementSet]:
    """One group shares the load generators of the ladder, the other has its own and works for a part of the window."""
    return measure_groups(
        site, "redis", "off", READS,
        [
            group("tenant", target_ops_s=200, arrivals="poisson", patience_ms="never", threads=8, measured=True),
            group("burst", generators=1, start_s=2, length_s=3),
        ],
    )  # fmt: skip


def test_groups_stand_beside_the_ladder(grouped: tuple[Run, MeasurementSet]) -> None:
    run, measured = grouped

    clients = set(run.client_runs.values_list("group", "load_generator__name"))
    assert clients == {("", "generator-1"), ("tenant", "generator-1"), ("burst", "generator-2")}
    assert [client["number"] for client in measured.clients] == [0]
    tenant, burst = measured.groups
    assert tenant["numbers"]["throughput_ops_s"] == pytest.approx(200, rel=0.2)
    assert tenant["numbers"]["arrivals"]["offered"] == tenant["numbers"]["arrivals"]["started"]
    assert {line["operation"] for line in tenant["measurements"]} == {"READ"}
    assert {finding["check_id"] for finding in tenant["findings"]} >= {"V36", "V37", "V38"}
    assert measured.window_from is not None
    began_s = burst["from_s"] - measured.window_from.timestamp()
    assert began_s == pytest.approx(2, abs=1)
    assert burst["numbers"]["window_s"] == pytest.approx(3, abs=0.5)
    assert min(burst["curve"]["second"]) == pytest.approx(1 + 2, abs=1)
    assert burst["numbers"]["throughput_ops_s"] > 200
    check = measured.findings.get(check_id="V40")
    assert check.severity != "not_assessed"
    whole = {row["name"]: row["numbers"]["operations"] for row in measured.groups}
    assert measured.operations not in whole.values()
    assert measured.measurements.filter(operation="UPDATE").exists()


def test_pages_and_rest_show_groups(grouped: tuple[Run, MeasurementSet]) -> None:
    run, measured = grouped
    client = Client()
    client.force_login(make_user(team=run.team))

    page = client.get(reverse("run", args=[run.pk])).content.decode()
    panel = page.partition('id="groups"')[2].partition("</section>")[0]
    assert "tenant" in panel and "background" in panel and "Beside, 2 threads" in panel
    table = client.get(reverse("figure-run-series-data", args=[run.pk, "json"])).content.decode()
    assert "tenant" in table

    before = measured.groups
    again = recut(run, warmup_s=2.0, tail_s=1.0, user=make_user(team=run.team))
    assert again.groups == before
    assert again.findings.get(check_id="V40").message == measured.findings.get(check_id="V40").message
    rebuilt = recompute.rebuild(Run.objects.get(pk=run.pk))
    assert [line for line in rebuilt.differences if "group" in line] == []


@pytest.mark.long
def test_scans_beside_reads_on_postgresql(site: LiveSite) -> None:
    run, measured = measure_groups(site, "postgresql", "off", SCANS, [group("scans", target_ops_s=10)])

    assert rejections(run) == []
    (scans,) = measured.groups
    assert {line["operation"] for line in scans["measurements"]} == {"SCAN"}
    assert scans["numbers"]["throughput_ops_s"] == pytest.approx(10, rel=0.4)
    assert not measured.measurements.filter(operation="SCAN").exists()
    assert ClientRun.objects.filter(run=run, group="scans").count() == 2
    assert run.sweep is not None and run.sweep.name.endswith(" + scans")
    assert Workload.objects.filter(team=run.team, name="Beside").exists()


@pytest.mark.parametrize(
    ("system", "mode"), [("redis", "off"), pytest.param("postgresql", "on", marks=pytest.mark.long)]
)
@pytest.mark.parametrize(
    "ladder",
    [
        pytest.param({}, id="groups alone", marks=pytest.mark.long),
        pytest.param({"insertproportion": "0.2", "updateproportion": "0.3"}, id="ladder too"),
    ],
)
def test_groups_insert_keys_of_their_own(site: LiveSite, system: str, mode: str, ladder: dict[str, str]) -> None:
    mix = {"readproportion": "0.5", "updateproportion": "0", "insertproportion": "0.5"}
    run, measured = measure_groups(
        site, system, mode, mix, [group("one", target_ops_s=200), group("other", generators=1, start_s=2)], **ladder
    )

    assert not {"V19", "V39"} & {check for check, _ in rejections(run)}
    clients = run.client_runs.order_by("number")
    inserting = [client for client in clients if client.group or ladder]
    numbers = [client.order["properties"]["client.number"] for client in inserting]
    assert numbers == [str(number) for number in range(len(inserting))] and len(inserting) == 2 + bool(ladder)
    inserted = sum(client.facts["inserted"] for client in inserting)
    present = run.evidence["inserted_records"]
    # An insert that a client never saw the end of may be there.
    assert 0 < inserted <= present <= sum(client.facts["inserts"] for client in inserting)
    assert measured.findings.get(check_id="V39").severity == Finding.Severity.PASS
    assert all(finding["check_id"] != "V39" for row in measured.groups for finding in row["findings"])


def measure_open(site: LiveSite, system: str, mode: str, **fields: Any) -> tuple[Run, MeasurementSet]:
    return measure_run(site, system, mode, rungs=[RATE], measure_s=4, **{**OPEN, **fields})


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("redis", "off"), id="redis"),
        pytest.param(("postgresql", "on"), id="postgresql", marks=pytest.mark.long),
    ],
)
def patient(site: LiveSite, request: pytest.FixtureRequest) -> tuple[Run, MeasurementSet]:
    """A run whose arrivals wait until they are begun."""
    return measure_open(site, *request.param, patience_ms="never")


def test_arrivals_are_counted_and_stored(patient: tuple[Run, MeasurementSet]) -> None:
    run, measured = patient

    arrivals = measured.arrivals
    assert arrivals["offered"] == arrivals["started"] > 0
    assert arrivals["dropped"] == 0
    assert arrivals["offered_ops_s"] == pytest.approx(RATE, rel=0.15)
    assert measured.throughput_ops_s == pytest.approx(arrivals["offered_ops_s"], rel=0.1)
    assert set(arrivals["operations"]) == {"READ", "UPDATE"}
    assert arrivals["operations"]["READ"]["offered_percentiles_us"]["99"] > 0
    assert {row.latency_kind for row in measured.measurements.filter(operation="READ")} == {"service", "response"}
    assert Artifact.objects.filter(run=run, kind="arrivals").count() == run.client_runs.count()
    findings = {finding.check_id: finding.severity for finding in measured.findings.all()}
    assert findings["V37"] == Finding.Severity.PASS
    assert findings["V38"] == Finding.Severity.PASS
    assert findings["V36"] != Finding.Severity.NOT_ASSESSED


def test_threads_that_are_busy_drop_what_comes(site: LiveSite) -> None:
    """Two threads and a patience of 1 µs: of arrivals close to each other the later ones find no thread in time."""
    run, measured = measure_open(site, "redis", "off", threads=2, patience_ms=0.001)

    arrivals = measured.arrivals
    assert arrivals["dropped"] > 0
    assert arrivals["offered"] == arrivals["started"] + arrivals["dropped"]
    low, high = arrivals["dropped_interval"]
    assert low < arrivals["dropped"] / arrivals["offered"] < high
    target = measured.findings.get(check_id="V09")
    assert target.severity == Finding.Severity.WARN
    assert run.throughput_ops_s is not None and run.throughput_ops_s < RATE


def test_clients_share_the_rate_and_have_seeds_of_their_own(patient: tuple[Run, MeasurementSet]) -> None:
    run, _ = patient

    orders = [client.order["properties"] for client in run.client_runs.order_by("number")]
    assert sum(float(order["open.rate"]) for order in orders) == pytest.approx(RATE)
    assert len({order["open.seed"] for order in orders}) == len(orders) == 2
    assert all("target" not in order for order in orders)


@pytest.mark.parametrize("system", ["redis", pytest.param("postgresql", marks=pytest.mark.long)])
def test_a_run_is_measured_once_it_is_steady(site: LiveSite, system: str) -> None:
    run, measured = measure_run(
        site, system, "off", rungs=[4], warmup_s=WARMUP_S, settle_s=SETTLE_S, measure_s=MEASURE_S
    )

    assert WARMUP_S <= measured.warmup_s <= WARMUP_S + SETTLE_S
    assert measured.window_s == pytest.approx(WARMUP_S + SETTLE_S - measured.warmup_s + MEASURE_S, abs=1.5)
    assert run.evidence["settled"]["waited_s"] <= SETTLE_S + 2
    assert {order["duration_s"] for order in run.client_runs.values_list("order", flat=True)} == {
        WARMUP_S + SETTLE_S + MEASURE_S + TAIL_S
    }


@pytest.mark.parametrize(
    "ladder",
    [
        pytest.param({"rungs": [2], "min_operations": 100_000}, id="threads"),
        pytest.param({"ladder": "target", "threads": 8, "rungs": [500], "min_operations": 5_000}, id="target"),
    ],
)
def test_a_run_ends_once_its_operations_are_done(site: LiveSite, ladder: dict[str, Any]) -> None:
    run, measured = measure_run(site, "redis", "off", measure_s=2, max_measure_s=120, **ladder)

    assert run.starts_at is not None and run.ends_at is not None
    lasted_s = (run.ends_at - run.starts_at).total_seconds() - WARMUP_S - TAIL_S
    assert 2 < lasted_s < 120
    assert measured.window_s == pytest.approx(lasted_s, abs=1.5)
    assert measured.operations >= ladder["min_operations"]
    assert {check for check, _ in rejections(run)} <= {"V05"}
    assert "asks for" not in measured.findings.get(check_id="V05").message
    assert [row.exit_code for row in run.client_runs.all()] == [0, 0]
    ends = [client["ended_s"] for client in measured.clients]
    assert max(ends) - min(ends) < 1.5
    assert list(recompute.rebuild(Run.objects.get(pk=run.pk)).differences) == []


def test_a_run_ends_at_its_longest_time(site: LiveSite) -> None:
    run, measured = measure_run(site, "redis", "off", rungs=[2], measure_s=2, max_measure_s=8, min_operations=10**9)

    assert run.ends_at is None
    assert measured.window_s == pytest.approx(8, abs=1.5)
    assert "asks for" in measured.findings.get(check_id="V05").message


def check_inserts(run: Run, clients: int) -> None:
    """The records that the server holds are those that the clients were told of."""
    run.refresh_from_db()
    assert (run.status, run.reason_detail) == (Status.SUCCEEDED, "")
    assert rejections(run) == []
    rows = list(run.client_runs.order_by("number"))
    numbers = [(row.order["properties"]["client.number"], row.order["properties"]["client.count"]) for row in rows]
    assert numbers == [(str(number), str(clients)) for number in range(clients)]
    acknowledged = sum(row.facts["inserted"] for row in rows)
    assert all(row.facts["inserted"] > 0 for row in rows)
    assert acknowledged <= run.evidence["inserted_records"] <= sum(row.facts["inserts"] for row in rows)
    findings = {finding.check_id: finding for finding in run.measurement_sets.get().findings.all()}
    assert findings["V39"].severity == "pass", findings["V39"].message
    assert "0\N{NARROW NO-BREAK SPACE}% not found" in findings["V07"].measured


@pytest.mark.parametrize(
    ("letter", "processes", "systems"),
    [
        pytest.param("D", 2, ["redis"], id="D"),
        pytest.param("D", 2, ["postgresql"], id="D on PostgreSQL", marks=pytest.mark.long),
        pytest.param("E", 1, ["redis", "postgresql"], id="E", marks=pytest.mark.long),
    ],
)
def test_inserts_of_all_clients_are_there(site, letter, processes, systems):
    properties = check_workload({**CORE_WORKLOADS[letter], "recordcount": str(RECORDS)})

    def insert(matrix):
        matrix.workloads.update(properties=properties)

    entries = [(system, "off") for system in systems]
    matrix = site.submit(*entries, rungs=[4], processes_per_generator=processes, before=insert)
    site.until_ended(matrix)

    measured = list(Run.objects.filter(matrix=matrix, phase=Phase.MEASURE))
    assert len(measured) == len(systems)
    for run in measured:
        check_inserts(run, 2 * processes)
    again = lifecycle.run_again(measured[0], make_user(team=matrix.team, role="runner"))
    site.until_ended(matrix)
    check_inserts(again, 2 * processes)
    assert matrix.workloads.get().properties == properties


@pytest.fixture
def exporter() -> Iterator[str]:
    """The URL of an exporter like that of a machine and its Redis."""
    registry = CollectorRegistry()
    clock = Gauge("clock_seconds", "Its own time", registry=registry)
    clock.set_function(time.time)
    Gauge("redis_memory_used_bytes", "Memory", registry=registry).set(3 * 2**20)
    commands = Counter("redis_commands_processed", "Commands", registry=registry)
    commands.inc(7)
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    server.server_close()
    thread.join(5)


def measure_scraped(site: LiveSite, *exporters: str) -> Run:
    def add_exporters(matrix: Matrix) -> None:
        entry = matrix.entries.select_related("database__cluster").get()
        entry.database.cluster.exporters = list(exporters)
        entry.database.cluster.save()

    run, _ = measure_run(site, "redis", "off", rungs=[4], measure_s=9, before=add_exporters)
    return run


@contextmanager
def watch(*options: str, token: str) -> Iterator[subprocess.Popen[str]]:
    """The probe's file, as on a machine with nothing else of Benchsite."""
    command = [sys.executable, "-I", "-S", str(PROBE), "--watch", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={"BENCHSITE_TOKEN": token})
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=10)


def test_machine_pushes_its_metrics(site: LiveSite) -> None:
    """To a site that reaches no exporter there, with a token that may upload runs."""
    with ExitStack() as pushing:

        def push(matrix: Matrix) -> None:
            cluster = matrix.entries.get().database.cluster
            user = make_user(team=matrix.team, role=Role.RUNNER)
            token = tokens.make(matrix.team, user, name="db1", scopes=["runs:write"])
            url = f"http://127.0.0.1:{site.port}/api/v1/clusters/{cluster.pk}/metrics"
            machine = cluster.nodes.get().machine.name
            process = pushing.enter_context(watch(url, "--name", machine, token=token))
            assert process.stderr is not None and process.stderr.readline() == "pushing\n"
            with watch(url, "--name", "another", token=token) as refused:
                assert refused.wait(10) == 1
            with watch(url, token="bs_wrong") as refused:
                assert refused.wait(10) == 1

        run, _ = measure_run(site, "redis", "off", rungs=[4], measure_s=9, before=push)

    [pushed] = run.evidence["exporters"]
    assert pushed["url"].startswith("benchsite-probe.py --watch on ") and pushed["problem"] == ""
    assert pushed["samples"] >= 4
    series = {entry.text: entry for entry in read_exporters(run)}
    memory = series["node_memory_MemTotal_bytes"]
    assert set(memory.values) == {psutil.virtual_memory().total}
    assert np.diff(memory.at_s) == pytest.approx(PUSH_INTERVAL_S, abs=1)
    assert {"CPU (cores)", "memory available (MiB)"} <= set(draw(browser(run.team, Role.VIEWER), run, ""))


def draw(client: Client, run: Run, search: str) -> dict[str, list[float]]:
    """The lines of the figure by the title of their panel."""
    figure = client.get(reverse("figure-run-exporters", args=[run.pk]), {"search": search}).json()
    table = figure["table"]
    assert table["columns"] == ["second", "quantity", "of", "value"]
    lines: dict[str, list[float]] = {}
    for _, quantity, _, value in table["rows"]:
        lines.setdefault(quantity, []).append(value)
    return lines


def test_metrics_are_kept_drawn_and_searched(site: LiveSite, exporter: str) -> None:
    gone = "http://127.0.0.1:9/metrics"
    run = measure_scraped(site, exporter, gone)
    client = browser(run.team, Role.VIEWER)

    stated, silent = run.evidence["exporters"]
    assert (stated["url"], stated["problem"]) == (exporter, "")
    assert stated["samples"] >= 4
    assert (silent["url"], silent["samples"]) == (gone, 0)
    clock = next(series for series in read_exporters(run) if series.family == "clock_seconds")
    assert clock.values.tolist() == pytest.approx(clock.at_s.tolist(), abs=2)

    preset = draw(client, run, "")
    assert preset["memory used (MiB)"] == [3.0] * stated["samples"]
    assert "commands (1/s)" in preset
    assert list(draw(client, run, "CLOCK sec")) == ["clock_seconds"]

    page = client.get(reverse("run", args=[run.pk]), {"metrics": "clock"}).content.decode()
    assert "?search=clock" in page
    assert gone in page
    assert "Nothing listens there" in page

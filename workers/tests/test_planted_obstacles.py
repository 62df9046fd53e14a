"""What a check of a server rejects, and that a run goes well where it rejects nothing."""

import random
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Timer

import psycopg
import pytest
from django.conf import settings

from benchsite.tests.days import set_test_day
from benchsite.tests.needs import need
from runs.catalog import System, load_catalog
from runs.timeouts import CHECK_CLIENT_TIMEOUT_S, CHECK_SERVER_TIMEOUT_S
from runs.ycsb.command import client_properties_for_run
from workers.generator.client_check import run_check
from workers.probe import server_checks
from workers.probe.check_orders import ClientResult, build_key, build_order, count_connections
from workers.probe.server_checks import STEPS, RunClients, TargetCheck, TargetChecks, check_target
from workers.provision.deadline import Deadline
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.provisioner_factory import site_marks
from workers.provision.servers import Server, ServerSpec
from workers.systems.build import build
from workers.tests.loaded_targets import TABLE, target as data_target
from workers.tests.planted_obstacles import (
    CASES,
    FIELDS,
    PASSWORD,
    QUESTIONS,
    Case,
    Lab,
    Target,
    build_properties,
    find_own_address,
    postgresql_role,
    redis_server,
    silent_to_clients,
)

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
NETWORKS = ["127.0.0.0/8", "::1/128", "0.0.0.0/0"]  # Loopback and this machine's own have to be named.
RECORD = 123_456_789
FIRST_SECONDS = 10
QUESTIONS_S = 2.5
RECORDS = 200
# A share of each make test, another one on each day, so that all have their turn; Cassandra takes too long to start.
SHARES = 11
QUICK = [case for case in CASES if case.system != "cassandra"]
SHARE = {case.name for case in random.Random(1).sample(QUICK, len(QUICK))[int(set_test_day()) % SHARES :: SHARES]}
SLOW = {"postgresql", "mariadb", "cassandra"}


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """With the slow servers of all cases that are about to run."""
    need("openssl")
    calls = [item.callspec for item in request.session.items if hasattr(item, "callspec")]
    cases = [call.params.get("case") for call in calls]
    systems = {case.system for case in cases if isinstance(case, Case)}
    with ExitStack() as opened:
        lab = Lab(tmp_path_factory.mktemp("lab"), opened)
        for system in systems & SLOW:
            getattr(lab, system)
        yield lab


@pytest.fixture(autouse=True)
def site(settings, tmp_path: Path) -> None:
    settings.EXTERNAL_NETWORKS = [*NETWORKS, f"{find_own_address()}/32"]
    settings.WORK_DIR, settings.GUARDED_DIR = tmp_path / "work", tmp_path / "guarded"


def find_digest(system: System) -> str:
    return build(settings.YCSB_DIR, [system.binding.name])[system.binding.name].digest


def run_here(server: Server, number: int, *, writes: bool) -> list[ClientResult]:
    """As a load generator on this machine does."""
    order = build_order(server, find_digest(server.spec.system), number, CHECK_CLIENT_TIMEOUT_S, writes=writes)
    result = run_check(uuid.uuid4(), uuid.uuid4(), order)
    return [ClientResult("here", result.outcome, result.detail, writes)]


def check(system: System, target: Target, run_clients: RunClients = run_here, *, generators: int = 1) -> TargetChecks:
    return check_target(
        system, [target.address], build_properties(system, target.fields), deadline=Deadline(CHECK_SERVER_TIMEOUT_S),
        run_clients=run_clients, record=RECORD, connections=count_connections(generators),
    )  # fmt: skip


def run_killed(server: Server, number: int, *, writes: bool) -> list[ClientResult]:
    """It has written its record when it is killed."""
    [result] = run_here(server, number, writes=writes)
    assert result.outcome == "passed", result
    return [replace(result, outcome="silent")]


@contextmanager
def connected(system: System, target: Target, mode: str = "") -> Iterator[Server]:
    spec = ServerSpec(
        deployment="", system=system, mode=system.modes[mode or next(iter(system.modes))], address=target.address,
        addresses=(target.address,), binding_properties=build_properties(system, target.fields),
    )  # fmt: skip
    provisioner = ExternalProvisioner(spec, allowed_networks=settings.EXTERNAL_NETWORKS)
    try:
        yield provisioner.start()
    finally:
        provisioner.stop()


def run_first_seconds(system: System, target: Target, mode: str) -> str:
    """What a load and the first seconds of a run say of their failure."""
    workload = {
        "recordcount": str(RECORDS), "readproportion": "0.5", "updateproportion": "0.5",
        "requestdistribution": "zipfian",
    }  # fmt: skip
    with connected(system, target, mode) as server:
        data_target(server, records=RECORDS).prepare_load()
        order = build_order(server, find_digest(system), 0, 3 * FIRST_SECONDS, writes=True)
        problems = []
        for phase, threads in (("load", 8), ("measure", 32)):
            order["phase"], order["threads"] = phase, threads
            order["properties"] = client_properties_for_run(
                workload, phase=phase, client=0, clients=1, threads=threads, duration_s=FIRST_SECONDS,
                binding_properties=server.client_properties(workload),
            )  # fmt: skip
            problems.append(run_check(uuid.uuid4(), uuid.uuid4(), order).detail)
        return "".join(problems)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=[] if case.name in SHARE else [pytest.mark.long]) for case in CASES],
)
def test_green_server_runs(case: Case, lab: Lab):
    """It is rejected by the line that names its obstacle, or a load and its first ten seconds go well."""
    system = load_catalog().system(case.system)
    build(settings.YCSB_DIR, [system.binding.name])
    with case.plant(lab) as target:
        checks = check(system, target)
        rejected = [line for line in checks.checks if line.outcome == "reject"]
        failure = ""
        if checks.is_usable:
            failure = run_first_seconds(system, target, next(reversed(checks.modes)))

    assert not failure, checks
    assert [line.name for line in rejected] == ([case.check] if case.check else []), checks
    if case.name in FIELDS:
        assert {*rejected[0].fields} == FIELDS[case.name], checks
    assert checks.is_usable is not bool(case.check), checks


@pytest.mark.parametrize("generators", [1, 2])
def test_connections_of_all_generators_have_to_be_free(lab: Lab, generators: int):
    """As many as the threads of the first ladder's last rung, which are divided among them."""
    system = load_catalog().system("redis")
    build(settings.YCSB_DIR, [system.binding.name])
    with redis_server(lab, "--maxclients", "60") as target:
        checks = check(system, target, generators=generators)

    assert checks.is_usable is (generators == 1), checks
    if generators == 2:
        assert checks.connections is not None
        assert checks.connections.limit == 60 and 0 < checks.connections.used < 10
        assert checks.checks[-1] == TargetCheck("connections", "reject", "66")


def test_server_has_ten_seconds_for_clients(lab: Lab):
    """Of those in which they wait for it; it is silent to them."""
    system, waited_s = load_catalog().system("redis"), []

    def run_timed(server: Server, number: int, *, writes: bool) -> list[ClientResult]:
        results = run_here(server, number, writes=writes)
        waited_s.append(time.monotonic() - proxy.connected_at[QUESTIONS])
        return results

    build(settings.YCSB_DIR, [system.binding.name])
    with redis_server(lab) as target, silent_to_clients(target.port) as proxy:
        checks = check(system, Target(proxy.port), run_timed)

    assert sum(waited_s) < CHECK_CLIENT_TIMEOUT_S + 1
    assert checks.checks[-1].name == "clients" and checks.checks[-1].outcome == "reject", checks


def test_table_and_clients_have_times_of_their_own(lab: Lab):
    """Another session keeps the server from making the table, for as long as all its answers before may take."""
    system = load_catalog().system("postgresql")
    build(settings.YCSB_DIR, [system.binding.name])
    with postgresql_role(lab) as target:
        user, database = target.fields["user"], target.fields["database"]
        with psycopg.connect(
            host=target.host, port=target.port, user=user, password=PASSWORD, dbname=database
        ) as other:
            other.execute(f"CREATE TABLE {TABLE} (number int)")

            def release_later(step: int) -> None:
                if STEPS[step] == "place":
                    Timer(QUESTIONS_S, other.rollback).start()

            checks = check_target(
                system, [target.address], build_properties(system, target.fields), deadline=Deadline(QUESTIONS_S),
                run_clients=run_here, record=RECORD, note_step=release_later,
            )  # fmt: skip

    assert checks.is_usable, checks
    assert checks.checks[-1].detail == "table"


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name in ("redis user may", "postgresql has the right CA")],
    ids=lambda case: case.name,
)
def test_killed_check_leaves_nothing(case: Case, lab: Lab, monkeypatch):
    """The site deletes what a killed client wrote; after a killed site, the next check or load does."""
    system = load_catalog().system(case.system)
    with case.plant(lab) as target, connected(system, target) as server:
        administration, key = server.administration, build_key(RECORD)

        check(system, target, run_clients=run_killed)
        assert not administration.content(TABLE) and not administration.read_marker(TABLE)

        with monkeypatch.context() as patch:
            patch.setattr(server_checks, "_remove_record", lambda *_: None)
            check(system, target, run_clients=run_killed)
        assert administration.count_keys(TABLE, [key]) == 1

        again = check(system, target)
        assert again.is_usable and again.may_write and not administration.content(TABLE)

        with monkeypatch.context() as patch:
            patch.setattr(server_checks, "_remove_record", lambda *_: None)
            check(system, target, run_clients=run_killed)
        loaded = replace(data_target(server), sites=site_marks(), check_keys=[key])
        assert not loaded.prepare_load() and not administration.count_keys(TABLE, [key])

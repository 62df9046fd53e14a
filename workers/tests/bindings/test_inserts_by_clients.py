"""Clients that insert together write keys of their own, and read only what the database acknowledged to them."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.conf import settings

from runs.catalog import load_catalog
from runs.ycsb.command import client_properties_for_run
from runs.ycsb.properties import CORE_WORKLOADS
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.servers import Server, ServerSpec
from workers.systems.build import build, fetch_servers
from workers.systems.manifests import Manifest
from workers.tests.bindings.clients import Ended, StartedClient
from workers.tests.conftest import site_below_var_tmp
from workers.tests.loaded_targets import TABLE, run_client, target

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
RECORDS = 1000
OPERATIONS = 2000  # of each client
SERVERS = [
    pytest.param(("redis", "off"), id="redis"),
    pytest.param(("postgresql", "off"), id="postgresql"),
    pytest.param(
        ("cassandra", "one-periodic"), id="cassandra", marks=[pytest.mark.long, pytest.mark.needs("server-java")]
    ),
]


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    slug, mode = request.param
    system = load_catalog().system(slug)
    if slug == "cassandra":
        fetch_servers(settings.SERVERS_DIR, [slug])
    with site_below_var_tmp() as site:
        provisioner = ProcessProvisioner(ServerSpec(deployment=slug, system=system, mode=system.mode(mode)), site)
        try:
            yield provisioner.start()
        finally:
            provisioner.remove()


def load(server: Server, folder: Path, workload: dict[str, str]) -> None:
    target(server, records=RECORDS).prepare_load()
    loaded = run_client(find_manifest(server), server, folder / "load", "-load", **server.client_properties(workload))
    assert loaded.returns == {"INSERT": {"OK": RECORDS}}, loaded.stderr


def find_manifest(server: Server) -> Manifest:
    slug = server.spec.system.slug
    return build(settings.YCSB_DIR, [slug])[slug]


def run_together(
    server: Server, folder: Path, clients: int, workload: dict[str, str], first_insert: int | None = None
) -> list[Ended]:
    """Runs all clients from one instant on."""
    with ExitStack() as stack:
        started = []
        for number in range(clients):
            properties = client_properties_for_run(
                workload,
                phase="measure",
                client=number,
                clients=clients,
                threads=2,
                duration_s=60,
                first_insert=first_insert,
            )
            properties |= {**server.client_properties(workload), "operationcount": str(OPERATIONS)}
            # The summary goes to standard output, where `Ended` reads it.
            exporter = {name: text for name, text in properties.items() if name != "exporter"}
            client = StartedClient(find_manifest(server), folder / f"client-{number}-of-{clients}", exporter)
            stack.callback(client.kill)
            started.append(client)
        for client in started:
            client.wait_for("BENCHSITE READY")
        for client in started:
            client.go()
        return [client.end() for client in started]


@pytest.mark.parametrize(
    ("letter", "clients"),
    [("D", 4), ("E", 2), pytest.param("D", 2, marks=pytest.mark.long), pytest.param("E", 4, marks=pytest.mark.long)],
)
def test_records_are_loaded_and_acknowledged(server: Server, tmp_path: Path, letter: str, clients: int):
    workload = {**CORE_WORKLOADS[letter], "recordcount": str(RECORDS), "dataintegrity": "true"}
    load(server, tmp_path, workload)
    ended = run_together(server, tmp_path, clients, workload)

    for client in ended:
        assert {code for returns in client.returns.values() for code in returns} == {"OK"}, client.stderr
    inserted = [client.returns["INSERT"]["OK"] for client in ended]
    assert sum(inserted) > clients * OPERATIONS * 0.03
    data = target(server, records=RECORDS)
    assert data.count_range(RECORDS, RECORDS + clients * max(inserted)) == sum(inserted), "none is there twice"
    assert data.count() == RECORDS
    assert server.administration.size(TABLE) == RECORDS + sum(inserted)
    data.note_inserts(clients * (max(inserted) + 2))


@pytest.mark.parametrize("clients", [pytest.param(1, marks=pytest.mark.long), 3])
def test_deletes_take_what_the_client_inserted(server: Server, tmp_path: Path, clients: int):
    mix = {"readproportion": "0.6", "updateproportion": "0", "insertproportion": "0.25", "deleteproportion": "0.15"}
    workload = {**CORE_WORKLOADS["D"], **mix, "recordcount": str(RECORDS), "dataintegrity": "true"}
    load(server, tmp_path, workload)
    ended = run_together(server, tmp_path, clients, workload)

    deleted = sum(client.returns["DELETE"]["OK"] for client in ended)
    inserted = [client.returns["INSERT"]["OK"] for client in ended]
    assert all(set(client.returns["DELETE"]) == {"OK"} for client in ended), "each record is deleted once"
    assert 0 < deleted < sum(inserted)
    data = target(server, records=RECORDS)
    assert data.count_range(RECORDS, RECORDS + clients * max(inserted)) == sum(inserted) - deleted
    assert data.count() == RECORDS
    data.note_inserts(clients * (max(inserted) + 2))


def test_inserts_begin_behind_a_data_set_that_has_grown(server: Server, tmp_path: Path):
    workload = {**CORE_WORKLOADS["D"], "recordcount": str(RECORDS), "dataintegrity": "true"}
    load(server, tmp_path, workload)
    data = target(server, records=RECORDS)
    assert data.find_first_insert() is None
    data.prepare_writes(inserts=True)
    assert data.find_first_insert() is None, "nobody knows how much is inserted meanwhile"
    inserted = sum_inserts(run_together(server, tmp_path, 2, workload))
    data.note_inserts(2 * OPERATIONS)
    first = data.find_first_insert()
    assert first == RECORDS + 2 * OPERATIONS

    more = sum_inserts(run_together(server, tmp_path, 1, workload, first))

    assert data.count_range(first, first + OPERATIONS) == more
    assert server.administration.size(TABLE) == RECORDS + inserted + more
    data.note_inserts(OPERATIONS, first=first)
    assert data.find_first_insert() == first + OPERATIONS
    assert data.prepare_load() == ""
    assert server.administration.size(TABLE) == 0


def sum_inserts(clients: list[Ended]) -> int:
    assert all(set(returns) == {"OK"} for client in clients for returns in client.returns.values())
    return sum(client.returns["INSERT"]["OK"] for client in clients)

"""Clients that insert together write keys of their own, and read only what the database acknowledged to them."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.conf import settings

from runs.catalog import load_catalog
from runs.ycsb.command import client_properties_for_run
from runs.ycsb.properties import CORE_WORKLOADS
from workers.provision.process import ProcessProvisioner
from workers.provision.servers import Server, ServerSpec
from workers.systems.build import build, fetch_servers
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


def run_together(server: Server, folder: Path, clients: int, workload: dict[str, str]) -> list[Ended]:
    """Loads the data set, then runs all clients from one instant on."""
    slug = server.spec.system.slug
    manifest = build(settings.YCSB_DIR, [slug])[slug]
    target(server, records=RECORDS).prepare_load()
    of_server = server.client_properties(workload)
    loaded = run_client(manifest, server, folder / "load", "-load", **of_server)
    assert loaded.returns == {"INSERT": {"OK": RECORDS}}, loaded.stderr
    with ExitStack() as stack:
        started = []
        for number in range(clients):
            properties = client_properties_for_run(
                workload, phase="measure", client=number, clients=clients, threads=2, duration_s=60
            )
            properties |= {**of_server, "operationcount": str(OPERATIONS)}
            # The summary goes to standard output, where `Ended` reads it.
            exporter = {name: text for name, text in properties.items() if name != "exporter"}
            client = StartedClient(manifest, folder / f"client-{number}", exporter)
            stack.callback(client.kill)
            started.append(client)
        for client in started:
            client.wait_for("BENCHSITE READY")
        for client in started:
            client.go()
        return [client.end() for client in started]


@pytest.mark.parametrize("clients", [2, 4])
@pytest.mark.parametrize("letter", ["D", "E"])
def test_records_are_loaded_and_acknowledged(server: Server, tmp_path: Path, letter: str, clients: int):
    workload = {**CORE_WORKLOADS[letter], "recordcount": str(RECORDS), "dataintegrity": "true"}
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


@pytest.mark.parametrize("clients", [1, 3])
def test_deletes_take_what_the_client_inserted(server: Server, tmp_path: Path, clients: int):
    mix = {"readproportion": "0.6", "updateproportion": "0", "insertproportion": "0.25", "deleteproportion": "0.15"}
    workload = {**CORE_WORKLOADS["D"], **mix, "recordcount": str(RECORDS), "dataintegrity": "true"}
    ended = run_together(server, tmp_path, clients, workload)

    deleted = sum(client.returns["DELETE"]["OK"] for client in ended)
    inserted = [client.returns["INSERT"]["OK"] for client in ended]
    assert all(set(client.returns["DELETE"]) == {"OK"} for client in ended), "each record is deleted once"
    assert 0 < deleted < sum(inserted)
    data = target(server, records=RECORDS)
    assert data.count_range(RECORDS, RECORDS + clients * max(inserted)) == sum(inserted) - deleted
    assert data.count() == RECORDS
    data.note_inserts(clients * (max(inserted) + 2))

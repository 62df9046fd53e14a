"""Redis Cluster: three masters as processes, administered at their own addresses and loaded by Redis' binding."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings

from runs.catalog import load_catalog
from runs.ycsb.keys import loaded_keys
from workers.provision.administration import AdministrationError
from workers.provision.administration.factory import administration_for
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.readback import read_back
from workers.provision.servers import Server, ServerDidNotStart, ServerSpec
from workers.systems.build import build
from workers.systems.manifests import Manifest
from workers.tests.bindings.clients import Ended, StartedClient
from workers.tests.conftest import Servers, find_processes, started_server
from workers.tests.loaded_targets import TABLE, run_client, target

pytestmark = pytest.mark.slow
SYSTEM = load_catalog().system("redis-cluster")
SCANS = {"readproportion": "0", "updateproportion": "0", "scanproportion": "1", "maxscanlength": "50"}


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return build(settings.YCSB_DIR, ["redis"])["redis"]


@pytest.fixture(scope="module")
def server(manifest: Manifest) -> Iterator[Server]:
    with started_server(SYSTEM, "everysec") as server:
        yield server


def connect(server: Server, number: int) -> "redis.Redis":
    host, port = server.nodes[number]
    return redis.Redis(host, port, password=server.password, decode_responses=True)


def external(server: Server, *addresses: str) -> ExternalProvisioner:
    spec = ServerSpec(
        deployment="external", system=SYSTEM, mode=SYSTEM.mode("everysec"), address=addresses[0], addresses=addresses,
        binding_properties={"redis.password": server.password},
    )  # fmt: skip
    return ExternalProvisioner(spec, allowed_networks=["127.0.0.0/8"])


def is_ok(ended: Ended, **operations: int) -> None:
    assert {name: codes for name, codes in ended.returns.items() if name != "VERIFY"} == {
        name: {"OK": count} for name, count in operations.items()
    }


def test_masters_share_the_slots_and_state_the_mode(server: Server):
    assert [host for host, _ in server.nodes] == ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    state = read_back(SYSTEM, server.spec.mode, server.administration)
    assert state.in_force, state.differences
    assert state.topology == {
        "nodes_up": "3",
        "version": server.version,
        "process_ids": ", ".join(map(str, server.process["pids"])),  # type: ignore[call-overload]
        "slots": "0-5460, 5461-10921, 10922-16383",
    }


def test_one_master_in_another_mode_is_seen(server: Server):
    with connect(server, 2) as node:
        node.config_set("appendfsync", "always")
        try:
            state = read_back(SYSTEM, server.spec.mode, server.administration)
        finally:
            node.config_set("appendfsync", "everysec")
    assert state.differences == ("appendfsync should be 'everysec', but the server says 'always, everysec'.",)


def test_loads_scans_and_deletes_only_its_own_keys(manifest: Manifest, server: Server, tmp_path: Path):
    """`redis.index` adds a sorted set, which lies on one master and is no record."""
    ours = target(server, records=1000)
    ours.prepare_load()
    is_ok(run_client(manifest, server, tmp_path / "load", "-load", **{"redis.index": "true"}), INSERT=1000)
    shares = []
    for number in range(3):
        with connect(server, number) as node:
            shares.append(node.dbsize())
    assert sum(shares) == 1000 + 2 and min(shares) > 250
    assert ours.count() == server.administration.size(TABLE) == 1000
    scanned = {"operationcount": "200", "dataintegrity": "false", "redis.index": "true", **SCANS}
    is_ok(run_client(manifest, server, tmp_path / "scan", "-t", **scanned), SCAN=200)

    with connect(server, 0) as node:
        stranger = next(f"stranger{n}" for n in range(100) if node.cluster("KEYSLOT", f"stranger{n}") <= 5460)
        node.set(stranger, "x")
        assert server.administration.size(TABLE) == 1001
        keys = [*next(iter(loaded_keys({"recordcount": "10"}).batches(10))), "absent"]
        assert server.administration.delete_keys(TABLE, keys) == 10
        assert server.administration.count_keys(TABLE, [*keys, stranger]) == 1
        node.delete(stranger)
    ours.prepare_load()
    assert server.administration.size(TABLE) == 0


def test_planned_stop_keeps_data_and_cluster(manifest: Manifest, servers: Servers, tmp_path: Path):
    provisioner: ProcessProvisioner = servers("redis-cluster", "off")
    server = provisioner.start()
    ours = target(server, records=300)
    ours.prepare_load()
    is_ok(run_client(manifest, server, tmp_path / "load", "-load", recordcount="300"), INSERT=300)
    provisioner.stop()
    assert find_processes(provisioner.folder) == []
    again = provisioner.start()
    assert again.process != server.process
    assert target(again, records=300).count() == 300


def move_empty_slots(server: Server) -> int:
    """From the first master to the second, among the first 400. Answers how many."""
    nodes = [connect(server, number) for number in range(3)]
    new_master, moved = nodes[1].cluster("MYID"), 0
    for slot in range(400):
        with contextlib.suppress(redis.ResponseError):  # The first master has a record in it.
            for node in nodes:
                node.cluster("SETSLOT", slot, "NODE", new_master)
            moved += 1
    for node in nodes:
        node.close()
    return moved


def test_client_follows_slots_that_moved(manifest: Manifest, servers: Servers, tmp_path: Path):
    server = servers("redis-cluster", "everysec").start()
    properties = {**server.client_properties(), "benchsite.retries.insert": "1", "target": "600"}
    client = StartedClient(manifest, tmp_path / "load", properties, phase="-load")
    try:
        client.go()
        with connect(server, 0) as node:
            end = time.monotonic() + 30
            while node.dbsize() < 20 and time.monotonic() < end:
                time.sleep(0.02)
        assert move_empty_slots(server) > 300
        ended = client.end()
    finally:
        client.kill()
    is_ok(ended, INSERT=1000)
    assert ended.lines("BENCHSITE RECONNECTIONS")
    assert target(server, records=1000).count() == 1000


def test_external_cluster_is_named_by_all_masters(server: Server):
    addresses = [f"{host}:{port}" for host, port in server.nodes]
    provisioner = external(server, *addresses)
    assert provisioner.start().administration.topology()["nodes_up"] == "3"
    partial = external(server, *addresses[:2]).start()
    with pytest.raises(AdministrationError, match="have 10,922 of 16,384 slots: name the addresses of all its masters"):
        partial.administration.read_marker(TABLE)
    with pytest.raises(ServerDidNotStart, match="Connection refused"):
        external(server, "127.0.0.4:1").start()


def test_wrong_passwords_are_refused(server: Server):
    wrong = administration_for(SYSTEM, {**server.client_properties(), "redis.password": "Wrong-Horse"})
    with pytest.raises(AdministrationError, match="invalid username-password") as refused:
        wrong.ping()
    assert "Wrong-Horse" not in str(refused.value)

"""HBase as a standalone process, administered by the program of its binding and loaded by Benchsite's own client."""

import dataclasses
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from django.conf import settings

from runs.catalog import load_catalog
from runs.ycsb.tests.hdrlogs import each_interval
from workers.provision.administration import Administration, AdministrationError
from workers.provision.administration.factory import administration_for
from workers.provision.ports import free_port
from workers.provision.readback import read_back
from workers.provision.servers import Server, ServerDidNotStart
from workers.systems.build import build, fetch_servers
from workers.systems.manifests import Manifest
from workers.tests.bindings.clients import StartedClient
from workers.tests.conftest import Servers, started_server
from workers.tests.loaded_targets import TABLE, check_table_ownership, run_client, target
from workers.tests.test_memcached import make_certificates

pytestmark = [pytest.mark.slow, pytest.mark.needs("server-java")]
SYSTEM = load_catalog().system("hbase")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    fetch_servers(settings.SERVERS_DIR, ["hbase"])
    return build(settings.YCSB_DIR, ["hbase"])["hbase"]


@pytest.fixture(scope="module")
def server(manifest: Manifest) -> Iterator[Server]:
    with started_server(SYSTEM, "sync-wal-local") as server:
        yield server


@pytest.mark.long
@pytest.mark.timeout(400)
def test_loads_runs_and_reads_its_mode(manifest: Manifest, server: Server, tmp_path: Path):
    state = read_back(SYSTEM, server.spec.mode, server.administration)
    assert (state.found, state.differences) == ({"file_system": "raw-local"}, ())
    assert state.topology == {"version": server.version, "region_servers": "1", "dead_region_servers": "0"}
    on_hdfs = read_back(SYSTEM, SYSTEM.mode("sync-wal-one-copy"), server.administration)
    assert on_hdfs.differences[0] == "file_system should be 'hdfs', but the server says 'raw-local'."
    ours = target(server, records=1000)
    ours.prepare_load()
    assert run_client(manifest, server, tmp_path / "load", "-load").returns == {"INSERT": {"OK": 1000}}
    assert (ours.count(), server.administration.size(TABLE)) == (1000, 1000)
    ended = run_client(manifest, server, tmp_path / "run", "-t", operationcount="500")
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())
    with server.administration.open_counters() as read_counters:
        counts = read_counters().counts
    assert counts["log_writes"] >= 1000 and counts["log_syncs"] > 0 and counts["log_bytes"] > 1_000_000
    keys = next(iter(ours.keys.batches(10)))
    assert server.administration.delete_keys(TABLE, [*keys, "stranger"]) == 10
    assert server.administration.size(TABLE) == 990


@pytest.mark.long
@pytest.mark.timeout(900)
def test_tables_are_split_from_the_beginning(server: Server):
    before = count_regions(server.administration)

    for splits in ("0", "200"):
        properties = {**server.client_properties(), "hbase.splits": splits}
        with closing(administration_for(SYSTEM, properties)) as administration:
            assert administration.create_table(f"split{splits}", ["field0"], "{}")

    assert count_regions(server.administration) - before == 10 + 201


def count_regions(administration: Administration) -> float:
    """Of all tables, once the server's metrics have settled, which it takes every five seconds."""
    counts: list[float] = []
    until = time.monotonic() + 200
    while len(counts) < 4 or len(set(counts[-4:])) > 1:
        assert time.monotonic() < until, counts
        time.sleep(2)
        with suppress(AdministrationError), administration.open_counters() as read_counters:
            counts.append(read_counters().values["regions"])
    return counts[-1]


@pytest.mark.long
def test_data_of_others_is_never_written(server: Server):
    check_table_ownership(server)
    administration = server.administration
    marker = administration.read_marker("owned")
    assert administration.write_marker("owned", '{"n": 2}', replaces=marker)
    assert administration.read_marker("owned") == '{"n": 2}'
    properties = {**server.client_properties(), "hbase.family": "absent"}
    other = administration_for(SYSTEM, properties)
    with pytest.raises(AdministrationError, match="table owned has no column family absent"):
        other.read_marker("owned")
    other.close()


@pytest.mark.long
def test_scans_in_order_and_buffers_where_asked(manifest: Manifest, server: Server, tmp_path: Path):
    ours = target(server, table="buffered", records=1000)
    ours.prepare_load()
    buffering = {"table": "buffered", "hbase.write_buffer_kb": "64"}
    assert run_client(manifest, server, tmp_path / "load", "-load", **buffering).returns == {"INSERT": {"OK": 1000}}
    assert ours.count() == 1000
    scans = {"readproportion": "0", "updateproportion": "0", "scanproportion": "1", "maxscanlength": "20"}
    ended = run_client(
        manifest, server, tmp_path / "scan", "-t", table="buffered", operationcount="50", dataintegrity="false", **scans
    )
    assert ended.returns == {"SCAN": {"OK": 50}}


@pytest.mark.long
def test_missing_tables_and_servers_are_errors(manifest: Manifest, server: Server, tmp_path: Path):
    properties = {"operationcount": "20", "dataintegrity": "false", "table": "nowhere"}
    ended = run_client(manifest, server, tmp_path / "nowhere", "-t", **properties)
    assert set(ended.returns["READ"]) == {"BAD_REQUEST"}
    assert all(" at org.apache" not in line for line in ended.lines("BENCHSITE ERROR "))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_planned_stop_keeps_what_skipped_the_log(manifest: Manifest, servers: Servers, tmp_path: Path):
    provisioner = servers("hbase", "skip-wal")
    server = provisioner.start()
    target(server, records=1000).prepare_load()
    run_client(manifest, server, tmp_path / "load", "-load")
    provisioner.stop()
    assert target(provisioner.start(), records=1000).count() == 1000


@pytest.mark.long
@pytest.mark.timeout(900)
def test_clients_outlive_a_killed_server(manifest: Manifest, servers: Servers, tmp_path: Path):
    """In the middle of a run: acknowledged writes are there, and the same client goes on with the next server."""
    provisioner = servers("hbase", "sync-wal-local", port=free_port())
    server = provisioner.start()
    ours = target(server, records=1000)
    ours.prepare_load()
    run_client(manifest, server, tmp_path / "load", "-load")
    properties = {**server.client_properties(), "maxexecutiontime": "120", "target": "50"}
    client = StartedClient(manifest, tmp_path / "run", properties, phase="-t")
    try:
        client.go()
        client.wait_for("BENCHSITE STARTED")
        provisioner.stop(planned=False)
        again = provisioner.start()
        assert target(again, records=1000).count() == 1000
        ended = client.end(patience_s=180)  # The server may be back after few of its 120 s.
    finally:
        client.kill()
    assert ended.lines("BENCHSITE RECONNECTIONS ")
    last = [interval for interval in each_interval(ended.log("READ")) if interval.length_s > 0.5][-1]
    assert last.histogram.count > 5


def test_modes_on_hdfs_are_refused(servers: Servers):
    for mode in ("sync-wal-one-copy", "fsync-wal"):
        with pytest.raises(ServerDidNotStart, match="needs file_system = hdfs, and servers that Benchsite starts have"):
            servers("hbase", mode).start()


@pytest.mark.long
@pytest.mark.timeout(400)
def test_encrypts_and_shows_its_certificate(manifest: Manifest, servers: Servers, tmp_path: Path):
    """The server demands certificates of its clients; its own names localhost and not 127.0.0.1."""
    pem = make_certificates(tmp_path)
    provisioner = servers("hbase", "skip-wal")
    folder = provisioner.folder
    tls = {f"hbase.rpc.tls.{store}store.location": f"{folder}/{store}.pem" for store in ("key", "trust")}
    for side in ("server", "client"):
        tls |= {f"hbase.{side}.netty.tls.enabled": "true"}
    tls |= {"hbase.server.netty.tls.client.auth.mode": "NEED", "hbase.server.netty.tls.supportplaintext": "false"}
    tls |= {"hbase.server.netty.tls.verify.client.hostname": "false"}
    tls |= {"hbase.client.netty.tls.verify.server.hostname": "false"}
    recipe = provisioner.recipe
    files = {**recipe.files, "key.pem": pem["server.key"] + pem["server.pem"], "trust.pem": pem["ca.pem"]}
    recipe = recipe.model_copy(update={"fixed": {**recipe.fixed, **tls}, "files": files})
    client = {"hbase.tls": "verify-ca", "hbase.tls.ca": pem["ca.pem"], "hbase.tls.certificate": pem["client.pem"]}
    client |= {"hbase.tls.key": pem["client.key"]}
    provisioner.recipe = recipe
    provisioner.spec = dataclasses.replace(
        provisioner.spec,
        system=SYSTEM.model_copy(update={"process": recipe}),
        binding_properties=SYSTEM.check_binding_properties(client),
    )
    server = provisioner.start()
    target(server).prepare_load()
    ended = run_client(manifest, server, tmp_path / "load", "-load", recordcount="100")
    assert ended.returns == {"INSERT": {"OK": 100}}
    properties = server.client_properties()
    for changed, message in (
        ({"hbase.tls": "verify-full"}, "doesn't match any of the subject alternative names"),
        ({"hbase.tls.ca": ""}, "unable to find valid certification path"),
        ({"hbase.tls": "disable"}, "."),
    ):
        refused = administration_for(SYSTEM, {**properties, **changed})
        with closing(refused), pytest.raises(AdministrationError, match=message):
            refused.ping()

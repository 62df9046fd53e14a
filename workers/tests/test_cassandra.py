"""Cassandra as a process, asked by the program of its binding and loaded by Benchsite's own client."""

import dataclasses
import json
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from runs.catalog import System, load_catalog
from workers.provision.administration import AdministrationError
from workers.provision.administration.admin_client import ProgramAdministration
from workers.provision.administration.factory import administration_for
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.ports import free_port
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.readback import read_back
from workers.provision.servers import Server, ServerSpec
from workers.systems.build import build, fetch_servers
from workers.systems.manifests import Manifest
from workers.tests.conftest import Servers, site_below_var_tmp
from workers.tests.loaded_targets import FIELDS, TABLE, check_table_ownership, run_client, target
from workers.tests.test_memcached import make_certificates

pytestmark = [pytest.mark.slow, pytest.mark.needs("server-java")]
SYSTEM = load_catalog().system("cassandra")
COPIES = 3


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    fetch_servers(settings.SERVERS_DIR, ["cassandra"])
    return build(settings.YCSB_DIR, ["cassandra"])["cassandra"]


def add_tls(pems: Mapping[str, str], *, is_optional: bool) -> System:
    """Cassandra whose nodes demand certificates of their encrypted clients, which are all unless TLS is optional."""
    assert SYSTEM.process is not None
    options = {
        "enabled": True, "optional": is_optional, "require_client_auth": True,
        "ssl_context_factory": {"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"},
        "keystore": "{folder}/node.pem", "truststore": "{folder}/ca.pem",
    }  # fmt: skip
    head = f"{SYSTEM.process.config_head}client_encryption_options: {json.dumps(options)}\n"
    files = {"node.pem": pems["server.key"] + pems["server.pem"], "ca.pem": pems["ca.pem"]}
    recipe = {"config_head": head, "files": SYSTEM.process.files | files}
    return SYSTEM.model_copy(update={"process": SYSTEM.process.model_copy(update=recipe)})


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return make_certificates(tmp_path_factory.mktemp("pems"))


@pytest.fixture(scope="module")
def provisioner(manifest: Manifest, pems: dict[str, str]) -> Iterator[ProcessProvisioner]:
    """One node that is asked for three copies, and keeps the one that it can. Its clients may encrypt."""
    with site_below_var_tmp() as site:
        spec = ServerSpec(
            deployment="ring", system=add_tls(pems, is_optional=True), mode=SYSTEM.mode("one-batch"),
            replication_factor=COPIES,
        )  # fmt: skip
        provisioner = ProcessProvisioner(spec, site)
        try:
            yield provisioner
        finally:
            provisioner.remove()


@pytest.fixture(scope="module")
def server(provisioner: ProcessProvisioner) -> Server:
    return provisioner.start()


def admin_programs() -> int:
    """How many run below this process."""
    return sum(SYSTEM.admin_class in child.cmdline() for child in psutil.Process().children())


def test_reads_modes_and_topology(server: Server):
    state = read_back(SYSTEM, server.spec.mode, server.administration)
    assert state.in_force, state.differences
    assert set(state.found) == set(server.spec.mode.expected_settings)
    with_copies = read_back(SYSTEM, server.spec.mode, server.administration, copies=COPIES)
    assert with_copies.in_force, with_copies.differences
    weaker = read_back(SYSTEM, SYSTEM.mode("one-periodic"), server.administration)
    assert "commitlog_sync should be 'periodic', but the server says 'batch'." in weaker.differences
    quorum = read_back(SYSTEM, SYSTEM.mode("quorum-batch"), server.administration)
    assert quorum.differences == ("The mode needs at least 1 connected replicas; there are 0.",)
    topology = server.administration.topology()
    assert topology["version"] == server.version
    assert (topology["nodes"], topology["nodes_up"], topology["replication_factor"]) == ("1", "1", str(COPIES))


def test_data_of_others_is_never_written(server: Server):
    check_table_ownership(server)
    assert target(server, table="owned").count() == 0
    administration = server.administration
    marker = administration.read_marker("owned")
    with pytest.raises(AdministrationError, match="has no column field10"):
        administration.write_marker("owned", "{}", replaces=marker, fields=[*FIELDS, "field10"])


def test_loads_runs_and_deletes_only_its_own_keys(manifest: Manifest, server: Server, tmp_path: Path):
    ours = target(server, records=1000)
    ours.prepare_load()
    assert run_client(manifest, server, tmp_path / "load", "-load").returns == {"INSERT": {"OK": 1000}}
    assert ours.count() == 1000
    ended = run_client(manifest, server, tmp_path / "run", "-t", operationcount="500")
    assert sum(ended.returns["READ"].values()) + sum(ended.returns["UPDATE"].values()) == 500
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())
    scans = {"readproportion": "0", "updateproportion": "0", "scanproportion": "1", "maxscanlength": "20"}
    ended = run_client(manifest, server, tmp_path / "scan", "-t", operationcount="50", dataintegrity="false", **scans)
    assert ended.returns == {"SCAN": {"OK": 50}}
    keys = next(iter(target(server, records=10).keys.batches(10)))
    assert server.administration.delete_keys(TABLE, [*keys, "stranger"]) == 10
    assert server.administration.size(TABLE) == 990
    ours.prepare_load()
    assert ours.count() == 0


def test_encrypts_and_shows_its_certificate(manifest: Manifest, server: Server, pems: dict[str, str], tmp_path: Path):
    """The certificate of the node names localhost and not 127.0.0.1."""
    client = {"cassandra.tls": "verify-ca", "cassandra.tls.ca": pems["ca.pem"]}
    client |= {"cassandra.tls.certificate": pems["client.pem"], "cassandra.tls.key": pems["client.key"]}
    spec = dataclasses.replace(server.spec, binding_properties=SYSTEM.check_binding_properties(client))
    encrypted = dataclasses.replace(server, spec=spec)
    target(encrypted).prepare_load()
    loaded = run_client(manifest, encrypted, tmp_path / "load", "-load", recordcount="100")
    encrypted.administration.close()
    assert loaded.returns == {"INSERT": {"OK": 100}}
    for changed, message in (
        ({"cassandra.tls": "verify-full"}, "No subject alternative names"),
        ({"cassandra.tls.ca": ""}, "unable to find valid certification path"),
        ({"cassandra.tls.certificate": ""}, "bad_certificate"),
    ):
        refused = administration_for(SYSTEM, {**encrypted.client_properties(), **changed})
        with closing(refused), pytest.raises(AdministrationError, match=message):
            refused.ping()


STUDY_OF_2013 = {
    "row_cache_size": "64MB", "memtable_heap_space": "96MB", "memtable_offheap_space": "96MB",
    "memtable_flush_writers": "8", "trickle_fsync": "true", "compaction_throughput": "128MiB/s",
}  # fmt: skip


@pytest.mark.long
@pytest.mark.timeout(400)
def test_second_load_outlives_the_deleted_rows_of_the_first(manifest: Manifest, servers: Servers, tmp_path: Path):
    """With the settings of the study of 2013, and a server that gives up reads of 100 deleted rows, not 100,000."""
    settings = {**STUDY_OF_2013, "tombstone_failure_threshold": "100"}
    server = servers("cassandra", "one-periodic", settings=settings).start()
    assert server.administration.read_settings(list(settings)) == {
        name: re.sub("MB$", "MiB", value) for name, value in settings.items()
    }
    ours = target(server, records=1000)
    ours.prepare_load()
    assert run_client(manifest, server, tmp_path / "load", "-load").returns == {"INSERT": {"OK": 1000}}
    assert server.administration.size(TABLE) == 1000

    assert ours.prepare_load() == ""

    assert server.administration.size(TABLE) == 0
    assert run_client(manifest, server, tmp_path / "again", "-load").returns == {"INSERT": {"OK": 1000}}


def test_counts_what_the_nodes_do(server: Server):
    with server.administration.open_counters() as read:
        before = read()
        server.administration.create_table("counted", FIELDS, "{}")
        server.administration.size("counted")
        after = read()
    assert after.counts["reads"] > before.counts["reads"]
    assert {"writes", "flushes", "compactions", "key_cache_hits", "key_cache_misses"} <= set(after.counts)
    assert {"compactions_pending", "flushes_pending"} <= set(after.values)
    assert "cache_hits" not in after.counts  # the chunk cache is off unless file_cache_enabled is set


@pytest.mark.long
def test_client_reports_unreachable_replicas_and_missing_tables(manifest: Manifest, server: Server, tmp_path: Path):
    properties = {"operationcount": "20", "dataintegrity": "false", "table": "nowhere"}
    ended = run_client(manifest, server, tmp_path / "nowhere", "-t", **properties)
    assert set(ended.returns["READ"]) == {"BAD_REQUEST"}
    assert server.administration.create_table("copies", FIELDS, "{}")
    properties |= {"table": "copies", "cassandra.writeconsistencylevel": "TWO", "readproportion": "0"}
    ended = run_client(manifest, server, tmp_path / "copies", "-t", **properties)
    assert set(ended.returns["UPDATE"]) == {"SERVICE_UNAVAILABLE"}
    assert any("2 required but only 1 alive" in line for line in ended.lines("BENCHSITE ERROR "))


def test_external_keyspace_must_exist(server: Server):
    """An external cluster is asked as one that Benchsite started; the program that asks it ends with the use of it."""
    before = admin_programs()
    spec = ServerSpec(deployment="e", system=SYSTEM, mode=server.spec.mode, address=f"127.0.0.1:{server.port}")
    provisioner = ExternalProvisioner(spec, allowed_networks=["127.0.0.0/8"])
    external = provisioner.start()
    assert external.version == server.version
    assert external.administration.read_settings(["commitlog_sync"]) == {"commitlog_sync": "batch"}
    missing = dataclasses.replace(spec, binding_properties={"cassandra.keyspace": "absent"})
    absent = dataclasses.replace(external, spec=missing).administration
    with pytest.raises(AdministrationError, match=r"has no keyspace absent\. Create it there: CREATE KEYSPACE"):
        absent.content(TABLE)
    absent.close()
    provisioner.stop()
    assert admin_programs() == before


def test_named_nodes_count_where_they_answer(server: Server, monkeypatch: pytest.MonkeyPatch):
    spec = ServerSpec(deployment="e", system=SYSTEM, mode=server.spec.mode, address=f"127.0.0.1:{server.port}")
    provisioner = ExternalProvisioner(spec, allowed_networks=["127.0.0.0/8"])
    itself = provisioner.start().administration.list_nodes()
    assert itself == [("127.0.0.1", server.port)]
    assert provisioner.find_others() == ([], [])

    named = [*itself, ("127.0.0.2", free_port()), ("169.254.169.254", 80)]
    with socket.create_server(("127.0.0.3", 0)) as node:
        answering = node.getsockname()
        monkeypatch.setattr(ProgramAdministration, "list_nodes", lambda administration: [*named, answering])
        others, problems = provisioner.find_others()
        provisioner._allowed_networks = ()
        assert "127.0.0.1" in provisioner.find_others()[1][0]
    provisioner.stop()

    assert others == [f"127.0.0.3:{answering[1]}"]
    assert ["127.0.0.2" in problems[0], "169.254.169.254" in problems[1]] == [True, True]


@pytest.mark.parametrize(("data_centre", "number"), [("datacenter1", 1), ("elsewhere", 0)])
def test_nodes_of_other_data_centres_are_not_listed(server: Server, data_centre: str, number: int):
    spec = dataclasses.replace(server.spec, binding_properties={"cassandra.local_dc": data_centre})
    administration = dataclasses.replace(server, spec=spec).administration
    nodes = administration.list_nodes()
    administration.close()
    assert len(nodes) == number


@pytest.mark.long
def test_planned_stop_keeps_the_data_without_commit_log(manifest: Manifest, servers: Servers, tmp_path: Path):
    provisioner = servers("cassandra", "no-commitlog")
    server = provisioner.start()
    assert read_back(SYSTEM, server.spec.mode, server.administration).in_force
    target(server, records=1000).prepare_load()
    run_client(manifest, server, tmp_path / "load", "-load")
    provisioner.stop()
    assert not provisioner.alive()
    assert target(provisioner.start(), records=1000).count() == 1000


@pytest.mark.long
@pytest.mark.timeout(500)
def test_three_nodes_keep_three_copies(manifest: Manifest, servers: Servers, tmp_path: Path):
    provisioner = servers("cassandra", "quorum-periodic", settings={"nodes": "3"}, replication_factor=3)
    server = provisioner.start()
    assert [host for host, _ in server.nodes] == ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    state = read_back(SYSTEM, server.spec.mode, server.administration, copies=3)
    assert state.in_force, state.differences
    assert state.found["replicas"] == "2"
    assert (state.topology["nodes"], state.topology["nodes_up"]) == ("3", "3")
    (stated,) = read_back(SYSTEM, server.spec.mode, server.administration, copies=1).differences
    assert "states a replication factor of 1, and the server keeps 3" in stated
    ours = target(server, records=1000)
    ours.prepare_load()
    assert run_client(manifest, server, tmp_path / "load", "-load").returns == {"INSERT": {"OK": 1000}}
    ended = run_client(manifest, server, tmp_path / "run", "-t", operationcount="300")
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())
    provisioner.stop()
    assert target(provisioner.start(), records=1000).count() == 1000

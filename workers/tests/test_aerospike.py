"""Aerospike's client and administration against a stand-in for the wire protocol: what is sent, what errors mean."""

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from runs.catalog import load_catalog
from workers.provision.administration import AdministrationError
from workers.provision.administration.factory import administration_for
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.readback import read_back
from workers.provision.servers import Server, ServerSpec
from workers.systems.build import build
from workers.systems.manifests import Manifest
from workers.tests.external import NETWORKS
from workers.tests.loaded_targets import TABLE, check_ownership, run_client, target
from workers.tests.stand_ins.aerospike import PASSWORD, USER, AerospikeStandIn, aerospike_stand_in

pytestmark = pytest.mark.slow
SYSTEM = load_catalog().system("aerospike")
TLS_NAME = "db.example.org"
DEVICE_OVERLOAD, ENTERPRISE_ONLY = 18, 25


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return build(settings.YCSB_DIR, ["aerospike"])["aerospike"]


@pytest.fixture
def stand_in(manifest: Manifest) -> Iterator[AerospikeStandIn]:
    with aerospike_stand_in() as server:
        yield server


@pytest.fixture
def server(stand_in: AerospikeStandIn) -> Iterator[Server]:
    address = f"127.0.0.1:{stand_in.port}"
    spec = ServerSpec(
        deployment="wire", system=SYSTEM, mode=SYSTEM.mode("master"), address=address, addresses=(address,)
    )
    provisioner = ExternalProvisioner(spec, allowed_networks=NETWORKS)
    yield provisioner.start()
    provisioner.stop()


def test_share_of_reads_from_the_cache_is_a_value(server: Server, stand_in: AerospikeStandIn):
    stand_in.settings |= {"client_read_success": "500", "cache_read_pct": "40"}

    with server.administration.open_counters() as read_counters:
        counters = read_counters()

    assert (counters.counts, counters.values) == ({"reads": 500.0}, {"cache_read_pct": 40.0})


def test_loads_runs_and_deletes_only_its_own_keys(
    manifest: Manifest, server: Server, stand_in: AerospikeStandIn, tmp_path: Path
):
    ours = target(server, records=1000)
    ours.prepare_load()
    stand_in.headers.clear()
    assert run_client(manifest, server, tmp_path / "load", "-load").returns == {"INSERT": {"OK": 1000}}
    ended = run_client(manifest, server, tmp_path / "run", "-t", operationcount="500", dataintegrity="false")
    assert all(set(codes) == {"OK"} for codes in ended.returns.values()), ended.returns
    # COMMIT_MASTER; records are created, then one field at a time is changed and all of them are read.
    assert stand_in.headers.keys() == {(0, 0x21, 0x02), (0, 0x01, 0x0A), (0x03, 0, 0)}
    assert stand_in.headers[0, 0x21, 0x02] == 1000
    keys = next(iter(target(server).keys.batches(10)))
    assert ours.count() == server.administration.size(TABLE) == 1000
    assert server.administration.delete_keys(TABLE, [*keys, "stranger"]) == 10
    assert server.administration.size(TABLE) == 990


def test_sends_what_the_properties_ask_for(
    manifest: Manifest, server: Server, stand_in: AerospikeStandIn, tmp_path: Path
):
    """In a namespace with strong consistency: linearizable reads of all copies, whole records replaced."""
    stand_in.settings["strong-consistency"] = "true"
    run_client(manifest, server, tmp_path / "load", "-load", recordcount="100")
    stand_in.headers.clear()
    properties = {
        "recordcount": "100", "operationcount": "100", "writeallfields": "true", "readallfields": "false",
        "aerospike.commit_level": "COMMIT_ALL", "aerospike.read_mode_sc": "LINEARIZE",
        "aerospike.partial_updates": "false",
    }  # fmt: skip
    ended = run_client(manifest, server, tmp_path / "run", "-t", **properties)
    assert all(set(codes) == {"OK"} for codes in ended.returns.values()), ended.returns
    assert stand_in.headers.keys() == {(0, 0x01, 0x20), (0x01, 0, 0x40)}
    durable = administration_for(SYSTEM, {**server.client_properties(), "aerospike.durable_delete": "true"})
    keys = next(iter(target(server).keys.batches(10)))
    assert durable.delete_keys(TABLE, keys) == 10
    assert stand_in.headers[0, 0x13, 0] == 10
    durable.close()


@pytest.mark.parametrize(
    ("code", "status", "attempts"), [(DEVICE_OVERLOAD, "SERVICE_UNAVAILABLE", 4), (ENTERPRISE_ONLY, "BAD_REQUEST", 1)]
)
def test_refused_writes_are_tried_again_where_that_may_help(
    manifest: Manifest,
    server: Server,
    stand_in: AerospikeStandIn,
    tmp_path: Path,
    code: int,
    status: str,
    attempts: int,
):
    stand_in.refuse = code
    properties = {"recordcount": "2", "benchsite.retries.insert": "3"}
    ended = run_client(manifest, server, tmp_path / "load", "-load", **properties)
    assert ended.returns == {"INSERT": {status: 2}}
    assert sum(stand_in.headers.values()) == 2 * attempts


def test_reads_modes_back_and_knows_the_stand_in(server: Server, stand_in: AerospikeStandIn):
    state = read_back(SYSTEM, server.spec.mode, server.administration)
    assert state.in_force, state.differences
    assert state.topology["stand_in"] == "wire stand-in"
    stand_in.settings["write-commit-level-override"] = "all"
    assert read_back(SYSTEM, server.spec.mode, server.administration).differences == (
        "write-commit-level-override should be 'off', but the server says 'all'.",
    )
    strict = read_back(SYSTEM, SYSTEM.mode("commit-to-device"), server.administration)
    assert "The mode needs at least 1 connected replicas; there are 0." in strict.differences
    absent = administration_for(SYSTEM, {**server.client_properties(), "aerospike.namespace": "absent"})
    with pytest.raises(AdministrationError, match=r"no namespace absent: add it to aerospike\.conf"):
        absent.read_settings(["storage-engine"])
    absent.close()


def test_data_of_others_is_never_written(server: Server):
    administration = server.administration
    marker = check_ownership(server)
    assert administration.write_marker(TABLE, f"{marker} ", replaces=marker)
    assert administration.read_marker(TABLE) == f"{marker} "
    assert administration.read_marker("other") == ""
    assert administration.drop_empty_table(TABLE)
    assert administration.read_marker(TABLE) == ""


@pytest.mark.needs("openssl")
def test_logs_in_over_tls_and_checks_the_name(manifest: Manifest, tmp_path: Path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    argv += ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", f"/CN={TLS_NAME}"]
    subprocess.run(argv, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with aerospike_stand_in(context=context, password=True) as server:
        right = {
            "hosts": "127.0.0.1", "port": str(server.port), "timeout_ms": "3000", "user": USER, "password": PASSWORD,
            "tls": "verify-full", "tls.ca": " ".join(certificate.read_text().split()), "tls_name": TLS_NAME,
        }  # fmt: skip
        for changed, problem in (
            ({}, ""),
            ({"password": "Wrong-Horse"}, "Error 65"),
            ({"tls_name": "other.example.org"}, "Invalid TLS name: other.example.org"),
            ({"tls.ca": ""}, "Connection failed"),
        ):
            properties = {f"aerospike.{name}": value for name, value in {**right, **changed}.items()}
            administration = administration_for(SYSTEM, properties)
            if problem:
                with pytest.raises(AdministrationError, match=problem) as refused:
                    administration.ping()
                assert "Wrong-Horse" not in str(refused.value)
            else:
                administration.ping()
            administration.close()

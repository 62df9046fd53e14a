"""Couchbase's client and administration against the vendor's own mock, of three nodes with one replica."""

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
from workers.tests.stand_ins import PASSWORD, couchbase_mock

pytestmark = pytest.mark.slow
SYSTEM = load_catalog().system("couchbase")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return build(settings.YCSB_DIR, ["couchbase"])["couchbase"]


@pytest.fixture(scope="module")
def server(manifest: Manifest) -> Iterator[Server]:
    stated = {"couchbase.bucket": "bench", "couchbase.user": "bench", "couchbase.password": PASSWORD}
    with couchbase_mock(nodes=3, replicas=1) as ports:
        address = f"127.0.0.1:{ports[0]}"
        spec = ServerSpec(
            deployment="mock", system=SYSTEM, mode=SYSTEM.mode("persist-2"), address=address, addresses=(address,),
            binding_properties=stated,
        )  # fmt: skip
        provisioner = ExternalProvisioner(spec, allowed_networks=NETWORKS)
        yield provisioner.start()
        provisioner.stop()


@pytest.fixture(autouse=True)
def empty_bucket(server: Server) -> Iterator[None]:
    """A write whose durability cannot be had is there nevertheless."""
    yield
    administration = server.administration
    for keys in target(server, records=1000).keys.batches(1000):
        administration.delete_keys(TABLE, keys)
    administration.drop_empty_table(TABLE)
    assert administration.content(TABLE) == ""


def test_loads_runs_and_deletes_only_its_own_keys(manifest: Manifest, server: Server, tmp_path: Path):
    ours = target(server, records=1000)
    ours.prepare_load()
    assert run_client(manifest, server, tmp_path / "load", "-load").returns == {"INSERT": {"OK": 1000}}
    # One of ten fields at a time, read back whole and checked; then all of them, and single fields.
    for name, properties in (
        ("partial", {}), ("whole", {"writeallfields": "true", "readallfields": "false", "deleteproportion": "0"}),
    ):  # fmt: skip
        ended = run_client(manifest, server, tmp_path / name, "-t", operationcount="500", **properties)
        assert all(set(codes) == {"OK"} for codes in ended.returns.values()), ended.returns
        assert sum(ended.returns["VERIFY"].values()) == sum(ended.returns["READ"].values())
    keys = next(iter(target(server).keys.batches(10)))
    assert ours.count() == server.administration.size(TABLE) == 1000
    assert server.administration.delete_keys(TABLE, [*keys, "stranger"]) == 10
    assert server.administration.size(TABLE) == 990
    ours.prepare_load()
    assert server.administration.size(TABLE) == 0


def test_durability_levels_are_refused_by_the_mock(manifest: Manifest, server: Server, tmp_path: Path):
    """The mock has none, so modes with a level are not verified here; none of them passes for another."""
    level = {"couchbase.durability": "MAJORITY", "couchbase.persistTo": "NONE"}
    ended = run_client(manifest, server, tmp_path / "majority", "-load", recordcount="4", **level)
    assert set(ended.returns["INSERT"]) == {"BAD_REQUEST"}
    assert "FeatureNotAvailableException" in ended.stderr


def test_more_copies_than_there_are_fail(manifest: Manifest, server: Server, tmp_path: Path):
    properties = {"couchbase.persistTo": "THREE"}
    ended = run_client(manifest, server, tmp_path / "three", "-load", recordcount="4", **properties)
    assert set(ended.returns["INSERT"]) == {"BAD_REQUEST"}
    assert "ReplicaNotConfiguredException" in ended.stderr
    with pytest.raises(AssertionError, match=r"BENCHSITE FAILED couchbase\.durability excludes couchbase\.persistTo"):
        run_client(manifest, server, tmp_path / "mixed", "-load", **{"couchbase.durability": "MAJORITY"})


def test_reads_modes_back_and_knows_the_mock(server: Server):
    state = read_back(SYSTEM, server.spec.mode, server.administration, copies=2)
    assert state.in_force, state.differences
    assert state.topology == {
        "version": "CouchbaseMock v1.5.25", "nodes": "3", "replication_factor": "2", "stand_in": "vendor mock",
    }  # fmt: skip
    assert read_back(SYSTEM, server.spec.mode, server.administration, copies=3).differences


def test_data_of_others_is_never_written(server: Server):
    administration = server.administration
    marker = check_ownership(server)
    assert administration.write_marker(TABLE, marker, replaces=marker)
    assert administration.drop_empty_table(TABLE)
    assert administration.content(TABLE) == administration.read_marker(TABLE) == ""


@pytest.mark.long
def test_wrong_password_is_an_error_without_the_password(server: Server):
    wrong = {**server.client_properties(), "couchbase.password": "Wrong-Horse", "couchbase.timeout_ms": "2000"}
    administration = administration_for(SYSTEM, wrong)
    with pytest.raises(AdministrationError, match=r"bucket bench at 127\.0\.0\.1") as refused:
        administration.ping()
    assert "Wrong-Horse" not in str(refused.value)
    administration.close()

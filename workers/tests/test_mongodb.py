"""MongoDB's client and administration against a stand-in for the wire protocol, which ignores write concerns."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from runs.catalog import load_catalog
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.readback import read_back
from workers.provision.servers import Server, ServerSpec
from workers.systems.build import build
from workers.systems.manifests import Manifest
from workers.tests.external import NETWORKS
from workers.tests.loaded_targets import TABLE, check_table_ownership, run_client, target
from workers.tests.stand_ins import mongo_stand_in

pytestmark = pytest.mark.slow
SYSTEM = load_catalog().system("mongodb")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return build(settings.YCSB_DIR, ["mongodb"])["mongodb"]


@pytest.fixture(scope="module")
def server(manifest: Manifest) -> Iterator[Server]:
    with mongo_stand_in() as port:
        spec = ServerSpec(deployment="wire", system=SYSTEM, mode=SYSTEM.mode("w1-j"), address=f"127.0.0.1:{port}")
        provisioner = ExternalProvisioner(spec, allowed_networks=NETWORKS)
        yield provisioner.start()
        provisioner.stop()


def test_loads_runs_and_deletes_only_its_own_keys(manifest: Manifest, server: Server, tmp_path: Path):
    ours = target(server, records=1000)
    ours.prepare_load()
    assert run_client(manifest, server, tmp_path / "load", "-load").returns == {"INSERT": {"OK": 1000}}
    ended = run_client(manifest, server, tmp_path / "run", "-t", operationcount="500")
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())
    keys = next(iter(target(server).keys.batches(10)))
    assert server.administration.delete_keys(TABLE, [*keys, "stranger"]) == 10
    assert server.administration.size(TABLE) == 990


def test_data_of_others_is_never_written(server: Server):
    check_table_ownership(server)
    administration = server.administration
    marker = administration.read_marker("owned")
    assert administration.write_marker("owned", '{"$it": "s"}', replaces=marker)
    assert administration.read_marker("owned") == '{"$it": "s"}'


@pytest.fixture
def study_server(manifest: Manifest) -> Iterator[Server]:
    """The topology of the study of 2013: mongos before two shards of a primary, a secondary and an arbiter."""
    with mongo_stand_in("PRIMARY,SECONDARY,ARBITER", "PRIMARY,SECONDARY,ARBITER") as port:
        spec = ServerSpec(deployment="sharded", system=SYSTEM, mode=SYSTEM.mode("w2"), address=f"127.0.0.1:{port}")
        provisioner = ExternalProvisioner(spec, allowed_networks=NETWORKS)
        yield provisioner.start()
        provisioner.stop()


@pytest.mark.parametrize("mode", ["w0", "w1", "w1-secondary-reads", "w2", "w1-j", "majority", "majority-linearizable"])
def test_modes_are_read_back_from_shards_behind_mongos(study_server: Server, mode: str):
    state = read_back(SYSTEM, SYSTEM.mode(mode), study_server.administration, copies=2)

    assert state.differences == ()
    assert {name: state.topology[name] for name in ("nodes", "replication_factor", "shards")} == {
        "nodes": "4", "replication_factor": "2", "shards": "2",
    }  # fmt: skip


def test_data_sets_are_loaded_behind_mongos(manifest: Manifest, study_server: Server, tmp_path: Path):
    ours = target(study_server, records=100)
    ours.prepare_load()
    ended = run_client(manifest, study_server, tmp_path / "load", "-load", recordcount="100", **{"mongodb.w": "1"})
    assert ended.returns == {"INSERT": {"OK": 100}}
    assert ours.count() == 100


@pytest.mark.parametrize(("preference", "code"), [("primary", "ERROR"), ("primaryPreferred", "OK")])
def test_read_preference_decides_who_is_read(manifest: Manifest, tmp_path: Path, preference: str, code: str):
    chosen = {"mongodb.read_preference": preference}
    with mongo_stand_in("SECONDARY,SECONDARY") as port:
        spec = ServerSpec(
            deployment="headless", system=SYSTEM, mode=SYSTEM.mode("w1"), address=f"127.0.0.1:{port}",
            binding_properties=chosen,
        )  # fmt: skip
        server = ExternalProvisioner(spec, allowed_networks=NETWORKS).start()
        run_client(manifest, server, tmp_path / "load", "-load", recordcount="10")
        ended = run_client(manifest, server, tmp_path / "run", "-t", operationcount="10", readproportion="1",
                           updateproportion="0", recordcount="10")  # fmt: skip
    assert set(ended.returns["READ"]) == {code}


def test_cache_of_all_shards_is_counted(study_server: Server):
    with study_server.administration.open_counters() as read_counters:
        assert read_counters().counts == {"cache_hits": 1400.0, "cache_misses": 600.0}


@pytest.mark.parametrize(("arguments", "data"), [([], [0] * 8), (["RESTRICTED"], [])])
def test_survey_is_short_and_needs_no_list(manifest: Manifest, arguments: list[str], data: list[int]):
    with mongo_stand_in(*arguments) as port:
        spec = ServerSpec(deployment="crowd", system=SYSTEM, mode=SYSTEM.mode("w1-j"), address=f"127.0.0.1:{port}")
        provisioner = ExternalProvisioner(spec, allowed_networks=NETWORKS)
        administration = provisioner.start().administration
        if data:
            for number in range(10):
                administration.create_table(f"orders{number}", ["field0"], "{}")
        survey = administration.survey(TABLE)
        provisioner.stop()

    assert [*survey.data.values()] == data


def test_shard_without_a_secondary_waits_for_no_copy(manifest: Manifest):
    with mongo_stand_in("PRIMARY,SECONDARY,ARBITER", "PRIMARY,ARBITER,RECOVERING") as port:
        spec = ServerSpec(deployment="lame", system=SYSTEM, mode=SYSTEM.mode("w2"), address=f"127.0.0.1:{port}")
        provisioner = ExternalProvisioner(spec, allowed_networks=NETWORKS)
        (difference,) = read_back(SYSTEM, spec.mode, provisioner.start().administration).differences
        provisioner.stop()

    assert difference == "The mode needs at least 1 connected replicas; there are 0."


def test_majority_on_disk_asks_for_the_journal():
    modes = ("majority", "majority-linearizable", "majority-no-journal")
    assert [SYSTEM.mode(mode).client_properties["mongodb.journal"] for mode in modes] == ["true", "true", "false"]


def test_stand_in_is_told_from_the_product(server: Server):
    state = read_back(SYSTEM, server.spec.mode, server.administration)
    assert state.in_force and state.topology["stand_in"] == "wire stand-in"
    (missing,) = read_back(SYSTEM, SYSTEM.mode("w2"), server.administration).differences
    assert missing == "The mode needs at least 1 connected replicas; there are 0."

"""MongoDB's client and administration against a stand-in for the wire protocol, which ignores write concerns."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from runs.catalog import load_catalog
from workers.provision.external import ExternalProvisioner
from workers.provision.ownership import DataNotOwned
from workers.provision.readback import read_back
from workers.provision.servers import Server, Wanted
from workers.systems.build import build
from workers.systems.manifests import Manifest
from workers.tests.external import NETWORKS
from workers.tests.loaded_targets import TABLE, run_client, target
from workers.tests.stand_ins import mongo_stand_in

pytestmark = pytest.mark.slow
SYSTEM = load_catalog().system("mongodb")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return build(settings.YCSB_DIR, ["mongodb"])["mongodb"]


@pytest.fixture(scope="module")
def server(manifest: Manifest) -> Iterator[Server]:
    with mongo_stand_in() as port:
        wanted = Wanted(deployment="wire", system=SYSTEM, mode=SYSTEM.mode("w1-j"), address=f"127.0.0.1:{port}")
        provisioner = ExternalProvisioner(wanted, allowed_networks=NETWORKS)
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
    ours = target(server, table="owned")
    assert ours.prepare_load() == ""
    with pytest.raises(DataNotOwned, match="another cluster"):
        target(server, cluster="theirs", table="owned").prepare_load()
    ours.require_data_set()
    assert ours.prepare_load() == ""  # drops the empty collection and makes it again
    administration = server.administration
    marker = administration.read_marker("owned")
    assert not administration.write_marker("owned", "{}", replaces="")
    assert not administration.write_marker("owned", "{}", replaces="{}")
    assert administration.write_marker("owned", '{"$it": "s"}', replaces=marker)
    assert administration.read_marker("owned") == '{"$it": "s"}'


def test_stand_in_is_told_from_the_product(server: Server):
    state = read_back(SYSTEM, server.wanted.mode, server.administration)
    assert state.in_force and state.topology["stand_in"] == "wire stand-in"
    (missing,) = read_back(SYSTEM, SYSTEM.mode("w2"), server.administration).differences
    assert missing == "The mode needs at least 1 connected replicas; there are 0."

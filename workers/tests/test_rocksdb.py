"""RocksDB inside the client: data folders that a client and the administration open in turn."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from runs.catalog import load_catalog
from workers.probe.conformance import target_count
from workers.provision.administration import AdministrationError
from workers.provision.embedded_provisioner import EmbeddedProvisioner
from workers.provision.process_provisioner import Site
from workers.provision.provisioner_factory import provisioner_for
from workers.provision.servers import Server, ServerSpec
from workers.systems.build import build
from workers.systems.manifests import Manifest
from workers.tests.bindings.clients import Ended, StartedClient
from workers.tests.loaded_targets import TABLE, run_client, target

pytestmark = pytest.mark.slow
SYSTEM = load_catalog().system("rocksdb")
SCANS = {"readproportion": "0", "updateproportion": "0", "scanproportion": "1", "maxscanlength": "50"}


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return build(settings.YCSB_DIR, ["rocksdb"])["rocksdb"]


@pytest.fixture
def provisioner(manifest: Manifest, site: Site, request: pytest.FixtureRequest) -> Iterator[EmbeddedProvisioner]:
    mode = SYSTEM.mode(getattr(request, "param", "no-sync"))
    made = provisioner_for("process", ServerSpec(deployment="embedded", system=SYSTEM, mode=mode), site)
    assert isinstance(made, EmbeddedProvisioner)
    yield made
    made.remove()
    assert not made.folder.exists()


def is_ok(ended: Ended, **operations: int) -> None:
    assert {name: sum(codes.values()) for name, codes in ended.returns.items() if name in operations} == operations
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())


def load(manifest: Manifest, server: Server, folder: Path) -> None:
    target(server, records=1000).prepare_load()
    is_ok(run_client(manifest, server, folder, "-load"), INSERT=1000)


def test_loads_scans_and_deletes_only_its_own_keys(
    manifest: Manifest, provisioner: EmbeddedProvisioner, tmp_path: Path
):
    """Threads update single fields of few records: what each wrote is there, so every value is right."""
    server = provisioner.start()
    load(manifest, server, tmp_path / "load")
    ours = target(server, records=1000)
    assert ours.count() == server.administration.size(TABLE) == 1000
    hot = {"operationcount": "2000", "recordcount": "5", "requestdistribution": "uniform"}
    assert run_client(manifest, server, tmp_path / "run", "-t", **hot).returns["VERIFY"].keys() == {"OK"}
    scans = {"operationcount": "200", "dataintegrity": "false", **SCANS}
    is_ok(run_client(manifest, server, tmp_path / "scan", "-t", **scans), SCAN=200)
    keys = [*next(iter(ours.keys.batches(10)))[:9], "absent"]
    assert server.administration.delete_keys(TABLE, keys) == 9
    ours.prepare_load()
    assert server.administration.size(TABLE) == 0


@pytest.mark.parametrize("provisioner", ["no-wal"], indirect=True)
def test_planned_end_of_a_client_keeps_the_data(manifest: Manifest, provisioner: EmbeddedProvisioner, tmp_path: Path):
    load(manifest, provisioner.start(), tmp_path / "load")
    provisioner.stop()
    assert not provisioner.alive()
    assert target(provisioner.start(), records=1000).count() == 1000


def inserted(client: StartedClient) -> int:
    """By the last of its status lines."""
    lines = [line for line in client.output["stderr"] if " operations;" in line]
    return int(lines[-1].split(" sec: ")[1].split(" operations")[0]) if lines else 0


@pytest.mark.parametrize(
    "provisioner", ["no-wal", pytest.param("no-sync", marks=pytest.mark.long), "sync"], indirect=True
)
def test_killed_client_keeps_what_its_mode_promises(
    manifest: Manifest, provisioner: EmbeddedProvisioner, tmp_path: Path
):
    """While it loads, neither the administration nor another client opens the folder."""
    server = provisioner.start()
    ours = target(server, records=1_000_000)
    ours.prepare_load()
    properties = {**server.client_properties(), "recordcount": "1000000", "target": "1000"}
    client = StartedClient(manifest, tmp_path / "load", properties, phase="-load")
    try:
        client.go()
        end = time.monotonic() + 30
        while inserted(client) < 200 and time.monotonic() < end:
            time.sleep(0.05)
        with pytest.raises(AdministrationError, match="lock"):
            server.administration.size(TABLE)
        if server.spec.mode.slug == "sync":
            with pytest.raises(AssertionError, match="BENCHSITE FAILED While lock file"):
                run_client(manifest, server, tmp_path / "second", "-load")
    finally:
        client.kill()
    assert inserted(client) >= 200
    present = target_count(ours, 20_000)
    if server.spec.mode.durability.ack == "memory":
        assert present == 0
    else:
        assert present >= inserted(client)

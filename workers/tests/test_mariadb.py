"""MariaDB as a process, administered by the program of its binding and loaded by Benchsite's own client."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from runs.catalog import load_catalog
from workers.provision.administration import AdministrationError
from workers.provision.administration.factory import administration_for
from workers.provision.readback import read_back
from workers.provision.servers import Server
from workers.systems.build import build
from workers.systems.manifests import Manifest
from workers.tests.conftest import Servers, started_server
from workers.tests.loaded_targets import FIELDS, TABLE, check_table_ownership, run_client, target

pytestmark = [pytest.mark.slow, pytest.mark.needs("mariadb")]
SYSTEM = load_catalog().system("mariadb")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return build(settings.YCSB_DIR, ["mariadb"])["mariadb"]


@pytest.fixture(scope="module")
def server(manifest: Manifest) -> Iterator[Server]:
    with started_server(SYSTEM, "flush-2") as server:
        yield server


def test_loads_runs_and_deletes_only_its_own_keys(manifest: Manifest, server: Server, tmp_path: Path):
    ours = target(server, records=1000)
    ours.prepare_load()
    assert run_client(manifest, server, tmp_path / "load", "-load").returns == {"INSERT": {"OK": 1000}}
    ended = run_client(manifest, server, tmp_path / "run", "-t", operationcount="500")
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())
    scans = {"readproportion": "0", "updateproportion": "0", "scanproportion": "1", "maxscanlength": "20"}
    ended = run_client(manifest, server, tmp_path / "scan", "-t", operationcount="50", dataintegrity="false", **scans)
    assert ended.returns == {"SCAN": {"OK": 50}}
    keys = next(iter(target(server).keys.batches(10)))
    assert server.administration.delete_keys(TABLE, [*keys, "stranger"]) == 10
    assert server.administration.size(TABLE) == 990


def test_counts_what_the_server_does(server: Server):
    with server.administration.open_counters() as read:
        before = read()
        assert server.administration.create_table("counted", FIELDS, "{}")
        after = read()
    for name in ("cache_hits", "log_bytes", "log_writes", "data_syncs", "statements"):
        assert after.counts[name] > before.counts[name], name
    assert after.counts["cache_misses"] >= before.counts["cache_misses"] >= 0
    assert after.values["checkpoint_age_bytes"] > 0


def test_data_survives_planned_stop_and_kill(manifest: Manifest, servers: Servers, tmp_path: Path):
    provisioner = servers("mariadb", "flush-1")
    server = provisioner.start()
    target(server, records=1000).prepare_load()
    run_client(manifest, server, tmp_path / "load", "-load")
    provisioner.stop()
    assert target(provisioner.start(), records=1000).count() == 1000
    provisioner.stop(planned=False)
    assert target(provisioner.start(), records=1000).count() == 1000


def test_reads_modes_back(server: Server):
    state = read_back(SYSTEM, server.spec.mode, server.administration)
    assert state.in_force, state.differences
    weaker = read_back(SYSTEM, SYSTEM.mode("flush-0"), server.administration)
    assert weaker.differences == ("innodb_flush_log_at_trx_commit should be '0', but the server says '2'.",)
    assert "The mode needs at least 1 connected replicas; there are 0." in (
        read_back(SYSTEM, SYSTEM.mode("flush-2-semi-sync"), server.administration).differences
    )
    assert state.topology == {"version": server.version, "nodes_up": "1"}


def test_data_of_others_is_never_written(server: Server):
    check_table_ownership(server)
    administration = server.administration
    marker = administration.read_marker("owned")
    with pytest.raises(AdministrationError, match="has no column field10"):
        administration.write_marker("owned", "{}", replaces=marker, fields=[*FIELDS, "field10"])
    assert administration.write_marker("owned", """{"it's": "\\\\"}""", replaces=marker, fields=FIELDS)
    assert administration.read_marker("owned") == """{"it's": "\\\\"}"""


def test_wrong_password_and_missing_database_are_errors(server: Server):
    properties = server.client_properties()
    wrong = administration_for(SYSTEM, {**properties, "mariadb.password": "Wrong-Horse"})
    with pytest.raises(AdministrationError, match="Access denied") as refused:
        wrong.ping()
    assert "Wrong-Horse" not in str(refused.value)
    wrong.close()
    absent = administration_for(SYSTEM, {**properties, "mariadb.database": "absent"})
    with pytest.raises(AdministrationError, match=r"no database absent\. Create it there: CREATE DATABASE"):
        absent.content(TABLE)
    absent.close()

"""FerretDB on SQLite as a process, administered and loaded by MongoDB's binding. Needs `make servers ferretdb`."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from runs.catalog import load_catalog
from workers.provision.administration.factory import administration_for
from workers.provision.readback import read_back
from workers.provision.servers import Server
from workers.systems.build import build
from workers.systems.manifests import Manifest
from workers.tests.conftest import started_server
from workers.tests.loaded_targets import TABLE, run_client, target

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (settings.SERVERS_DIR / "ferretdb" / "ferretdb").exists(), reason="needs `make servers ferretdb` and Go"
    ),
]
SYSTEM = load_catalog().system("ferretdb")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return build(settings.YCSB_DIR, ["mongodb"])["mongodb"]


@pytest.fixture(scope="module")
def server(manifest: Manifest) -> Iterator[Server]:
    with started_server(SYSTEM, "sqlite-normal") as server:
        yield server


def test_reads_mode_and_version(server: Server):
    state = read_back(SYSTEM, server.wanted.mode, server.administration)
    assert (state.found, state.differences) == ({"handler": "sqlite", "synchronous": "normal"}, ())
    assert state.topology == {"version": "1.24.0"} and server.version == "1.24.0"
    (difference,) = read_back(SYSTEM, SYSTEM.mode("sqlite"), server.administration).differences
    assert difference == "synchronous should be 'full', but the server says 'normal'."


def test_look_ups_use_the_added_index(manifest: Manifest, server: Server, tmp_path: Path):
    target(server, records=500).prepare_load()
    assert run_client(manifest, server, tmp_path / "load", "-load", recordcount="500").returns == {
        "INSERT": {"OK": 500}
    }
    ended = run_client(manifest, server, tmp_path / "run", "-t", recordcount="500", operationcount="500")
    assert all(set(codes) == {"OK"} for codes in ended.returns.values())
    with sqlite3.connect(Path(server.folder, "data", "ycsb.sqlite")) as db:
        (table,) = db.execute("SELECT table_name FROM _ferretdb_collections WHERE name = ?", [TABLE]).fetchone()
        look_up = f"""EXPLAIN QUERY PLAN SELECT * FROM "{table}" WHERE _ferretdb_sjson->'$._id' = ?"""
        assert "USING INDEX" in db.execute(look_up, ['"user1"']).fetchone()[-1]
    db.close()


def test_ferretdb_called_mongodb_is_a_stand_in(server: Server):
    mongodb = administration_for(
        load_catalog().system("mongodb"), {"mongodb.hosts": server.host, "mongodb.port": str(server.port)}
    )
    try:
        assert mongodb.topology()["stand_in"] == "wire stand-in"
    finally:
        mongodb.close()


def test_another_ferretdb_shows_its_backend_alone(server: Server):
    with sqlite3.connect(Path(server.folder, "data", "benchsite_server.sqlite")) as db:
        (table,) = db.execute("SELECT table_name FROM _ferretdb_collections WHERE name = 'settings'").fetchone()
        (statement,) = db.execute(f'SELECT _ferretdb_sjson FROM "{table}"').fetchone()
        db.execute(f'DELETE FROM "{table}"')
        db.commit()
        try:
            assert server.administration.read_settings(["handler", "synchronous"]) == {"handler": "sqlite"}
        finally:
            db.execute(f'INSERT INTO "{table}" (_ferretdb_sjson) VALUES (?)', [statement])
    db.close()

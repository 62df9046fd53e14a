"""Data sets of tests on servers that an `Admin` program administers."""

from pathlib import Path

import pytest

from runs.ycsb.keys import loaded_keys
from workers.provision.ownership import DataNotOwned, DataTarget
from workers.provision.servers import Server
from workers.systems.manifests import Manifest
from workers.tests.bindings.clients import Ended, StartedClient

FIELDS = [f"field{number}" for number in range(10)]
TABLE = "usertable"


def target(server: Server, *, cluster: str = "ours", table: str = TABLE, records: int = 100) -> DataTarget:
    return DataTarget(
        administration=server.administration,
        name=f"{server.spec.system.name}, table {table}",
        remedy="Empty it.",
        sites=["site"],
        cluster=cluster,
        table=table,
        fields=FIELDS,
        fingerprint=f"{records} records",
        keys=loaded_keys({"recordcount": str(records)}),
        confirmed=False,
    )


def check_ownership(server: Server, table: str = TABLE) -> str:
    """The table belongs to the cluster that prepared it, and a marker is replaced by whoever read it; the marker."""
    ours = target(server, table=table)
    ours.prepare_load()
    with pytest.raises(DataNotOwned, match="another cluster"):
        target(server, cluster="theirs", table=table).prepare_load()
    ours.require_data_set()
    marker = server.administration.read_marker(table)
    assert not server.administration.write_marker(table, "{}", replaces="")
    assert not server.administration.write_marker(table, "{}", replaces="{}")
    return marker


def check_table_ownership(server: Server) -> None:
    """As `check_ownership`, of a table of its own, which is dropped while it is empty and made again."""
    assert target(server, table="owned").prepare_load() == ""
    check_ownership(server, "owned")
    assert target(server, table="owned").prepare_load() == ""


def run_client(manifest: Manifest, server: Server, folder: Path, phase: str, **properties: str) -> Ended:
    client = StartedClient(manifest, folder, {**server.client_properties(), **properties}, phase=phase)
    try:
        client.go()
        return client.end()
    finally:
        client.kill()

"""Data sets of tests on servers that an `Admin` program administers."""

from pathlib import Path

from runs.ycsb.keys import loaded_keys
from workers.provision.ownership import DataTarget
from workers.provision.servers import Server
from workers.systems.manifests import Manifest
from workers.tests.bindings.clients import Ended, StartedClient

FIELDS = [f"field{number}" for number in range(10)]
TABLE = "usertable"


def target(server: Server, *, cluster: str = "ours", table: str = TABLE, records: int = 100) -> DataTarget:
    return DataTarget(
        administration=server.administration,
        name=f"{server.wanted.system.name}, table {table}",
        remedy="Empty it.",
        sites=["site"],
        cluster=cluster,
        table=table,
        fields=FIELDS,
        fingerprint=f"{records} records",
        keys=loaded_keys({"recordcount": str(records)}),
        confirmed=False,
    )


def run_client(manifest: Manifest, server: Server, folder: Path, phase: str, **properties: str) -> Ended:
    client = StartedClient(manifest, folder, {**server.client_properties(), **properties}, phase=phase)
    try:
        client.go()
        return client.end()
    finally:
        client.kill()

"""Servers of tests that stand in for products of which no package exists. Their numbers mean nothing.

`python -m workers.tests.stand_ins couchbase 3 1` starts the vendor's mock with three nodes and one replica,
`... aerospike storage-engine=memory` the stand-in for Aerospike with this setting, `... mongodb` that for MongoDB.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workers.systems.build import ROOT, fetch_servers
from workers.systems.manifests import java_executable

HERE = Path(__file__).parent
PASSWORD = "pass"


@contextmanager
def mongo_stand_in(*shards: str) -> Iterator[int]:
    """mongo-java-server; its port. `shards`: a mongos, with the states of each shard's members; or
    "RESTRICTED", whose user may not list collections.
    """
    pom = HERE / "mongo-java-server.xml"
    manifest = fetch_servers(ROOT / "var" / "servers", [pom.stem], {pom.stem: pom})[pom.stem]
    with _running([*map(str, manifest.jars)], "MongoStandIn.java", *shards) as (port,):
        yield port


@contextmanager
def couchbase_mock(nodes: int = 1, replicas: int = 0) -> Iterator[list[int]]:
    """Couchbase's mock with the bucket and user "bench"; the key-value ports of its nodes, of 127.0.0.1, .2, .3."""
    pom = HERE / "couchbase-mock.xml"
    manifest = fetch_servers(ROOT / "var" / "servers", [pom.stem], {pom.stem: pom})[pom.stem]
    with _running([*map(str, manifest.jars)], "CouchbaseMockServer.java", str(nodes), str(replicas)) as ports:
        yield ports[1:]


@contextmanager
def _running(jars: list[str], source: str, *arguments: str) -> Iterator[list[int]]:
    """A Java program of this folder, which prints READY and numbers, and ends with its stdin."""
    argv = [java_executable(), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    argv += [*(["-cp", ":".join(jars)] if jars else []), str(HERE / source), *arguments]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            line = next((line for line in process.stdout if line.startswith("READY ")), "")
            assert line, f"{source} did not start"
            yield [int(word) for word in line.split()[1:]]
        finally:
            process.stdin.close()
            process.wait(timeout=10)

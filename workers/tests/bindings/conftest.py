"""Bindings as `make bindings` leaves them, and servers for them."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from workers.systems.build import ROOT, build
from workers.systems.manifests import Manifest
from workers.tests.bindings.clients import Ended, StartedClient
from workers.tests.bindings.servers import TargetServer, administration, postgresql_server, redis_server


@dataclass
class Target:
    """A server with the binding that goes with it."""

    server: TargetServer
    manifest: Manifest
    folder: Path
    clients: list[StartedClient] = field(default_factory=list)

    @property
    def port(self) -> dict[str, str]:
        return {f"{self.manifest.binding}.port": str(self.server.port)}

    def start(self, properties: Mapping[str, str] | None = None, **options: Any) -> StartedClient:
        """A client that has not begun yet."""
        folder = self.folder / f"client-{len(self.clients) + 1}"
        client = StartedClient(self.manifest, folder, {**self.port, **(properties or {})}, **options)
        self.clients.append(client)
        return client

    def run(self, properties: Mapping[str, str] | None = None, **options: Any) -> Ended:
        """A client from its start to its end."""
        client = self.start(properties, **options)
        client.go()
        return client.end()

    def load(self, properties: Mapping[str, str] | None = None, **options: Any) -> Ended:
        self.empty()
        return self.run(properties, phase="-load", **options)

    def empty(self) -> None:
        """No records, no settings of an earlier test."""
        if self.manifest.binding == "postgresql":
            with psycopg.connect(host="127.0.0.1", port=self.server.port, user="ycsb", dbname="ycsb") as session:
                session.execute("DROP TABLE IF EXISTS usertable")
            administration(self.server.port).create_table("usertable", [f"field{n}" for n in range(10)], "{}")
        else:
            with redis.Redis(port=self.server.port) as connection:
                connection.flushall()
                connection.config_set("maxmemory", "0")


@pytest.fixture(scope="session")
def bindings() -> dict[str, Manifest]:
    return build(ROOT / "var" / "ycsb")


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[TargetServer]:
    with standing("redis") as server:
        yield server


@pytest.fixture(scope="session")
def shared_postgresql() -> Iterator[TargetServer]:
    with standing("postgresql") as server:
        yield server


@pytest.fixture
def redis_target(bindings: dict[str, Manifest], shared_redis: TargetServer, tmp_path: Path) -> Iterator[Target]:
    with using(shared_redis, bindings["redis"], tmp_path) as target:
        yield target


@pytest.fixture
def postgresql_target(
    bindings: dict[str, Manifest], shared_postgresql: TargetServer, tmp_path: Path
) -> Iterator[Target]:
    with using(shared_postgresql, bindings["postgresql"], tmp_path) as target:
        yield target


@pytest.fixture(params=["redis", "postgresql"])
def target(request: pytest.FixtureRequest) -> Target:
    """Each server in turn, shared with other tests."""
    found = request.getfixturevalue(f"{request.param}_target")
    assert isinstance(found, Target)
    return found


@pytest.fixture(params=["redis", "postgresql"])
def mortal_target(request: pytest.FixtureRequest, bindings: dict[str, Manifest], tmp_path: Path) -> Iterator[Target]:
    """Each server in turn, this test's own: it may be killed."""
    with standing(request.param) as server, using(server, bindings[request.param], tmp_path) as target:
        yield target


@contextmanager
def standing(name: str) -> Iterator[TargetServer]:
    """A server in a folder of its own, which its account reaches."""
    folder = Path(tempfile.mkdtemp(prefix="bs-", dir="/tmp"))
    folder.chmod(0o755)
    server = redis_server(folder) if name == "redis" else postgresql_server(folder, "max_connections=20")
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


@contextmanager
def using(server: TargetServer, manifest: Manifest, folder: Path) -> Iterator[Target]:
    target = Target(server, manifest, folder)
    target.empty()
    try:
        yield target
    finally:
        for client in target.clients:
            client.kill()

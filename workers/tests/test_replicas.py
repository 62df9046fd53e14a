"""A primary and its replicas as processes: modes that wait for a replica, lag, and what a killed node leaves."""

import os
import signal
import time
from typing import cast

import pytest

from workers.provision.administration import AdministrationError
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.readback import read_back
from workers.provision.servers import Server
from workers.tests.conftest import Servers, find_processes
from workers.tests.loaded_targets import FIELDS

pytestmark = pytest.mark.slow
SYSTEMS = [
    pytest.param("redis", "everysec-wait-1", id="redis"),
    pytest.param("postgresql", "on-standby", id="postgresql"),
    pytest.param("mariadb", "flush-1-semi-sync", id="mariadb", marks=[pytest.mark.long, pytest.mark.needs("mariadb")]),
]


def read(server: Server):
    return read_back(server.spec.system, server.spec.mode, server.administration)


def kill_node(provisioner: ProcessProvisioner, server: Server, number: int) -> None:
    """SIGKILL, and waits until the provisioner sees it."""
    pids = cast(list[int], server.process["pids"])
    os.kill(pids[number], signal.SIGKILL)
    end = time.monotonic() + 30
    while provisioner.alive() and time.monotonic() < end:
        time.sleep(0.05)
    assert not provisioner.alive()


def assert_replicated(server: Server) -> None:
    state = read(server)
    assert state.in_force, state.differences
    assert (state.found["replicas"], state.topology["nodes_up"]) == ("1", "2")
    if server.spec.system.slug == "postgresql":
        assert state.topology["standbys"] == "node_2 sync"


@pytest.mark.parametrize(("system", "mode"), SYSTEMS)
def test_replica_is_copied_and_read_back(servers: Servers, system: str, mode: str):
    provisioner = servers(system, mode, settings={"nodes": "2"})
    server = provisioner.start()
    assert_replicated(server)
    with server.administration.open_counters() as read_counters:
        lags = {name: value for name, value in read_counters().values.items() if name.startswith("replication_lag_")}
    assert lags and all(0 <= value < 10**6 for value in lags.values()), lags

    kill_node(provisioner, server, 1)
    if system == "mariadb":  # It notices a replica that is gone when it sends the next commit.
        server.administration.create_table("unnoticed", FIELDS, "{}")
    end = time.monotonic() + 30
    while (state := read(server)).in_force and time.monotonic() < end:
        time.sleep(0.1)
    assert state.differences == ("The mode needs at least 1 connected replicas; there are 0.",)
    assert state.topology["nodes_up"] == "1"

    server = provisioner.start()
    assert_replicated(server)
    kill_node(provisioner, server, 0)
    with pytest.raises(AdministrationError):
        server.administration.ping()
    assert_replicated(provisioner.start())
    provisioner.stop()
    assert find_processes(provisioner.folder) == []
    replica = provisioner.folder / "node-2" / "data"
    before = replica.stat().st_ino
    assert_replicated(provisioner.start())
    assert replica.stat().st_ino == before  # A planned stop keeps the copy.


def test_single_server_has_no_replication_settings(servers: Servers):
    provisioner = servers("redis", "everysec")
    server = provisioner.start()
    assert "repl-diskless-sync-delay" not in server.files["redis.conf"]
    assert read(server).topology == {"version": server.version, "nodes_up": "1"}

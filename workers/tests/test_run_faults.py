"""Each kind of fault on a real server: what it does while it lasts, and that nothing of it is left."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time

import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from workers.conductor.run_faults import FaultInjector
from workers.durability.storage import StorageError, require_volatile_storage
from workers.provision.cpu_quota import GROUP_PREFIX, QuotaError, check_quota, own_group, remove_unused_groups
from workers.provision.network_cut import CutError, chains, check_cut, remove_unused_cuts
from workers.provision.process_tree import processes_below, stopped

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


class Target:
    """A server under faults, as `workers.conductor.deployment.Standing`."""

    def __init__(self, provisioner):
        self.provisioner = provisioner
        self.server = provisioner.start()
        self.notes = []
        self.ends = 0

    def servers_stop(self):
        self.ends += 1

    def servers_started(self, server):
        self.server = server

    def inject(self, kind, *, at_s=0.2, duration_s=1.0, node=None, value=None):
        fault = {"kind": kind, "at_s": at_s, "duration_s": duration_s, "node": node, "value": value}
        return FaultInjector([fault], self, self.provisioner, self.notes.append, begins_in_s=0.0)

    def client(self):
        server = self.server
        return redis.Redis(
            server.host, server.port, password=server.password, socket_timeout=20, retry=Retry(NoBackoff(), 0)
        )

    def longest_answer_s(self, injector):
        """The longest time that a write took until the faults were over, and how many writes failed."""
        longest_s, failures = 0.0, 0
        with self.client() as client:
            while not injector.join(0.0):
                began = time.monotonic()
                try:
                    client.set("key", "value")
                except redis.RedisError:
                    failures += 1
                    time.sleep(0.01)
                longest_s = max(longest_s, time.monotonic() - began)
        return longest_s, failures


@pytest.fixture
def target(servers):
    return Target(servers("redis", "always"))


def groups():
    return list(own_group().glob(f"{GROUP_PREFIX}*"))


def test_pause_holds_up_every_answer(target):
    injector = target.inject("pause")
    longest_s, failures = target.longest_answer_s(injector)
    assert longest_s > 0.8 and failures == 0
    (record,) = injector.records
    assert record["ended_at"] - record["began_at"] == pytest.approx(1.0, abs=0.3) and record["error"] == ""
    assert target.notes == [
        "Fault 1 began: pause of all nodes at second 0.2 for 1 s.",
        "Fault 1 ended: pause of all nodes at second 0.2 for 1 s.",
    ]
    assert target.ends == 0


@pytest.mark.parametrize("kind", ["crash", "restart"])
def test_server_returns_on_its_port_with_its_data(target, kind):
    before = target.server
    with target.client() as client:
        client.set("before", "kept")
    injector = target.inject(kind, duration_s=0.5)
    _, failures = target.longest_answer_s(injector)
    assert failures > 0 and target.ends == 1 and injector.records[0]["error"] == ""
    assert target.server.port == before.port and target.server.process["pid"] != before.process["pid"]
    with target.client() as client:
        assert client.get("before") == b"kept"


def test_cancelled_crash_leaves_the_server_down(target):
    injector = target.inject("crash", duration_s=60)
    deadline = time.monotonic() + 20
    while not target.notes and time.monotonic() < deadline:
        time.sleep(0.01)
    injector.cancel()
    assert not target.provisioner.alive() and target.ends == 1


def test_cancelled_pause_ends_at_once(target):
    injector = target.inject("pause", duration_s=60)
    deadline = time.monotonic() + 20
    while not target.notes and time.monotonic() < deadline:
        time.sleep(0.01)
    injector.cancel()
    with target.client() as client:
        assert client.ping()


def test_server_that_does_not_return_is_recorded(target):
    fault = {"kind": "crash", "at_s": 0.0, "duration_s": 0.0, "node": None, "value": None}
    (target.provisioner.folder / "password").unlink()
    (target.provisioner.folder / "password").mkdir()
    injector = FaultInjector([fault], target, target.provisioner, target.notes.append, begins_in_s=0.0)
    assert injector.join(60) and injector.records[0]["error"] and injector.records[0]["ended_at"] is None
    assert target.notes[-1].startswith("Fault 1 failed")


def test_throttle_limits_the_cpu_time_of_the_whole_server(target):
    try:
        check_quota()
    except QuotaError as reason:
        pytest.skip(str(reason))
    process = psutil.Process(target.server.process["pid"])
    stopping = threading.Event()

    def load():
        with target.client() as client:
            while not stopping.is_set():
                client.eval("local n = 0; for i = 1, 1e6 do n = n + i end", 0)

    thread = threading.Thread(target=load)
    thread.start()
    try:
        injector = target.inject("cpu_throttle", duration_s=3, value=20)
        deadline = time.monotonic() + 20
        while not target.notes and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(groups()) == 1
        before, began = process.cpu_times(), time.monotonic()
        time.sleep(2)
        used = (process.cpu_times().user - before.user) / (time.monotonic() - began)
        assert used < 0.3
        assert injector.join(20) and injector.records[0]["error"] == ""
    finally:
        stopping.set()
        thread.join()
    assert groups() == []


def test_unused_group_of_a_killed_conductor_is_removed():
    try:
        check_quota()
    except QuotaError as reason:
        pytest.skip(str(reason))
    (own_group() / f"{GROUP_PREFIX}left").mkdir()
    remove_unused_groups()
    assert groups() == []


def test_slow_disk_delays_syncs_and_keeps_the_data(servers):
    try:
        require_volatile_storage()
    except StorageError as reason:
        pytest.skip(str(reason))
    provisioner = servers("redis", "always")
    provisioner.has_volatile_disk = True
    target = Target(provisioner)
    injector = target.inject("slow_disk", value=300)
    longest_s, failures = target.longest_answer_s(injector)
    assert longest_s >= 0.3 and failures == 0
    with target.client() as client:
        began = time.monotonic()
        client.set("after", "fast")
        assert time.monotonic() - began < 0.3
    crash = target.inject("crash", duration_s=0.0)
    assert crash.join(60) and crash.records[0]["error"] == ""
    with target.client() as client:
        assert client.get("after") == b"fast"
        client.config_set("appendfsync", "no")
        client.set("unsynced", "kept at a planned stop")
    provisioner.stop()
    target.server = provisioner.start()
    with target.client() as client:
        assert client.get("unsynced") == b"kept at a planned stop"


@pytest.fixture
def iptables():
    try:
        check_cut()
    except CutError as reason:
        pytest.skip(str(reason))


@pytest.mark.usefixtures("iptables")
@pytest.mark.parametrize(("system", "mode"), [("redis", "always"), ("postgresql", "off")])
def test_cut_drops_packets_and_keeps_connections(servers, system, mode):
    target = Target(servers(system, mode))
    address = (target.server.host, target.server.port)
    with socket.create_connection(address):
        injector = target.inject("network_cut", duration_s=1.5)
        deadline = time.monotonic() + 20
        while not target.notes and time.monotonic() < deadline:
            time.sleep(0.01)
        with pytest.raises(TimeoutError):  # It is not refused.
            socket.create_connection(address, timeout=0.5)
        assert injector.join(20) and injector.records[0]["error"] == ""
    assert chains() == [] and target.ends == 0
    target.server.administration.ping()


@pytest.mark.usefixtures("iptables")
def test_answers_wait_for_the_end_of_a_cut(target):
    longest_s, failures = target.longest_answer_s(target.inject("network_cut"))
    assert longest_s > 0.8 and failures == 0


@pytest.mark.usefixtures("iptables")
def test_cut_lasts_as_planned_where_processes_are_listed_late(target, monkeypatch):
    """Many processes on a busy machine."""
    processes = target.provisioner.processes

    def list_late(node):
        time.sleep(0.9)
        return processes(node)

    monkeypatch.setattr(target.provisioner, "processes", list_late)
    longest_s, _ = target.longest_answer_s(target.inject("network_cut", at_s=1.0))
    assert longest_s > 0.8


@pytest.mark.usefixtures("iptables")
def test_cut_of_a_replica_keeps_its_primary_and_clients(servers):
    """Also of the connection that the replica opened to its primary."""
    target = Target(servers("redis", "everysec", settings={"nodes": 2}))
    with target.client() as primary:
        assert primary.wait(1, 10_000) == 1
        injector = target.inject("network_cut", duration_s=2.0, node=2)
        while not target.notes:
            time.sleep(0.01)
        primary.set("during", "cut")
        assert primary.wait(1, 500) == 0 and not injector.join(0.0)
        assert injector.join(20) and injector.records[0]["error"] == ""
        assert primary.wait(1, 10_000) == 1 and primary.get("during") == b"cut"


@pytest.fixture
def cutter_of_port(iptables):
    """A port, the chain of its cut, and the process that cuts it, which may be killed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        script = (
            "import time, psutil; from workers.provision.network_cut import network_cut\n"
            f"with network_cut([[psutil.Process({os.getpid()})]]): print('cut', flush=True); time.sleep(60)"
        )
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as cutter:
            assert cutter.stdout.readline() == "cut\n"
            (chain,) = chains()
            yield port, chain, cutter
            cutter.kill()


def find_watcher(chain):
    (watcher,) = [shell for shell in psutil.process_iter(["cmdline"]) if chain in (shell.info["cmdline"] or ())]
    return watcher


def test_cut_ends_with_a_killed_conductor(cutter_of_port):
    port, _, cutter = cutter_of_port
    remove_unused_cuts()
    assert len(chains()) == 1  # It is in use.
    cutter.kill()
    deadline = time.monotonic() + 10
    while chains() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert chains() == []
    socket.create_connection(("127.0.0.1", port), timeout=5).close()


def test_cut_is_removed_where_its_watcher_was_killed_too(cutter_of_port):
    _, chain, cutter = cutter_of_port
    find_watcher(chain).kill()
    cutter.kill()
    cutter.wait(10)
    assert chains() == [chain]
    remove_unused_cuts()
    assert chains() == []


def states_below(guardian_pid, *, until):
    """The states of a server's processes once the condition holds for them, or after ten seconds.

    A signal reaches a process that writes to a disk only afterwards. A process that has ended is left out: while its
    parent is stopped, it stays as a zombie.
    """
    deadline = time.monotonic() + 10
    while True:
        states = set()
        for process in processes_below(guardian_pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                states.add(process.status())
        states.discard(psutil.STATUS_ZOMBIE)
        if until(states) or time.monotonic() > deadline:
            return states
        time.sleep(0.01)


def test_pause_reaches_processes_in_sessions_of_their_own(servers):
    """Backends of PostgreSQL leave the group of their server."""
    provisioner = servers("postgresql", "off")
    provisioner.start()
    (guardian_pid,) = provisioner.guardians(None)
    all_stopped = {psutil.STATUS_STOPPED}
    with stopped(guardian_pid):
        assert states_below(guardian_pid, until=lambda states: states == all_stopped) == all_stopped
    assert not all_stopped & states_below(guardian_pid, until=lambda states: not all_stopped & states)


def test_one_replica_crashes_and_returns(servers):
    target = Target(servers("redis", "always", settings={"nodes": "2"}))
    injector = target.inject("crash", duration_s=0.5, node=2)
    _, failures = target.longest_answer_s(injector)
    assert failures == 0 and injector.records[0]["error"] == ""
    assert target.server.administration.topology()["nodes_up"] == "2"
    with contextlib.closing(target.client()) as client:
        assert client.info("replication")["connected_slaves"] == 1

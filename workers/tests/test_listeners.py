"""The process that listens at an address of this machine is the server under test there."""

import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import pytest

from benchsite.tests.ports import free_port
from workers.probe.host_sampler import HostSampler
from workers.provision.listeners import find_listener, find_servers, list_programs

SERVER = """
import ctypes, os, socket, sys, time
ctypes.CDLL(None).prctl(15, b"a-server", 0, 0, 0)  # the name of a program, which is no ancestor's
if len(sys.argv) > 2:
    os.setuid(int(sys.argv[2]))
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
if not os.fork():
    while True:
        pass
print(flush=True)
time.sleep(60)
"""
NODE = """
import ctypes, os, socket, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[3].encode() if len(sys.argv) > 3 else b"a-node", 0, 0, 0)
if len(sys.argv) > 4:
    os.setuid(int(sys.argv[4]))
is_ipv6 = ":" in sys.argv[1]
family = socket.AF_INET6 if is_ipv6 else socket.AF_INET
listener = socket.create_server((sys.argv[1], int(sys.argv[2])), family=family, dualstack_ipv6=is_ipv6)
print(flush=True)
time.sleep(60)
"""
PROXY = """
import ctypes, encodings.idna, os, socket, sys, time  # which another user may not find
ctypes.CDLL(None).prctl(15, b"a-proxy", 0, 0, 0)
if len(sys.argv) > 3:
    os.setuid(int(sys.argv[3]))
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print(flush=True)
client, _ = listener.accept()
server = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
time.sleep(60)
"""
CONTAINER_PROXY = """
import ctypes, socket, sys, time
ctypes.CDLL(None).prctl(15, b"docker-proxy", 0, 0, 0)
listener = socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("-host-port") + 1])))
print(flush=True)
time.sleep(60)
"""
CONTAINER = """
import ctypes, os, socket, subprocess, sys, time
if ctypes.CDLL(None).unshare(0x40000000):  # CLONE_NEWNET
    sys.exit("no network of its own")
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
subprocess.run(["ip", "address", "add", sys.argv[1] + "/32", "dev", "lo"], check=True)
ctypes.CDLL(None).prctl(15, b"contained", 0, 0, 0)
os.setuid(int(sys.argv[3]))
listener = socket.create_server(("0.0.0.0", int(sys.argv[2])))
print(flush=True)
time.sleep(60)
"""
OTHER_USER, USER_OF_PROXY = 60_541, 60_542  # nobody else's
CONTAINER_ADDRESS = "172.31.251.7"


@contextmanager
def server(*user: int):
    """A server that lets a child work for it: its port and process."""
    port = free_port()
    argv = [sys.executable, "-c", SERVER, str(port), *map(str, user)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield port, process.pid
        finally:
            os.killpg(process.pid, 9)


@contextmanager
def proxy(port: int, *user: int):
    """A process that connects each of its clients to this port: its own port and process."""
    front = free_port()
    with started(PROXY, front, port, *user) as pid:
        yield front, pid


@contextmanager
def started(program: str, *arguments: object):
    """The process of a program that has written a line."""
    argv = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.kill()


def test_finds_the_parent_of_what_listens():
    with server() as (port, pid):
        assert find_listener("127.0.0.1", port) == pid
        assert find_listener("localhost", port) == pid


@pytest.mark.parametrize("bound", ["127.0.0.{}", "::ffff:127.0.0.{}"])
def test_finds_each_node_of_one_port(bound):
    """A cluster on one machine, of programs in C and in Java."""
    port = free_port()
    with started(NODE, bound.format(1), port) as first, started(NODE, bound.format(2), port) as second:
        assert find_listener("127.0.0.1", port) == first
        assert find_listener("127.0.0.2", port) == second
        assert find_listener("127.0.0.3", port) is None


def test_finds_the_server_behind_a_proxy():
    """Once it forwards a connection; clients of the proxy are no servers."""
    with server() as (port, pid), proxy(port) as (front, proxy_pid), socket.create_connection(("127.0.0.1", front)):
        end = time.monotonic() + 10
        while len(servers := find_servers([("127.0.0.1", front, "")])) < 2 and time.monotonic() < end:
            time.sleep(0.05)

        assert servers == [proxy_pid, pid]
        assert find_servers([("127.0.0.1", port, "")]) == [pid]


@pytest.mark.needs("network")
def test_of_programs_of_one_name_that_with_the_port_is_taken():
    """The elder one is another server."""
    port = free_port()
    with (
        started(CONTAINER, CONTAINER_ADDRESS, 6379, OTHER_USER),
        started(CONTAINER, CONTAINER_ADDRESS, port, OTHER_USER) as named,
    ):
        assert find_servers([("127.0.0.1", port, "contained")]) == [named]
        assert list_programs("contained")[0] == "contained"


@pytest.mark.needs("root")
def test_other_users_server_is_found_by_its_user(monkeypatch):
    """The kernel tells nobody else which process has the socket."""
    monkeypatch.setattr("psutil.net_connections", lambda kind: [])

    with server(OTHER_USER) as (port, pid):
        assert find_listener("127.0.0.1", port) == pid


@pytest.mark.needs("root")
def test_each_node_of_another_user_is_a_server(monkeypatch):
    """Three nodes have as many processes, whichever is whose; what else the user runs is none of them."""
    monkeypatch.setattr("psutil.net_connections", lambda kind: [])
    port = free_port()
    with ExitStack() as stack:
        pids = [
            stack.enter_context(started(NODE, f"127.0.0.{number}", port, "a-node", OTHER_USER)) for number in (1, 2, 3)
        ]
        stack.enter_context(started(NODE, "127.0.0.4", free_port(), "no-node", OTHER_USER))

        servers = find_servers((f"127.0.0.{number}", port, "") for number in (1, 2, 3, 3))

    assert servers == pids


@pytest.mark.needs("network")
def test_nodes_of_one_program_are_different_processes():
    """Nothing tells who listens; a person named the program."""
    port = free_port()
    addresses = [f"172.31.251.{number}" for number in (7, 8)]
    with ExitStack() as stack:
        pids = [stack.enter_context(started(CONTAINER, address, 6379, OTHER_USER)) for address in addresses]

        servers = find_servers(("127.0.0.1", port, "contained") for _ in addresses)

    assert servers == pids


@pytest.mark.needs("root")
def test_other_users_server_is_found_behind_a_proxy(monkeypatch):
    """The proxy is another user's, too: the table of sockets names the users of both."""
    monkeypatch.setattr("psutil.net_connections", lambda kind: [])

    with (
        server(OTHER_USER) as (port, pid),
        proxy(port, USER_OF_PROXY) as (front, proxy_pid),
        socket.create_connection(("127.0.0.1", front)),
    ):
        end = time.monotonic() + 10
        while len(servers := find_servers([("127.0.0.1", front, "")])) < 2 and time.monotonic() < end:
            time.sleep(0.05)

        assert servers == [proxy_pid, pid]


@pytest.mark.needs("network")
@pytest.mark.parametrize("reads_sockets", [True, False])
def test_finds_the_container_behind_its_proxy(monkeypatch, reads_sockets):
    """Root's proxy says in its command line where the container is; the container has a network of its own."""
    if not reads_sockets:
        monkeypatch.setattr("psutil.net_connections", lambda kind: [])
    front = free_port()
    options = ("-proto", "tcp", "-host-ip", "127.0.0.1", "-host-port", front, "-container-ip", CONTAINER_ADDRESS)
    with (
        started(CONTAINER, CONTAINER_ADDRESS, 6379, OTHER_USER) as contained,
        started(CONTAINER_PROXY, *options, "-container-port", 6379) as proxy_pid,
    ):
        assert find_listener(CONTAINER_ADDRESS, 6379) == contained
        assert find_listener(CONTAINER_ADDRESS, 6380) is None
        assert find_servers([("127.0.0.1", front, "")]) == [proxy_pid, contained]


@pytest.mark.needs("network")
def test_hidden_server_is_found_by_its_program():
    """Nothing tells who listens; a person does."""
    with started(CONTAINER, CONTAINER_ADDRESS, 6379, OTHER_USER) as hidden:
        port = free_port()
        assert find_servers([("127.0.0.1", port, "")]) == []
        assert "contained" in list_programs()
        assert find_servers([("127.0.0.1", port, "contained")]) == [hidden]
        assert find_servers([("127.0.0.1", port, "nothing such")]) == []


def test_finds_nothing_elsewhere():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        assert find_listener("10.255.0.1", port) is None

    assert find_listener("127.0.0.1", port) is None


def test_a_proxy_here_is_no_server_of_another_machine(monkeypatch):
    """Of which no process here is listed, either."""
    monkeypatch.setattr("psutil.net_connections", lambda kind: pytest.fail("listed"))
    front = free_port()
    options = ("-proto", "tcp", "-host-ip", "0.0.0.0", "-host-port", front)
    with started(CONTAINER_PROXY, *options, "-container-ip", CONTAINER_ADDRESS, "-container-port", 6379):
        assert find_servers([("10.255.0.1", front, ""), ("nowhere.invalid", front, "")]) == []
        assert find_listener("10.255.0.1", front) is None


def test_its_work_is_that_of_a_server(tmp_path):
    with server() as (port, _):
        pid = find_listener("127.0.0.1", port)
        sampler = HostSampler(service=os.getpid(), registry=tmp_path, servers=[pid])
        sampler.interval_s = 0.5
        while sampler.text.count("\n") < 4:
            sampler.tick()
        names, *rows = sampler.text.splitlines()

    cores = [float(row.split(",")[names.split(",").index("servers_cores")]) for row in rows]
    assert max(cores) > 0.1

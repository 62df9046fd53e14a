"""Which process of this machine listens at an address: an external server under test beside its clients."""

import contextlib
import ipaddress
import os
import re
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import psutil

from benchsite.core.addresses import AddressRefused, IPAddress, is_own_address, resolve

TABLES: Final = ("tcp", "tcp6")
LISTEN, ESTABLISHED = "0A", "01"
CONTAINER_PROXY: Final = "docker-proxy"

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Socket:
    """A line of /proc/net/tcp: the kernel names its user to everybody, and its process to few."""

    local: Address
    remote: Address
    state: str
    user: int

    def listens_on(self, port: int) -> bool:
        _, local_port = self.local
        return self.state == LISTEN and local_port == port


def find_listener(host: str, port: int) -> int | None:
    """The main process behind host:port; None where that is another machine, or nothing tells which process it is.

    The kernel names the process of a socket to root and to the process's own user. Of another user's socket it names
    the user: that user's first process is taken, unless it is root. An address that is none of this machine's own may
    be that of a container here.
    """
    try:
        addresses = resolve(host, port)
    except AddressRefused:
        return None
    if not any(map(is_own_address, addresses)):
        return _find_main_process(_find_in_containers(str(addresses[0]), port))
    pids = set()
    for socket in psutil.net_connections(kind="tcp"):
        if socket.status != psutil.CONN_LISTEN or not socket.laddr or not socket.pid:
            continue
        # Nodes of a cluster on one machine may have one port, each at an address of its own.
        if socket.laddr.port == port and _accepts(socket.laddr.ip, addresses):
            pids.add(socket.pid)
    users = set() if pids else _find_users(port)
    if users:
        for process in psutil.process_iter(["uids", "status"]):
            has_ended = process.info["status"] == psutil.STATUS_ZOMBIE
            if process.info["uids"].effective in users and not has_ended:
                pids.add(process.pid)
    return _find_main_process(pids)


def _accepts(listener: str, addresses: Collection[IPAddress]) -> bool:
    """Whether a socket that listens at this address is reached at one of the others."""
    address = _unmap(ipaddress.ip_address(listener))
    return address.is_unspecified or address in addresses


def find_servers(host: str, port: int, program: str = "") -> list[int]:
    """The main process behind host:port, then those of this machine to which it forwards connections as a proxy. Where
    nothing tells the first, that of the program of this name.
    """
    proxies = _find_container_proxies(port)
    listener = find_listener(host, port) or next(iter(proxies), None)
    if listener is None and program:
        listener = _find_main_process(_find_by_name(program, port))
    if listener is None:
        return []
    forwarding = {listener, *proxies}
    with contextlib.suppress(psutil.Error):
        forwarding |= {child.pid for child in psutil.Process(listener).children(recursive=True)}
    targets = set(proxies.values())
    for connection in psutil.net_connections(kind="tcp"):
        local, remote = connection.laddr, connection.raddr
        if connection.pid in forwarding and local and remote and local.port != port:
            targets.add((remote.ip, remote.port))
    users = _find_users(port)
    if users:
        for socket in _list_sockets():
            _, local_port = socket.local
            _, remote_port = socket.remote
            is_connected = socket.state == ESTABLISHED and socket.user in users
            if is_connected and port not in (local_port, remote_port):
                targets.add(socket.remote)
    servers = {find_listener(*target) for target in targets} - forwarding
    return [listener, *sorted(pid for pid in servers if pid is not None)]


def list_programs(usual: str = "") -> list[str]:
    """The names of the programs that other users run, the `usual` one first."""
    names = {name for _, name, _ in _list_processes_of_others()}
    return sorted(names, key=lambda name: (name != usual, name.lower()))


def _find_by_name(program: str, port: int) -> set[int]:
    """Of several programs of this name those whose command lines name the port, if any do."""
    commands = {pid: command for pid, name, command in _list_processes_of_others() if name == program}
    naming = {pid for pid, command in commands.items() if re.search(rf"\b{port}\b", command)}
    return naming or set(commands)


def _list_processes_of_others() -> Iterator[tuple[int, str, str]]:
    """Process, name and command line, without threads of the kernel, which have none."""
    for process in psutil.process_iter(["name", "uids", "cmdline"]):
        if process.info["cmdline"] and process.info["uids"].effective != os.geteuid():
            yield process.pid, process.info["name"], " ".join(process.info["cmdline"])


def _find_users(port: int) -> set[int]:
    """The users whose programs listen there, but for root and the user of this process."""
    users = {socket.user for socket in _list_sockets() if socket.listens_on(port)}
    return users - {0, os.geteuid()}


def _find_container_proxies(port: int) -> dict[int, Address]:
    """Docker's proxies of this port: their command lines, which everybody reads, name the container's address."""
    proxies = {}
    for process in psutil.process_iter(["name", "cmdline"]):
        if process.info["name"] == CONTAINER_PROXY:
            words = process.info["cmdline"] or []
            options = dict(pairwise(words))
            if options.get("-host-port") == str(port) and options.get("-proto", "tcp") == "tcp":
                with contextlib.suppress(KeyError, ValueError):
                    proxies[process.pid] = options["-container-ip"], int(options["-container-port"])
    return proxies


def _find_in_containers(host: str, port: int) -> set[int]:
    """The processes in whose network the address is local and has a listener; /proc shows everybody's networks."""
    pids = set()
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/net/fib_trie").read_text().split()
            is_local = host in words and words[words.index(host) : words.index(host) + 4][-1] == "LOCAL"
            if is_local and any(socket.listens_on(port) for socket in _list_sockets(f"{pid}/")):
                pids.add(pid)
    return pids


def _list_sockets(process: str = "") -> Iterator[_Socket]:
    """Those of the network of this process, or of that of /proc/`process`."""
    for table in TABLES:
        with contextlib.suppress(FileNotFoundError):
            for line in Path(f"/proc/{process}net/{table}").read_text().splitlines()[1:]:
                _, local, remote, state, _, _, _, user, *_ = line.split()
                yield _Socket(_read_address(local), _read_address(remote), state, int(user))


def _read_address(text: str) -> Address:
    """Of the kernel's hexadecimal words in the byte order of the machine."""
    host, _, port = text.partition(":")
    words = bytes.fromhex(host)
    packed = struct.pack(f">{len(words) // 4}I", *struct.unpack(f"={len(words) // 4}I", words))
    return str(_unmap(ipaddress.ip_address(packed))), int(port, 16)


def _unmap(address: IPAddress) -> IPAddress:
    """Java's sockets have IPv4 addresses inside of IPv6 ones."""
    return getattr(address, "ipv4_mapped", None) or address


def _find_main_process(pids: set[int]) -> int | None:
    """The first that started, or its eldest ancestor of the same program: children of a server share its socket."""
    started = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):  # It has ended.
            process = psutil.Process(pid)
            parent = process.parent()
            while parent is not None and parent.name() == process.name():
                process, parent = parent, parent.parent()
            started.append((process.create_time(), process.pid))
    if not started:
        return None
    _, first = min(started)
    return first

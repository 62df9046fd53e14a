"""Which process of this machine listens at an address: an external server under test beside its clients."""

import contextlib
import ipaddress
import os
import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import psutil

from benchsite.core.addresses import AddressRefused, IPAddress, is_own_address, resolve

TABLES: Final = ("tcp", "tcp6")
LISTEN, ESTABLISHED = "0A", "01"
CONTAINER_PROXY: Final = "docker-proxy"

Address = tuple[str, int]
Listing = Callable[[], Collection[Any]]


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


def find_listener(host: str, port: int, list_connections: Listing | None = None) -> int | None:
    """The main process behind host:port; None where that is another machine, or nothing tells which process it is."""
    candidates = _find_candidates(_resolve(host, port), port, list_connections or list_connections_once())
    return next(iter(candidates), None)


def list_connections_once() -> Listing:
    """Lists the connections of all processes when it is called first: that reads the files of each of them."""

    @cache
    def list_connections() -> Collection[Any]:
        with contextlib.suppress(psutil.AccessDenied):  # macOS lists them to root alone.
            return psutil.net_connections(kind="tcp")
        return []

    return list_connections


def _resolve(host: str, port: int) -> list[IPAddress]:
    """None of a name that cannot be resolved."""
    with contextlib.suppress(AddressRefused):
        return resolve(host, port)
    return []


def _find_candidates(addresses: Sequence[IPAddress], port: int, list_connections: Listing) -> list[int]:
    """The main processes that may be behind the port there: mostly one, in the order of their starts.

    The kernel names the process of a socket to root and to the process's own user. Of another user's socket it names
    the user: that user's first process may be it, and others of the same program, unless the user is root. An address
    that is none of this machine's own may be that of a container here.
    """
    if not addresses:
        return []
    if not any(map(is_own_address, addresses)):
        return _find_main_processes(_find_in_containers(str(addresses[0]), port))[:1]
    pids = set()
    for socket in list_connections():
        if socket.status != psutil.CONN_LISTEN or not socket.laddr or not socket.pid:
            continue
        # Nodes of a cluster on one machine may have one port, each at an address of its own.
        if socket.laddr.port == port and _accepts(socket.laddr.ip, addresses):
            pids.add(socket.pid)
    if pids:
        return _find_main_processes(pids)[:1]
    users = _find_users(_list_sockets(), addresses, port)
    return _find_of_users(users, port) if users else []


def _find_of_users(users: Collection[int], port: int) -> list[int]:
    """The main processes of the program that these users started first."""
    pids = set()
    for process in psutil.process_iter(["uids", "status"]):
        has_ended = process.info["status"] == psutil.STATUS_ZOMBIE
        if process.info["uids"].effective in users and not has_ended:
            pids.add(process.pid)
    names = {}
    for pid in _find_main_processes(pids):
        with contextlib.suppress(psutil.Error):  # It has ended.
            names[pid] = psutil.Process(pid).name()
    first = next(iter(names.values()), "")
    return _prefer_named([pid for pid, name in names.items() if name == first], port)


def _accepts(listener: str, addresses: Collection[IPAddress]) -> bool:
    """Whether a socket that listens at this address is reached at one of the others."""
    address = _unmap(ipaddress.ip_address(listener))
    return address.is_unspecified or address in addresses


def find_servers(nodes: Iterable[tuple[str, int, str]], list_connections: Listing | None = None) -> list[int]:
    """The main processes behind these addresses, each followed by those of this machine to which it forwards
    connections as a proxy. A node is host, port, and the name of its program, by which it is found where nothing else
    tells. Where nothing tells which of several processes belongs to which node, each node gets another one.
    """
    servers: dict[int, None] = {}
    list_connections = list_connections or list_connections_once()
    for host, port, program in nodes:
        addresses = _resolve(host, port)
        proxies = _find_container_proxies(addresses, port)
        candidates = _find_candidates(addresses, port, list_connections) or list(proxies)
        if program and not candidates:
            candidates = _find_by_name(program, port)
        free = [pid for pid in candidates if pid not in servers]
        if free:
            servers |= dict.fromkeys([free[0], *_find_behind(free[0], addresses, port, proxies, list_connections)])
    return list(servers)


def _find_behind(
    listener: int,
    addresses: Collection[IPAddress],
    port: int,
    proxies: dict[int, Address],
    list_connections: Listing,
) -> list[int]:
    """The processes to which a proxy and its children forward what reaches this port."""
    forwarding = {listener, *proxies}
    with contextlib.suppress(psutil.Error):
        forwarding |= {child.pid for child in psutil.Process(listener).children(recursive=True)}
    targets = set(proxies.values())
    for connection in list_connections():
        local, remote = connection.laddr, connection.raddr
        if connection.pid in forwarding and local and remote and local.port != port:
            targets.add((remote.ip, remote.port))
    sockets = list(_list_sockets())
    users = _find_users(sockets, addresses, port)
    for socket in sockets:
        _, local_port = socket.local
        _, remote_port = socket.remote
        is_connected = socket.state == ESTABLISHED and socket.user in users
        if is_connected and port not in (local_port, remote_port):
            targets.add(socket.remote)
    behind = (find_listener(*target, list_connections) for target in targets)
    return sorted(set(filter(None, behind)) - forwarding)


def list_programs(usual: str = "") -> list[str]:
    """The names of the programs that other users run, the `usual` one first."""
    names = {name for _, name in _list_processes_of_others()}
    return sorted(names, key=lambda name: (name != usual, name.lower()))


def _find_by_name(program: str, port: int) -> list[int]:
    """The main processes of a program of other users."""
    named = {pid for pid, name in _list_processes_of_others() if name == program}
    return _prefer_named(_find_main_processes(named), port)


def _prefer_named(pids: list[int], port: int) -> list[int]:
    """Of several processes those whose command lines name the port, if any do."""
    naming = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):  # It has ended.
            if re.search(rf"\b{port}\b", " ".join(psutil.Process(pid).cmdline())):
                naming.append(pid)
    return naming or pids


def _list_processes_of_others() -> Iterator[tuple[int, str]]:
    """Process and name, without threads of the kernel, which have no command lines."""
    for process in psutil.process_iter(["name", "uids", "cmdline"]):
        if process.info["cmdline"] and process.info["uids"].effective != os.geteuid():
            yield process.pid, process.info["name"]


def _find_users(sockets: Iterable[_Socket], addresses: Collection[IPAddress], port: int) -> set[int]:
    """The users whose programs listen there, but for root and the user of this process."""
    listening = (socket for socket in sockets if socket.listens_on(port))
    users = {socket.user for socket in listening if _accepts(socket.local[0], addresses)}
    return users - {0, os.geteuid()}


def _find_container_proxies(addresses: Collection[IPAddress], port: int) -> dict[int, Address]:
    """Docker's proxies of this port, where one of the addresses is this machine's: their command lines, which everybody
    reads, name the container's address.
    """
    proxies: dict[int, Address] = {}
    if not any(map(is_own_address, addresses)):
        return proxies
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


def _find_main_processes(pids: Collection[int]) -> list[int]:
    """The eldest ancestors of the same program, in the order of their starts: children of a server share its socket."""
    started = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error):  # It has ended.
            process = psutil.Process(pid)
            parent = process.parent()
            while parent is not None and parent.name() == process.name():
                process, parent = parent, parent.parent()
            started.add((process.create_time(), process.pid))
    return [pid for _, pid in sorted(started)]

"""Which process of this machine listens at an address: an external server under test beside its clients."""

import contextlib
import os
from pathlib import Path
from typing import Final

import psutil

from benchsite.core.addresses import AddressRefused, is_own_address, resolve

TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
LISTEN: Final = "0A"


def find_listener(host: str, port: int) -> int | None:
    """The main process behind host:port; None where that is another machine, or nothing tells which process it is.

    The kernel names the process of a socket to root and to the process's own user. Of another user's socket it names
    the user: that user's first process is taken, unless it is root.
    """
    try:
        if not any(map(is_own_address, resolve(host, port))):
            return None
    except AddressRefused:
        return None
    sockets = [socket for socket in psutil.net_connections(kind="tcp") if socket.status == psutil.CONN_LISTEN]
    pids = {socket.pid for socket in sockets if socket.laddr and socket.laddr.port == port and socket.pid}
    if not pids and (users := _users_listening(port) - {0, os.geteuid()}):
        processes = psutil.process_iter(["uids"])
        pids = {process.pid for process in processes if process.info["uids"].effective in users}
    return _find_main_process(pids)


def find_servers(host: str, port: int) -> list[int]:
    """The main process behind host:port, then those of this machine to which it forwards connections as a proxy."""
    listener = find_listener(host, port)
    if listener is None:
        return []
    forwarding = {listener}
    with contextlib.suppress(psutil.Error):
        forwarding |= {child.pid for child in psutil.Process(listener).children(recursive=True)}
    targets: set[tuple[str, int]] = set()
    for connection in psutil.net_connections(kind="tcp"):
        local, remote = connection.laddr, connection.raddr
        if connection.pid in forwarding and local and remote and local.port != port:
            targets.add((remote.ip, remote.port))
    behind = {find_listener(*target) for target in targets} - forwarding
    return [listener, *sorted(pid for pid in behind if pid is not None)]


def _users_listening(port: int) -> set[int]:
    users = set()
    for table in TABLES:
        with contextlib.suppress(FileNotFoundError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    users.add(int(fields[7]))
    return users


def _find_main_process(pids: set[int]) -> int | None:
    """The first that started, or its eldest ancestor of the same program: children of a server share its socket."""
    started = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):  # It has ended.
            process = psutil.Process(pid)
            while (parent := process.parent()) is not None and parent.name() == process.name():
                process = parent
            started.append((process.create_time(), process.pid))
    if not started:
        return None
    return min(started)[1]

"""Cuts servers off from their clients and from each other on the loopback interface, by a chain of iptables.

A watching shell removes the chain once its input ends: at the end of the cut, and where the conductor is killed. A
chain without its shell is in no use, and `remove_unused_cuts` deletes it. No Django.
"""

import contextlib
import os
import re
import secrets
import subprocess
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, Final

import psutil

from workers.executables import find_program

CHAIN_PREFIX: Final = "benchsite-cut-"
LOCK_TIMEOUT_S: Final = 10
COMMAND_TIMEOUT_S: Final = 30

Address = tuple[str, int]


class CutError(Exception):
    """Packets cannot be dropped here, or are still dropped; the message says why and what to do."""


def check_cut() -> None:
    """Makes a chain and removes it in the same step. Raises CutError."""
    if find_program("iptables-restore") is None:
        raise CutError("Networks are cut by iptables, and this machine has none: run apt-get install iptables.")
    if os.geteuid() != 0:
        raise CutError("Networks are cut by iptables, which needs root: run the conductor as root.")
    chain = _chain_name()
    rule = f"-A {chain} -p tcp --syn -m owner --uid-owner 0 -j DROP"
    _restore(f":{chain} -", rule, _jump(chain), _removal(chain))


def network_cut(
    sides: Sequence[Iterable[psutil.Process]], others: Iterable[psutil.Process] = ()
) -> contextlib.AbstractContextManager[None]:
    """Within, no packet passes between a side and what is outside it: clients, the other sides, and `others`.

    Connections across the cut stay open, and new ones are not refused. Their sockets are read at the call. Raises
    CutError.
    """
    rules = list(_rules(sides, others))
    if not rules:
        raise CutError("The server listens on no TCP port.")
    return _dropped(rules)


@contextlib.contextmanager
def _dropped(rules: Iterable[str]) -> Iterator[None]:
    chain = _chain_name()
    # A session of its own: a signal to the conductor's group does not reach it.
    with subprocess.Popen(
        ["/bin/sh", "-c", f"cat; printf '%s' \"$1\" | {_command()}", chain, _table(_removal(chain))],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as watcher:  # fmt: skip
        _restore(f":{chain} -", *(f"-A {chain} -p tcp {rule}" for rule in rules), _jump(chain))
        try:
            yield
        finally:
            assert watcher.stdin is not None
            watcher.stdin.close()
            if watcher.wait(COMMAND_TIMEOUT_S) != 0:
                _restore(_removal(chain))


def remove_unused_cuts() -> None:
    """Removes the chains whose watching shell was killed too."""
    for chain in chains():
        is_watched = any(chain in (process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
        if not is_watched:
            with contextlib.suppress(CutError):  # Another conductor was first.
                _restore(_removal(chain))


def chains() -> list[str]:
    """The chains of cuts; none where iptables is missing or not allowed."""
    program = find_program("iptables-save")
    if program is None or os.geteuid() != 0:
        return []
    table = subprocess.run([program, "-t", "filter"], capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S)
    return re.findall(rf"^:({CHAIN_PREFIX}\w+) ", table.stdout, re.MULTILINE)


def _chain_name() -> str:
    return f"{CHAIN_PREFIX}{secrets.token_hex(6)}"


def _rules(sides: Sequence[Iterable[psutil.Process]], others: Iterable[psutil.Process]) -> Iterator[str]:
    """What becomes of packets: those within a side pass, those of its ports and of connections that it opened do not.

    Nodes of the same user cannot be told apart when they open a connection, so none opens one across a cut to a port of
    another, nor to a port beside it.
    """
    connections = psutil.net_connections("tcp")
    groups = [list(side) for side in (*sides, others)]
    sockets = [_sockets({process.pid for process in group}, connections) for group in groups]
    for number, (listening, connected) in enumerate(sockets[:-1]):
        within = {(local, remote) for local, remote in connected if (remote, local) in connected}
        for local, remote in sorted(within):
            yield f"{_from(local)} {_to(remote)} -j RETURN"
        for address in sorted(listening):
            yield f"{_to(address)} -j DROP"
            yield f"{_from(address)} -j DROP"
        ports = {port for _, port in listening}
        for local, remote in sorted(connected - within):
            if local[1] not in ports:
                yield f"{_from(local)} {_to(remote)} -j DROP"
                yield f"{_from(remote)} {_to(local)} -j DROP"
        outside = {address for other, (addresses, _) in enumerate(sockets) if other != number for address in addresses}
        for user in sorted(_users(groups[number])):
            for address in sorted(outside - listening):
                yield f"--syn {_to(address)} -m owner --uid-owner {user} -j DROP"


def _sockets(
    pids: Container[int | None], connections: Iterable[Any]
) -> tuple[set[Address], set[tuple[Address, Address]]]:
    """Where the processes listen, the address empty for all addresses, and the ends of their connections."""
    listening, connected = set(), set()
    for connection in connections:
        if connection.pid in pids and ":" not in (local := _address(connection.laddr))[0]:
            if connection.status == psutil.CONN_LISTEN:
                listening.add(local)
            elif connection.raddr:
                connected.add((local, _address(connection.raddr)))
    return listening, connected


def _address(end: Any) -> Address:
    """IPv4 also where the socket is of IPv6: servers under test are reached by IPv4."""
    ip = end.ip.removeprefix("::ffff:")
    return "" if ip in ("0.0.0.0", "::") else ip, end.port


def _users(processes: Iterable[psutil.Process]) -> set[int]:
    users = set()
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            users.add(process.uids().effective)
    return users


def _from(address: Address) -> str:
    return f"{f'-s {address[0]} ' if address[0] else ''}--sport {address[1]}"


def _to(address: Address) -> str:
    return f"{f'-d {address[0]} ' if address[0] else ''}--dport {address[1]}"


def _jump(chain: str) -> str:
    return f"-I OUTPUT -o lo -j {chain}"


def _removal(chain: str) -> str:
    return f"-D OUTPUT -o lo -j {chain}\n-F {chain}\n-X {chain}"


def _command() -> str:
    program = find_program("iptables-restore") or "iptables-restore"
    return f"{program} --noflush --wait {LOCK_TIMEOUT_S}"


def _table(*lines: str) -> str:
    return "\n".join(["*filter", *lines, "COMMIT", ""])


def _restore(*lines: str) -> None:
    """Changes the table in one step, so that all ports are cut at the same instant. Raises CutError."""
    try:
        answer = subprocess.run(
            _command().split(), input=_table(*lines), capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CutError(f"iptables cannot be run: {error}") from error
    if answer.returncode != 0:
        raise CutError(
            f"iptables refused the rules ({answer.stderr.strip()[:200]}): allow the conductor CAP_NET_ADMIN."
        )

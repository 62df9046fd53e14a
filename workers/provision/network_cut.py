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

from benchsite.core.child_environment import child_environment
from benchsite.core.prerequisites import find_program

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
    chain = _generate_chain_name()
    rule = f"-A {chain} -p tcp --syn -m owner --uid-owner 0 -j DROP"
    _restore(f":{chain} -", rule, f"-I OUTPUT -o lo -j {chain}", _build_removal(chain))


def network_cut(
    sides: Sequence[Iterable[psutil.Process]], others: Iterable[psutil.Process] = ()
) -> contextlib.AbstractContextManager[None]:
    """Within, no packet passes between a side and what is outside it: clients, the other sides, and `others`.

    Connections across the cut stay open, and new ones are not refused. Their sockets are read at the call. Raises
    CutError.
    """
    groups = [list(side) for side in (*sides, others)]
    rules = _build_rules(groups)
    if not rules:
        raise CutError("The server listens on no TCP port.")
    return _drop_packets(rules, groups)


@contextlib.contextmanager
def _drop_packets(rules: list[str], groups: Sequence[Sequence[psutil.Process]]) -> Iterator[None]:
    chain = _generate_chain_name()
    # The watcher installs the rules too: one that removes alone could be done before a killed conductor's last command.
    script = f'printf %s "$1" | {_build_command()} || exit 1; echo; cat; printf %s "$2" | {_build_command()}'
    installation = _build_table(f":{chain} -", *_append_rules(chain, rules), f"-I OUTPUT -o lo -j {chain}")
    # A session of its own: a signal to the conductor's group does not reach it.
    with subprocess.Popen(
        ["/bin/sh", "-c", script, chain, installation, _build_table(_build_removal(chain))], env=child_environment(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as watcher:  # fmt: skip
        assert watcher.stdin and watcher.stdout and watcher.stderr
        if not watcher.stdout.readline():
            raise _describe_refusal(watcher.stderr.read())
        try:
            # Connections may have been opened since the sockets were read.
            new_rules = [rule for rule in _build_rules(groups) if rule not in rules]
            if new_rules:
                _restore(*_append_rules(chain, new_rules))
            yield
        finally:
            watcher.stdin.close()
            if watcher.wait(COMMAND_TIMEOUT_S) != 0:
                _restore(_build_removal(chain))


def _append_rules(chain: str, rules: Iterable[str]) -> Iterator[str]:
    return (f"-A {chain} -p tcp {rule}" for rule in rules)


def remove_unused_cuts() -> None:
    """Removes the chains whose watching shell was killed too."""
    for chain in chains():
        is_watched = any(chain in (process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
        if not is_watched:
            with contextlib.suppress(CutError):  # Another conductor was first.
                _restore(_build_removal(chain))


def chains() -> list[str]:
    """The chains of cuts; none where iptables is missing or not allowed."""
    program = find_program("iptables-save")
    if program is None or os.geteuid() != 0:
        return []
    table = subprocess.run(
        [program, "-t", "filter"],
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
    )
    return re.findall(rf"^:({CHAIN_PREFIX}\w+) ", table.stdout, re.MULTILINE)


def _generate_chain_name() -> str:
    return f"{CHAIN_PREFIX}{secrets.token_hex(6)}"


def _build_rules(groups: Sequence[Sequence[psutil.Process]]) -> list[str]:
    """The rules for packets of all groups but the last: those within a side pass, those of its ports and of
    connections that it opened do not.

    Nodes of the same user cannot be told apart when they open a connection, so none opens one across a cut to a port of
    another, nor to a port beside it.
    """
    connections = psutil.net_connections("tcp")
    sockets = [_list_sockets({process.pid for process in group}, connections) for group in groups]
    rules = []
    for number, (listening, connected) in enumerate(sockets[:-1]):
        within = {(local, remote) for local, remote in connected if (remote, local) in connected}
        for local, remote in sorted(within):
            rules.append(f"{_match_source(local)} {_match_destination(remote)} -j RETURN")

        for address in sorted(listening):
            rules.append(f"{_match_destination(address)} -j DROP")
            rules.append(f"{_match_source(address)} -j DROP")

        ports = {port for _, port in listening}
        for local, remote in sorted(connected - within):
            _, local_port = local
            if local_port not in ports:
                rules.append(f"{_match_source(local)} {_match_destination(remote)} -j DROP")
                rules.append(f"{_match_source(remote)} {_match_destination(local)} -j DROP")

        outside: set[Address] = set()
        for other_number, (addresses, _) in enumerate(sockets):
            if other_number != number:
                outside |= addresses
        for user in sorted(_list_users(groups[number])):
            for address in sorted(outside - listening):
                rules.append(f"--syn {_match_destination(address)} -m owner --uid-owner {user} -j DROP")

    return rules


def _list_sockets(
    pids: Container[int | None], connections: Iterable[Any]
) -> tuple[set[Address], set[tuple[Address, Address]]]:
    """Where the processes listen, the address empty for all addresses, and the ends of their connections."""
    listening, connected = set(), set()
    for connection in connections:
        if connection.pid not in pids:
            continue
        local = _read_address(connection.laddr)
        ip, _ = local
        if ":" in ip:
            continue
        if connection.status == psutil.CONN_LISTEN:
            listening.add(local)
        elif connection.raddr:
            connected.add((local, _read_address(connection.raddr)))
    return listening, connected


def _read_address(end: Any) -> Address:
    """IPv4 also where the socket is of IPv6: servers under test are reached by IPv4."""
    ip = end.ip.removeprefix("::ffff:")
    if ip in ("0.0.0.0", "::"):
        ip = ""
    return ip, end.port


def _list_users(processes: Iterable[psutil.Process]) -> set[int]:
    users = set()
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            users.add(process.uids().effective)
    return users


def _match_source(address: Address) -> str:
    ip, port = address
    if not ip:
        return f"--sport {port}"
    return f"-s {ip} --sport {port}"


def _match_destination(address: Address) -> str:
    ip, port = address
    if not ip:
        return f"--dport {port}"
    return f"-d {ip} --dport {port}"


def _build_removal(chain: str) -> str:
    return f"-D OUTPUT -o lo -j {chain}\n-F {chain}\n-X {chain}"


def _build_command() -> str:
    program = find_program("iptables-restore") or "iptables-restore"
    return f"{program} --noflush --wait {LOCK_TIMEOUT_S}"


def _build_table(*lines: str) -> str:
    return "\n".join(["*filter", *lines, "COMMIT", ""])


def _restore(*lines: str) -> None:
    """Changes the table in one step, so that all ports are cut at the same instant. Raises CutError."""
    try:
        answer = subprocess.run(
            _build_command().split(),
            env=child_environment(),
            input=_build_table(*lines),
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CutError(f"iptables cannot be run: {error}") from error
    if answer.returncode != 0:
        raise _describe_refusal(answer.stderr)


def _describe_refusal(stderr: str) -> CutError:
    return CutError(f"iptables refused the rules ({stderr.strip()[:200]}): allow the conductor CAP_NET_ADMIN.")

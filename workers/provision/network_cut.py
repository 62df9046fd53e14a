"""Drops the packets to and from a server's ports on the loopback interface for a while, by a chain of iptables.

A watching shell removes the chain once its input ends: at the end of the cut, and where the conductor is killed. A
chain without its shell is in no use, and `remove_unused_cuts` deletes it. No Django.
"""

import contextlib
import os
import re
import secrets
import subprocess
from collections.abc import Iterable, Iterator
from typing import Final

import psutil

from workers.executables import find_program

CHAIN_PREFIX: Final = "benchsite-cut-"
LOCK_TIMEOUT_S: Final = 10
COMMAND_TIMEOUT_S: Final = 30


class CutError(Exception):
    """Packets cannot be dropped here, or are still dropped; the message says why and what to do."""


def check_cut() -> None:
    """Makes a chain without rules and removes it in the same step. Raises CutError."""
    if find_program("iptables-restore") is None:
        raise CutError("Networks are cut by iptables, and this machine has none: run apt-get install iptables.")
    if os.geteuid() != 0:
        raise CutError("Networks are cut by iptables, which needs root: run the conductor as root.")
    chain = _chain_name()
    _restore(f":{chain} -", f"-I INPUT -i lo -j {chain}", _removal(chain))


def listening_ports(processes: Iterable[psutil.Process]) -> set[tuple[str, int]]:
    """Addresses and TCP ports that the processes listen on; the address is empty for all addresses."""
    ports = set()
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            for connection in process.net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN:
                    address = connection.laddr.ip.removeprefix("::ffff:")
                    if address in ("0.0.0.0", "::"):
                        address = ""
                    if ":" not in address:  # Servers under test are reached by IPv4.
                        ports.add((address, connection.laddr.port))
    return ports


@contextlib.contextmanager
def network_cut(ports: Iterable[tuple[str, int]]) -> Iterator[None]:
    """Within, no packet reaches the ports or comes from them; connections neither open nor close.

    Raises CutError.
    """
    chain = _chain_name()
    rules = [f":{chain} -"]
    for address, port in sorted(ports):
        to, from_ = (f"-d {address} ", f"-s {address} ") if address else ("", "")
        rules += [f"-A {chain} {to}-p tcp --dport {port} -j DROP", f"-A {chain} {from_}-p tcp --sport {port} -j DROP"]
    if len(rules) == 1:
        raise CutError("The server listens on no TCP port.")
    # A session of its own: a signal to the conductor's group does not reach it.
    with subprocess.Popen(
        ["/bin/sh", "-c", f"cat; printf '%s' \"$1\" | {_command()}", chain, _table(_removal(chain))],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as watcher:  # fmt: skip
        _restore(*rules, f"-I INPUT -i lo -j {chain}")
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


def _removal(chain: str) -> str:
    return f"-D INPUT -i lo -j {chain}\n-F {chain}\n-X {chain}"


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

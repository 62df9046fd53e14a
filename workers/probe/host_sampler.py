"""Samples this host from /proc once a second: the machine as the node probe does, and whose CPU time it was. On Linux.

Every row covers the time since the row before. CPU is in cores (1.0: one core for the whole time), apart for the
servers under test, the clients, Benchsite, and the kernel's threads and interrupts. Other processes are what remains
of the host's total, so that programs which live shorter than a second are counted.

The time of servers and clients is that of their live processes plus that of the children which these have waited for
(`cutime` and `cstime` of proc(5)), which loses nothing when a child ends.
"""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workers.generator.clock import Clock
from workers.probe.node_probe import INTERVAL_S, Counters, machine_values, row_text
from workers.processes import guardian
from workers.processes.process_registry import read_records

# A long run keeps fewer rows, as the histograms of its clients do.
LONG_RUN_S: Final = 3600
LONG_RUN_INTERVAL_S: Final = 10.0
FILE_NAME: Final = "host.csv"
CLIENT_LABEL: Final = "ycsb "
KERNEL_THREADS_PARENT: Final = 2  # kthreadd
TICKS_S: Final = os.sysconf("SC_CLK_TCK")
# Whose a process is: one of these, or "node1", "node2" for those of each server under test.
CLIENTS, BENCHSITE, KERNEL = "clients", "benchsite", "kernel"


@dataclass
class _Process:
    ticks: int  # user and system
    waited_ticks: int  # those of the children that it waited for
    owner: str  # empty: another process


class HostSampler:
    """Makes one row per interval. `servers` are the main processes of the servers under test, one for each node.

    Clients are found by the registry's records. Benchsite is `service`, the process whose tree this is part of, with
    all processes that its owner guards (the parts of a one-machine site); what is started apart counts as other.
    `at_s` of a row is its end by `clock`. What cannot be read ends the sampling, never the run.
    """

    def __init__(
        self,
        *,
        service: int,
        registry: Path,
        servers: Iterable[int] = (),
        duration_s: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.registry, self._clock = registry, clock or Clock()
        self.interval_s = sampling_interval_s(duration_s)
        nodes = {pid: f"node{number}" for number, pid in enumerate(servers, 1)}
        self._nodes = list(nodes.values())
        self._roots: dict[int, str] = {**_parts_beside(service), **nodes}
        self._processes: dict[int, _Process] = {}
        self._last: tuple[Counters, Counter[str]] | None = None  # those of the kernel, and the ticks of each owner
        self._lines: list[str] = []
        self._is_over = not guardian.LINUX

    def follow(self, servers: Iterable[int]) -> None:
        """The main processes of the servers after some of them were started again."""
        self._roots.update(zip(servers, self._nodes, strict=False))

    def tick(self) -> None:
        """Call it several times a second: it takes a sample when one is due."""
        now = time.monotonic()
        if self._is_over or (self._last is not None and now - self._last[0].at < self.interval_s):
            return

        try:
            sample = Counters(), self._count_ticks()
            if self._last is not None:
                values = self._values(self._last, sample)
                if not self._lines:
                    self._lines.append(",".join(values))
                self._lines.append(row_text(values))
            self._last = sample
        except (OSError, ValueError, IndexError):
            self._is_over = True

    @property
    def text(self) -> str:
        """The rows so far as CSV with a line of names; empty before the first."""
        return "".join(f"{line}\n" for line in self._lines)

    def _values(self, before: tuple[Counters, Counter[str]], now: tuple[Counters, Counter[str]]) -> dict[str, float]:
        elapsed_s = now[0].at - before[0].at
        owned = {
            owner: max(0, now[1][owner] - before[1][owner]) / (elapsed_s * TICKS_S)
            for owner in (*self._nodes, CLIENTS, BENCHSITE, KERNEL)
        }
        machine = machine_values(before[0], now[0])
        user = machine["user_cores"] + machine["system_cores"]
        values = {
            "at_s": self._clock.now_s(),
            "interval_s": elapsed_s,
            "servers_cores": sum(owned[node] for node in self._nodes),
            "clients_cores": owned[CLIENTS],
            "benchsite_cores": owned[BENCHSITE],
            "kernel_cores": owned[KERNEL] + machine["interrupt_cores"],
            "other_cores": max(0.0, user - sum(owned.values())),
            **machine,
        }
        # Their disk bytes (/proc/PID/io) are left out: since large folios a write counts as megabytes there.
        for node in self._nodes:
            values[f"{node}_cores"] = owned[node]
            values[f"{node}_memory_bytes"] = self._measure_memory(node)

        return values

    def _count_ticks(self) -> Counter[str]:
        """The ticks of each owner's processes, up to now. Other processes are recognised once and not read again."""
        roots = dict(self._roots)
        for record in read_records(self.registry):
            if record.label.startswith(CLIENT_LABEL):
                roots[record.pid] = CLIENTS

        present = {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208
        self._processes = {pid: process for pid, process in self._processes.items() if pid in present}
        parents: dict[int, int] = {}
        for pid in present:
            process = self._processes.get(pid)
            if process is not None and not process.owner and pid not in roots:
                continue
            with contextlib.suppress(OSError, IndexError):
                parents[pid], ticks, waited_ticks = _stat(pid)
                self._processes[pid] = _Process(ticks, waited_ticks, "")

        for pid in parents:
            self._processes[pid].owner = self._find_owner(pid, parents, roots)

        totals: Counter[str] = Counter()
        for process in self._processes.values():
            totals[process.owner] += process.ticks
            # Of Benchsite's own processes some wait for the clients and the servers, whose time is counted there.
            if process.owner not in ("", BENCHSITE, KERNEL):
                totals[process.owner] += process.waited_ticks

        return totals

    def _measure_memory(self, node: str) -> float:
        return _memory_bytes(pid for pid, process in self._processes.items() if process.owner == node)

    def _find_owner(self, pid: int, parents: Mapping[int, int], roots: Mapping[int, str]) -> str:
        """The owner of the nearest ancestor that has one."""
        while pid not in roots:
            if pid == KERNEL_THREADS_PARENT:
                return KERNEL
            if pid not in parents:
                process = self._processes.get(pid)
                if process is None:
                    return ""
                return process.owner
            pid = parents[pid]
        return roots[pid]


def sampling_interval_s(duration_s: float | None) -> float:
    """The time between the rows of a run of that length."""
    if (duration_s or 0) > LONG_RUN_S:
        return LONG_RUN_INTERVAL_S
    return INTERVAL_S


def _parts_beside(service: int) -> dict[int, str]:
    """The service, and where a guardian holds it, everything that the guardian's owner has guarded."""
    parts = {service: BENCHSITE}
    with contextlib.suppress(OSError, IndexError):
        own_guardian = _stat(service)[0]
        if _is_guardian(own_guardian):
            owner = _stat(own_guardian)[0]
            for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
                with contextlib.suppress(OSError, IndexError):
                    if _stat(int(name))[0] == owner and _is_guardian(int(name)):
                        parts[int(name)] = BENCHSITE
    return parts


def _is_guardian(pid: int) -> bool:
    return os.fsencode(guardian.__file__) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def _stat(pid: int) -> tuple[int, int, int]:
    """A process's parent, its ticks and those of the children that it has waited for."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        # The name in parentheses may hold blanks and parentheses itself, so the fields count from the last one.
        fields = file.read().rpartition(b")")[2].split()
    return int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])


def _memory_bytes(pids: Iterable[int]) -> float:
    """Memory of these processes without the files that they map; memory that they share counts once."""
    own = shared = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
        except OSError:
            continue
        sizes = {
            line.partition(":")[0]: line.split()[1] for line in lines if line.startswith(("RssAnon:", "RssShmem:"))
        }
        own += int(sizes.get("RssAnon", 0)) * 1024
        shared = max(shared, int(sizes.get("RssShmem", 0)) * 1024)

    return float(own + shared)

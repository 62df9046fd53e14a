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
        self._roots: dict[int, str] = {**_find_parts(service), **nodes}
        self._processes: dict[int, _Process] = {}
        self._last: Counters | None = None  # of the kernel
        self._last_ticks: Counter[str] = Counter()  # of each owner
        self._lines: list[str] = []
        self._is_over = not guardian.LINUX

    def follow(self, servers: Iterable[int]) -> None:
        """The main processes of the servers after some of them were started again."""
        pids = list(servers)
        # Who is known keeps its node: external servers are not always all found, nor in one order.
        running = {self._roots.get(pid) for pid in pids}
        started = [pid for pid in pids if pid not in self._roots]
        stopped = [node for node in self._nodes if node not in running]
        self._roots.update(zip(started, stopped, strict=False))

    def tick(self) -> None:
        """Call it several times a second: it takes a sample when one is due."""
        if self._is_over:
            return
        if self._last is not None and time.monotonic() - self._last.at < self.interval_s:
            return

        try:
            counters, ticks = Counters(), self._count_ticks()
            if self._last is not None:
                values = self._build_row(self._last, counters, ticks)
                if not self._lines:
                    self._lines.append(",".join(values))
                self._lines.append(row_text(values))
            self._last, self._last_ticks = counters, ticks
        except (OSError, ValueError, IndexError):
            self._is_over = True

    @property
    def text(self) -> str:
        """The rows so far as CSV with a line of names; empty before the first."""
        return "".join(f"{line}\n" for line in self._lines)

    def _build_row(self, before: Counters, now: Counters, ticks: Counter[str]) -> dict[str, float]:
        elapsed_s = now.at - before.at
        cores = {}
        for owner in (*self._nodes, CLIENTS, BENCHSITE, KERNEL):
            used_ticks = max(0, ticks[owner] - self._last_ticks[owner])
            cores[owner] = used_ticks / (elapsed_s * TICKS_S)
        machine = machine_values(before, now)
        user = machine["user_cores"] + machine["system_cores"]
        values = {
            "at_s": self._clock.now_s(),
            "interval_s": elapsed_s,
            "servers_cores": sum(cores[node] for node in self._nodes),
            "clients_cores": cores[CLIENTS],
            "benchsite_cores": cores[BENCHSITE],
            "kernel_cores": cores[KERNEL] + machine["interrupt_cores"],
            "other_cores": max(0.0, user - sum(cores.values())),
            **machine,
        }
        # Their disk bytes (/proc/PID/io) are left out: since large folios a write counts as megabytes there.
        for node in self._nodes:
            values[f"{node}_cores"] = cores[node]
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
                parents[pid], ticks, waited_ticks = _read_stat(pid)
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
        return _sum_memory(pid for pid, process in self._processes.items() if process.owner == node)

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


def _find_parts(service: int) -> dict[int, str]:
    """The service, and where a guardian holds it, everything that the guardian's owner has guarded."""
    parts = {service: BENCHSITE}
    with contextlib.suppress(OSError, IndexError):
        service_guardian, _, _ = _read_stat(service)
        if not _is_guardian(service_guardian):
            return parts
        owner, _, _ = _read_stat(service_guardian)
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):  # noqa: PTH208
            with contextlib.suppress(OSError, IndexError):
                parent, _, _ = _read_stat(pid)
                if parent == owner and _is_guardian(pid):
                    parts[pid] = BENCHSITE
    return parts


def _is_guardian(pid: int) -> bool:
    return os.fsencode(guardian.__file__) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def _read_stat(pid: int) -> tuple[int, int, int]:
    """A process's parent, its ticks and those of the children that it has waited for."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        # The name in parentheses may hold blanks and parentheses itself, so the fields count from the last one.
        _, _, after_name = file.read().rpartition(b")")
    fields = after_name.split()
    user, system, waited_user, waited_system = map(int, fields[11:15])
    return int(fields[1]), user + system, waited_user + waited_system


def _sum_memory(pids: Iterable[int]) -> float:
    """Memory of these processes without the files that they map; memory that they share counts once."""
    private_kib = shared_kib = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith("RssAnon:"):
                private_kib += int(line.split()[1])
            elif line.startswith("RssShmem:"):
                shared_kib = max(shared_kib, int(line.split()[1]))

    return float(private_kib + shared_kib) * 1024

"""Samples this host from /proc, once a second. Standard library only, Linux only, no Django.

Every row covers the time since the row before. CPU is in cores (1.0: one core for the whole time), apart for the
servers under test, the clients, Benchsite, and the kernel's threads and interrupts. Other processes are what remains
of the host's total, so that programs which live shorter than a second are counted.

The time of servers and clients is that of their live processes plus that of the children which these have waited for
(`cutime` and `cstime` of proc(5)), which loses nothing when a child ends.
"""

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from workers import guardian
from workers.process_registry import read_records

INTERVAL_S: Final = 1.0
# A long run keeps fewer rows, as the histograms of its clients do.
LONG_RUN_S: Final = 3600
LONG_RUN_INTERVAL_S: Final = 10.0
FILE_NAME: Final = "host.csv"
CLIENT_LABEL: Final = "ycsb "
KERNEL_THREADS_PARENT: Final = 2  # kthreadd
SECTOR_BYTES: Final = 512  # the unit of /proc/diskstats, whatever the disk's own is
TICKS_S: Final = os.sysconf("SC_CLK_TCK")

Owner = Literal["servers", "clients", "benchsite", "kernel"]
OWNERS: Final[tuple[Owner, ...]] = ("servers", "clients", "benchsite", "kernel")
PRESSURE: Final = ("cpu", "io", "memory")


@dataclass
class _Process:
    ticks: int  # user and system
    waited_ticks: int  # those of the children that it waited for
    owner: Owner | None  # None: another process


@dataclass
class _Counters:
    """What the kernel counts up, and what it says of this moment."""

    at: float = 0.0  # time.monotonic()
    cores: list[tuple[int, int]] = field(default_factory=list)  # (busy, total) ticks of each
    user: int = 0  # ticks of processes and kernel threads
    interrupts: int = 0
    io_wait: int = 0
    steal: int = 0
    owners: dict[Owner, int] = field(default_factory=dict)
    pressure_us: dict[str, float] = field(default_factory=dict)  # NaN where the kernel does not say
    disk: tuple[int, int, int] = (0, 0, 0)  # sectors read and written, and the most milliseconds of one disk at work
    network: tuple[int, int] = (0, 0)  # bytes received and sent, without loopback
    running: int = 0
    load_average: float = 0.0
    memory_available: int = 0


class HostSampler:
    """Makes one row per interval. `servers` are the main processes of the servers under test.

    Clients are found by the registry's records. Benchsite is `service`, the process whose tree this is part of, with
    all processes that its owner guards (the parts of a one-machine site); what is started apart counts as other.
    `at_s` of a row is its end in seconds since 1970 plus `clock_offset_s`. What cannot be read ends the sampling, never
    the run.
    """

    def __init__(
        self,
        *,
        service: int,
        registry: Path,
        servers: Iterable[int] = (),
        duration_s: float | None = None,
        clock_offset_s: float = 0.0,
    ) -> None:
        self.registry, self.clock_offset_s = registry, clock_offset_s
        self.interval_s = LONG_RUN_INTERVAL_S if (duration_s or 0) > LONG_RUN_S else INTERVAL_S
        self._roots: dict[int, Owner] = {**_parts_beside(service), **dict.fromkeys(servers, "servers")}
        self._processes: dict[int, _Process] = {}
        self._last: _Counters | None = None
        self._lines: list[str] = []
        self._is_over = not guardian.LINUX

    def tick(self) -> None:
        """Call it several times a second: it takes a sample when one is due."""
        now = time.monotonic()
        if self._is_over or (self._last is not None and now - self._last.at < self.interval_s):
            return
        try:
            sample = self._count()
            self._lines.append(self._row(self._last, sample) if self._last else _header(len(sample.cores)))
            self._last = sample
        except (OSError, ValueError, IndexError):
            self._is_over = True

    @property
    def text(self) -> str:
        """The rows so far as CSV with a line of names; empty before the first."""
        return "".join(self._lines) if len(self._lines) > 1 else ""

    def _row(self, before: _Counters, now: _Counters) -> str:
        elapsed_s = now.at - before.at
        ticks = elapsed_s * TICKS_S
        owned = {owner: max(0, now.owners[owner] - before.owners[owner]) / ticks for owner in OWNERS}
        user = (now.user - before.user) / ticks
        values = [
            time.time() + self.clock_offset_s,
            elapsed_s,
            *(owned[owner] for owner in OWNERS[:-1]),
            owned["kernel"] + (now.interrupts - before.interrupts) / ticks,
            max(0.0, user - sum(owned.values())),
            (now.steal - before.steal) / ticks,
            (now.io_wait - before.io_wait) / ticks,
            now.running,
            now.load_average,
            *((now.pressure_us[name] - before.pressure_us[name]) / elapsed_s / 1e6 for name in PRESSURE),
            now.memory_available,
            *((now.disk[i] - before.disk[i]) * SECTOR_BYTES / elapsed_s for i in (0, 1)),
            (now.disk[2] - before.disk[2]) / elapsed_s / 1e3,
            *((now.network[i] - before.network[i]) / elapsed_s for i in (0, 1)),
            *(
                (busy - busy_before) / max(1, total - total_before)
                for (busy, total), (busy_before, total_before) in zip(now.cores, before.cores, strict=True)
            ),
        ]
        return ",".join(f"{value:.3f}".rstrip("0").rstrip(".") for value in values) + "\n"

    def _count(self) -> _Counters:
        counters = _Counters(at=time.monotonic())
        _count_cpu(counters)
        counters.owners = self._count_processes()
        for name in PRESSURE:
            counters.pressure_us[name] = _pressure_us(name)
        counters.disk, counters.network = _disk(), _network()
        counters.load_average = os.getloadavg()[0]
        counters.memory_available = _available_memory()
        return counters

    def _count_processes(self) -> dict[Owner, int]:
        """Ticks so far of each owner. Other processes are recognised once and not read again."""
        roots = dict(self._roots)
        for record in read_records(self.registry):
            if record.label.startswith(CLIENT_LABEL):
                roots[record.pid] = "clients"
        present = {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208
        self._processes = {pid: process for pid, process in self._processes.items() if pid in present}
        parents: dict[int, int] = {}
        for pid in present:
            process = self._processes.get(pid)
            if process is not None and process.owner is None and pid not in roots:
                continue
            with contextlib.suppress(OSError, IndexError):
                parents[pid], ticks, waited_ticks = _stat(pid)
                self._processes[pid] = _Process(ticks, waited_ticks, None)
        for pid in parents:
            self._processes[pid].owner = self._owner_of(pid, parents, roots)
        totals: dict[Owner, int] = dict.fromkeys(OWNERS, 0)
        for process in self._processes.values():
            if process.owner is not None:
                # Of Benchsite's own processes some wait for the clients and the servers, whose time is counted there.
                waits = process.owner in ("servers", "clients")
                totals[process.owner] += process.ticks + (process.waited_ticks if waits else 0)
        return totals

    def _owner_of(self, pid: int, parents: Mapping[int, int], roots: Mapping[int, Owner]) -> Owner | None:
        """That of its nearest ancestor whose owner is known."""
        while pid not in roots:
            if pid == KERNEL_THREADS_PARENT:
                return "kernel"
            if pid not in parents:
                known = self._processes.get(pid)
                return known.owner if known else None
            pid = parents[pid]
        return roots[pid]


def _header(cores: int) -> str:
    """The names of the columns; shares are fractions of the interval."""
    owners = [f"{owner}_cores" for owner in OWNERS]
    pressure = [f"{name}_pressure" for name in PRESSURE]
    columns = [
        *("at_s", "interval_s", *owners, "other_cores", "steal_cores", "io_wait_cores", "running", "load_average"),
        *(*pressure, "memory_available_bytes", "disk_read_bytes_s", "disk_written_bytes_s", "disk_busy"),
        *("network_received_bytes_s", "network_sent_bytes_s"),
    ]
    return ",".join([*columns, *(f"core{core}_busy" for core in range(cores))]) + "\n"


def _parts_beside(service: int) -> dict[int, Owner]:
    """The service, and where a guardian holds it, everything that the guardian's owner has guarded."""
    parts: dict[int, Owner] = {service: "benchsite"}
    with contextlib.suppress(OSError, IndexError):
        own_guardian = _stat(service)[0]
        if _is_guardian(own_guardian):
            owner = _stat(own_guardian)[0]
            for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
                with contextlib.suppress(OSError, IndexError):
                    if _stat(int(name))[0] == owner and _is_guardian(int(name)):
                        parts[int(name)] = "benchsite"
    return parts


def _is_guardian(pid: int) -> bool:
    return os.fsencode(guardian.__file__) in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


def _stat(pid: int) -> tuple[int, int, int]:
    """A process's parent, its ticks and those of the children that it has waited for."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        # The name in parentheses may hold blanks and parentheses itself, so the fields count from the last one.
        fields = file.read().rpartition(b")")[2].split()
    return int(fields[1]), int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])


def _count_cpu(counters: _Counters) -> None:
    for line in Path("/proc/stat").read_text().splitlines():
        name, *values = line.split()
        if name == "procs_running":
            counters.running = int(values[0])
        elif name.startswith("cpu"):
            # Guests are contained in user and nice.
            user, nice, system, idle, io_wait, irq, soft_irq, steal = map(int, values[:8])
            busy = user + nice + system + irq + soft_irq
            if name == "cpu":
                counters.user, counters.interrupts = user + nice + system, irq + soft_irq
                counters.io_wait, counters.steal = io_wait, steal
            else:
                counters.cores.append((busy, busy + idle + io_wait + steal))


def _pressure_us(resource: str) -> float:
    """For how long some process has waited for the resource, so far; NaN where the kernel does not count it."""
    try:
        some = Path(f"/proc/pressure/{resource}").read_text().partition("\n")[0]
    except OSError:
        return float("nan")
    return float(some.rpartition("total=")[2])


def _available_memory() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def _disk() -> tuple[int, int, int]:
    """Sectors read and written of all disks, and the milliseconds at work of the busiest; partitions are no disks."""
    read = written = busy_ms = 0
    for line in Path("/proc/diskstats").read_text().splitlines():
        _, _, name, *values = line.split()
        if Path(f"/sys/block/{name}/device").exists():
            read, written = read + int(values[2]), written + int(values[6])
            busy_ms = max(busy_ms, int(values[9]))
    return read, written, busy_ms


def _network() -> tuple[int, int]:
    received = sent = 0
    for line in Path("/proc/net/dev").read_text().splitlines()[2:]:
        name, _, values = line.partition(":")
        if name.strip() != "lo":
            received, sent = received + int(values.split()[0]), sent + int(values.split()[8])
    return received, sent

"""How long the disk under a data folder makes a durable write wait. No Django."""

import fcntl
import math
import os
import secrets
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from workers.probe.node_probe import file_system

WRITES = 200
BLOCK = os.urandom(4096)  # 4 KiB; random, so that no file system compresses it away
# Below this, a flush does not wait for a medium: memory, a cache that promises too much, or a virtual disk like one.
HARDLY_WAITS_US = 50.0
MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs", "devtmpfs"})
HARDLY_WAITS = "This disk hardly waits: durability modes look alike here."


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskProbe:
    """200 times 4 KiB written one behind the other and forced to disk each time."""

    file_system: str  # "ext4", or "" where it cannot be known
    flush: str  # the system call that forced each write to disk
    writes: int
    median_us: float
    p99_us: float
    most_us: float

    @property
    def hardly_waits(self) -> bool:
        return self.file_system in MEMORY_FILE_SYSTEMS or self.median_us < HARDLY_WAITS_US

    @property
    def warning(self) -> str:
        if not self.hardly_waits:
            return ""
        return HARDLY_WAITS

    def as_dict(self) -> dict[str, object]:
        """Plain JSON, for `Deployment.disk` and a run's evidence."""
        return {**asdict(self), "hardly_waits": self.hardly_waits, "warning": self.warning}


def probe_disk(folder: Path, writes: int = WRITES) -> DiskProbe:
    """Probes the disk that `folder` lies on, with a file of its own that is gone afterwards. Raises OSError."""
    name, flush = flush_call()
    path = folder / f"disk-probe-{secrets.token_hex(8)}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, BLOCK)
        flush(descriptor)  # The file's own birth in the folder is not a write to be timed.
        times_us = [_timed_write_us(descriptor, flush) for _ in range(writes)]
    finally:
        os.close(descriptor)
        path.unlink(missing_ok=True)

    times_us.sort()
    _, file_system_name, _ = file_system(str(folder))
    return DiskProbe(
        file_system=file_system_name,
        flush=name,
        writes=writes,
        median_us=round(statistics.median(times_us), 1),
        p99_us=round(times_us[math.ceil(0.99 * writes) - 1], 1),
        most_us=round(times_us[-1], 1),
    )


def flush_call() -> tuple[str, Callable[[int], object]]:
    """The name of the strongest flush this system has, and the call.

    macOS has no fdatasync, and its fsync leaves the drive's own cache alone: only F_FULLFSYNC waits for the medium.
    """
    if hasattr(os, "fdatasync"):
        return "fdatasync", os.fdatasync
    if sys.platform == "darwin":
        full = getattr(fcntl, "F_FULLFSYNC", 51)
        return "F_FULLFSYNC", lambda descriptor: fcntl.fcntl(descriptor, full)
    return "fsync", os.fsync


def _timed_write_us(descriptor: int, flush: Callable[[int], object]) -> float:
    began = time.perf_counter_ns()
    os.write(descriptor, BLOCK)
    flush(descriptor)
    return (time.perf_counter_ns() - began) / 1000

"""What the benchmarks of reading compare.

Each runs in a process of its own: `python -m benchmarks.speed.tasks NAME ...`. It prints one line of JSON: seconds
(by the clock), how much was done, and the peak of its memory.
"""

import base64
import contextlib
import csv
import json
import os
import re
import resource
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from runs.ycsb.histogram import get_bucket_index
from runs.ycsb.ingest import ingest as ingest_logs
from runs.ycsb.logscan import LogSource
from runs.ycsb.merge import recut as recut_stored
from runs.ycsb.merged import ClientLogs
from runs.ycsb.readers import read_file
from runs.ycsb.series import pack
from runs.ycsb.stored import StoredIntervals
from runs.ycsb.window import Cut

PIECE: Final = 256 * 1024
_SUMMARY: Final = re.compile(r"\[([^\]]+)\], ([^,]+), (.+)")
_STATUS: Final = re.compile(r"(?:.* )?(\d+) sec: (\d+) operations; ([\d.]+) current ops/sec")
_OPERATION: Final = re.compile(r"\[([A-Z-]+): ([^\]]*)\]")
_PAIR: Final = re.compile(r"([\w.]+)=([\d.]+)")


def ingest(folder: Path) -> int:
    """From files to what is stored: numbers of the window, packed series of every level, intervals, status lines."""

    @contextlib.contextmanager
    def keep(name: str) -> Iterator[Callable[[bytes], object]]:
        with (folder / f"{name}.intervals").open("wb") as file:
            yield file.write

    clients = []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        with (place / "client.txt").open("rb") as text:
            assert read_file(text.name, text)[0].error is None
        clients.append(ClientLogs(int(place.name), [_source(path) for path in sorted(place.glob("*.hdr"))], threads=16))
    merged, series = ingest_logs(clients, Cut(warmup_s=10.0), keep=keep)
    (folder / "series").write_bytes(b"".join(map(pack, series)))
    return sum(len(timeline) for timeline in merged.timelines)


def inflate(folder: Path) -> int:
    """Nothing but base64 and zlib."""
    number = 0
    payloads: list[bytes] = []
    for path in sorted(folder.glob("*/*.hdr")):
        payloads.extend(_read_payloads(path))
    for payload in payloads:
        zlib.decompress(base64.b64decode(payload)[8:])
        number += 1
    return number


def hdrhistogram(folder: Path, most: str) -> int:
    """The same merge in a loop over Python's hdrhistogram: every interval is decoded and added to its operation."""
    from hdrh.histogram import HdrHistogram

    totals: dict[str, HdrHistogram] = {}
    number = 0
    each = int(most) // len(list(folder.glob("*/*.hdr")))
    for path in sorted(folder.glob("*/*.hdr")):
        total = totals.setdefault(path.stem, HdrHistogram(1, 3_600_000_000, 3))
        for payload, _ in zip(_read_payloads(path), range(each), strict=False):
            total.add(HdrHistogram.decode(payload))
            number += 1
    return number


def recut(folder: Path) -> int:
    """Another warm-up and tail, from the stored intervals."""
    stored = [StoredIntervals.from_bytes(path.read_bytes()) for path in sorted(folder.glob("*.intervals"))]
    clients = [ClientLogs(int(place.name), threads=16) for place in folder.iterdir() if place.is_dir()]
    return recut_stored(stored, clients, Cut(warmup_s=23.0, tail_s=17.0)).total_operations


def text(path: Path) -> int:
    """Summaries and status lines, by Benchsite's reader."""
    return _read(path)


def regexes(path: Path) -> int:
    """The same by regular expressions, line by line."""
    status, summary = [], {}
    with path.open() as file:
        for line in file:
            if match := _SUMMARY.match(line):
                summary[match[1], match[2]] = match[3]
            elif match := _STATUS.match(line):
                operations = {name: dict(_PAIR.findall(values)) for name, values in _OPERATION.findall(line)}
                status.append((int(match[1]), int(match[2]), float(match[3]), operations))
    return path.stat().st_size


def points(path: Path) -> int:
    """Raw points, by Benchsite's reader."""
    return _read(path)


def csv_module(path: Path) -> int:
    """The same by Python's csv: counts by operation, second and index."""
    counts: Counter[tuple[str, int, int]] = Counter()
    with path.open(newline="") as file:
        for row in csv.reader(file):
            if len(row) == 3 and row[1].isdigit():
                counts[row[0], int(row[1]) // 1000, get_bucket_index(int(row[2]))] += 1
    return path.stat().st_size


def _read(path: Path) -> int:
    with path.open("rb") as file:
        (result,) = read_file(path.name, file)
    assert result.error is None and result.runs, result.error
    return path.stat().st_size


def _source(path: Path) -> LogSource:
    def pieces() -> Iterator[bytes]:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                yield piece

    return LogSource(pieces)


def _read_payloads(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            if line[:1].isdigit():
                yield line.rstrip().rpartition(b",")[2]


TASKS: Final[dict[str, Callable[..., int]]] = {
    task.__name__: task for task in (ingest, inflate, hdrhistogram, recut, text, regexes, points, csv_module)
}


# What takes seconds is measured the second time, as in a worker that has read files before.
WARMED: Final = (text, regexes, points, csv_module)


def main(name: str, path: str, *more: str) -> None:
    task = TASKS[name]
    if hasattr(os, "sched_setaffinity"):
        # One core, as is told; the last one, since the first serves most interrupts.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if task in WARMED:
        task(Path(path), *more)
    began = time.perf_counter()
    done = task(Path(path), *more)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB, on macOS bytes
    peak_mb = peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    print(json.dumps({"seconds": seconds, "done": done, "peak_mb": peak_mb}))


if __name__ == "__main__":
    main(*sys.argv[1:])

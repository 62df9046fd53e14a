"""Per-second series of one operation, all clients merged, on a grid that starts at `base_s`.

A second in which a client lived and did nothing is a row with count 0; a second that no client covers is not there.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import zstandard

from runs.ycsb.errors import PackedDataError
from runs.ycsb.grid import Grid, make_grid, references
from runs.ycsb.histogram import MAX_INDEX, Floats, Ints, highest_values, median_values
from runs.ycsb.intervals import Intervals, unwrap
from runs.ycsb.merge import MergedRun
from runs.ycsb.names import LatencyKind

# One row per second. Latencies (of successful operations) in µs, NaN where there was none.
POINT: Final = np.dtype(
    [
        ("second", "<i4"),  # since base_s
        ("covered_s", "<f4"),  # client seconds covered: about 1 per living client, less in its first and last second
        ("count", "<i8"),  # successful operations
        ("failed", "<i8"),
        ("rate_ops_s", "<f8"),  # successful operations per covered second, the clients added; NaN in slivers
        ("mean_us", "<f4"),
        ("p50_us", "<f4"),
        ("p95_us", "<f4"),
        ("p99_us", "<f4"),
        ("max_us", "<f4"),
    ]
)
PERCENTILES: Final = {"p50_us": 50.0, "p95_us": 95.0, "p99_us": 99.0}
MAGIC: Final = b"BSSE"
FORMAT_VERSION: Final = 1
_PREFIX: Final = struct.Struct(">4sHI")
_BLOCK: Final = 2_000_000  # stored counts that are sorted together

Points = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One operation of a run. `points` has dtype POINT, ascending by second."""

    operation: str
    kind: LatencyKind
    base_s: float  # second 0, seconds since the epoch on the reference clock
    interval_s: int
    clients: int
    points: Points


def series_of(merged: MergedRun, *, base_s: float | None = None) -> tuple[Series, ...]:
    """The series of every operation and kind, whole run. `base_s` defaults to the first client's start."""
    base = min(client.started_s for client in merged.clients) if base_s is None else base_s
    grid = _grid(merged, base)
    return tuple(
        Series(
            operation=operation.operation,
            kind=operation.kind,
            base_s=base,
            interval_s=1,
            clients=len(merged.clients),
            points=_points(_entries(merged, operation.operation, operation.kind), grid),
        )
        for operation in merged.operations
    )


def total_rate(merged: MergedRun) -> Floats:
    """Successful operations per second of the window, all operations and clients; 0 where nobody did anything.

    One value for each whole second of the window. A read-modify-write counts once.
    """
    grid = _grid(merged, merged.window.from_s)
    total = np.zeros(grid.seconds.size, dtype=np.float64)
    for entry in merged.intervals:
        parsed = entry.parsed
        if parsed.kind == "service" and parsed.is_operation and not parsed.status:
            rate = np.nan_to_num(grid.rate_ops_s(grid.counts(entry)))
            total += -rate if parsed.is_composite else rate
    rates = np.zeros(int(merged.window.length_s + 1e-6), dtype=np.float64)
    inside = (grid.seconds >= 0) & (grid.seconds < rates.size)
    rates[grid.seconds[inside]] = total[inside]
    return rates


def _grid(merged: MergedRun, base_s: float) -> Grid:
    numbers = {client.number: client.ended_s for client in merged.clients}
    reference = {number: entry for number, entry in references(merged.intervals).items() if number in numbers}
    return make_grid(reference, numbers, base_s)


def _entries(merged: MergedRun, operation: str, kind: LatencyKind) -> list[Intervals]:
    return [entry for entry in merged.intervals if (entry.parsed.operation, entry.parsed.kind) == (operation, kind)]


def _points(entries: Sequence[Intervals], grid: Grid) -> Points:
    points = np.zeros(grid.seconds.size, dtype=POINT)
    points["second"] = grid.seconds
    for column in ("mean_us", "max_us", *PERCENTILES):
        points[column] = np.nan
    for covered in grid.covered_s.values():
        points["covered_s"] += covered
        # A client that lived and did nothing still makes the rate a number.
    points["rate_ops_s"] = grid.rate_ops_s(
        {number: np.zeros(grid.seconds.size, dtype=np.int64) for number in grid.covered_s}
    )
    for entry in entries:
        counts = grid.counts(entry)
        column = "failed" if entry.parsed.status else "count"
        for part in counts.values():
            points[column] += part
        if not entry.parsed.status:
            points["rate_ops_s"] = grid.rate_ops_s(counts)
            _add_latencies(points, entry, grid)
    return points


def _add_latencies(points: Points, entry: Intervals, grid: Grid) -> None:
    """Merge the histograms of every second, some seconds at a time so that memory stays bounded."""
    placed = grid.place(entry)
    order = np.argsort(grid.rows(placed), kind="stable")
    rows, interval, weight = grid.rows(placed)[order], placed.interval[order], placed.weight[order]
    sizes = np.diff(entry.offsets)[interval]
    if not sizes.sum():
        return
    block = (np.cumsum(sizes) - sizes) // _BLOCK
    # A second is never torn apart: all of it belongs to the block of its first interval.
    block = block[np.searchsorted(rows, rows, side="left")]
    for number in np.unique(block):
        part = block == number
        _merge_block(points, entry, rows[part], interval[part], weight[part])


def _merge_block(points: Points, entry: Intervals, rows: Ints, interval: Ints, weight: Floats) -> None:
    sizes = np.diff(entry.offsets)[interval]
    within = np.arange(int(sizes.sum()), dtype=np.int64) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    at = within + np.repeat(entry.offsets[:-1][interval], sizes)
    row, index = np.repeat(rows, sizes), entry.index[at].astype(np.int64)
    order = np.argsort(row * (MAX_INDEX + 1) + index, kind="stable")
    row, index = row[order], index[order]
    count = (entry.count[at] * np.repeat(weight, sizes))[order]
    running = np.cumsum(count)
    counted, first = np.unique(row, return_index=True)
    last = np.append(first[1:], row.size) - 1
    before = running[first] - count[first]
    total = running[last] - before
    for column, percentile in PERCENTILES.items():
        # The rank as in `histogram.rank_of`; long intervals make fractions of counts, so it stays a fraction here.
        rank = np.nextafter(percentile, -np.inf) * total / 100.0
        found = np.searchsorted(running, before + np.maximum(rank, np.finfo(np.float64).tiny), side="left")
        points[column][counted] = highest_values(index[np.clip(found, first, last)])
    points["max_us"][counted] = highest_values(index[last])
    sums = np.add.reduceat(count * median_values(index), first)
    points["mean_us"][counted] = sums / total


def pack(series: Series) -> bytes:
    """The series as bytes: a version, a JSON header, and the columns compressed one after the other."""
    header = {
        "operation": series.operation,
        "kind": series.kind,
        "base_s": series.base_s,
        "interval_s": series.interval_s,
        "clients": series.clients,
        "points": int(series.points.size),
    }
    head = json.dumps(header, sort_keys=True).encode()
    body = b"".join(np.ascontiguousarray(series.points[name]).tobytes() for name in POINT.names or ())
    return _PREFIX.pack(MAGIC, FORMAT_VERSION, len(head)) + head + zstandard.ZstdCompressor(level=3).compress(body)


def unpack(data: bytes) -> Series:
    """Raises PackedDataError when the bytes are not of a version known here."""
    header, body = unwrap(data, MAGIC, FORMAT_VERSION)
    try:
        number = int(header["points"])
        if len(body) != number * POINT.itemsize:
            raise ValueError("the lengths disagree")
        points = np.zeros(number, dtype=POINT)
        at = 0
        for name in POINT.names or ():
            dtype = POINT[name]
            points[name] = np.frombuffer(body, dtype=dtype, count=number, offset=at)
            at += number * dtype.itemsize
        kind: LatencyKind = "response" if header["kind"] == "response" else "service"
        return Series(
            operation=str(header["operation"]),
            kind=kind,
            base_s=float(header["base_s"]),
            interval_s=int(header["interval_s"]),
            clients=int(header["clients"]),
            points=points,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PackedDataError(f"the stored series is damaged: {error}") from error

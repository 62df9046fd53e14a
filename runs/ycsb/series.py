"""Series of one operation, all clients merged, on a grid that starts at `base_s`: per second and coarser.

A second in which a client lived and did nothing is a row with count 0; a second that no client covers is not there.
Coarser levels are for long runs that are looked at from afar: their percentiles are those of all their values, and
beside the mean of the throughput stand its least and its greatest second.
"""

import json
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import zstandard

from runs.ycsb.errors import PackedDataError
from runs.ycsb.grid import Grid, build_grid
from runs.ycsb.histogram import Floats
from runs.ycsb.intervals import Timeline
from runs.ycsb.merged import MergedRun
from runs.ycsb.messages import DATA_DAMAGED, HEADER_DAMAGED, OTHER_VERSION, WRONG_MARK
from runs.ycsb.operation import LatencyKind
from runs.ycsb.rollups import COLUMNS as LATENCIES, LEVELS, Columns
from runs.ycsb.window import workload_kind

# Stored bytes have a frame: a mark, the version of the format, a JSON header, and a body.
_OF_THREAD: Final = threading.local()
_PREFIX: Final = struct.Struct(">4sHI")  # magic, version of the format, length of the JSON header
FORMAT_VERSION: Final = 2
MAGIC: Final = b"BSSE"
# One row per interval of the level. Latencies (of successful operations) in µs, NaN where there was none.
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
        ("rate_min_ops_s", "<f8"),  # of the interval's seconds the least and the greatest
        ("rate_max_ops_s", "<f8"),
    ]
)


def heading(magic: bytes, version: int, header: dict[str, Any]) -> bytes:
    """The beginning of stored bytes."""
    text = json.dumps(header, sort_keys=True).encode()
    return _PREFIX.pack(magic, version, len(text)) + text


def read_heading(data: bytes, magic: bytes, readable_version: int) -> tuple[dict[str, Any], int]:
    """The header, and where the body begins. Raises PackedDataError."""
    try:
        mark, version, length = _PREFIX.unpack_from(data)
        if mark != magic:
            raise PackedDataError(WRONG_MARK.format(mark=mark, expected=magic))
        if version != readable_version:
            raise PackedDataError(OTHER_VERSION.format(version=version, readable=readable_version))
        header = json.loads(data[_PREFIX.size : _PREFIX.size + length])
    except (struct.error, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise PackedDataError(DATA_DAMAGED.format(error=error)) from error

    if not isinstance(header, dict):
        raise PackedDataError(HEADER_DAMAGED)

    return header, _PREFIX.size + length


def compressed(body: bytes) -> bytes:
    """With a checksum, so that damage does not look like other numbers."""
    # One for each thread: to make one costs more than to compress what is small.
    compressor: zstandard.ZstdCompressor | None = getattr(_OF_THREAD, "compressor", None)
    if compressor is None:
        compressor = _OF_THREAD.compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    return compressor.compress(body)


def decompressed(packed: bytes | memoryview, size: int) -> bytes:
    """The body, which is known to have `size` bytes. Raises PackedDataError where it has not."""
    try:
        if zstandard.frame_content_size(packed) != size:
            raise PackedDataError("the stored data is damaged: the lengths disagree")
        return zstandard.ZstdDecompressor().decompress(packed)
    except zstandard.ZstdError as error:
        raise PackedDataError(f"the stored data is damaged: {error}") from error


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


def build_levels(
    merged: MergedRun, grid: Grid, latencies: Mapping[tuple[str, LatencyKind], Mapping[int, Columns]]
) -> tuple[Series, ...]:
    """Counts and rates of the timelines joined with the latencies of every level."""
    levels = []
    for operation in merged.operations:
        key = operation.operation, operation.kind
        timelines = [
            timeline for timeline in merged.timelines if (timeline.parsed.operation, timeline.parsed.kind) == key
        ]
        for level, points in split_levels(_points(timelines, grid)):
            for column, values in latencies.get(key, {}).get(level, {}).items():
                points[column] = values
            levels.append(Series(*key, grid.base_s, level, len(merged.clients), points))

    return tuple(levels)


def split_levels(seconds: Points) -> Iterator[tuple[int, Points]]:
    """The points of every level that has at least two of them."""
    yield 1, seconds
    for level in LEVELS[1:]:
        points = coarser(seconds, level)
        if points.size < 2:
            return
        yield level, points


def total_rate(merged: MergedRun) -> Floats:
    """Successful operations per second of the window, all operations and clients; 0 where nobody did anything.

    One value for each whole second of the window. A read-modify-write counts once.
    """
    grid = run_grid(merged, merged.window.from_s)
    total = np.zeros(grid.seconds.size, dtype=np.float64)
    kind = workload_kind(merged.timelines)
    for timeline in merged.timelines:
        parsed = timeline.parsed
        if parsed.kind == kind and parsed.is_operation and not parsed.status:
            rate = np.nan_to_num(grid.rate_ops_s(grid.counts(timeline)))
            total += -rate if parsed.is_composite else rate

    rates = np.zeros(int(merged.window.length_s + 1e-6), dtype=np.float64)
    inside = (grid.seconds >= 0) & (grid.seconds < rates.size)
    rates[grid.seconds[inside]] = total[inside]
    return rates


def run_grid(merged: MergedRun, base_s: float | None = None) -> Grid:
    """The grid of the clients that were merged; `base_s` defaults to the first client's start."""
    began_s = min(client.started_s for client in merged.clients)
    ended_s = {client.number: client.ended_s for client in merged.clients}
    return build_grid(merged.timelines, ended_s, began_s if base_s is None else base_s)


def _points(timelines: Sequence[Timeline], grid: Grid) -> Points:
    """Counts and rates per second; latencies are not known here."""
    points = np.zeros(grid.seconds.size, dtype=POINT)
    points["second"] = grid.seconds
    for column in LATENCIES:
        points[column] = np.nan

    for covered in grid.covered_s.values():
        points["covered_s"] += covered

    # A client that lived and did nothing still makes the rate a number.
    idle = {number: np.zeros(grid.seconds.size, dtype=np.int64) for number in grid.covered_s}
    points["rate_ops_s"] = grid.rate_ops_s(idle)
    for timeline in timelines:
        counts = grid.counts(timeline)
        for part in counts.values():
            points["failed" if timeline.parsed.status else "count"] += part
        if not timeline.parsed.status:
            points["rate_ops_s"] = grid.rate_ops_s(counts)

    points["rate_min_ops_s"] = points["rate_max_ops_s"] = points["rate_ops_s"]
    return points


def coarser(seconds: Points, level: int) -> Points:
    """Counts added, and the mean, the least and the greatest of the rates; every second weighs the same."""
    begins, first = np.unique(seconds["second"] // level * level, return_index=True)
    points = np.zeros(begins.size, dtype=POINT)
    points["second"] = begins
    for column in ("covered_s", "count", "failed"):
        points[column] = np.add.reduceat(seconds[column], first)

    rate = seconds["rate_ops_s"]
    finite = np.isfinite(rate)
    number = np.add.reduceat(finite.astype(np.int64), first)
    with np.errstate(invalid="ignore"):
        points["rate_ops_s"] = np.add.reduceat(np.where(finite, rate, 0.0), first) / number

    # fmin and fmax pass over NaN while there is a number.
    points["rate_min_ops_s"] = np.fmin.reduceat(rate, first)
    points["rate_max_ops_s"] = np.fmax.reduceat(rate, first)
    for column in LATENCIES:
        points[column] = np.nan

    return points


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
    body = b"".join(np.ascontiguousarray(series.points[name]).tobytes() for name in POINT.names or ())
    return heading(MAGIC, FORMAT_VERSION, header) + compressed(body)


def unpack(data: bytes) -> Series:
    """Raises PackedDataError when the bytes are not of a version known here."""
    header, at = read_heading(data, MAGIC, FORMAT_VERSION)
    try:
        number = int(header["points"])
        body = decompressed(data[at:], number * POINT.itemsize)
        points = np.zeros(number, dtype=POINT)
        at = 0
        for name in POINT.names or ():
            points[name] = np.frombuffer(body, dtype=POINT[name], count=number, offset=at)
            at += number * POINT[name].itemsize

        kind: LatencyKind = "service"
        if header["kind"] == "response":
            kind = "response"

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

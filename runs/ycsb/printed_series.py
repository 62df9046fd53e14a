"""Series of clients without histograms: what their status lines and printed time series say, on every level.

Counts add up and means are weighted by them. A percentile is shown only where one single interval states it: several
percentiles, of clients or of seconds, are never averaged.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from runs.ycsb.errors import MergeError
from runs.ycsb.grid import Grid, make_grid
from runs.ycsb.histogram import Floats, Ints
from runs.ycsb.intervals import Timeline
from runs.ycsb.messages import NO_SERIES
from runs.ycsb.operation import LatencyKind, MeasurementName, SeriesPoint, rank_measurement
from runs.ycsb.progress import Columns, Progress
from runs.ycsb.series import POINT, Points, Series, split_levels
from runs.ycsb.summary_client import SummaryClient
from runs.ycsb.summary_counts import interpret_name

# The name under which all operations together are shown where no line tells them apart.
ALL_OPERATIONS: Final = "TOTAL"
_LATENCIES: Final = ("p50_us", "p99_us", "max_us")


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """One operation of one client. Latencies are NaN where they are not stated, `count` is -1."""

    client: int
    start_s: Floats
    end_s: Floats
    count: Ints
    columns: Mapping[str, Floats]  # mean_us, p50_us, p99_us, max_us


Key = tuple[str, LatencyKind, bool]  # operation, kind, whether these are failed ones


def series_of_clients(clients: Sequence[SummaryClient]) -> tuple[tuple[Series, ...], tuple[str, ...]]:
    """The series of every operation that any client's lines tell of, on one grid of seconds; and why there are none."""
    progress = {client.number: client.progress for client in clients if client.progress is not None}
    base_s = min((part.started_s for part in progress.values()), default=0.0)
    rows: defaultdict[Key, list[_Rows]] = defaultdict(list)
    for client in clients:
        for key, part in _build_rows(client, client.progress).items():
            rows[key].append(part)

    if progress and not any((part.count >= 0).any() for part in chain.from_iterable(rows.values())):
        rows[ALL_OPERATIONS, "service", False] = [_build_rows_of_all(*numbered) for numbered in progress.items()]
    try:
        return tuple(_build_series(rows, base_s, len(clients))), ()
    except MergeError as error:
        return (), (NO_SERIES.format(error=error),)


def _build_series(rows: Mapping[Key, Sequence[_Rows]], base_s: float, clients: int) -> Iterable[Series]:
    grid = _build_grid(chain.from_iterable(rows.values()), base_s)
    if not grid.seconds.size:
        return
    measurements = {(operation, kind) for operation, kind, _ in rows}
    for operation, kind in sorted(measurements, key=rank_measurement):
        plain, failed = rows.get((operation, kind, False), ()), rows.get((operation, kind, True), ())
        for level, points in split_levels(_points(plain, failed, grid)):
            _add_latencies(points, plain, grid, level)
            yield Series(operation, kind, base_s, level, clients, points)


def _build_rows(client: SummaryClient, progress: Progress | None) -> dict[Key, _Rows]:
    """One client's rows; a printed time series is told by its status lines only less finely."""
    rows: dict[Key, _Rows] = {}
    start_s = 0.0
    if progress is not None:
        start_s = progress.started_s
    for name, operation in client.run.operations.items():
        key = _key(interpret_name(name, client.run))
        if key is not None and operation.series:
            rows.setdefault(key, _build_rows_of_points(client.number, start_s, operation.series))

    if progress is None:
        return rows
    operations = progress.operations()
    # Of two kinds of measurement of the same values the one that counts them.
    for name in sorted(operations, key=lambda name: name.startswith(("Bucket", "Raw"))):
        key = _key(interpret_name(name, client.run))
        if key is not None:
            rows.setdefault(key, _build_rows_of_lines(client.number, progress, operations[name]))

    return rows


def _key(name: MeasurementName) -> Key | None:
    if not name.is_operation:
        return None
    return name.operation, name.kind, bool(name.status)


def _build_rows_of_lines(number: int, progress: Progress, columns: Columns) -> _Rows:
    begin_s = min(progress.started_s, progress.at_s[0])
    # Lines of measurementtype=histogram and timeseries state a mean and no count; without a mean there was nothing.
    uncounted = np.where(np.isnan(columns["avg"]), 0, -1)
    counts = np.where(np.isnan(columns["count"]), uncounted, np.nan_to_num(columns["count"]))
    latencies = {name: columns[name.removesuffix("_us")] for name in _LATENCIES}
    return _Rows(
        client=number,
        start_s=np.concatenate([[begin_s], progress.at_s[:-1]]),
        end_s=progress.at_s,
        count=counts.astype(np.int64),
        columns={"mean_us": columns["avg"], **latencies},
    )


def _build_rows_of_points(number: int, start_s: float, points: Sequence[SeriesPoint]) -> _Rows:
    """Rows of a printed time series, which count from their operation's first value."""
    at_s = np.array([point.at_ms / 1000.0 for point in points], dtype=np.float64)
    order = np.argsort(at_s, kind="stable")
    points = [points[position] for position in order]
    starts = at_s[order]
    steps = np.diff(starts)
    last_length = np.median(steps) if steps.size else 1.0
    lengths = np.append(steps, last_length)
    rates = _numbers(point.rate_ops_s for point in points)
    mean = _numbers(point.mean_us for point in points)
    counts = np.where(np.isnan(rates), -1, np.rint(np.nan_to_num(rates) * lengths)).astype(np.int64)
    unknown = np.full(starts.size, np.nan)

    return _Rows(
        client=number,
        start_s=start_s + starts,
        end_s=start_s + starts + lengths,
        count=counts,
        columns={"mean_us": mean, **dict.fromkeys(_LATENCIES, unknown)},
    )


def _build_rows_of_all(number: int, progress: Progress) -> _Rows:
    """All operations of a client together."""
    unknown = np.full(progress.at_s.size, np.nan)
    return _Rows(
        client=number,
        start_s=np.concatenate([[progress.started_s], progress.at_s[:-1]]),
        end_s=progress.at_s,
        count=np.diff(progress.done, prepend=0.0).astype(np.int64),
        columns=dict.fromkeys(("mean_us", *_LATENCIES), unknown),
    )


def _numbers(values: Iterable[float | None]) -> Floats:
    return np.array(list(values), dtype=np.float64)  # None becomes NaN.


# --- On the grid ---


def _build_timeline(rows: _Rows) -> Timeline:
    """The rows as the grid places them."""
    return Timeline(
        name=ALL_OPERATIONS,
        client=np.full(rows.start_s.size, rows.client, dtype=np.int32),
        start_s=rows.start_s,
        length_s=rows.end_s - rows.start_s,
        totals=np.maximum(rows.count, 0),
    )


def _build_grid(parts: Iterable[_Rows], base_s: float) -> Grid:
    longest: dict[int, _Rows] = {}
    for part in parts:
        if part.client not in longest or _compute_length_s(part) > _compute_length_s(longest[part.client]):
            longest[part.client] = part
    timelines = {number: _build_timeline(part) for number, part in longest.items()}
    ended_s = {number: float(part.end_s[-1]) for number, part in longest.items()}
    return make_grid(timelines, ended_s, base_s)


def _compute_length_s(part: _Rows) -> float:
    return float(part.end_s[-1] - part.start_s[0])


def _points(plain: Sequence[_Rows], failed: Sequence[_Rows], grid: Grid) -> Points:
    """Counts and rates per second. Without counts there is no rate, not a rate of nothing."""
    points = np.zeros(grid.seconds.size, dtype=POINT)
    for name in POINT.names or ():
        if POINT[name].kind == "f":
            points[name] = np.nan

    points["second"] = grid.seconds
    points["covered_s"] = sum(grid.covered_s.values(), np.zeros(grid.seconds.size))
    points["count"] = _counts(plain, grid)
    points["failed"] = _counts(failed, grid)
    if plain and all((part.count >= 0).all() for part in plain):
        rate = grid.rate_ops_s(_by_client(plain, grid))
        points["rate_ops_s"] = points["rate_min_ops_s"] = points["rate_max_ops_s"] = rate

    return points


def _by_client(parts: Sequence[_Rows], grid: Grid) -> dict[int, Ints]:
    counts = {number: np.zeros(grid.seconds.size, dtype=np.int64) for number in grid.covered_s}
    for part in parts:
        counts[part.client] += grid.counts(_build_timeline(part))[part.client]
    return counts


def _counts(parts: Sequence[_Rows], grid: Grid) -> Ints:
    return sum(_by_client(parts, grid).values(), np.zeros(grid.seconds.size, dtype=np.int64))


def _add_latencies(points: Points, parts: Sequence[_Rows], grid: Grid, level: int) -> None:
    """Means weighted by counts, the largest maximum, and what a single interval alone states of the whole row."""
    size = points.size
    stating = np.zeros(size, dtype=np.int64)  # how many intervals state latencies of each row
    weight, total = np.zeros(size), np.zeros(size)
    last_stated = {name: np.full(size, np.nan) for name in ("mean_us", *_LATENCIES)}
    max_us = np.full(size, -np.inf)
    for part in parts:
        rows, interval, share = _assign_intervals(part, points, grid, level)
        np.add.at(stating, rows, 1)
        counted = np.where(part.count[interval] > 0, part.count[interval] * share, np.nan)
        np.add.at(weight, rows, counted)
        np.add.at(total, rows, counted * part.columns["mean_us"][interval])
        # An unknown maximum makes that of its row unknown.
        np.maximum.at(max_us, rows, np.nan_to_num(part.columns["max_us"][interval], nan=np.inf))
        for name, column in last_stated.items():
            column[rows] = part.columns[name][interval]

    is_single = stating == 1
    with np.errstate(invalid="ignore", divide="ignore"):
        points["mean_us"] = np.where(is_single, last_stated["mean_us"], total / weight)

    points["max_us"] = np.where(np.isfinite(max_us), max_us, np.nan)
    for name in ("p50_us", "p99_us"):
        points[name] = np.where(is_single, last_stated[name], np.nan)


def _assign_intervals(part: _Rows, points: Points, grid: Grid, level: int) -> tuple[Ints, Ints, Floats]:
    """Which intervals state latencies of which rows, each once, and which part of the interval lies there."""
    placed = grid.place(_build_timeline(part))
    # A line that counts nothing says nothing about latencies.
    says = (part.count != 0)[placed.interval] & ~np.isnan(part.columns["mean_us"][placed.interval])
    seconds = grid.seconds[grid.rows(placed)[says]]
    row = np.searchsorted(points["second"], seconds // level * level)
    interval = placed.interval[says]
    # A row and an interval as one number.
    size = part.count.size
    pairs, inverse = np.unique((row * size + interval).astype(np.int64), return_inverse=True)
    share = np.zeros(pairs.size)
    np.add.at(share, inverse, placed.weight[says])
    return pairs // size, pairs % size, share

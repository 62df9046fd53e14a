"""From the interval logs of a run's clients to its merged numbers, series and stored intervals, in bounded memory.

A log is read where it lies, as often as it takes, or it is in memory: then its histograms are taken as they are.

A first look at the logs (`runs.ycsb.logscan`) finds the window and the grid of seconds. Then one measurement after the
other is decoded, all clients side by side in the order of time, and every histogram is added where it belongs: to the
counts of its client in the window, to its second of the series, and to the intervals that are kept for cutting again.
What stays in memory is a minute of histograms, the sums, and two dozen bytes for each interval.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Final

import numpy as np

from runs.ycsb.clock_steps import ClockStep
from runs.ycsb.encoded import Counts, Payload, decode, inflate
from runs.ycsb.errors import HistogramError
from runs.ycsb.grid import Grid, build_grid
from runs.ycsb.hdr import BATCH, BATCH_BYTES, IntervalLog
from runs.ycsb.hdrtext import LogText
from runs.ycsb.histogram import Histogram, Ints, changes
from runs.ycsb.intervals import Batches, Timeline, sums_by_interval
from runs.ycsb.logscan import ScannedLog, scan
from runs.ycsb.merge import Counted, assemble, counted_in
from runs.ycsb.merged import ClientLogs, MergedRun
from runs.ycsb.operation import LatencyKind, as_response
from runs.ycsb.rollups import BLOCK_S, Columns, Pyramid
from runs.ycsb.series import Series, build_levels
from runs.ycsb.stored import IntervalWriter, Write
from runs.ycsb.summary import without_steps
from runs.ycsb.window import Cut, Windowed, windowed

# Up to here every interval is kept by itself; of longer runs those of ten seconds together.
MAX_FINE_S: Final = 3_600
COARSE_S: Final = 10
_EARLIER_S: Final = 1.0  # Threads open their first logs at once.

# Opens the place of one measurement's stored intervals; what is written there is one artifact.
Keep = Callable[[str], AbstractContextManager[Write]]


def ingest(
    clients: Sequence[ClientLogs],
    cut: Cut,
    *,
    base_s: float | None = None,
    keep: Keep | None = None,
    has_series: bool = True,
) -> tuple[MergedRun, tuple[Series, ...]]:
    """The merged clients of one run, and its series; its interval histograms are where `keep` puts them.

    `base_s` is second 0 of the series, by default the first client's start.
    Without `has_series` there are no series, and nothing may be kept.

    A client without usable logs is named in `missing`; MergeError is raised when nothing at all can be merged, and
    HistogramError where a log is damaged.
    """
    reuse_memory()
    measurements = _measurements(clients)
    timelines = [_timeline(name, parts) for name, parts in measurements.items()]
    window = windowed(timelines, [client.number for client in clients], cut)
    grid = None
    if has_series:
        grid = build_grid(timelines, window.ended_s(), window.began_s if base_s is None else base_s)
    resolution_s = 1
    if max(window.ended_s().values()) - window.began_s > MAX_FINE_S:
        resolution_s = COARSE_S
    counted: list[Counted] = []
    latencies: dict[tuple[str, LatencyKind], Mapping[int, Columns]] = {}
    for timeline in timelines:
        with keep(timeline.name) if keep is not None else nullcontext() as write:
            writer = IntervalWriter(write, timeline.name, resolution_s) if write is not None else None
            measured, columns = _read_measurement(measurements[timeline.name], timeline, window, grid, writer)
        counted.append(measured)
        if columns is not None:
            latencies[timeline.parsed.operation, timeline.parsed.kind] = columns

    completed = [_complete_client(client, measurements) for client in clients]
    merged = assemble(window, counted, completed, timelines=timelines)
    return merged, build_levels(merged, grid, latencies) if grid is not None else ()


@dataclass(frozen=True, slots=True)
class _Part:
    """One log's share of a measurement: its intervals are the rows from `first` on."""

    client: ClientLogs
    log: ScannedLog
    first: int


def _timeline(name: str, parts: Sequence[_Part]) -> Timeline:
    """One measurement of all clients.

    With 1 at the last interval of each log that counts anything, since nothing else is known yet.
    """
    rows = [len(part.log.start_s) for part in parts]
    totals = np.zeros(sum(rows), dtype=np.int64)
    totals[[part.first + part.log.last_counted for part in parts if part.log.last_counted >= 0]] = 1
    starts = [part.log.start_s + (part.log.start_time_s + part.client.clock_offset_s) for part in parts]
    return Timeline(
        name=name,
        client=np.repeat([part.client.number for part in parts], rows).astype(np.int32),
        start_s=np.concatenate(starts),
        length_s=np.concatenate([part.log.length_s for part in parts]),
        totals=totals,
    )


@dataclass(slots=True)
class _Unit:
    """Some neighbouring intervals of one log, decoded. They begin in the same block of seconds."""

    block: int
    client: int
    first: int
    counts: Counts


def _read_measurement(
    parts: Sequence[_Part], timeline: Timeline, window: Windowed, grid: Grid | None, writer: IntervalWriter | None
) -> tuple[Counted, Mapping[int, Columns] | None]:
    """Decodes one measurement and adds it up. With its latencies on every level, where operations succeeded."""
    inside, batch = window.inside(timeline), window.batch(timeline)
    histograms: defaultdict[int, Histogram] = defaultdict(Histogram)
    batches = Batches(window.batches)
    second = np.zeros(len(timeline), dtype=np.int64)
    pyramid = None
    if grid is not None:
        placed = grid.place(timeline)
        second = placed.second[placed.nth == 0]
        if timeline.parsed.is_operation and not timeline.parsed.status:
            pyramid = Pyramid(grid, placed)

    blocks = (second // BLOCK_S).tolist()
    units = (_units(part, blocks) for part in parts)
    for unit in heapq.merge(*units, key=lambda unit: unit.block):
        rows = np.arange(unit.first, unit.first + unit.counts.sizes.size)
        timeline.totals[rows] = sums_by_interval(unit.counts.sizes, unit.counts.count)
        if pyramid is not None:
            pyramid.add(rows, unit.counts)
        if writer is not None:
            group = rows if writer.resolution_s == 1 else second[rows] // writer.resolution_s
            writer.add(unit.client, *_grouped(rows, group, unit.counts))
        counts = unit.counts.select(inside[rows])
        histograms[unit.client].add_sparse(counts.index, counts.count)
        batches.add(batch[rows[inside[rows]]], counts)

    if writer is not None:
        writer.finish(timeline)
    counted = counted_in(window, timeline, histograms.__getitem__, batches)
    return counted, pyramid.columns if pyramid is not None else None


def _units(part: _Part, blocks: Sequence[int]) -> Iterator[_Unit]:
    """The intervals of one log, some at a time."""
    if isinstance(part.log.source, IntervalLog):
        yield from _units_in_memory(part, part.log.source, blocks)
        return

    text = LogText(part.log.source.operation)
    waiting: list[Payload] = []
    size = 0
    first = part.first
    end = part.first + len(part.log.start_s)
    for row in part.log.source.rows(text):
        if row.name != part.log.operation:
            continue

        try:
            payload = inflate(row.payload, row.line_number)
        except HistogramError as error:
            text.damage = error
            continue

        at = first + len(waiting)
        if at >= end:
            raise HistogramError("the log grew while it was read: read it again", row.line_number)

        if waiting and (blocks[at] != blocks[first] or len(waiting) >= BATCH or size >= BATCH_BYTES):
            yield _Unit(blocks[first], part.client.number, first, decode(waiting))
            waiting, size, first = [], 0, at

        waiting.append(payload)
        size += len(payload.data)

    if waiting:
        yield _Unit(blocks[first], part.client.number, first, decode(waiting))
    if first + len(waiting) != end:
        raise HistogramError("the log shrank while it was read: read it again")


def _units_in_memory(part: _Part, log: IntervalLog, blocks: Sequence[int]) -> list[_Unit]:
    """The intervals of a log in memory, in the order of blocks."""
    mine = blocks[part.first : part.first + len(log)]
    borders = [0, *(np.flatnonzero(np.diff(mine)) + 1).tolist(), len(mine)]
    units = []
    offsets = log.offsets
    for begin, end in pairwise(borders):
        for at in range(begin, end, BATCH):
            until = min(at + BATCH, end)
            inside = slice(int(offsets[at]), int(offsets[until]))
            counts = Counts(log.counts.sizes[at:until], log.index[inside], log.count[inside])
            units.append(_Unit(mine[at], part.client.number, part.first + at, counts))
    return sorted(units, key=lambda unit: unit.block)


def _grouped(rows: Ints, group: Ints, counts: Counts) -> tuple[Ints, Ints, Counts]:
    """Neighbours of the same group added up: the first row and the number of rows of each, and their counts."""
    begins = changes(group)
    number = np.diff(np.append(begins, rows.size))
    if begins.size == rows.size:
        return rows, number, counts

    ends = np.cumsum(counts.sizes)[begins + number - 1]
    total = np.zeros(int(counts.index.max(initial=0)) + 1, dtype=np.int64)
    index, count, at = [], [], 0
    for end in ends.tolist():
        np.add.at(total, counts.index[at:end], counts.count[at:end])
        index.append(np.flatnonzero(total))
        count.append(total[index[-1]])
        total[index[-1]], at = 0, end

    sizes = np.array([part.size for part in index], dtype=np.int64)
    return rows[begins], number, Counts(sizes, np.concatenate(index).astype(np.int32), np.concatenate(count))


def _measurements(clients: Sequence[ClientLogs]) -> dict[str, list[_Part]]:
    """All measurements of all clients, sorted by name; within one, clients come in the order of their numbers."""
    by_name: dict[str, list[_Part]] = {}
    for client in sorted(clients, key=lambda client: client.number):
        for log in _scan_logs(client):
            name = as_response(log.operation) if client.response_only else log.operation
            parts = by_name.setdefault(name, [])
            first = 0
            if parts:
                first = parts[-1].first + len(parts[-1].log.start_s)
            parts.append(_Part(client, log, first))
    return dict(sorted(by_name.items()))


def _scan_logs(client: ClientLogs) -> list[ScannedLog]:
    """YCSB opens a log with the first operation of its kind. One that the clock dates before the client's first log was
    opened after the steps.
    """
    logs = list(chain.from_iterable(scan(source, client.clock_steps) for source in client.logs))
    longest = max(logs, key=lambda log: log.start_s.size, default=None)
    if longest is None or not longest.steps:
        return logs
    stepped_s = sum(step.by_s for step in longest.steps)
    return [
        replace(log, start_time_s=log.start_time_s - stepped_s)
        if not log.steps and log.start_time_s < longest.start_time_s - _EARLIER_S
        else log
        for log in logs
    ]


def _complete_client(client: ClientLogs, measurements: Mapping[str, Sequence[_Part]]) -> ClientLogs:
    """The client without the steps of its clock, which count from the beginning of its first interval."""
    parts = chain.from_iterable(measurements.values())
    logs = [part.log for part in parts if part.client.number == client.number]
    started_s = min((log.start_time_s + float(log.start_s.min()) for log in logs if log.start_s.size), default=0.0)
    # A log that ended earlier shows fewer of them.
    steps = max((log.steps for log in logs), key=len, default=())
    summary = None
    if client.summary:
        summary = without_steps(client.summary, sum(step.by_s for step in steps))

    return replace(
        client,
        summary=summary,
        truncated=any(log.truncated for log in logs),
        clock_steps=tuple(ClockStep(step.at_s - started_s, step.by_s) for step in steps),
    )


def reuse_memory() -> None:
    """Have the C library keep freed memory of up to 32 MB for the next array.

    It gives larger pieces than 128 KB back to the system each time and asks for them anew, until it has seen a larger
    one freed. With arrays of a few hundred KB that come and go that would cost as much as the decoding.
    """
    np.empty(31 << 20, dtype=np.uint8)

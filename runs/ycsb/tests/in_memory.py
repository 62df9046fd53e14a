"""All intervals of a run in memory, and merging them there: the plain way, which streams are held against."""

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO

import numpy as np
import numpy.typing as npt

from runs.ycsb.encoded import Counts
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.histogram import Histogram, Ints
from runs.ycsb.intervals import Batches, Timeline, sums_by_interval
from runs.ycsb.merge import Counted, assemble
from runs.ycsb.merged import ClientLogs, MergedRun
from runs.ycsb.operation import as_response, parse_name
from runs.ycsb.rollups import BLOCK_S, Pyramid
from runs.ycsb.series import Series, build_levels, run_grid
from runs.ycsb.stored import IntervalWriter, StoredIntervals, Write
from runs.ycsb.tests.hdrlogs import read_logs
from runs.ycsb.window import Cut, Windowed, windowed

SEGMENT = 60


class Kept(dict[str, BytesIO]):
    """Where stored intervals go."""

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[Write]:
        self[name] = BytesIO()
        yield self[name].write

    def stored(self) -> list[StoredIntervals]:
        return [StoredIntervals.from_bytes(kept.getvalue()) for kept in self.values()]

    def contents(self) -> dict[str, bytes]:
        return {name: kept.getvalue() for name, kept in self.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Intervals(Timeline):
    """The same with the histograms. Interval i has the counts `index[offsets[i]:offsets[i+1]]`."""

    totals: Ints = field(init=False)
    offsets: Ints
    index: npt.NDArray[np.int32]
    count: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "parsed", parse_name(self.name))
        object.__setattr__(self, "totals", sums_by_interval(np.diff(self.offsets), self.count))

    def select(self, mask: npt.NDArray[np.bool_]) -> "Intervals":
        """The intervals at which `mask` is true."""
        if mask.all():
            return self
        kept = np.repeat(mask, np.diff(self.offsets))
        sizes = np.diff(self.offsets)[mask]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Intervals(
            name=self.name,
            client=self.client[mask],
            start_s=self.start_s[mask],
            length_s=self.length_s[mask],
            offsets=offsets,
            index=self.index[kept],
            count=self.count[kept],
        )

    def histogram(self) -> Histogram:
        """All intervals added exactly."""
        return Histogram.of_sparse(self.index, self.count)

    def get_counts(self, some: Ints) -> Counts:
        """The histograms of some intervals, one after the other."""
        sizes = np.diff(self.offsets)[some]
        if some.size and (np.diff(some) == 1).all():  # neighbours, as nearly always: they lie side by side
            part = slice(int(self.offsets[some[0]]), int(self.offsets[some[-1] + 1]))
            return Counts(sizes, self.index[part], self.count[part])
        within = np.arange(int(sizes.sum()), dtype=np.int64) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at = np.repeat(self.offsets[:-1][some], sizes) + within
        return Counts(sizes, self.index[at], self.count[at])


def collect(
    logs: Sequence[tuple[int, float, Sequence[IntervalLog]]], *, response_only: Collection[int] = ()
) -> tuple[Intervals, ...]:
    """Gather the logs of all clients by measurement name.

    Each element is (client number, seconds to add to that client's clock, its logs). The result does not depend on
    the order of the clients. The clients of `response_only` measured response times under plain names.
    """
    by_name: dict[str, list[tuple[int, float, IntervalLog]]] = {}
    for client, clock_offset_s, client_logs in sorted(logs, key=lambda entry: entry[0]):
        for log in client_logs:
            name = as_response(log.operation) if client in response_only else log.operation
            by_name.setdefault(name, []).append((client, clock_offset_s, log))
    return tuple(_gather(name, parts) for name, parts in sorted(by_name.items()))


def _gather(name: str, parts: Sequence[tuple[int, float, IntervalLog]]) -> Intervals:
    sizes = [np.diff(log.offsets) for _, _, log in parts]
    return Intervals(
        name=name,
        client=np.concatenate([np.full(len(log), client, dtype=np.int32) for client, _, log in parts]),
        start_s=np.concatenate([log.start_s + (log.start_time_s + offset) for _, offset, log in parts]),
        length_s=np.concatenate([log.length_s for _, _, log in parts]),
        offsets=np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64),
        index=np.concatenate([log.index for _, _, log in parts]),
        count=np.concatenate([log.count for _, _, log in parts]),
    )


def _counted(entry: Intervals, windowed_run: Windowed) -> Counted:
    inside = windowed_run.inside(entry)
    whole, window = {}, {}
    for span in windowed_run.spans:
        mine = entry.client == span.number
        if mine.any():
            whole[span.number] = int(entry.totals[mine].sum())
            window[span.number] = entry.select(mine & inside).histogram()
    batches = Batches(windowed_run.batches)
    batches.add(windowed_run.batch(entry)[inside], entry.get_counts(np.flatnonzero(inside)))
    return Counted(entry.parsed, entry.name, whole, window, batches)


def collect_logs(client: ClientLogs) -> list[IntervalLog]:
    logs: list[IntervalLog] = []
    for log in client.logs:
        logs += [log] if isinstance(log, IntervalLog) else read_logs(log.open(), operation=log.operation)
    return logs


def collected(clients: Sequence[ClientLogs]) -> tuple[Intervals, ...]:
    parts = [(client.number, client.clock_offset_s, collect_logs(client)) for client in clients]
    return collect(parts, response_only=[client.number for client in clients if client.response_only])


def statements(clients: Sequence[ClientLogs]) -> list[ClientLogs]:
    return [replace(client, truncated=any(log.truncated for log in collect_logs(client))) for client in clients]


def merged_in_memory(clients: Sequence[ClientLogs], cut: Cut) -> tuple[MergedRun, tuple[Intervals, ...]]:
    intervals = collected(clients)
    window = windowed(intervals, [client.number for client in clients], cut)
    counted = [_counted(entry, window) for entry in intervals]
    return assemble(window, counted, statements(clients), timelines=intervals), intervals


def series_in_memory(merged: MergedRun, intervals: Sequence[Intervals]) -> tuple[Series, ...]:
    """The intervals are added in the order of time, some of them together."""
    grid = run_grid(merged)
    latencies = {}
    for entry in intervals:
        if entry.parsed.is_operation and not entry.parsed.status:
            placed = grid.place(entry)
            pyramid = Pyramid(grid, placed)
            order = np.argsort(placed.second[placed.nth == 0] // BLOCK_S, kind="stable")
            for begin in range(0, order.size, 64):
                some = order[begin : begin + 64]
                pyramid.add(some, entry.get_counts(some))
            latencies[entry.parsed.operation, entry.parsed.kind] = pyramid.columns
    return build_levels(merged, grid, latencies)


def write_intervals(entry: Intervals, write: Write) -> None:
    """Each by itself."""
    writer = IntervalWriter(write, entry.name, 1)
    for client in np.unique(entry.client).tolist():
        rows = np.flatnonzero(entry.client == client)
        for begin in range(0, rows.size, SEGMENT):
            some = rows[begin : begin + SEGMENT]
            writer.add(client, some, np.ones(some.size, dtype=np.int64), entry.get_counts(some))
    writer.finish(entry)


def pack_intervals(entry: Intervals) -> bytes:
    out = BytesIO()
    write_intervals(entry, out.write)
    return out.getvalue()


def get_intervals(stored: StoredIntervals) -> Intervals:
    """Everything that is stored of one measurement."""
    counts = [segment.parts.counts() for segment in stored.segments]
    sizes = np.concatenate([np.zeros(0, dtype=np.int64), *(part.sizes for part in counts)])
    return Intervals(
        name=stored.timeline.name,
        client=stored.kept.client,
        start_s=stored.kept.start_s,
        length_s=stored.kept.length_s,
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        index=np.concatenate([np.zeros(0, dtype=np.int32), *(part.index for part in counts)]),
        count=np.concatenate([np.zeros(0, dtype=np.int64), *(part.count for part in counts)]),
    )


def unpack_intervals(data: bytes) -> Intervals:
    return get_intervals(StoredIntervals.from_bytes(data))

"""The interval histograms of one measurement of a run, of all its clients, kept sparse.

An `Intervals` holds for every interval which client wrote it, when it began (seconds since the epoch on the reference
clock), how long it lasted (s), and the counts by histogram index. `runs.ycsb.stored` keeps them, so a run can be cut
again with another warm-up without reading its logs again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from runs.ycsb.encoded import Counts
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.histogram import Floats, Histogram, Ints
from runs.ycsb.names import MeasurementName, as_response, parse_name


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """When the intervals of one measurement name were, of all clients, and how many values each counts."""

    name: str  # as YCSB names it: READ, READ-FAILED, Intended-READ, CLEANUP
    client: npt.NDArray[np.int32]
    start_s: Floats
    length_s: Floats
    totals: Ints
    parsed: MeasurementName = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parsed", parse_name(self.name))

    def __len__(self) -> int:
        return int(self.start_s.size)

    @property
    def end_s(self) -> Floats:
        return self.start_s + self.length_s

    @property
    def midpoint_s(self) -> Floats:
        return self.start_s + self.length_s / 2

    def select(self, mask: npt.NDArray[np.bool_]) -> "Timeline":
        """The intervals at which `mask` is true."""
        if mask.all():
            return self
        return Timeline(self.name, self.client[mask], self.start_s[mask], self.length_s[mask], self.totals[mask])


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

    def counts_of(self, some: Ints) -> Counts:
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


def sums_by_interval(sizes: Ints, count: Ints) -> Ints:
    """The sum of each interval's counts; unlike reduceat this is 0 for an empty one."""
    running: Ints = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    ends: Ints = np.cumsum(sizes)
    sums: Ints = running[ends] - running[ends - sizes]
    return sums

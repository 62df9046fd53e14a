"""When the intervals of one measurement of a run were, of all its clients, and how many values each counts.

Times are seconds since the epoch on the reference clock. The histograms are in `runs.ycsb.stored`.

A run's window is counted in parts of equal length too. Latencies in a row are alike: how much their share beyond a
percentile varies between the parts shows how much less they say about it than as many independent ones
(`runs.ycsb.upper_bounds`).
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from runs.ycsb.encoded import Counts
from runs.ycsb.histogram import Floats, Ints
from runs.ycsb.operation import MeasurementName, parse_name

_GROWTH: Final = 1024  # indices by which the table gets wider
MIN_BATCHES: Final = 10
MAX_BATCHES: Final = 30


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


def sums_by_interval(sizes: Ints, count: Ints) -> Ints:
    """The sum of each interval's counts; unlike reduceat this is 0 for an empty one."""
    running: Ints = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    ends: Ints = np.cumsum(sizes)
    sums: Ints = running[ends] - running[ends - sizes]
    return sums


def widened(table: Ints, width: int) -> Ints:
    """The table with at least so many columns, the added ones of zeros. `np.pad` takes ten times as long."""
    if width <= table.shape[1]:
        return table
    wide = np.zeros((table.shape[0], width), dtype=table.dtype)
    wide[:, : table.shape[1]] = table
    return wide


class Batches:
    """Counts by batch and histogram index. Without any batch nothing is counted."""

    def __init__(self, number: int) -> None:
        self._table: Ints = np.zeros((number, 0), dtype=np.int64)

    def __len__(self) -> int:
        return int(self._table.shape[0])

    def add(self, batch: Ints, counts: Counts) -> None:
        """Add the histograms of some intervals, each to its batch."""
        if not len(self) or not counts.index.size:
            return
        missing = (int(counts.index.max()) // _GROWTH + 1) * _GROWTH - self._table.shape[1]
        if missing > 0:
            self._table = widened(self._table, self._table.shape[1] + missing)
        at = np.repeat(batch * self._table.shape[1], counts.sizes) + counts.index
        np.add.at(self._table.reshape(-1), at, counts.count)

    def from_indices(self, indices: Ints) -> Ints:
        """For each index the number of values in each batch whose bucket is there or above."""
        edges, place = np.unique(indices, return_inverse=True)
        # An index may lie beyond all values that were counted.
        table = widened(self._table, int(edges[-1]) + 1)
        totals: Ints = np.add.reduceat(table, edges, axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1].T[place]
        return totals

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batches):
            return NotImplemented
        width = max(self._table.shape[1], other._table.shape[1])
        return np.array_equal(widened(self._table, width), widened(other._table, width))

    __hash__ = None  # type: ignore[assignment]

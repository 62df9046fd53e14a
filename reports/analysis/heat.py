"""Latency over time as counts in a grid: columns of time, rows of latency. Counts are added, so nothing is lost.

A percentile of many seconds is not the mean of theirs; counts of histograms can be added (analysis 6 and 10).
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runs.ycsb.encoded import Counts
from runs.ycsb.histogram import median_values

MAX_CELLS = 2_000
MAX_COLUMNS = 80
ROWS = MAX_CELLS // MAX_COLUMNS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Heat:
    """`counts[row, column]` operations took between `edges_us[row]` and the next edge, from `begins_s[column]` on."""

    operation: str
    kind: str
    begins_s: Floats  # of the columns, all `width_s` long
    width_s: float
    edges_us: Floats  # one more than there are rows
    counts: Ints

    @property
    def shares(self) -> Floats:
        """Of the operations of each column; NaN where there was none of that latency."""
        total = self.counts.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares: Floats = np.where(self.counts > 0, self.counts / total, np.nan)
        return shares


class Gathering:
    """Adds histograms by time in the resolution in which they are stored; rows are chosen when all are there.

    Columns last a whole number of seconds, so that each holds as many as every other.
    """

    def __init__(self, length_s: float) -> None:
        self.length_s = length_s
        self.width_s = float(max(1, math.ceil(length_s / MAX_COLUMNS)))
        self._counts: Ints = np.zeros((max(1, math.ceil(length_s / self.width_s)), 0), dtype=np.int64)

    def add(self, seconds: Floats, counts: Counts) -> None:
        """Some intervals by the second in their middle; what lies outside the length is left out."""
        inside = (seconds >= 0) & (seconds < self.length_s)
        column = np.repeat(np.where(inside, seconds // self.width_s, -1).astype(np.int64), counts.sizes)
        kept = column >= 0
        index, number = counts.index[kept].astype(np.int64), counts.count[kept]
        if not index.size:
            return
        width = self._counts.shape[1]
        if index.max() >= width:
            self._counts = np.pad(self._counts, ((0, 0), (0, int(index.max()) + 1 - width)))
        np.add.at(self._counts, (column[kept], index), number)

    def heat(self, operation: str, kind: str, begin_s: float = 0.0) -> Heat | None:
        """None where nothing was added."""
        used = np.flatnonzero(self._counts.any(axis=0))
        if not used.size:
            return None
        values = median_values(used)
        edges = edges_between(max(float(values[0]), 1.0), max(float(values[-1]), 1.0))
        rows = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, edges.size - 2)
        counts = np.zeros((edges.size - 1, self._counts.shape[0]), dtype=np.int64)
        np.add.at(counts, rows, self._counts[:, used].T)
        begins: Floats = begin_s + np.arange(counts.shape[1], dtype=np.float64) * self.width_s
        return Heat(operation, kind, begins, self.width_s, edges, counts)


def edges_between(low_us: float, high_us: float, rows: int = ROWS) -> Floats:
    """Edges at equal ratios around both values, each a whole number of microseconds and no two the same."""
    if high_us <= low_us:
        return np.array([low_us, low_us + 1.0])
    edges: Floats = np.unique(np.round(np.geomspace(low_us, high_us + 1, rows + 1)))
    return edges

"""Latencies of a run per second and per 10, 60 and 600 seconds, from its interval histograms.

A percentile of a longer time is the percentile of all its values: the histograms are added up and asked again, since
percentiles of the parts say little about the whole. Only the histograms of a minute or two are kept at a time.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runs.ycsb.encoded import Counts
from runs.ycsb.errors import MergeError
from runs.ycsb.grid import Grid, Placed
from runs.ycsb.histogram import Ints, changes, highest_values, median_values

LEVELS: Final = (1, 10, 60, 600)  # seconds; each divides the next
PERCENTILES: Final = {"p50_us": 50.0, "p95_us": 95.0, "p99_us": 99.0}
COLUMNS: Final = ("mean_us", *PERCENTILES, "max_us")
BLOCK_S: Final = 60  # the seconds whose histograms are held together
_LONG_S: Final = 600
_HAIR: Final = 1 - 1e-12
_MAX_SIZE: Final = 1_000_000  # counts of a block, of 20 bytes each, before they are added up
_MAX_OPEN: Final = 64  # blocks: so many minutes may a log be out of order

Columns = Mapping[str, npt.NDArray[np.float32]]
Amounts = npt.NDArray[np.int64] | npt.NDArray[np.float64]


class Pyramid:
    """Gathers the latencies of one operation. Every interval is added once, about in the order of time."""

    def __init__(self, grid: Grid, placed: Placed) -> None:
        """`placed` tells the seconds of every interval that will be added."""
        self._second = grid.seconds[grid.rows(placed)] if grid.seconds.size else placed.second
        self._weight = placed.weight
        # The seconds of interval i are those from first[i] to first[i + 1].
        number = 0
        if placed.interval.size:
            number = int(placed.interval[-1]) + 1
        self._first = np.searchsorted(placed.interval, np.arange(number + 1))
        self._missing = _occurrences(self._second // BLOCK_S)  # seconds of intervals that are still to come, by block
        self._missing_long = _occurrences(np.array(list(self._missing), dtype=np.int64) * BLOCK_S // _LONG_S)
        self._open: defaultdict[int, _Block] = defaultdict(_Block)
        self._minutes: defaultdict[int, list[_Counted]] = defaultdict(list)  # by ten minutes
        self.seconds = levels_in(grid.seconds)
        # Of every level that the run is long enough for; whole when all intervals were added.
        self.columns: dict[int, dict[str, npt.NDArray[np.float32]]] = {}
        for level, seconds in self.seconds.items():
            self.columns[level] = {column: np.full(seconds.size, np.nan, dtype=np.float32) for column in COLUMNS}

    def add(self, intervals: Ints, counts: Counts) -> None:
        """Add the histograms of some intervals."""
        first, beyond = self._first[intervals], self._first[intervals + 1]
        if (beyond - first == 1).all():
            second = self._second[first]
            self._add_short(second, counts)
        else:
            second = np.concatenate([self._second[begin:end] for begin, end in zip(first, beyond, strict=True)])
            self._add_long(first, beyond, counts)

        for block, number in _occurrences(second // BLOCK_S).items():
            self._missing[block] -= number
            if not self._missing[block]:
                self._close(block)

    def _add_short(self, second: Ints, counts: Counts) -> None:
        """Intervals that belong to one second each."""
        blocks = second // BLOCK_S
        for number in _occurrences(blocks):
            mask = blocks == number
            self._open[number].add(second[mask] - number * BLOCK_S, counts.select(mask))

        if sum(bool(block.parts) for block in self._open.values()) > _MAX_OPEN:
            raise MergeError(
                f"The intervals of a log are more than {_MAX_OPEN * BLOCK_S // 60} minutes out of order. Sort its "
                "lines by their start."
            )

    def _add_long(self, first: Ints, beyond: Ints, counts: Counts) -> None:
        """Longer intervals wait, once for each block in which they have a part, until that is closed."""
        ends = np.cumsum(counts.sizes)
        for begin, end, until, size in zip(first, beyond, ends, counts.sizes, strict=True):
            second = self._second[begin:end]
            index, count = counts.index[until - size : until], counts.count[until - size : until]
            for number in _occurrences(second // BLOCK_S):
                row = second[second // BLOCK_S == number] - number * BLOCK_S
                self._open[number].waiting.append(_Counted(row, index, count * self._weight[begin]))

    def _close(self, number: int) -> None:
        """All intervals of these seconds are here: merge them on every level."""
        counted = self._open.pop(number).merged()
        for level in self.seconds:
            if level <= BLOCK_S:
                self._put(level, number * BLOCK_S, _add_up([counted], level) if level > 1 else counted)
        if _LONG_S in self.seconds:
            self._close_long(number * BLOCK_S // _LONG_S, counted)

    def _close_long(self, number: int, counted: "_Counted") -> None:
        """Another block of these ten minutes is closed."""
        self._minutes[number].append(_add_up([counted], BLOCK_S))
        self._missing_long[number] -= 1
        if not self._missing_long[number]:
            self._put(_LONG_S, number * _LONG_S, _add_up(self._minutes.pop(number)))

    def _put(self, level: int, from_s: int, counted: "_Counted") -> None:
        if not counted.index.size:
            return
        begins = changes(counted.row)
        at = np.searchsorted(self.seconds[level], from_s + level * counted.row[begins])
        for column, values in _latencies(begins, counted.index, counted.count).items():
            self.columns[level][column][at] = values


def levels_in(seconds: Ints) -> dict[int, Ints]:
    """The seconds at which the intervals of every level begin, as long as there are two of them."""
    levels = {1: seconds}
    for level in LEVELS[1:]:
        begins: Ints = np.unique(seconds // level * level)
        if begins.size < 2:
            break
        levels[level] = begins
    return levels


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """The counts of some rows, each at its index: one row after the other, the indices of a row ascending."""

    row: Ints
    index: npt.NDArray[Any]
    count: npt.NDArray[Any]


def _add_up(parts: Sequence[_Counted], number: int = 1) -> _Counted:
    """The parts added, and each so many neighbouring rows."""
    row = np.concatenate([part.row for part in parts]) // number
    index = np.concatenate([part.index for part in parts])
    count = np.concatenate([part.count for part in parts])
    width = int(index.max(initial=-1)) + 1
    keys = row * width + index
    if (keys[1:] > keys[:-1]).all():
        return _Counted(row, index, count)

    total = np.zeros_like(count, shape=int(keys.max()) + 1)
    np.add.at(total, keys, count)
    used = np.flatnonzero(total)
    return _Counted(used // width, used % width, total[used])


class _Block:
    """The counts of a minute, by second."""

    def __init__(self) -> None:
        self.parts: list[_Counted] = []
        self.waiting: list[_Counted] = []  # of longer intervals: some seconds, each of which has all of the counts
        self._size = 0  # of the parts

    def add(self, second: Ints, counts: Counts) -> None:
        """Add the histogram of one interval to each of the seconds."""
        self.parts.append(_Counted(np.repeat(second, counts.sizes), counts.index, counts.count))
        self._size += counts.index.size
        if self._size > _MAX_SIZE:
            self.parts = [_add_up(self.parts)]
            self._size = self.parts[0].index.size

    def merged(self) -> _Counted:
        """The counts of each second; with long intervals they are fractions."""
        spread = []
        for long in self.waiting:
            seconds, size = long.row.size, long.index.size
            spread.append(
                _Counted(np.repeat(long.row, size), np.tile(long.index, seconds), np.tile(long.count, seconds))
            )
        return _add_up([*self.parts, *spread])


def _latencies(begins: Ints, index: npt.NDArray[Any], count: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Mean, percentiles and maximum of every row, none of which is empty; the rows begin at these places."""
    # One row after the other, so that one search finds the values of all.
    running = np.cumsum(count)
    until = running[np.append(begins[1:], running.size) - 1]
    before = np.concatenate([[0], until[:-1]])
    total = until - before
    # What stands for each bucket in a mean.
    values = median_values(np.arange(int(index.max()) + 1)).astype(np.float64)
    mean = np.add.reduceat(values.take(index) * count, begins) / total
    # The ranks as in `histogram.compute_rank`, a hair less because sums of fractions are off in their last digits.
    below = np.nextafter(list(PERCENTILES.values()), -np.inf)
    ranks: Amounts = (before + below[:, None] * total / 100.0) * _HAIR
    if running.dtype != np.float64:
        ranks = np.ceil(ranks).astype(np.int64)
    reached = highest_values(index.take(np.searchsorted(running, np.vstack([ranks, until]))))
    return {"mean_us": mean, **dict(zip((*PERCENTILES, "max_us"), reached, strict=True))}


def _occurrences(values: Ints) -> dict[int, int]:
    """How often each value occurs, ascending."""
    if values.size and int(values.min()) == int(values.max()):
        return {int(values[0]): values.size}
    distinct, number = np.unique(values, return_counts=True)
    return dict(zip(distinct.tolist(), number.tolist(), strict=True))

"""Latencies of a run per second and per 10, 60 and 600 seconds, from its interval histograms.

A percentile of a longer time is the percentile of all its values: the histograms are added up and asked again, since
percentiles of the parts say little about the whole. Only the histograms of a minute or two are kept at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runs.ycsb.encoded import Counts
from runs.ycsb.errors import MergeError
from runs.ycsb.grid import Grid, Placed
from runs.ycsb.histogram import Ints, changes, highest_values, median_values
from runs.ycsb.intervals import widened

LEVELS: Final = (1, 10, 60, 600)  # seconds; each divides the next
PERCENTILES: Final = {"p50_us": 50.0, "p95_us": 95.0, "p99_us": 99.0}
COLUMNS: Final = ("mean_us", *PERCENTILES, "max_us")
BLOCK_S: Final = 60  # the seconds whose histograms are held together
_LONG_S: Final = 600
_GROWTH: Final = 1024  # indices by which a block gets wider
_HAIR: Final = 1 - 1e-12
_MAX_HELD: Final = 100_000  # counts, of 12 bytes each: beyond that a block with all indices is no larger
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
        self._open: dict[int, _Block] = {}
        self._free: list[_Block] = []
        self._long: dict[int, Amounts] = {}
        self.seconds = levels_in(grid.seconds)
        # Of every level that the run is long enough for; whole when all intervals were added.
        self.columns: dict[int, dict[str, npt.NDArray[np.float32]]] = {}
        for level, seconds in self.seconds.items():
            self.columns[level] = {column: np.full(seconds.size, np.nan, dtype=np.float32) for column in COLUMNS}

    def add(self, intervals: Ints, counts: Counts) -> None:
        """Add the histograms of some intervals."""
        first, spread = self._first[intervals], self._first[intervals + 1] - self._first[intervals]
        if int(spread.max(initial=1)) == 1:
            second = self._second[first]
            self._add_short(second, counts)
        else:
            within = np.arange(int(spread.sum()), dtype=np.int64) - np.repeat(np.cumsum(spread) - spread, spread)
            second = self._second[np.repeat(first, spread) + within]
            self._add_one_by_one(first, spread, counts)

        for block, number in _occurrences(second // BLOCK_S).items():
            self._missing[block] -= number
            if not self._missing[block]:
                self._close(block)

    def _add_short(self, second: Ints, counts: Counts) -> None:
        """Intervals that belong to one second each."""
        blocks = second // BLOCK_S
        for number in _occurrences(blocks):
            mine = blocks == number
            if mine.all():
                self._dense(number).add(second - number * BLOCK_S, counts)
                return
            mask = np.repeat(mine, counts.sizes)
            part = Counts(counts.sizes[mine], counts.index[mask], counts.count[mask])
            self._dense(number).add(second[mine] - number * BLOCK_S, part)

    def _add_one_by_one(self, first: Ints, spread: Ints, counts: Counts) -> None:
        """Longer intervals wait, once for each block in which they have a part, until that is closed."""
        ends = np.cumsum(counts.sizes)
        for i, (end, size) in enumerate(zip(ends.tolist(), counts.sizes.tolist(), strict=True)):
            part = slice(end - size, end)
            second = self._second[int(first[i]) : int(first[i] + spread[i])]
            weight = float(self._weight[int(first[i])])
            for number in _occurrences(second // BLOCK_S):
                local = second[second // BLOCK_S == number] - number * BLOCK_S
                waiting = local.tolist(), counts.index[part], counts.count[part] * weight
                self._open.setdefault(number, _Block()).waiting.append(waiting)

    def _dense(self, number: int) -> "_Block":
        """The block, with room for counts."""
        block = self._open.get(number)
        if block is None or not block.is_dense:
            if sum(other.is_dense for other in self._open.values()) >= _MAX_OPEN:
                raise MergeError(
                    f"The intervals of a log are more than {_MAX_OPEN * BLOCK_S // 60} minutes out of order. Sort its "
                    "lines by their start."
                )
            fresh = self._free.pop() if self._free else _Block()
            fresh.waiting = []
            if block:
                fresh.waiting = block.waiting
            self._open[number] = block = fresh

        return block

    def _close(self, number: int) -> None:
        """All intervals of these seconds are here: merge them on every level."""
        block = self._open.pop(number)
        counted = block.merged()
        for level in self.seconds:
            if level <= BLOCK_S:
                self._put(level, number * BLOCK_S, counted.coarser(level) if level > 1 else counted)
        if _LONG_S in self.seconds:
            self._close_long(number * BLOCK_S // _LONG_S, counted)
        if block.is_dense and any(self._missing.values()):
            block.clear()
            self._free.append(block)

    def _close_long(self, number: int, counted: "_Counted") -> None:
        """Another block of these ten minutes is closed."""
        total = self._long.pop(number, np.zeros(0, dtype=np.int64))
        grown: Amounts = np.zeros(max(total.size, counted.width), dtype=np.result_type(total, counted.count))
        grown[: total.size] = total
        np.add.at(grown, counted.index, counted.count)
        self._missing_long[number] -= 1
        if self._missing_long[number]:
            self._long[number] = grown
        else:
            self._put(_LONG_S, number * _LONG_S, _Counted.of_dense(grown[None]))

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
    index: Ints
    count: Amounts

    @classmethod
    def of_dense(cls, values: npt.NDArray[Any]) -> "_Counted":
        """From a table with a row for each row, and a column for each index."""
        flat = values.reshape(-1)
        used = np.flatnonzero(flat)
        row = used // max(values.shape[1], 1)
        return cls(row, used - row * values.shape[1], flat[used])

    @property
    def width(self) -> int:
        return int(self.index.max(initial=-1)) + 1

    def coarser(self, number: int) -> "_Counted":
        """So many neighbouring rows added up; 1 only brings them into order."""
        rows = int(self.row.max(initial=-1)) // number + 1
        width = self.width
        total = np.zeros_like(self.count, shape=rows * width)
        np.add.at(total, self.row // number * width + self.index, self.count)
        table: npt.NDArray[Any] = total.reshape(rows, width)
        return _Counted.of_dense(table)


# A part of a longer interval: some seconds of a block, and the counts of each at their indices.
_Waiting = tuple[list[int], npt.NDArray[np.int32], npt.NDArray[Any]]


@dataclass(slots=True, eq=False)
class _Block:
    """The counts of a minute: a row for each second, a column for each index."""

    values: Ints = field(default_factory=lambda: np.zeros((BLOCK_S, 0), dtype=np.int64))
    waiting: list[_Waiting] = field(default_factory=list)
    # The first intervals as they came: of a short run with few clients there is never more.
    parts: list[tuple[Ints, Counts]] = field(default_factory=list)
    held: int = 0  # counts in them

    @property
    def is_dense(self) -> bool:
        return bool(self.values.shape[1] or self.parts)

    def add(self, second: Ints, counts: Counts) -> None:
        """Add the histogram of one interval to each of the seconds."""
        if not self.values.shape[1] and self.held + counts.index.size <= _MAX_HELD:
            self.parts.append((second, counts))
            self.held += counts.index.size
        else:
            self._spread()
            self._add(second, counts)

    def _spread(self) -> None:
        """Give what is held its place among all indices."""
        for second, counts in self.parts:
            self._add(second, counts)
        self.parts, self.held = [], 0

    def _add(self, second: Ints, counts: Counts) -> None:
        self._grow(int(counts.index.max(initial=0)))
        at = np.repeat(second * self.values.shape[1], counts.sizes) + counts.index
        np.add.at(self.values.reshape(-1), at, counts.count)

    def merged(self) -> _Counted:
        """The counts of each second; with long intervals they are fractions."""
        if self.parts and not self.waiting:
            return self._joined()
        self._spread()
        self._grow(max((int(index.max(initial=0)) for _, index, _ in self.waiting), default=0))
        values: Amounts = self.values.astype(np.float64) if self.waiting else self.values
        for seconds, index, count in self.waiting:
            for second in seconds:
                values[second, index] += count
        return _Counted.of_dense(values)

    def _joined(self) -> _Counted:
        """The held counts alone; in order already where every second has one interval."""
        row = np.concatenate([np.repeat(second, counts.sizes) for second, counts in self.parts])
        index = np.concatenate([counts.index for _, counts in self.parts]).astype(np.int64)
        count = np.concatenate([counts.count for _, counts in self.parts])
        some = count > 0
        counted = _Counted(row, index, count) if some.all() else _Counted(row[some], index[some], count[some])
        keys = counted.row * counted.width + counted.index
        if (keys[1:] > keys[:-1]).all():
            return counted
        return counted.coarser(1)

    def clear(self) -> None:
        self.values.fill(0)
        self.waiting, self.parts, self.held = [], [], 0

    def _grow(self, most: int) -> None:
        self.values = widened(self.values, (most // _GROWTH + 1) * _GROWTH)


def _latencies(begins: Ints, index: Ints, count: Amounts) -> dict[str, npt.NDArray[Any]]:
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

"""Raw points counted into exact histograms of one second each, without keeping the points."""

from typing import Final

import numpy as np

from runs.ycsb.encoded import Counts
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.histogram import MAX_INDEX, Floats, Ints, changes, get_bucket_indices, highest_values
from runs.ycsb.operation import parse_name
from runs.ycsb.readers.rows import OddLine, parse_rows
from runs.ycsb.window import MIN_S

# A key is an interval's number (of whole intervals since the epoch) before the index of a histogram.
_INDEX_BITS: Final = 16
_INDEX_MASK: Final = (1 << _INDEX_BITS) - 1
assert MAX_INDEX <= _INDEX_MASK
_UNMERGED: Final = 1_000_000  # keys that may wait to be merged with the others
# Of 16 bytes each, as many again while they are merged. A day at 1 s is more, and is kept by 10 s then.
MAX_KEYS: Final = 8_000_000
_INTERVALS_S: Final = (1, 10, 60, 600)
_MAX_OPERATIONS: Final = 200
# Of all operations together. With more, a clock was wrong, and intervals without any point are left out.
_MAX_INTERVALS: Final = 4_000_000


class Points:
    """Counts rows `OPERATION,time,latency` of one client; latencies are in µs.

    A point belongs to the second in which its operation ended, as in the logs of interval histograms. YCSB's rows have
    the end in ms (`per_second=1000`); go-ycsb's have the beginning in µs.
    """

    def __init__(self, *, per_second: int = 1000, times_are_starts: bool = False) -> None:
        self._per_second = per_second
        self._times_are_starts = times_are_starts
        self._counts: dict[str, _Counts] = {}
        self.interval_s = _INTERVALS_S[0]
        self.total = 0  # points
        self.dropped = 0  # of more operations than are told apart

    def __bool__(self) -> bool:
        return bool(self._counts)

    @property
    def operations(self) -> tuple[str, ...]:
        """In the order in which they first occur."""
        return tuple(self._counts)

    def feed(self, lines: bytes) -> list[OddLine]:
        """Count the rows of whole lines; the lines that are no rows are given back, but for blank ones."""
        groups, odd = parse_rows(lines)
        for rows in groups:
            counts = self._counts.get(rows.operation)
            if counts is None and len(self._counts) == _MAX_OPERATIONS:
                self.dropped += rows.time.size
                continue
            if counts is None:
                counts = self._counts[rows.operation] = _Counts()
            ends = rows.time + rows.latency if self._times_are_starts else rows.time
            counts.add(ends // (self._per_second * self.interval_s), get_bucket_indices(rows.latency))
            counts.extend(int(rows.time.min()), int(ends.max()))
            self.total += rows.time.size

        if self._size > MAX_KEYS:
            self._shrink()
        return odd

    @property
    def _size(self) -> int:
        return sum(counts.size for counts in self._counts.values())

    def _shrink(self) -> None:
        """Merge what is counted; where that is too little, take longer intervals."""
        for counts in self._counts.values():
            counts.merge()
        while self._size > MAX_KEYS // 2 and self.interval_s < _INTERVALS_S[-1]:
            longer = _INTERVALS_S[_INTERVALS_S.index(self.interval_s) + 1]
            for counts in self._counts.values():
                counts.coarsen(longer // self.interval_s)
            self.interval_s = longer

    def logs(self) -> tuple[IntervalLog, ...]:
        """One log for each operation, all with the same intervals: from the first to the last with a point in it.

        The first instant and the last one seldom lie at full seconds: the intervals in which they lie begin and end
        there, since a rate over whole seconds would count time in which the client did not work.
        """
        for counts in self._counts.values():
            counts.merge()
        keys = [counts.keys >> _INDEX_BITS for counts in self._counts.values()]
        if not keys:
            return ()
        first, last = min(int(key[0]) for key in keys), max(int(key[-1]) for key in keys)
        are_few = (last - first) * len(keys) < _MAX_INTERVALS
        numbers = np.arange(first, last + 1) if are_few else np.unique(np.concatenate(keys))
        extents = self._extents(numbers)
        start_time_s = float(first * self.interval_s)
        return tuple(counts.log(name, numbers, start_time_s, *extents) for name, counts in self._counts.items())

    def _extents(self, numbers: Ints) -> tuple[Floats, Floats]:
        """When the intervals with these numbers begin, in s since the first of them would, and how long they last."""
        start_s = ((numbers - numbers[0]) * self.interval_s).astype(np.float64)
        end_s = start_s + self.interval_s
        # A cleanup may come long after the last operation, and says nothing about when the client worked.
        working = [counts for name, counts in self._counts.items() if parse_name(name).is_operation]
        counted = working or list(self._counts.values())
        first, last = min(counts.first for counts in counted), max(counts.last for counts in counted)
        if first == last:
            return start_s, end_s - start_s  # of a single instant no length is known

        per_interval = self._per_second * self.interval_s
        origin = int(numbers[0]) * per_interval
        # An operation may have begun before the interval in which the first one ended.
        begins = max(first, min(int(counts.keys[0]) >> _INDEX_BITS for counts in counted) * per_interval)
        at, until = np.searchsorted(numbers, [begins // per_interval, last // per_interval])
        start_s[at] = min((begins - origin) / self._per_second, end_s[at] - MIN_S)
        end_s[until] = max((last - origin) / self._per_second, start_s[until] + MIN_S)
        return start_s, end_s - start_s


class _Counts:
    """How many values of one operation lie in each interval at each index of its histogram."""

    def __init__(self) -> None:
        self.keys: Ints = np.zeros(0, dtype=np.int64)  # ascending, each once
        self._counts: Ints = np.zeros(0, dtype=np.int64)
        self.first = self.last = -1  # instants, in the unit of the rows: the earliest and the latest
        self._waiting: list[tuple[Ints, Ints]] = []
        self._waiting_size = 0

    @property
    def size(self) -> int:
        return self.keys.size + self._waiting_size

    def add(self, interval: Ints, index: Ints) -> None:
        """One value in each interval at the index beside it. Of one piece of a file there are few intervals."""
        base = int(interval.min())
        width = int(index.max()) + 1
        cells = (int(interval.max()) - base + 1) * width
        if cells <= 16 * interval.size:
            table = np.bincount((interval - base) * width + index, minlength=cells)
            used = np.flatnonzero(table)
            keys, counts = ((used // width + base) << _INDEX_BITS) | (used % width), table[used]
        else:
            keys, counts = np.unique((interval << _INDEX_BITS) | index, return_counts=True)

        self._waiting.append((keys, counts))
        self._waiting_size += keys.size
        if self._waiting_size > max(_UNMERGED, self.keys.size):
            self.merge()

    def extend(self, first: int, last: int) -> None:
        """Some values lie between these instants."""
        self.first, self.last = first if self.first < 0 else min(self.first, first), max(self.last, last)

    def merge(self) -> None:
        if not self._waiting:
            return
        keys = np.concatenate([self.keys, *(keys for keys, _ in self._waiting)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._waiting)])
        self._waiting, self._waiting_size = [], 0
        self._reduce(keys, counts)

    def coarsen(self, factor: int) -> None:
        """Put so many intervals together, beginning at multiples of their length."""
        intervals = (self.keys >> _INDEX_BITS) // factor
        self._reduce((intervals << _INDEX_BITS) | (self.keys & _INDEX_MASK), self._counts)

    def _reduce(self, keys: Ints, counts: Ints) -> None:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        firsts = changes(keys)
        self.keys = keys[firsts]
        self._counts = np.add.reduceat(counts[order], firsts)

    def log(self, name: str, numbers: Ints, start_time_s: float, start_s: Floats, length_s: Floats) -> IntervalLog:
        """The intervals with these numbers; those without any value are there too: nothing ended in them."""
        intervals, index = self.keys >> _INDEX_BITS, self.keys & _INDEX_MASK
        ends = np.searchsorted(intervals, numbers, side="right")
        longest = np.zeros(numbers.size)
        filled = np.diff(ends, prepend=0) > 0
        longest[filled] = highest_values(index[ends[filled] - 1])

        return IntervalLog(
            operation=name,
            start_time_s=start_time_s,
            start_s=start_s,
            length_s=length_s,
            max_us=longest,
            counts=Counts(np.diff(ends, prepend=0), index.astype(np.int32), self._counts),
        )

"""Interval histogram logs among the files of a run; `runs.ycsb.hdr` decodes them."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from runs.ycsb.block import Block, Note
from runs.ycsb.encoded import Counts
from runs.ycsb.errors import HistogramError
from runs.ycsb.hdr import Batch, IntervalLog, LogDecoder, collect_logs
from runs.ycsb.histogram import Histogram
from runs.ycsb.operation import OtherLine
from runs.ycsb.readers.results import ReadRun

# Of 12 bytes each, of one file: twelve hours at 1 s of one operation. Of more, longer intervals are kept.
MAX_COUNTS: Final = 12_000_000
_LENGTHS_S: Final = (10, 60, 600)
_INDEX_BITS: Final = 16
_INDEX_MASK: Final = (1 << _INDEX_BITS) - 1
_SUFFIXES: Final = (".hdr", ".log", ".txt", ".gz", ".zst")


def get_operation(name: str) -> str | None:
    """The measurement that a log's file is named after: READ of `client-1/READ.hdr.gz`."""
    _, _, stem = name.rpartition("/")
    while stem.endswith(_SUFFIXES):
        stem, _, _ = stem.rpartition(".")
    return stem or None


class HdrReader:
    """Reads the blocks of one file. Of a damaged log it gives what stands before the damage.

    `summed`: each measurement is one interval over all of its log, in the memory that one takes.
    """

    def __init__(self, name: str, *, summed: bool = False) -> None:
        self._decoder = LogDecoder(get_operation(name))
        self._intervals: _Intervals | _Sums = _Sums() if summed else _Intervals()
        self._damage: HistogramError | None = None
        self._lines = 0

    def feed(self, block: Block) -> None:
        self._lines = block.first_line + block.data.count(b"\n") - 1
        if self._damage is None:
            # The line end of an unterminated line is not its own: the log may have been cut in that line.
            self._take(self._decoder.feed(block.data[:-1] if block.unterminated else block.data))

    def done(self) -> tuple[ReadRun, ...]:
        self._take(self._decoder.done())  # what was taken apart before any damage still waits to be decoded
        truncated = self._decoder.text.damage is not None or self._damage is not None
        logs = collect_logs(self._intervals.batches, truncated=truncated)
        if not logs:
            return ()

        run = ReadRun(
            format="hdr-log",
            complete=not truncated and any(len(log) for log in logs),
            logs=logs,
            warnings=tuple(self._warnings(logs)),
            last_line=max(self._lines, 1),
        )
        return (run,)

    @property
    def closest(self) -> tuple[OtherLine, ...]:
        """Why there is no run."""
        if self._damage is not None:
            return (OtherLine(self._damage.line_number or 1, str(self._damage)),)
        return ()

    def _take(self, batches: Iterator[Batch]) -> None:
        try:
            for batch in batches:
                self._intervals.add(batch)
        except HistogramError as error:
            self._damage = self._damage or error

    def _warnings(self, logs: Sequence[IntervalLog]) -> Iterator[Note]:
        if self._damage is not None:
            yield Note(f"The log is damaged: {self._damage}. What follows was not read.", self._damage.line_number)
        elif self._decoder.text.damage is not None:
            yield Note("The last line of the log broke off and was left out.", self._lines)
        if not any(len(log) for log in logs):
            yield Note("There is no interval in the log.")
        if self._intervals.length_s:
            length = f"{self._intervals.length_s} s"
            if isinstance(self._intervals, _Sums):
                length += " or longer"
            yield Note(f"The log is long: its intervals were put together to {length}.")


class _Intervals:
    """Decoded batches, with intervals long enough for all of them to stay in memory."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.length_s = 0
        self._size = 0

    def add(self, batch: Batch) -> None:
        if self.length_s:
            batch = joined([batch], self.length_s)
        self.batches.append(batch)
        self._size += batch.counts.index.size
        longer_s = [length_s for length_s in _LENGTHS_S if length_s > self.length_s]
        if self._size > MAX_COUNTS and longer_s:
            self.length_s = longer_s[0]
            by_name: defaultdict[str, list[Batch]] = defaultdict(list)
            for part in self.batches:
                by_name[part.operation].append(part)
            self.batches = [joined(batches, self.length_s) for batches in by_name.values()]
            self._size = sum(part.counts.index.size for part in self.batches)


@dataclass(slots=True)
class _Sum:
    """All intervals of one measurement so far."""

    start_time_s: float
    start_s: float = math.inf
    end_s: float = -math.inf
    max_us: float = 0.0
    histogram: Histogram = field(default_factory=Histogram)

    def batch(self, operation: str) -> Batch:
        """One interval, or none where there was none."""
        index, count = self.histogram.sparse()
        intervals = 1 if self.start_s < math.inf else 0
        sizes = np.full(intervals, index.size, dtype=np.int64)
        return Batch(
            operation=operation,
            start_time_s=self.start_time_s,
            start_s=np.full(intervals, self.start_s),
            length_s=np.full(intervals, self.end_s - self.start_s),
            max_us=np.full(intervals, self.max_us),
            counts=Counts(sizes, index.astype(np.int32), count),
        )


class _Sums:
    """One interval for each measurement."""

    def __init__(self) -> None:
        self._sums: dict[str, _Sum] = {}
        self._size = 0  # of what was decoded

    def add(self, batch: Batch) -> None:
        self._size += batch.counts.index.size
        total = self._sums.setdefault(batch.operation, _Sum(batch.start_time_s))
        if batch.start_s.size:
            total.start_s = min(total.start_s, float(batch.start_s.min()))
            total.end_s = max(total.end_s, float((batch.start_s + batch.length_s).max()))
            total.max_us = max(total.max_us, float(batch.max_us.max()))
            total.histogram.add_sparse(batch.counts.index, batch.counts.count)

    @property
    def length_s(self) -> int:
        """The least length of the intervals when the log is read whole; 0 where they stay as they are."""
        return _LENGTHS_S[0] if self._size > MAX_COUNTS else 0

    @property
    def batches(self) -> list[Batch]:
        return [total.batch(operation) for operation, total in self._sums.items()]


def joined(batches: Sequence[Batch], length_s: int) -> Batch:
    """One batch of them all, in which the intervals that began within the same `length_s` are one."""
    first = batches[0]
    start = np.concatenate([batch.start_s + (batch.start_time_s - first.start_time_s) for batch in batches])
    end = start + np.concatenate([batch.length_s for batch in batches])
    max_us = np.concatenate([batch.max_us for batch in batches])
    _, group = np.unique(start // length_s, return_inverse=True)
    groups = int(group.max(initial=-1)) + 1
    group_start = np.full(groups, np.inf)
    group_end = np.full(groups, -np.inf)
    group_max_us = np.zeros(groups)
    np.minimum.at(group_start, group, start)
    np.maximum.at(group_end, group, end)
    np.maximum.at(group_max_us, group, max_us)

    # A group and an index as one number, so that equal ones are added up.
    sizes = np.concatenate([batch.counts.sizes for batch in batches])
    index = np.concatenate([batch.counts.index for batch in batches]).astype(np.int64)
    count = np.concatenate([batch.counts.count for batch in batches])
    keys, order = np.unique((np.repeat(group, sizes) << _INDEX_BITS) | index, return_inverse=True)
    counts = np.zeros(keys.size, dtype=np.int64)
    np.add.at(counts, order, count)
    group_sizes = np.bincount(keys >> _INDEX_BITS, minlength=groups)

    return Batch(
        operation=first.operation,
        start_time_s=first.start_time_s,
        start_s=group_start,
        length_s=group_end - group_start,
        max_us=group_max_us,
        counts=Counts(group_sizes, (keys & _INDEX_MASK).astype(np.int32), counts),
    )

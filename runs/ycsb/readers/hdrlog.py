"""Interval histogram logs among the files of a run; `runs.ycsb.hdr` decodes them."""

import math
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
    stem = name.rpartition("/")[2]
    while (suffix_found := next((suffix for suffix in _SUFFIXES if stem.endswith(suffix)), None)) is not None:
        stem = stem.removesuffix(suffix_found)
    return stem or None


class HdrReader:
    """Reads the blocks of one file. Of a damaged log it gives what stands before the damage.

    `summed`: each measurement is one interval over all of its log, in the memory that one takes.
    """

    def __init__(self, name: str, *, summed: bool = False) -> None:
        self._decoder = LogDecoder(get_operation(name))
        self._kept: _Kept | _Sums = _Sums() if summed else _Kept()
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
        logs = collect_logs(self._kept.batches, truncated=truncated)
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
                self._kept.add(batch)
        except HistogramError as error:
            self._damage = self._damage or error

    def _warnings(self, logs: Sequence[IntervalLog]) -> Iterator[Note]:
        if self._damage is not None:
            yield Note(f"The log is damaged: {self._damage}. What follows was not read.", self._damage.line_number)
        elif self._decoder.text.damage is not None:
            yield Note("The last line of the log broke off and was left out.", self._lines)
        if not any(len(log) for log in logs):
            yield Note("There is no interval in the log.")
        if self._kept.length_s:
            longer = ""
            if isinstance(self._kept, _Sums):
                longer = " or longer"
            yield Note(f"The log is long: its intervals were put together to {self._kept.length_s} s{longer}.")


class _Kept:
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
        if self._size > MAX_COUNTS and self.length_s < _LENGTHS_S[-1]:
            self.length_s = next(length for length in _LENGTHS_S if length > self.length_s)
            by_name: dict[str, list[Batch]] = {}
            for part in self.batches:
                by_name.setdefault(part.operation, []).append(part)
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
        number = int(self.start_s < math.inf)
        return Batch(
            operation=operation,
            start_time_s=self.start_time_s,
            start_s=np.array([self.start_s] * number),
            length_s=np.array([self.end_s - self.start_s] * number),
            max_us=np.array([self.max_us] * number),
            counts=Counts(np.array([index.size] * number, dtype=np.int64), index.astype(np.int32), count),
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
        if self._size > MAX_COUNTS:
            return _LENGTHS_S[0]
        return 0

    @property
    def batches(self) -> list[Batch]:
        return [total.batch(operation) for operation, total in self._sums.items()]


def joined(batches: Sequence[Batch], length_s: int) -> Batch:
    """One batch of them all, in which the intervals that began within the same `length_s` are one."""
    start_time_s = batches[0].start_time_s
    start = np.concatenate([batch.start_s + (batch.start_time_s - start_time_s) for batch in batches])
    end = start + np.concatenate([batch.length_s for batch in batches])
    group = np.unique(start // length_s, return_inverse=True)[1]
    sizes = np.concatenate([batch.counts.sizes for batch in batches])
    index = np.concatenate([batch.counts.index for batch in batches]).astype(np.int64)
    count = np.concatenate([batch.counts.count for batch in batches])
    keys, order = np.unique((np.repeat(group, sizes) << _INDEX_BITS) | index, return_inverse=True)
    groups = int(group.max(initial=-1)) + 1
    firsts = np.full(groups, np.inf)
    lasts = np.full(groups, -np.inf)
    longest = np.zeros(groups)
    np.minimum.at(firsts, group, start)
    np.maximum.at(lasts, group, end)
    np.maximum.at(longest, group, np.concatenate([batch.max_us for batch in batches]))
    counts = np.zeros(keys.size, dtype=np.int64)
    np.add.at(counts, order, count)

    return Batch(
        operation=batches[0].operation,
        start_time_s=start_time_s,
        start_s=firsts,
        length_s=lasts - firsts,
        max_us=longest,
        counts=Counts(
            np.bincount(keys >> _INDEX_BITS, minlength=groups), (keys & _INDEX_MASK).astype(np.int32), counts
        ),
    )

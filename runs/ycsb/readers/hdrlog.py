"""Interval histogram logs among the files of a run; `runs.ycsb.hdr` decodes them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from runs.ycsb.block import Block, Note
from runs.ycsb.encoded import Counts
from runs.ycsb.errors import HistogramError
from runs.ycsb.hdr import IntervalLog, LogDecoder, collect_logs, sum_up
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
    def closest(self) -> tuple[Note, ...]:
        """Why there is no run."""
        if self._damage is not None:
            return (Note(str(self._damage), self._damage.line_number or 1),)
        return ()

    def _take(self, batches: Iterator[IntervalLog]) -> None:
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
        self.batches: list[IntervalLog] = []
        self.length_s = 0
        self._size = 0

    def add(self, batch: IntervalLog) -> None:
        if self.length_s:
            batch = coarsen(batch, self.length_s)
        self.batches.append(batch)
        self._size += batch.index.size
        longer_s = [length_s for length_s in _LENGTHS_S if length_s > self.length_s]
        if self._size > MAX_COUNTS and longer_s:
            self.length_s = longer_s[0]
            self.batches = [coarsen(log, self.length_s) for log in collect_logs(self.batches)]
            self._size = sum(log.index.size for log in self.batches)


class _Sums:
    """One interval for each measurement."""

    def __init__(self) -> None:
        self._sums: dict[str, IntervalLog] = {}
        self._size = 0  # of what was decoded

    def add(self, batch: IntervalLog) -> None:
        self._size += batch.index.size
        earlier = self._sums.get(batch.operation)
        (whole,) = collect_logs([earlier, batch] if earlier else [batch])
        self._sums[batch.operation] = sum_up(whole)

    @property
    def length_s(self) -> int:
        """The least length of the intervals when the log is read whole; 0 where they stay as they are."""
        return _LENGTHS_S[0] if self._size > MAX_COUNTS else 0

    @property
    def batches(self) -> list[IntervalLog]:
        return list(self._sums.values())


def coarsen(log: IntervalLog, length_s: int) -> IntervalLog:
    """The log with the intervals that began within the same `length_s` as one."""
    _, group = np.unique(log.start_s // length_s, return_inverse=True)
    groups = int(group.max(initial=-1)) + 1
    start_s = np.full(groups, np.inf)
    end_s = np.full(groups, -np.inf)
    max_us = np.zeros(groups)
    np.minimum.at(start_s, group, log.start_s)
    np.maximum.at(end_s, group, log.start_s + log.length_s)
    np.maximum.at(max_us, group, log.max_us)

    # A group and an index as one number, so that equal ones are added up.
    keys = (np.repeat(group, log.counts.sizes) << _INDEX_BITS) | log.index.astype(np.int64)
    keys, order = np.unique(keys, return_inverse=True)
    count = np.zeros(keys.size, dtype=np.int64)
    np.add.at(count, order, log.count)
    sizes = np.bincount(keys >> _INDEX_BITS, minlength=groups)
    counts = Counts(sizes, (keys & _INDEX_MASK).astype(np.int32), count)
    return replace(log, start_s=start_s, length_s=end_s - start_s, max_us=max_us, counts=counts)

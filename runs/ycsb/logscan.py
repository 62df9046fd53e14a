"""A first look at interval logs: when their intervals were, with hardly any of them decoded.

It is cheap, and it is all that the common window of a run's clients and the grid of its seconds depend on.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from runs.ycsb.clock_steps import ClockStep, without_steps
from runs.ycsb.encoded import decode, inflate
from runs.ycsb.errors import HistogramError
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.hdrtext import LogText, Row
from runs.ycsb.histogram import Floats

_MAX_EMPTY: Final = 400  # characters of an encoded histogram that counts nothing, even of one that writes every zero


@dataclass(frozen=True, slots=True)
class LogSource:
    """One log of a client. `open` gives it from its beginning each time, in pieces of any size."""

    open: Callable[[], Iterable[bytes]]
    operation: str | None = None  # the name to use (of the file) where the log itself does not say it

    def rows(self, text: LogText) -> Iterator[Row]:
        for piece in self.open():
            yield from text.feed(piece)
        yield from text.done()


@dataclass(frozen=True, slots=True, eq=False)
class ScannedLog:
    """One measurement of one log. `start_s` counts from `start_time_s`, on the client's clock."""

    source: LogSource | IntervalLog
    operation: str
    start_time_s: float
    start_s: Floats
    length_s: Floats
    last_counted: int  # the last interval that counts anything (in memory by its time); -1 without one
    truncated: bool
    steps: tuple[ClockStep, ...] = ()  # of the client's clock, which are taken out of the times


def scan(source: LogSource | IntervalLog, steps: Sequence[ClockStep] | None = None) -> tuple[ScannedLog, ...]:
    """All measurements of one log. Raises HistogramError like the decoder, but for damage within histograms.

    `steps` of the client's clock were measured; None: they are to be found.
    """
    if isinstance(source, IntervalLog):
        times = without_steps(source.start_time_s, source.start_s, source.length_s, steps)
        counting = np.flatnonzero(source.counts.sizes)
        middle_s = (times.start_s + times.length_s / 2)[counting]
        last_counted = -1
        if counting.size:
            last_counted = int(counting[middle_s.argmax()])
        log = ScannedLog(
            source, source.operation, source.start_time_s, times.start_s, times.length_s, last_counted,
            source.truncated, times.steps,
        )  # fmt: skip
        return (log,)

    text = LogText(source.operation)
    columns: dict[str, _Columns] = {}
    last: Row | None = None
    for last in source.rows(text):
        if last.name not in columns:
            columns[last.name] = _Columns(text.start_times[last.name])
        columns[last.name].add(last)

    truncated = text.damage is not None
    if last is not None and not truncated and _is_damaged(last.payload):
        columns[last.name].drop()
        truncated = True

    logs = []
    for name, start_time_s in text.start_times.items():
        intervals = columns.get(name, _Columns(start_time_s))
        start_s, length_s = np.array(intervals.start_s), np.array(intervals.length_s)
        times = without_steps(start_time_s, start_s, length_s, steps)
        last_counted = int(np.flatnonzero(intervals.is_counting).max(initial=-1))
        logs.append(
            ScannedLog(source, name, start_time_s, times.start_s, times.length_s, last_counted, truncated, times.steps)
        )

    return tuple(logs)


class _Columns:
    """The intervals of one measurement so far."""

    def __init__(self, start_time_s: float) -> None:
        self.start_s = array("d")
        self.length_s = array("d")
        self.is_counting = array("b")
        self._start_time_s = start_time_s

    def add(self, row: Row) -> None:
        self.start_s.append(row.start_s + (row.origin_s - self._start_time_s))
        self.length_s.append(row.length_s)
        self.is_counting.append(len(row.payload) > _MAX_EMPTY or _counts(row.payload))

    def drop(self) -> None:
        """The last interval broke off."""
        for column in (self.start_s, self.length_s, self.is_counting):
            column.pop()


@lru_cache(maxsize=1_000)  # short histograms repeat themselves
def _counts(payload: bytes) -> bool:
    """Whether anything is counted; of damage nothing is."""
    try:
        return decode([inflate(payload, 0)]).count.size > 0
    except HistogramError:
        return False


def _is_damaged(payload: bytes) -> bool:
    try:
        inflate(payload, 0)
    except HistogramError:
        return True
    return False

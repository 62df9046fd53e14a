"""A first look at interval logs: when their intervals were, with hardly any of them decoded.

It is cheap, and it is all that the common window of a run's clients and the grid of its seconds depend on.
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from runs.ycsb.clock_steps import ClockStep, without_steps
from runs.ycsb.encoded import decode, inflate
from runs.ycsb.errors import HistogramError
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.hdrtext import LogText, Row
from runs.ycsb.histogram import Floats

# Empty histograms are encoded in less.
_SHORT: Final = 200
_FEW: Final = 2
_REMEMBERED: Final = 1_000


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


def scan(
    source: LogSource | IntervalLog, steps: Sequence[ClockStep] | None = None, *, thorough: bool = False
) -> tuple[ScannedLog, ...]:
    """All measurements of one log. Raises HistogramError like the decoder, but for damage within histograms.

    `steps` of the client's clock were measured; None: they are to be found. `thorough` decodes every histogram to see
    whether it is empty.
    """
    if isinstance(source, IntervalLog):
        times = without_steps(source.start_time_s, source.start_s, source.length_s, steps)
        counting = np.flatnonzero(np.diff(source.offsets))
        middle_s = (times.start_s + times.length_s / 2)[counting]
        last_counted = -1
        if counting.size:
            last_counted = int(counting[middle_s.argmax()])
        scanned = ScannedLog(
            source, source.operation, source.start_time_s, times.start_s, times.length_s, last_counted,
            source.truncated, times.steps,
        )  # fmt: skip
        return (scanned,)

    text = LogText(source.operation)
    seen: dict[str, _Seen] = {}
    last: Row | None = None
    for last in source.rows(text):
        intervals = seen.get(last.name)
        if intervals is None:
            intervals = seen[last.name] = _Seen(text.start_times[last.name])
        intervals.add(last, thorough=thorough)

    truncated = text.damage is not None
    if last is not None and not truncated and _is_damaged(last.payload):
        seen[last.name].drop()
        truncated = True

    counted: dict[str, int] = {}
    for name, intervals in seen.items():
        at = intervals.last_counted()
        if at is None:
            return scan(source, steps, thorough=True)
        counted[name] = at

    logs = []
    for name, start_time_s in text.start_times.items():
        times = without_steps(start_time_s, *seen.get(name, _Seen(start_time_s)).times(), steps)
        last_counted = counted.get(name, -1)
        logs.append(
            ScannedLog(source, name, start_time_s, times.start_s, times.length_s, last_counted, truncated, times.steps)
        )

    return tuple(logs)


@dataclass(slots=True)
class _Seen:
    """The intervals of one measurement so far."""

    start_time_s: float
    start_s: "array[float]" = field(default_factory=lambda: array("d"))
    length_s: "array[float]" = field(default_factory=lambda: array("d"))
    counting: int = -1  # the last interval that is known to count something
    later: "deque[tuple[int, bytes]]" = field(default_factory=lambda: deque(maxlen=_FEW))  # that were not looked into
    known: dict[bytes, bool] = field(default_factory=dict)  # short histograms repeat themselves

    def add(self, row: Row, *, thorough: bool) -> None:
        at = len(self.start_s)
        self.start_s.append(row.start_s + (row.origin_s - self.start_time_s))
        self.length_s.append(row.length_s)
        if len(row.payload) > _SHORT and not thorough:
            self.later.append((at, row.payload))
        elif self._counts(row.payload):
            self.counting = at
            self.later.clear()

    def times(self) -> tuple[Floats, Floats]:
        return np.array(self.start_s, dtype=np.float64), np.array(self.length_s, dtype=np.float64)

    def drop(self) -> None:
        """The last interval broke off."""
        self.start_s.pop()
        self.length_s.pop()

    def last_counted(self) -> int | None:
        """None where one may have been that is not remembered."""
        last = next((at for at, payload in reversed(self.later) if _counts(payload)), None)
        if last is None and len(self.later) < _FEW:
            return self.counting
        return last

    def _counts(self, payload: bytes) -> bool:
        if len(self.known) > _REMEMBERED:
            self.known.clear()
        if payload not in self.known:
            self.known[payload] = _counts(payload)
        return self.known[payload]


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

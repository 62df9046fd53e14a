"""Interval histogram logs as `hdrhistogram.fileoutput=true` writes them, in HdrHistogram's encodings V1 and V2.

YCSB 0.2 to 0.17 with its own HdrHistogram logs V1 (`HISTgg...`), with a current one V2 (`HISTFA...`).
`runs.ycsb.hdrtext` takes the lines apart, `runs.ycsb.encoded` decodes the histograms; here are whole logs.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from runs.ycsb.encoded import Counts, Payload, decode, inflate
from runs.ycsb.errors import HistogramError
from runs.ycsb.hdrtext import LogText, Row
from runs.ycsb.histogram import Floats, Histogram, Ints

# So much is decoded together: enough to make numpy worth while, little enough to stay in the processor's cache.
BATCH: Final = 64
BATCH_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class IntervalLog:
    """Intervals of one measurement of one client, as columns: all of a log, or some that were decoded together.

    `start_s` counts from `start_time_s` (seconds since the epoch, the client's clock).
    """

    operation: str  # the measurement's name: READ, READ-FAILED, Intended-READ, CLEANUP
    start_time_s: float
    start_s: Floats
    length_s: Floats
    max_us: Floats
    counts: Counts
    truncated: bool = False  # the last line broke off; the intervals before it are here

    def __len__(self) -> int:
        return int(self.start_s.size)

    @property
    def index(self) -> npt.NDArray[np.int32]:
        return self.counts.index

    @property
    def count(self) -> Ints:
        return self.counts.count

    @property
    def offsets(self) -> Ints:
        """Interval i has the counts from offsets[i] to offsets[i + 1]."""
        return np.concatenate([[0], np.cumsum(self.counts.sizes)]).astype(np.int64)

    @property
    def total(self) -> int:
        return int(self.count.sum())

    def histogram(self) -> Histogram:
        """All intervals added exactly."""
        return Histogram.of_sparse(self.index, self.count)


class LogDecoder:
    """Decodes a log that comes in pieces of any size, some hundred intervals at a time, and keeps no more than those.

    A line that breaks off at the very end is left out, and `text.damage` says so; a damaged line before others raises
    HistogramError with its number, and so does a text in which nothing is a log.
    """

    def __init__(self, operation: str | None = None) -> None:
        """`operation` is the name to use (of the file) where the log itself does not say it."""
        self.text = LogText(operation)
        self._waiting: dict[str, _Waiting] = {}

    def feed(self, piece: bytes) -> Iterator[IntervalLog]:
        yield from self._batches(self.text.feed(piece))

    def done(self) -> Iterator[IntervalLog]:
        """The remaining batches; of every measurement at least one, which may be empty."""
        yield from self._batches(self.text.done())
        for name in self.text.start_times:
            yield self._decoded(name, self._waiting.get(name, _Waiting()))

    def _batches(self, rows: Iterator[Row]) -> Iterator[IntervalLog]:
        for row in rows:
            try:
                payload = inflate(row.payload, row.line_number)
            except HistogramError as error:
                self.text.damage = error
                continue
            waiting = self._waiting.setdefault(row.name, _Waiting())
            waiting.add(row, payload, self.text.start_times[row.name])
            if len(waiting.payloads) >= BATCH or waiting.size >= BATCH_BYTES:
                yield self._decoded(row.name, self._waiting.pop(row.name))

    def _decoded(self, name: str, waiting: "_Waiting") -> IntervalLog:
        return IntervalLog(
            operation=name,
            start_time_s=self.text.start_times[name],
            start_s=np.array(waiting.start_s),
            length_s=np.array(waiting.length_s),
            max_us=np.array(waiting.max_us),
            counts=decode(waiting.payloads),
        )


@dataclass(slots=True)
class _Waiting:
    """Intervals of one measurement that are inflated but not decoded."""

    start_s: "array[float]" = field(default_factory=lambda: array("d"))
    length_s: "array[float]" = field(default_factory=lambda: array("d"))
    max_us: "array[float]" = field(default_factory=lambda: array("d"))
    payloads: list[Payload] = field(default_factory=list)
    size: int = 0  # bytes of the payloads

    def add(self, row: Row, payload: Payload, start_time_s: float) -> None:
        self.start_s.append(row.start_s + (row.origin_s - start_time_s))
        self.length_s.append(row.length_s)
        self.max_us.append(row.max_s * 1e6)
        self.payloads.append(payload)
        self.size += len(payload.data)


def collect_logs(batches: Iterable[IntervalLog], *, truncated: bool = False) -> tuple[IntervalLog, ...]:
    """The measurements of one log, each put together from its batches, in the order in which they occur."""
    by_name: dict[str, list[IntervalLog]] = {}
    for batch in batches:
        by_name.setdefault(batch.operation, []).append(batch)

    logs = []
    for name, parts in by_name.items():
        log = IntervalLog(
            operation=name,
            start_time_s=parts[0].start_time_s,
            start_s=np.concatenate([part.start_s for part in parts]),
            length_s=np.concatenate([part.length_s for part in parts]),
            max_us=np.concatenate([part.max_us for part in parts]),
            counts=Counts.joined([part.counts for part in parts]),
            truncated=truncated,
        )
        logs.append(log)
    return tuple(logs)


def sum_up(log: IntervalLog) -> IntervalLog:
    """The log as one interval from its beginning to its end."""
    if not len(log):
        return log

    start_s = log.start_s.min()
    index, count = log.histogram().sparse()
    return replace(
        log,
        start_s=np.array([start_s]),
        length_s=np.array([(log.start_s + log.length_s).max() - start_s]),
        max_us=np.array([log.max_us.max()]),
        counts=Counts(np.array([index.size]), index.astype(np.int32), count),
    )

"""Interval histogram logs as `hdrhistogram.fileoutput=true` writes them, in HdrHistogram's encodings V1 and V2.

YCSB 0.2 to 0.17 with its own HdrHistogram logs V1 (`HISTgg...`), with a current one V2 (`HISTFA...`).
`runs.ycsb.hdrtext` takes the lines apart, `runs.ycsb.encoded` decodes the histograms; here are whole logs.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
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
    """All intervals of one measurement of one client, as columns.

    `start_s` counts from `start_time_s` (seconds since the epoch, the client's clock). Interval i has the counts
    `count[offsets[i]:offsets[i+1]]` at the histogram indices `index[...]`.
    """

    operation: str  # the measurement's name: READ, READ-FAILED, Intended-READ, CLEANUP
    start_time_s: float
    start_s: Floats
    length_s: Floats
    max_us: Floats
    offsets: Ints
    index: npt.NDArray[np.int32]
    count: Ints
    truncated: bool = False  # the last line broke off; the intervals before it are here

    def __len__(self) -> int:
        return int(self.start_s.size)

    @property
    def total(self) -> int:
        return int(self.count.sum())

    def histogram(self) -> Histogram:
        """All intervals added exactly."""
        return Histogram.of_sparse(self.index, self.count)


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some intervals of one measurement, decoded. `start_s` counts from `start_time_s`, the measurement's own."""

    operation: str
    start_time_s: float
    start_s: Floats
    length_s: Floats
    max_us: Floats
    counts: Counts


class LogDecoder:
    """Decodes a log that comes in pieces of any size, some hundred intervals at a time, and keeps no more than those.

    A line that breaks off at the very end is left out, and `text.damage` says so; a damaged line before others raises
    HistogramError with its number, and so does a text in which nothing is a log.
    """

    def __init__(self, operation: str | None = None) -> None:
        """`operation` is the name to use (of the file) where the log itself does not say it."""
        self.text = LogText(operation)
        self._waiting: dict[str, _Waiting] = {}

    def feed(self, piece: bytes) -> Iterator[Batch]:
        yield from self._batches(self.text.feed(piece))

    def done(self) -> Iterator[Batch]:
        """The remaining batches; of every measurement at least one, which may be empty."""
        yield from self._batches(self.text.done())
        for name in self.text.start_times:
            yield self._decoded(name, self._waiting.get(name, _Waiting()))

    def _batches(self, rows: Iterator[Row]) -> Iterator[Batch]:
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

    def _decoded(self, name: str, waiting: "_Waiting") -> Batch:
        return Batch(
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


def collect_logs(batches: Iterable[Batch], *, truncated: bool = False) -> tuple[IntervalLog, ...]:
    """The measurements of one log, each put together from its batches, in the order in which they occur."""
    parts: dict[str, list[Batch]] = {}
    for batch in batches:
        parts.setdefault(batch.operation, []).append(batch)
    return tuple(_log(name, batches, truncated=truncated) for name, batches in parts.items())


def _log(name: str, batches: list[Batch], *, truncated: bool) -> IntervalLog:
    counts = Counts.joined([batch.counts for batch in batches])
    return IntervalLog(
        operation=name,
        start_time_s=batches[0].start_time_s,
        start_s=np.concatenate([batch.start_s for batch in batches]),
        length_s=np.concatenate([batch.length_s for batch in batches]),
        max_us=np.concatenate([batch.max_us for batch in batches]),
        offsets=np.concatenate([[0], np.cumsum(counts.sizes)]).astype(np.int64),
        index=counts.index,
        count=counts.count,
        truncated=truncated,
    )

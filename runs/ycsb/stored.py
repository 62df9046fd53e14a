"""The interval histograms of one measurement of a run as they are stored: one artifact per measurement name.

They are written in one pass in the order of time, in segments of some sixty intervals of one client. Each segment has
the sum of its histograms in front. So a run of twelve hours is cut again by adding up the sums of the segments inside
the window; only those at its edges are taken apart.

An interval kept here may stand for several of the log's (10 s of a long run). The artifact ends with the timeline of
the log's own intervals, from which the run's window and its rates are found to the second.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from runs.ycsb.encoded import Counts
from runs.ycsb.errors import PackedDataError
from runs.ycsb.histogram import Histogram, Ints
from runs.ycsb.intervals import Batches, Timeline
from runs.ycsb.series import compressed, decompressed, heading, read_heading

MAGIC: Final = b"BSIV"
FORMAT_VERSION: Final = 2
_FRAME: Final = struct.Struct(">BiIIBI")  # what, client, intervals, counts, bytes of a count, length
_SUM, _PARTS, _TIMELINE = 1, 2, 3
_SEGMENT: Final = 60  # intervals

Write = Callable[[bytes], object]


class IntervalWriter:
    """Writes the intervals of one measurement, of all clients, as they come."""

    def __init__(self, write: Write, name: str, resolution_s: int) -> None:
        self.resolution_s = resolution_s
        self._write = write
        self._open: dict[int, list[tuple[Ints, Ints, Counts]]] = {}
        write(heading(MAGIC, FORMAT_VERSION, {"name": name, "resolution_s": resolution_s}))

    def add(self, client: int, first: Ints, number: Ints, counts: Counts) -> None:
        """Some intervals of one client; the i-th stands for `number[i]` rows of the timeline from `first[i]` on."""
        waiting = self._open.setdefault(client, [])
        waiting.append((first, number, counts))
        if sum(rows.size for rows, _, _ in waiting) >= _SEGMENT:
            self._close(client)

    def finish(self, timeline: Timeline) -> None:
        """Nothing more comes; the artifact is whole with this."""
        for client in sorted(self._open):
            self._close(client)
        columns = [
            timeline.client.astype("<i4"),
            timeline.start_s.astype("<f8"),
            timeline.length_s.astype("<f8"),
            timeline.totals.astype("<i8"),
        ]
        self._frame(_TIMELINE, 0, len(timeline), 0, 0, b"".join(column.tobytes() for column in columns))

    def _close(self, client: int) -> None:
        firsts, numbers, parts = zip(*self._open.pop(client), strict=True)
        first = np.concatenate(firsts)
        number = np.concatenate(numbers)
        counts = Counts.joined(parts)
        index, total = Histogram.of_sparse(counts.index, counts.count).sparse()
        head = first.astype("<i4").tobytes() + number.astype("<i4").tobytes()
        self._pairs(_SUM, client, first.size, head, index, total)
        self._pairs(_PARTS, client, first.size, counts.sizes.astype("<i4").tobytes(), counts.index, counts.count)

    def _pairs(self, kind: int, client: int, intervals: int, head: bytes, index: npt.NDArray[Any], count: Ints) -> None:
        width = next(width for width in (1, 2, 4, 8) if int(count.max(initial=0)) < 1 << (8 * width - 1))
        # Differences of neighbouring indices are small numbers, which compress several times better.
        steps = index.astype("<u2")
        steps[1:] = steps[1:] - steps[:-1]
        body = head + steps.tobytes() + count.astype(f"<i{width}").tobytes()
        self._frame(kind, client, intervals, index.size, width, body)

    def _frame(self, kind: int, client: int, intervals: int, counts: int, width: int, body: bytes) -> None:
        packed = compressed(body)
        self._write(_FRAME.pack(kind, client, intervals, counts, width, len(packed)) + packed)


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Some intervals of one client: which rows of the timeline each stands for, their sum, and themselves, packed."""

    client: int
    first: Ints
    number: Ints
    index: Ints
    total: Ints
    parts: "_Frame"


@dataclass(frozen=True, slots=True, eq=False)
class StoredIntervals:
    """One measurement as it was stored; the histograms of single intervals are unpacked when they are asked for."""

    timeline: Timeline  # of the log's own intervals
    segments: tuple[Segment, ...]  # ascending by client and time
    kept: Timeline  # of the intervals that have histograms here, in the order of the segments

    @classmethod
    def from_bytes(cls, data: bytes) -> "StoredIntervals":
        """Raises PackedDataError when the bytes are not of a version known here."""
        try:
            name, frames = _read(data)
            if not frames or frames[-1].kind != _TIMELINE:
                raise ValueError("their end is missing")
            timeline = frames[-1].timeline(name)
            segments = [total.segment(parts) for total, parts in zip(frames[:-1:2], frames[1:-1:2], strict=True)]
            segments.sort(key=lambda segment: (segment.client, int(segment.first[0])))
            return cls(timeline, tuple(segments), _kept(timeline, segments))
        except PackedDataError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, struct.error) as error:
            raise PackedDataError(f"the stored intervals are damaged: {error}") from error

    def histogram(self, client: int, inside: npt.NDArray[np.bool_]) -> Histogram:
        """The sum of one client's intervals at which `inside` (over all of `kept`) is true."""
        merged = Histogram()
        at = 0
        for segment in self.segments:
            mask = inside[at : at + segment.first.size]
            at += segment.first.size
            if segment.client != client or not mask.any():
                continue
            if mask.all():
                merged.add_sparse(segment.index, segment.total)
            else:
                counts = segment.parts.counts().select(mask)
                merged.add_sparse(counts.index, counts.count)

        return merged

    def add_to(self, batches: Batches, batch: Ints, inside: npt.NDArray[np.bool_]) -> None:
        """Add the intervals at which `inside` is true, each to its batch; both are over all of `kept`."""
        at = 0
        for segment in self.segments:
            here = slice(at, at + segment.first.size)
            at = here.stop
            mask, its_batch = inside[here], batch[here]
            if mask.all() and (its_batch == its_batch[0]).all():
                sizes = np.array([segment.index.size], dtype=np.int64)
                batches.add(its_batch[:1], Counts(sizes, segment.index.astype(np.int32), segment.total))
            elif mask.any():
                batches.add(its_batch[mask], segment.parts.counts().select(mask))

    def equals(self, other: "StoredIntervals") -> bool:
        """Whether all intervals and counts are the same; a segment at a time is unpacked."""
        return (
            _same_timelines(self.timeline, other.timeline)
            and _same_timelines(self.kept, other.kept)
            and len(self.segments) == len(other.segments)
            and all(map(_same_parts, self.segments, other.segments))
        )


class _Frame(NamedTuple):
    """One compressed piece of an artifact."""

    kind: int
    client: int
    intervals: int
    number: int  # of counts
    width: int  # bytes of a count
    packed: memoryview

    def timeline(self, name: str) -> Timeline:
        body = decompressed(self.packed, 28 * self.intervals)
        client, start_s, length_s, totals = _columns(body, self.intervals, "<i4", "<f8", "<f8", "<i8")
        return Timeline(name, client.astype(np.int32), start_s, length_s, totals)

    def segment(self, parts: "_Frame") -> Segment:
        if (self.kind, parts.kind, parts.client) != (_SUM, _PARTS, self.client) or not self.intervals:
            raise ValueError("their segments are in disorder")
        first, number, index, total = self.columns(2)
        return Segment(self.client, first, number, index, total, parts)

    def counts(self) -> Counts:
        sizes, index, count = self.columns()
        if int(sizes.sum()) != self.number:
            raise PackedDataError("the stored intervals are damaged: the lengths disagree")
        return Counts(sizes, index.astype(np.int32), count)

    def columns(self, heads: int = 1) -> list[Ints]:
        """Some columns of the intervals, then indices and counts."""
        at = 4 * heads * self.intervals
        body = decompressed(self.packed, at + self.number * (2 + self.width))
        steps = np.frombuffer(body, dtype="<u2", count=self.number, offset=at)
        index = np.cumsum(steps, dtype=np.uint16)
        count = np.frombuffer(body, dtype=f"<i{self.width}", count=self.number, offset=at + 2 * self.number)
        columns = [*_columns(body, self.intervals, *(["<i4"] * heads)), index, count]
        return [column.astype(np.int64) for column in columns]


def _read(data: bytes) -> tuple[str, list[_Frame]]:
    header, at = read_heading(data, MAGIC, FORMAT_VERSION)
    frames = []
    view = memoryview(data)
    while at < len(data):
        kind, client, intervals, number, width, size = _FRAME.unpack_from(data, at)
        at += _FRAME.size + size
        frames.append(_Frame(kind, client, intervals, number, width, view[at - size : at]))
    return str(header["name"]), frames


def _columns(body: bytes, number: int, *dtypes: str) -> list[npt.NDArray[Any]]:
    columns: list[npt.NDArray[Any]] = []
    for dtype in dtypes:
        at = sum(column.nbytes for column in columns)
        columns.append(np.frombuffer(body, dtype=dtype, count=number, offset=at))
    return columns


def _same_parts(segment: Segment, other: Segment) -> bool:
    return all(map(np.array_equal, segment.parts.columns(), other.parts.columns()))


def _same_timelines(timeline: Timeline, other: Timeline) -> bool:
    return timeline.name == other.name and all(
        np.array_equal(getattr(timeline, column), getattr(other, column))
        for column in ("client", "start_s", "length_s", "totals")
    )


def _kept(timeline: Timeline, segments: Sequence[Segment]) -> Timeline:
    """When the intervals were that have histograms: from the first to the last of the rows that each stands for."""
    nothing = np.zeros(0, dtype=np.int64)
    first = np.concatenate([nothing, *(segment.first for segment in segments)])
    last = first + np.concatenate([nothing, *(segment.number for segment in segments)]) - 1
    running = np.concatenate([[0], np.cumsum(timeline.totals)]).astype(np.int64)
    start_s = timeline.start_s[first]
    # A single row keeps its own length to the last bit.
    length_s = np.where(first == last, timeline.length_s[first], timeline.end_s[last] - start_s)
    return Timeline(timeline.name, timeline.client[first], start_s, length_s, running[last + 1] - running[first])

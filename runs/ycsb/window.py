"""When a run's clients worked, the window that they have in common, and what of each client lies in it.

The common window is W = [latest start of a client + warm-up, earliest end of a client - tail], at most `measure_s`
long. Of every client the intervals whose middle lies in W are taken; the length L_k that they cover is the client's
own, a little more or less than W.

All operations of a client are cut at the same instants. The client ends the intervals of all operations at each status
line, usually some milliseconds apart, but seconds apart where it stalls in the middle of the line. The edges are taken
from the operation that was measured first, and only at status lines where the borders of all operations lie together;
from any other status line an edge moves inward to the next one where they do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from benchsite.core.formatting import exact, grouped
from runs.ycsb.errors import MergeError
from runs.ycsb.grid import references
from runs.ycsb.histogram import Floats, Ints
from runs.ycsb.intervals import MAX_BATCHES, MIN_BATCHES, Timeline
from runs.ycsb.merged import MissingClient, Phase, Window
from runs.ycsb.operation import LatencyKind

# The logs' times have three decimals: nothing is shorter.
MIN_S: Final = 0.001
# Borders of different operations that are no further apart count as one instant.
BORDER_TOLERANCE_S: Final = 0.1


Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Cut:
    """Which part of a run is measured. In phase load there is no warm-up, and the whole run counts."""

    warmup_s: float = 0.0
    measure_s: float | None = None  # at most
    tail_s: float = 0.0
    phase: Phase = "measure"


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """When one client worked, and where its run can be cut.

    It can be cut at the borders of the intervals of the operation that it measured first: `is_start` and `is_end` are
    those where all its operations have one.
    """

    number: int
    started_s: float
    ended_s: float
    start_s: Floats  # of every interval
    end_s: Floats
    is_start: Mask
    is_end: Mask
    # The measured part: the intervals whose middle lies in [from_s, to_s), how many they are, and how long.
    from_s: float = -np.inf
    to_s: float = np.inf
    intervals: int = 0
    covered_s: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Windowed:
    """The clients of a run, and what of each is measured."""

    cut: Cut
    window: Window
    spans: tuple[Span, ...]  # of the clients that can be merged, by number
    missing: tuple[MissingClient, ...]

    def inside(self, timeline: Timeline) -> Mask:
        """Which intervals of one measurement lie in the measured part of their own client."""
        middle = timeline.midpoint_s
        inside = np.zeros(len(timeline), dtype=np.bool_)
        for span in self.spans:
            inside |= (timeline.client == span.number) & (middle >= span.from_s) & (middle < span.to_s)
        return inside

    @property
    def batches(self) -> int:
        """Into how many parts of equal length the window is divided; 0 where it has too few intervals."""
        number = min(MAX_BATCHES, *(span.intervals for span in self.spans))
        if number >= MIN_BATCHES:
            return number
        return 0

    def batch(self, timeline: Timeline) -> Ints:
        """In which of these parts each interval of one measurement lies, by its middle."""
        number = self.batches
        at = (timeline.midpoint_s - self.window.from_s) / max(self.window.length_s, MIN_S) * number
        return np.clip(at.astype(np.int64), 0, max(number - 1, 0))

    def ended_s(self) -> dict[int, float]:
        return {span.number: span.ended_s for span in self.spans}

    @property
    def began_s(self) -> float:
        """When the first client began."""
        return min(span.started_s for span in self.spans)


def windowed(timelines: Sequence[Timeline], numbers: Sequence[int], cut: Cut) -> Windowed:
    """Find every client's work and the common window. Raises MergeError where nothing can be merged."""
    spans, missing = _spans(timelines, numbers)
    window = _window(spans, cut) if cut.phase == "measure" else _whole(spans)
    return Windowed(cut, window, tuple(_measure(span, window, cut.phase) for span in spans), missing)


def regrouped(window: Windowed, timelines: Sequence[Timeline]) -> Windowed:
    """The window with edges of intervals that were put together to longer ones."""
    reference = references(timelines)
    spans = []
    for span in window.spans:
        longer = _build_span(span.number, span.started_s, span.ended_s, timelines, reference[span.number])
        spans.append(_measure(longer, window.window, window.cut.phase))
    return replace(window, spans=tuple(spans))


def workload_kind(timelines: Sequence[Timeline]) -> LatencyKind:
    """The kind of latency by which operations are counted: response times only where nothing else was measured."""
    kinds = {timeline.parsed.kind for timeline in timelines if timeline.parsed.is_operation}
    if kinds == {"response"}:
        return "response"
    return "service"


def overlap(spans: Sequence[Span]) -> float:
    """The clients' common time as a share of the whole."""
    whole = _whole(spans).length_s
    common = min(span.ended_s for span in spans) - max(span.started_s for span in spans)
    if whole > MIN_S:
        return max(common, 0.0) / max(whole, MIN_S)
    return 1.0


def _spans(timelines: Sequence[Timeline], numbers: Sequence[int]) -> tuple[list[Span], tuple[MissingClient, ...]]:
    """The clients that can be merged, and those that cannot. Raises MergeError when there is none of the first."""
    if len(set(numbers)) != len(numbers):
        raise MergeError("Two clients of the run have the same number.")
    kind = workload_kind(timelines)
    reference = references(timelines)
    spans = [_span(number, timelines, kind, reference.get(number)) for number in sorted(numbers)]
    mergeable = [span for span in spans if isinstance(span, Span)]
    missing = tuple(span for span in spans if isinstance(span, MissingClient))
    if not mergeable:
        reasons = "; ".join(f"client {client.number}: {client.reason}" for client in missing) or "there is no client"
        raise MergeError(f"Nothing can be merged: {reasons}.")
    return mergeable, missing


def _span(
    number: int, timelines: Sequence[Timeline], kind: LatencyKind, reference: Timeline | None
) -> Span | MissingClient:
    """The client's own start and end; a client without an operation in its logs is missing, with the reason."""
    if reference is None:
        return MissingClient(number, "it left no log of any operation")
    counting = [timeline for timeline in timelines if timeline.parsed.is_operation and timeline.parsed.kind == kind]
    ended_s = max((_last_tick(timeline, number, reference) for timeline in counting), default=-np.inf)
    if not np.isfinite(ended_s):
        return MissingClient(number, "its logs do not count a single operation")
    if not (np.minimum(reference.end_s, ended_s) > reference.start_s).any():
        return MissingClient(number, "no interval of its logs has a length")
    return _build_span(number, float(reference.start_s.min()), ended_s, timelines, reference)


def _build_span(
    number: int, started_s: float, ended_s: float, timelines: Sequence[Timeline], reference: Timeline
) -> Span:
    """The span with the borders of the client's reference."""
    start_s, end_s = reference.start_s, reference.end_s
    gaps = np.zeros(start_s.size + end_s.size)
    at = np.concatenate([start_s, end_s])
    for timeline in timelines:
        mine = timeline.client == reference.client[0]
        if timeline.parsed.is_operation and timeline.name != reference.name and mine.any():
            gaps = np.maximum(gaps, _gaps(at, np.concatenate([timeline.start_s[mine], timeline.end_s[mine]])))
    # Before its first operation and after its last one a client counts nothing that could be cut in two.
    gaps[(at <= start_s.min()) | (at >= ended_s)] = 0.0
    together = gaps <= max(BORDER_TOLERANCE_S, 2 * float(np.median(gaps)))
    return Span(number, started_s, ended_s, start_s, end_s, together[: start_s.size], together[start_s.size :])


def _gaps(at: Floats, borders: Floats) -> Floats:
    """How far each instant lies from the nearest border; 0 before the first and after the last border."""
    borders = np.sort(borders)
    after = np.searchsorted(borders, at)
    outside = (after == 0) | (after == borders.size)
    after = np.clip(after, 1, borders.size - 1)
    nearest: Floats = np.minimum(np.abs(at - borders[after - 1]), np.abs(borders[after] - at))
    return np.where(outside, 0.0, nearest)


def _last_tick(timeline: Timeline, number: int, reference: Timeline) -> float:
    """When the client's last interval with any of these operations ended, on the clock of its reference.

    The borders of the last intervals lie tens of milliseconds apart while a client stops, and the one with the latest
    border must not pull an idle interval of the reference into the window. -inf without any operation.
    """
    middles = timeline.midpoint_s[(timeline.client == number) & (timeline.totals > 0)]
    if not middles.size:
        return -np.inf
    starts = reference.start_s
    begun = starts[starts <= middles.max()]
    latest = begun.max() if begun.size else starts.min()
    return float(reference.end_s[starts == latest].max())


def _window(spans: Sequence[Span], cut: Cut) -> Window:
    latest = max(spans, key=lambda span: span.started_s)
    earliest = min(spans, key=lambda span: span.ended_s)
    from_s, to_s = latest.started_s + cut.warmup_s, earliest.ended_s - cut.tail_s
    if to_s > from_s:
        return Window(from_s, to_s if cut.measure_s is None else min(to_s, from_s + cut.measure_s))
    if earliest.ended_s <= from_s:
        raise MergeError(
            f"The clients have no common window: client {latest.number} began last, and {exact(cut.warmup_s)} s "
            f"of warm-up later client {earliest.number} had ended ({grouped(from_s - earliest.ended_s, 1)} s before)."
        )

    raise MergeError(
        f"Nothing is left to measure: {exact(cut.warmup_s)} s of warm-up and {exact(cut.tail_s)} s at the end are more "
        f"than the {grouped(earliest.ended_s - latest.started_s, 1)} s that the clients have in common."
    )


def _whole(spans: Sequence[Span]) -> Window:
    return Window(min(span.started_s for span in spans), max(span.ended_s for span in spans))


def _measure(span: Span, window: Window, phase: Phase) -> Span:
    if phase == "load":
        # Everything counts, so nothing is left out at the edges; the idle end of the log is no part of the length.
        covered_s = max(round(span.ended_s - span.started_s, 6), MIN_S)
        return replace(span, intervals=span.start_s.size, covered_s=covered_s)

    middle = (span.start_s + span.end_s) / 2
    inside = (middle >= window.from_s) & (middle < window.to_s)
    if not inside.any():
        length_s = float(np.median(span.end_s - span.start_s))
        raise MergeError(
            f"Client {span.number} has no interval in the window of {grouped(window.length_s, 1)} s: its intervals are "
            f"{grouped(length_s, 1)} s long. Use a longer window, or status.interval=1."
        )

    from_s, to_s = _find_ends(span, inside)
    taken = (middle >= from_s) & (middle < to_s)
    covered_s = max(round(to_s - from_s, 6), MIN_S)
    return replace(span, from_s=from_s, to_s=to_s, intervals=int(taken.sum()), covered_s=covered_s)


def _find_ends(span: Span, inside: Mask) -> tuple[float, float]:
    """The first and the last instant of these intervals that all operations share; of the intervals where none are."""
    starts = span.start_s[inside & span.is_start]
    ends = span.end_s[inside & span.is_end]
    if starts.size and ends.size and ends.max() > starts.min():
        return float(starts.min()), float(ends.max())
    return float(span.start_s[inside].min()), float(span.end_s[inside].max())

"""When a run's clients worked, the window that they have in common, and what of each client lies in it.

The common window is W = [latest start of a client + warm-up, earliest end of a client - tail], at most `measure_s`
long. Of every client the intervals whose middle lies in W are taken; the length L_k that they cover is the client's
own, a little more or less than W.

A client's operations all end their intervals at the same status line, some milliseconds apart. Therefore one of them,
the one that was measured first, decides which part of the client lies in W, and the others follow it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from runs.ycsb.errors import MergeError
from runs.ycsb.grid import references
from runs.ycsb.histogram import Floats
from runs.ycsb.intervals import Timeline
from runs.ycsb.merged import MissingClient, Phase, Window
from runs.ycsb.names import LatencyKind

# The logs' times have three decimals: nothing is shorter.
SHORTEST_S: Final = 0.001


@dataclass(frozen=True, slots=True)
class Cut:
    """What is asked to be measured of a run. In phase load there is no warm-up, and the whole run counts."""

    warmup_s: float = 0.0
    measure_s: float | None = None  # at most
    tail_s: float = 0.0
    phase: Phase = "measure"


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """When one client worked, by the log of the operation that it measured first."""

    number: int
    start_s: Floats  # of every interval of that log
    end_s: Floats
    started_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class Range:
    """What is taken of one client: the intervals whose middle lies in [from_s, to_s)."""

    from_s: float
    to_s: float
    intervals: int
    covered_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Windowed:
    """The clients of a run, and what of each is measured."""

    cut: Cut
    window: Window
    spans: tuple[Span, ...]  # of the clients that can be merged, by number
    missing: tuple[MissingClient, ...]
    ranges: Mapping[int, Range]  # by client number

    def inside(self, entry: Timeline) -> npt.NDArray[np.bool_]:
        """Which intervals of one measurement lie in their own client's range."""
        middle = entry.midpoint_s
        inside = np.zeros(len(entry), dtype=np.bool_)
        for number, part in self.ranges.items():
            inside |= (entry.client == number) & (middle >= part.from_s) & (middle < part.to_s)
        return inside

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
    ranges = {span.number: _range(span, window, cut.phase) for span in spans}
    return Windowed(cut, window, tuple(spans), missing, ranges)


def regrouped(found: Windowed, timelines: Sequence[Timeline]) -> Windowed:
    """The same window of intervals that were put together to longer ones."""
    reference = references(timelines)
    spans = tuple(
        replace(span, start_s=reference[span.number].start_s, end_s=reference[span.number].end_s)
        for span in found.spans
    )
    ranges = {span.number: _range(span, found.window, found.cut.phase) for span in spans}
    return replace(found, spans=spans, ranges=ranges)


def workload_kind(timelines: Sequence[Timeline]) -> LatencyKind:
    """The kind of latency by which operations are counted: response times only where nothing else was measured."""
    kinds = {entry.parsed.kind for entry in timelines if entry.parsed.is_operation}
    return "response" if kinds == {"response"} else "service"


def overlap(spans: Sequence[Span]) -> float:
    """The clients' common time as a share of the whole."""
    whole = _whole(spans).length_s
    common = min(span.ended_s for span in spans) - max(span.started_s for span in spans)
    return max(common, 0.0) / max(whole, SHORTEST_S) if whole > SHORTEST_S else 1.0


def _spans(timelines: Sequence[Timeline], numbers: Sequence[int]) -> tuple[list[Span], tuple[MissingClient, ...]]:
    """The clients that can be merged, and those that cannot. Raises MergeError when there is none of the first."""
    if len(set(numbers)) != len(numbers):
        raise MergeError("Two clients of the run have the same number.")
    kind = workload_kind(timelines)
    reference = references(timelines)
    counting = [entry for entry in timelines if entry.parsed.is_operation and entry.parsed.kind == kind]
    spans = [_span(number, counting, reference.get(number)) for number in sorted(numbers)]
    found = [span for span in spans if isinstance(span, Span)]
    missing = tuple(span for span in spans if isinstance(span, MissingClient))
    if not found:
        reasons = "; ".join(f"client {entry.number}: {entry.reason}" for entry in missing) or "there is no client"
        raise MergeError(f"Nothing can be merged: {reasons}.")
    return found, missing


def _span(number: int, counting: Sequence[Timeline], reference: Timeline | None) -> Span | MissingClient:
    """The client's own start and end; a client without an operation in its logs is missing, with the reason."""
    if reference is None:
        return MissingClient(number, "it left no log of any operation")
    ended_s = max((_last_tick(entry, number, reference) for entry in counting), default=-np.inf)
    if not np.isfinite(ended_s):
        return MissingClient(number, "its logs do not count a single operation")
    if not (np.minimum(reference.end_s, ended_s) > reference.start_s).any():
        return MissingClient(number, "no interval of its logs has a length")
    return Span(number, reference.start_s, reference.end_s, float(reference.start_s.min()), ended_s)


def _last_tick(entry: Timeline, number: int, reference: Timeline) -> float:
    """When the client's last interval with any of these operations ended, on the clock of its reference.

    The borders of the last intervals lie tens of milliseconds apart while a client stops, and the one with the latest
    border must not pull an idle interval of the reference into the window. -inf without any operation.
    """
    middles = entry.midpoint_s[(entry.client == number) & (entry.totals > 0)]
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
            f"The clients have no common window: client {latest.number} began last, and {cut.warmup_s:g} s of "
            f"warm-up later client {earliest.number} had already ended ({from_s - earliest.ended_s:.1f} s before)."
        )
    raise MergeError(
        f"Nothing is left to measure: {cut.warmup_s:g} s of warm-up and {cut.tail_s:g} s at the end are more than the "
        f"{earliest.ended_s - latest.started_s:.1f} s that the clients have in common."
    )


def _whole(spans: Sequence[Span]) -> Window:
    return Window(min(span.started_s for span in spans), max(span.ended_s for span in spans))


def _range(span: Span, window: Window, phase: Phase) -> Range:
    if phase == "load":
        # Everything counts, so nothing is left out at the edges; the idle end of the log is no part of the length.
        covered_s = max(round(span.ended_s - span.started_s, 6), SHORTEST_S)
        return Range(-np.inf, np.inf, span.start_s.size, covered_s)
    middle = (span.start_s + span.end_s) / 2
    inside = (middle >= window.from_s) & (middle < window.to_s)
    if not inside.any():
        raise MergeError(
            f"Client {span.number} has no interval in the window of {window.length_s:.1f} s: its intervals are "
            f"{float(np.median(span.end_s - span.start_s)):.1f} s long. Use a longer window or status.interval=1."
        )
    from_s, to_s = float(span.start_s[inside].min()), float(span.end_s[inside].max())
    return Range(from_s, to_s, int(inside.sum()), max(round(to_s - from_s, 6), SHORTEST_S))

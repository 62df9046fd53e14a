"""Points of latency curves in the figure's own units, and which of them there are."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal
from uuid import UUID

from reports.compare.analysis.equal_load import LoadPoint
from reports.compare.curves import Curve, Point, in_order
from reports.compare.figures.layout import rounded
from reports.compare.figures.points import Drawn, rung_text
from reports.compare.figures.theme import Look


@dataclass(frozen=True, slots=True)
class Choice:
    """What is drawn of every curve."""

    operation: str = "READ"
    statistic: str = "p99"
    kind: str = "service"
    scale: str = "auto"
    highlight: str = ""
    second: str = ""  # another operation, dotted, in the same panel
    load_ops_s: float | None = None  # where every curve's latency is marked
    limit_us: float | None = None  # of the latency, drawn as a line

    @property
    def operations(self) -> tuple[str, ...]:
        if self.second and self.second != self.operation:
            return (self.operation, self.second)
        return (self.operation,)


@dataclass(frozen=True, slots=True)
class DrawnCurve:
    """One operation of one sweep."""

    curve: Curve
    look: Look
    operation: str
    dotted: bool  # it is the second operation
    counted: tuple[Drawn, ...]
    hollow: tuple[Drawn, ...]

    def load_points(self, edge: Literal["y", "high_y", "low_y"] = "y") -> list[LoadPoint]:
        """The counted points for reading latencies at a load, or an edge of the band; latency in µs."""
        targets = self.curve.ladder == "target"
        return [
            LoadPoint(
                d.x,
                getattr(d, edge) * 1e3,
                rung_text(d.point),
                float(d.point.target_ops_s or 0) if targets else float(d.point.threads),
            )
            for d in self.counted
        ]


def collect_drawn(sides: Iterable[DrawnCurve]) -> list[Drawn]:
    """All points, those that count first on each curve."""
    return list(chain.from_iterable((*side.counted, *side.hollow) for side in sides))


def collect_counted(sides: Iterable[DrawnCurve]) -> list[Drawn]:
    return list(chain.from_iterable(side.counted for side in sides))


def drawn_curves(curves: Sequence[Curve], looks: Mapping[UUID, Look], choice: Choice) -> list[DrawnCurve]:
    """The points that have the chosen statistic, as coordinates; curves without any are left out."""
    curves_drawn = []
    for curve in in_order(curves):
        for number, operation in enumerate(choice.operations):
            drawn = [mark for point in curve.points if (mark := _drawn(point, operation, choice))]
            counted = tuple(mark for mark in drawn if mark.point.counts)
            hollow = [mark for mark in drawn if not mark.point.counts]
            for point in curve.points:
                hollow += _left_out(point, operation, choice)
            if drawn or hollow:
                curves_drawn.append(
                    DrawnCurve(curve, looks[curve.sweep_id], operation, bool(number), counted, tuple(hollow))
                )

    # What is only there for context is drawn first, below the rest.
    return sorted(curves_drawn, key=lambda mark: not mark.look.faded)


def _drawn(point: Point, operation: str, choice: Choice) -> Drawn | None:
    latency = point.latency(operation, choice.statistic, choice.kind)
    x = point.throughput_ops_s.geomean
    if latency is None or not _has_place(x, latency.geomean):
        return None
    low, high = rounded(latency.low / 1e3), rounded(latency.high / 1e3)
    return Drawn(point, rounded(x), rounded(latency.geomean / 1e3), low, high, latency.n)


def _left_out(point: Point, operation: str, choice: Choice) -> list[Drawn]:
    """The repeats that are no part of a point, each where it lies."""
    marks_left_out = []
    for repeat in point.left_out:
        latency = repeat.latency(operation, choice.statistic, choice.kind)
        if latency is not None and _has_place(repeat.throughput_ops_s, latency.geomean):
            y = rounded(latency.geomean / 1e3)
            marks_left_out.append(Drawn(point, rounded(repeat.throughput_ops_s), y, y, y, 1, repeat))
    return marks_left_out


def _has_place(ops_s: float, latency_us: float) -> bool:
    """Nothing and what is not a number have no place on an axis, least of all on a logarithmic one."""
    return math.isfinite(ops_s) and math.isfinite(latency_us) and ops_s > 0 and latency_us > 0

"""Throughput ceiling against what a power cut takes: measured by `make durability`, else stated by the record."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from benchsite.core import formatting
from benchsite.core.table import Columns, Table, tabulated
from reports.compare.curves import Curve, in_order
from reports.compare.figures import captions, points as marks
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import SIDE, CurvesFigure, named
from reports.compare.figures.labels import Box, Label, pixels, place_labels
from reports.compare.figures.layout import (
    Frame,
    Layout,
    PlotlyFigure,
    Trace,
    annotation,
    axis,
    base_layout,
    ceiling_axis,
    cut,
    escaped,
    rounded,
    scatter,
    shortened,
)
from reports.compare.figures.theme import Look
from reports.compare.ladder_text import ceiling_text, ladder_says, status_sentences
from reports.compare.messages import (
    ANY_NUMBER_OF_WRITES,
    CEILING_OVER_LOSS,
    DOTTED_LINE,
    FILLED_AND_HOLLOW,
    LOST_NONE,
    NO_KNOWN_LOSS,
    NOT_PLACED,
)
from runs.catalog.measured_losses import MeasuredLoss, power_cut_loss

MAX_LABELS: Final = 12
# The drawing area that labels are placed for: smaller than the real one, so that they never touch.
AREA_WIDE: Final = (640.0, 230.0)
AREA_NARROW: Final = (270.0, 200.0)


@dataclass(frozen=True, slots=True)
class Side:
    """One sweep with what a power cut of its node takes: seconds of acknowledged writes, infinite without bound."""

    curve: Curve
    worst_s: float
    typical_s: float
    measured: MeasuredLoss | None  # None: as the record of the mode states

    @property
    def ceiling_ops_s(self) -> float:
        return self.curve.ceiling_ops_s

    @property
    def loss_text(self) -> str:
        """ "at most 0.98 s in 60 power cuts"; "stated: 1 s"."""
        loss = "none"
        if math.isinf(self.worst_s):
            loss = ANY_NUMBER_OF_WRITES
        elif self.worst_s:
            loss = f"at most {formatting.significant(self.worst_s)} s"
        if self.measured is None:
            return f"stated: loses {loss}"
        cuts = formatting.counted(self.measured.faults, "power cut")
        if self.measured.max_loss_share is not None:
            return LOST_NONE.format(cuts=cuts, share=formatting.percent(self.measured.max_loss_share))
        return f"lost {loss} in {cuts}"


def build_side(curve: Curve) -> Side | None:
    """None where the sweep has no ceiling, or its loss is neither measured nor stated."""
    if curve.ceiling_ops_s <= 0 or not curve.durability:
        return None

    windows = [curve.durability.get(name) for name in ("loss_window_s", "worst_loss_window_s")]
    typical, worst = (float(loss_s) if isinstance(loss_s, int | float) else math.inf for loss_s in windows)
    measured = power_cut_loss(curve.system, curve.mode, curve.setup.nodes or 1)
    if measured is None:
        return Side(curve, typical if math.isinf(worst) else worst, typical, None)
    if not measured.with_loss:
        return Side(curve, 0.0, 0.0, measured)
    # A trial lasts seconds: a mode without bound lost all of it.
    if math.isinf(typical):
        return Side(curve, math.inf, math.inf, measured)

    return Side(curve, measured.oldest_lost_max_s or 0.0, measured.oldest_lost_median_s or 0.0, measured)


class LossAxis:
    """Positions of losses: none at 0, then a decade of seconds each, then any loss."""

    def __init__(self, sides: Sequence[Side]) -> None:
        losses = [side.worst_s for side in sides] + [side.typical_s for side in sides]
        exponents = [math.log10(loss_s) for loss_s in losses if 0 < loss_s < math.inf]
        self.decades = range(0)
        if exponents:
            first = math.floor(min(exponents))
            self.decades = range(first, max(math.ceil(max(exponents)), first + 1) + 1)
        self.names = ["none", *(f"{formatting.exact(10.0**exponent)} s" for exponent in self.decades)]
        if any(math.isinf(side.worst_s) for side in sides):
            self.names.append("any")

    def get_position(self, loss_s: float) -> float:
        if not loss_s:
            return 0.0
        if math.isinf(loss_s):
            return len(self.decades) + 1.0
        return rounded(1 + math.log10(loss_s) - self.decades[0])


def frontier(sides: Sequence[Side]) -> list[Side]:
    """The sides of which no other loses at most as much and measured more (Pareto), the least loss first."""
    best, fastest = [], 0.0
    for side in sorted(sides, key=lambda side: (side.worst_s, -side.ceiling_ops_s)):
        if side.ceiling_ops_s > fastest:
            best.append(side)
            fastest = side.ceiling_ops_s
    return best


COLUMNS: Final[Columns] = {
    **SIDE,
    "ceiling (ops/s)": "ceiling_ops_s",
    "95 % interval from (ops/s)": "curve.ceiling.low_ops_s",
    "95 % interval to (ops/s)": "curve.ceiling.high_ops_s",
    "loss at a power cut": "loss_text",
    "oldest lost write, median (s)": lambda side: None if math.isinf(side.typical_s) else side.typical_s,
    "oldest lost write, maximum (s)": lambda side: None if math.isinf(side.worst_s) else side.worst_s,
    "power cuts": "measured.faults",
    "measured with version": "measured.version",
    "ladder": lambda side: ladder_says(side.curve.ceiling),
}
BEST: Final = "no side loses less and measured more"


class LossFigure(CurvesFigure):
    """One point per sweep: what it sustains over what it may lose, and the frontier of both."""

    name = "loss"

    @cached_property
    def sides(self) -> list[Side]:
        return [side for curve in in_order(self.curves) if (side := build_side(curve))]

    @cached_property
    def frontier(self) -> list[Side]:
        """Empty where the sides answer different workloads."""
        if len({side.curve.workload for side in self.sides}) == 1:
            return frontier(self.sides)
        return []

    def draw(self, frame: Frame) -> PlotlyFigure:
        appearance = self.get_looks(frame)
        across = LossAxis(self.sides)
        end = len(across.names) - 0.4
        layout = base_layout(frame)
        layout["xaxis"] = axis(
            frame,
            "lost at a power cut" if frame.narrow else "oldest acknowledged write that a power cut takes",
            tickvals=list(range(len(across.names))),
            ticktext=across.names,
            range=[-0.5, end],
        )
        ends = ((side.curve.ceiling and side.curve.ceiling.high_ops_s) or side.ceiling_ops_s for side in self.sides)
        highest = max(ends, default=1.0)
        layout["yaxis"] = ceiling_axis(frame, range=[0, rounded(highest * 1.15)])
        sides = [appearance[side.curve.sweep_id] for side in self.sides]
        points: list[Trace] = []
        for side, look in zip(self.sides, sides, strict=True):
            symbol = look.symbol if side.measured else f"{look.symbol}-open"
            trace = scatter(
                [across.get_position(side.worst_s)],
                [rounded(side.ceiling_ops_s)],
                shortened(look.label, 40, [other.label for other in sides]),
                hover=[_hover(side, look)],
                legendgroup=escaped(look.label),
                showlegend=True,
                marker=marks.marker(look.colour, symbol, marks.MARKER_PX + 3),
                opacity=0.75 if look.faded else 1.0,
            )
            points.append({**trace, "meta": str(side.curve.sweep_id)} if frame.linked else trace)

        steps = _steps(self.frontier, across, end)
        if sum(not look.faded for look in sides) <= MAX_LABELS:
            layout["annotations"] += _labels(points, sides, steps, layout, frame)
            for point in points:
                point["showlegend"] = False
        else:
            marks.fold_legend(([point], look) for point, look in zip(points, sides, strict=True))

        layout["showlegend"] = True
        intervals: list[Trace] = []
        for side, look in zip(self.sides, sides, strict=True):
            intervals += _intervals(side, look, across)

        return {"data": [*intervals, *points, *_keys(self.sides, steps, frame)], "layout": layout}

    @property
    def remarks(self) -> list[Remark]:
        placed = {side.curve.sweep_id for side in self.sides}
        return [
            ("Points", CEILING_OVER_LOSS),
            ("Left out", named(NOT_PLACED, [c for c in self.curves if c.sweep_id not in placed])),
            *(("Ceilings", text) for text in status_sentences(self.curves)),
            *captions.list_doubts(self.curves),
            ("Filled and hollow", FILLED_AND_HOLLOW),
            ("Dotted line", DOTTED_LINE if self.frontier else ""),
            *captions.list_basics(self.curves),
        ]

    @property
    def table(self) -> Table:
        """A row per sweep."""
        return tabulated({**COLUMNS, BEST: lambda side: "yes" if side in self.frontier else "no"}, self.sides)

    def lacking(self) -> str:
        if self.sides:
            return ""
        return NO_KNOWN_LOSS


def _hover(side: Side, look: Look) -> str:
    lines = [f"<b>{escaped(look.label)}</b>", side.loss_text]
    if side.curve.ceiling:
        lines[1:1] = [ceiling_text(side.curve.ceiling), ladder_says(side.curve.ceiling)]
    if side.measured:
        lines.append(escaped(f"measured with {side.curve.system_name} {side.measured.version}"))
    return "<br>".join(lines)


def _intervals(side: Side, look: Look, across: LossAxis) -> list[Trace]:
    """The 95 % interval of the ceiling upright, and the loss from its median to its maximum across."""
    x = across.get_position(side.worst_s)
    y = rounded(side.ceiling_ops_s)
    ceiling = side.curve.ceiling
    line = {"color": look.colour, "width": 1.5}
    traces = []
    if ceiling and ceiling.low_ops_s is not None and ceiling.high_ops_s is not None:
        ends = [rounded(ceiling.low_ops_s), rounded(ceiling.high_ops_s)]
        traces.append(marks.beside(look, "95 % interval", [x, x], ends, mode="lines", line=line))

    if 0 < side.typical_s < side.worst_s:
        from_median = [across.get_position(side.typical_s), x]
        traces.append(marks.beside(look, "median to maximum", from_median, [y, y], mode="lines", line=line))

    return traces


def _labels(
    points: Sequence[Trace],
    appearance: Sequence[Look],
    path: Sequence[tuple[float, float]],
    layout: Layout,
    frame: Frame,
) -> list[dict[str, Any]]:
    """The name of each side beside its point, where it covers neither a point nor the frontier."""
    area = AREA_NARROW if frame.narrow else AREA_WIDE
    dots = [pixels(layout, area, trace["x"][0], trace["y"][0]) for trace in points]
    corners = [pixels(layout, area, x, y) for x, y in path]
    obstacles = [Box(x - 6, y - 6, x + 6, y + 6) for x, y in dots]
    obstacles += [
        Box(min(x, to_x), min(y, to_y) - 2, max(x, to_x), max(y, to_y) + 2)
        for (x, y), (to_x, to_y) in pairwise(corners)
    ]
    names = [look.label for look in appearance]
    texts = [cut(name, 18 if frame.narrow else 30, names) for name in names]
    spots = place_labels([Label(text, (dot,)) for text, dot in zip(texts, dots, strict=True)], obstacles, area)
    return [
        annotation(escaped(text), look.colour, x=trace["x"][0], y=trace["y"][0], **spot.side)
        for trace, look, text, spot in zip(points, appearance, texts, spots, strict=True)
        if spot and not look.faded
    ]


def _steps(sides: Sequence[Side], across: LossAxis, end: float) -> list[tuple[float, float]]:
    """The corners of the frontier: what is sustained where at most so much may be lost."""
    if len(sides) < 2:
        return []
    corners: list[tuple[float, float]] = []
    for side in sides:
        x, y = across.get_position(side.worst_s), rounded(side.ceiling_ops_s)
        corners += [(x, corners[-1][1]), (x, y)] if corners else [(x, y)]
    return [*corners, (end, corners[-1][1])]


def _keys(sides: Sequence[Side], steps: Sequence[tuple[float, float]], frame: Frame) -> list[Trace]:
    """The frontier, and what filled and hollow points mean."""
    keys = []
    if steps:
        x, y = zip(*steps, strict=True)
        line = {"color": frame.theme.muted, "width": 1.25, "dash": "dot"}
        keys.append(scatter(x, y, "highest value for a loss", mode="lines", line=line, showlegend=True))
    if any(side.measured for side in sides):
        keys.append(marks.key(frame, "circle", "filled: loss measured"))
    if any(not side.measured for side in sides):
        keys.append(marks.key(frame, "circle-open", "hollow: loss stated"))
    return keys

"""Throughput against the load ladder: the curve that grows while a sweep is measured."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Final

from benchsite.core.table import Columns, Table, tabulated
from reports.compare.curves import Curve, Point, collect_points, in_order
from reports.compare.figures import captions, points as marks
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import RUNG, SIDE, STANDING, CurvesFigure, arrival_columns
from reports.compare.figures.layout import Frame, PlotlyFigure, Trace, axis, base_layout, rounded, scatter
from reports.compare.figures.points import MAX_LABELS, Drawn, End, label_ends
from reports.compare.figures.theme import Look
from reports.compare.ladder_text import ceiling_label

COLUMNS: Final[Columns] = {
    **SIDE,
    **RUNG,
    "least repeat (ops/s)": "point.throughput_ops_s.low",
    "greatest repeat (ops/s)": "point.throughput_ops_s.high",
    "repeats": "point.throughput_ops_s.n",
    **STANDING,
}


class LadderFigure(CurvesFigure):
    """Throughput over client threads, or over the target where every curve has a ladder of targets."""

    name = "throughput"

    def draw(self, frame: Frame) -> PlotlyFigure:
        appearance = self.get_looks(frame)
        drawn = [whole for curve in in_order(self.curves) if (whole := _finite(curve)).points]
        targets = bool(drawn) and all(curve.ladder == "target" for curve in drawn)
        layout = base_layout(frame)
        points = collect_points(drawn)
        rungs = sorted({_load(point, targets) for point in points})
        layout["xaxis"] = _load_axis(frame, rungs, targets)
        reached = [point.throughput_ops_s.high for point in points]
        for point in points:
            reached += [repeat.throughput_ops_s for repeat in point.left_out]

        highest = max(reached, default=1.0)
        layout["yaxis"] = axis(frame, "throughput (ops/s)", tickformat="~s", range=[0, (highest or 1.0) * 1.14])
        layout["showlegend"] = len(drawn) > 1 or any(
            not point.counts or point.overridden or point.left_out for point in points
        )
        if 1 < len(drawn) <= MAX_LABELS and not frame.narrow:
            named: list[End] = []
            for curve in drawn:
                if curve.counted:
                    look = appearance[curve.sweep_id]
                    named.append(End(look.label, curve.counted[-1].throughput_ops_s.geomean, look.colour))
            label_ends(layout, named)

        labels = [look.label for look in appearance.values()]
        traces = []
        for curve in drawn:
            look = appearance[curve.sweep_id]
            traces.append((_traces(curve, look, targets, labels), look))
        marks.fold_long_legend(traces)

        data = list(chain.from_iterable(of_curve for of_curve, _ in traces))
        if targets and rungs:
            # Where achieved equals target: what lies below it was not sustained.
            ends, line = [0, rungs[-1]], {"color": frame.theme.muted, "width": 1, "dash": "dot"}
            data.append(scatter(ends, ends, "achieved = target", mode="lines", line=line))

        return {"data": data + _keys(drawn, frame), "layout": layout}

    @property
    def remarks(self) -> list[Remark]:
        return [*captions.list_doubts(self.curves), *captions.list_basics(self.curves)]

    @property
    def table(self) -> Table:
        rows: list[SimpleNamespace] = []
        for curve in in_order(self.curves):
            rows += [SimpleNamespace(curve=curve, point=point) for point in curve.points]
        return tabulated({**COLUMNS, **arrival_columns(self.curves)}, rows)


def _finite(curve: Curve) -> Curve:
    """Without points that have no place on an axis."""
    good = tuple(point for point in curve.points if math.isfinite(point.throughput_ops_s.geomean))
    if len(good) == len(curve.points):
        return curve
    return replace(curve, points=good)


def _load(point: Point, targets: bool) -> int:
    if targets:
        return point.target_ops_s or 0
    return point.threads


def _load_axis(frame: Frame, rungs: Sequence[int], targets: bool) -> dict[str, object]:
    """Threads double from rung to rung, so their axis is logarithmic and ticks are the rungs themselves."""
    if targets:
        return axis(frame, "target throughput (ops/s)", tickformat="~s", rangemode="tozero")

    labelled = rungs if len(rungs) <= 12 else rungs[:: math.ceil(len(rungs) / 12)]
    span = [math.log10(rungs[0]) - 0.08, math.log10(rungs[-1]) + 0.08] if rungs else [0, 1]
    return axis(
        frame,
        "client threads (logarithmic)" if frame.narrow else "client threads, all clients together (logarithmic)",
        type="log",
        tickvals=list(labelled),
        ticktext=[str(rung) for rung in labelled],
        range=span,
    )


def _traces(curve: Curve, look: Look, targets: bool, labels: Sequence[str]) -> list[Trace]:
    drawn = []
    for point in curve.points:
        ops_s = point.throughput_ops_s
        x = float(_load(point, targets))
        drawn.append(Drawn(point, x, rounded(ops_s.geomean), rounded(ops_s.low), rounded(ops_s.high), ops_s.n))

    hollow = [d for d in drawn if not d.point.counts]
    for d in drawn:
        for repeat in d.point.left_out:
            y = rounded(repeat.throughput_ops_s)
            hollow.append(Drawn(d.point, d.x, y, y, y, 1, repeat))

    counted = [d for d in drawn if d.point.counts]
    traces = marks.curve_traces(look, counted, hollow, partial(marks.build_hover_text, look), labels)
    for point in () if curve.progress.going else curve.ceiling_points:
        x, y = float(_load(point, targets)), rounded(point.throughput_ops_s.geomean)
        assert curve.ceiling is not None  # It has points.
        traces.append(marks.ring(look, "circle-open", ceiling_label([curve.ceiling]), x=x, y=y))

    return traces


def _keys(drawn: Sequence[Curve], frame: Frame) -> list[Trace]:
    keys = []
    if ceilings := [curve.ceiling for curve in drawn if curve.ceiling and not curve.progress.going]:
        keys.append(marks.key(frame, "circle-open", ceiling_label(ceilings)))
    return keys + marks.standing_keys(collect_points(drawn), frame)

"""Latency against throughput: one curve per sweep, along its load ladder."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Any, Final

from benchsite.core import formatting
from benchsite.core.table import Columns, Table, tabulated
from reports.compare.analysis.equal_load import LoadPoint, trace_curve
from reports.compare.curves import STATISTICS, Curve, Point, collect_counted_points, in_order
from reports.compare.figures import captions, points as marks
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import RUNG, SIDE, STANDING, CurvesFigure, arrival_columns
from reports.compare.figures.labels import TOO_FAR, Lines, choose_lines, direct_labels, lay_lines, thin_rung_labels
from reports.compare.figures.latency_points import Choice, DrawnCurve, collect_drawn, drawn_curves
from reports.compare.figures.layout import (
    Frame,
    Layout,
    PlotlyFigure,
    Trace,
    axis,
    base_layout,
    escaped,
    legend_entry_px,
    rounded,
)
from reports.compare.figures.overlay import (
    Published,
    drawn_with_latency,
    published_missing,
    published_points,
    published_said,
)
from reports.compare.ladder_text import ceiling_label
from reports.compare.messages import LOAD_FAR_BEYOND

# Which axes are logarithmic, throughput and latency. "auto" decides about throughput by how far the ceilings lie apart.
SCALES = {"auto": (False, True), "log": (False, True), "loglog": (True, True), "linear": (False, False)}
WIDE_APART = 5.0


class LatencyFigure(CurvesFigure):
    """Latency of one operation, or of two, over the throughput of all of them."""

    def __init__(self, curves: Sequence[Curve], choice: Choice, published: Sequence[Published] = ()) -> None:
        super().__init__(curves, highlight=choice.highlight)
        self.choice = choice
        self.published = published
        self.name = f"latency-{choice.operation.lower()}-{choice.statistic}"

    def draw(self, frame: Frame) -> PlotlyFigure:
        choice = self.choice
        drawn = drawn_curves(self.curves, self.get_looks(frame), choice)
        lines = choose_lines(drawn, choice)
        layout = base_layout(frame)
        layout["showlegend"] = True
        _set_axes(layout, drawn, choice, lines, frame, drawn_with_latency(self.published))
        names, covered = direct_labels(drawn, layout, frame, lines[0])
        layout["annotations"] += names
        crossings = lay_lines(drawn, choice, lines, layout, frame)
        solid = [side for side in drawn if not side.dotted]
        most = marks.MAX_WITH_RUNG_LABELS // 2 if frame.narrow else marks.MAX_WITH_RUNG_LABELS
        labels = [side.look.label for side in drawn]
        traces = [(side, _traces(side, choice, labels, rungs=len(solid) <= most and not side.dotted)) for side in drawn]
        ringed = [side for side in solid if len(solid) <= marks.MAX_WITH_RINGS and not side.look.faded]
        data = [*published_points(self.published, frame), *chain.from_iterable(of_side for _, of_side in traces)]
        for side in ringed:
            for mark in side.counted:
                for meaning, symbol in _collect_marks(side, mark.point).items():
                    data.append(marks.ring(side.look, symbol, meaning, x=mark.x, y=mark.y))

        data += crossings
        thin_rung_labels(data, drawn, layout, frame, lines[0], covered)
        if frame.linked:
            _link_sweeps(data, drawn)
            for side, of_side in traces:
                _link_runs(of_side, side)

        # On a telephone the modes stand beside their curves; below them there is room for the databases only.
        if frame.narrow or len(solid) > marks.MAX_WITH_RUNG_LABELS or any(side.look.faded for side in drawn):
            by_label = {side.look.label: side.look for side in drawn}
            marks.fold_legend((_collect_group(data, label), look) for label, look in by_label.items())

        data += _keys(drawn, ringed, choice, frame)
        if not frame.narrow:
            layout["legend"]["entrywidth"] = legend_entry_px(data)
        return {"data": data, "layout": layout}

    @property
    def remarks(self) -> list[Remark]:
        # That the asked load is not in the picture, where it lies far beyond what was measured.
        load_ops_s = self.choice.load_ops_s
        highest = max((point.throughput_ops_s.geomean for point in collect_counted_points(self.curves)), default=0.0)
        beyond = ""
        if load_ops_s and load_ops_s > highest * TOO_FAR:
            beyond = LOAD_FAR_BEYOND.format(load=formatting.throughput(load_ops_s))
        return [
            ("Load", beyond),
            ("Published", published_said(drawn_with_latency(self.published))),
            ("Published", published_missing(self.published, self.choice.operation, self.choice.statistic)),
            *captions.list_doubts(self.curves),
            ("Sides", self.shown_sentence),
            *captions.list_basics(self.curves, self.choice.kind),
        ]

    @property
    def table(self) -> Table:
        return points_table(self.curves, operations=self.choice.operations, kind=self.choice.kind)

    def lacking(self) -> str:
        if self.table.rows:
            return ""
        return captions.not_measured(self.curves, self.choice.operation, self.choice.kind)


def _statistic(name: str) -> Callable[[Any], float | None]:
    return lambda row: row.operation.geomean_us(name)


COLUMNS: Final[Columns] = {
    **SIDE,
    **RUNG,
    "repeats": "point.throughput_ops_s.n",
    "operation": "operation.operation",
    "latency": "operation.kind",
    "ok": "operation.ok",
    "failed": "operation.failed",
    **{f"{label} (µs)": _statistic(name) for name, label in STATISTICS.items()},
    "clients merged": "point.clients_merged",
    "clients": "point.clients_expected",
    **STANDING,
}


def _get_offered_p99_us(row: Any) -> float | None:
    if row.operation.kind != "response":
        return None
    p99_us: float | None = row.point.offered_p99_us.get(row.operation.operation)
    return p99_us


OFFERED: Final[Columns] = {"p99 of offered (µs)": _get_offered_p99_us}  # of open loads


def points_table(curves: Sequence[Curve], *, operations: Sequence[str] = (), kind: str = "") -> Table:
    """A row per point and operation; some operations or one kind of latency only where they are named."""
    rows = []
    for curve in in_order(curves):
        for point in curve.points:
            for operation in point.operations:
                if (not operations or operation.operation in operations) and kind in ("", operation.kind):
                    rows.append(SimpleNamespace(curve=curve, point=point, operation=operation))

    columns = {**COLUMNS, **arrival_columns(curves)}
    if any(curve.setup.arrivals for curve in curves):
        columns |= OFFERED
    return tabulated(columns, rows)


def _set_axes(
    layout: Layout,
    drawn: Sequence[DrawnCurve],
    choice: Choice,
    lines: Lines,
    frame: Frame,
    published: Sequence[Published],
) -> None:
    """Both axes with room around what is drawn."""
    load, limit = lines
    points = collect_drawn(drawn)
    printed_ops_s = [result.throughput_ops_s for result in published]
    xs = [d.x for d in points] + printed_ops_s
    ys = [d.low_y for d in points] + [d.high_y for d in points]
    ys += [(result.latency_us or 0.0) / 1e3 for result in published]
    if load:
        xs.append(load)
    if limit:
        ys.append(limit)

    log_x, log_y = SCALES[choice.scale]
    ends = [max(d.x for d in side.counted) for side in drawn if side.counted] + printed_ops_s
    if choice.scale == "auto" and ends:
        # On a linear axis a curve that ends at a fifth of the widest one is a vertical line at the edge.
        log_x = max(ends) > WIDE_APART * min(ends)

    title = "throughput, all operations (ops/s)"
    layout["xaxis"] = axis(frame, title, tickformat="~s", **_range(xs, log_x, beyond=1.22))
    layout["yaxis"] = axis(frame, escaped(_title(choice, frame)), tickformat="~g", **_range(ys, log_y, beyond=1.14))


def _title(choice: Choice, frame: Frame) -> str:
    """The title of the y axis; a telephone has room for the essence, and its caption says the rest."""
    quantity = f"{' and '.join(choice.operations)} {STATISTICS[choice.statistic]}"
    if not frame.narrow:
        return f"{quantity}, {captions.KIND_SAYS[choice.kind]} (ms)"
    return f"{quantity}{', response' if choice.kind == 'response' else ''} (ms)"


def _range(values: Sequence[float], log: bool, *, beyond: float) -> dict[str, Any]:
    """The axis' type and range with room around the points; linear axes start at 0."""
    values = [value for value in values if value > 0]
    if not values:
        return {}
    # On the right there is room for the names of the curves that end there.
    if not log:
        return {"range": [0, max(values) * beyond]}

    low, high = math.log10(min(values)), math.log10(max(values))
    # Points that lie close together still stand among ticks that say where they are.
    room = max(0.12, (high - low) * 0.09, (0.8 - (high - low)) / 2)
    # Whole decades, on short axes with 2 and 5 between them.
    dtick = 1 if high - low > 2.2 else "D2"

    return {
        "type": "log",
        "range": [low - room, high + room * (2.6 if beyond > 1.2 else 1.2)],
        "dtick": dtick,
    }


def _traces(side: DrawnCurve, choice: Choice, labels: Sequence[str], *, rungs: bool) -> list[Trace]:
    look = side.look
    counted = side.counted
    two = len(choice.operations) > 1
    if two:
        # Dash then says the operation, and the marker alone the mode.
        dash = "solid"
        if side.dotted:
            dash = "dot"
        look = replace(look, dash=dash)

    hover = partial(
        marks.build_hover_text, look, operation=side.operation, statistic=choice.statistic, kind=choice.kind
    )
    paths: list[marks.Path] = [(), (), ()]
    if not look.faded:
        paths = [_trace(side.load_points(edge)) for edge in ("y", "high_y", "low_y")]
    traces = marks.curve_traces(look, counted, side.hollow, hover, labels, paths[0], (paths[1], paths[2]))
    for trace in traces if side.dotted else ():
        trace["showlegend"] = False

    if rungs:
        # The marker is not seen: its size keeps the text away from the point.
        sizes = [marks.RING_PX if _collect_marks(side, d.point) else marks.MARKER_PX for d in counted]
        # The rungs' names, small, on that side of a rising curve where nothing is: above and left.
        names = marks.beside(
            look,
            "rungs",
            [d.x for d in counted],
            [d.y for d in counted],
            mode="markers+text",
            marker={"size": sizes, "color": "rgba(0,0,0,0)", "line": {"width": 0}},
            text=[marks.rung_label(d.point) for d in counted],
            textposition="top left",
            textfont={"color": look.colour, "size": 10},
            cliponaxis=False,
        )
        traces.append(names)

    return traces


def _link_sweeps(data: Sequence[Trace], drawn: Sequence[DrawnCurve]) -> None:
    """The sweep of every trace that belongs to a curve."""
    sweeps = {escaped(side.look.label): str(side.curve.sweep_id) for side in drawn}
    for trace in data:
        if sweep := sweeps.get(trace.get("legendgroup", "")):
            trace["meta"] = sweep


def _link_runs(traces: Sequence[Trace], side: DrawnCurve) -> None:
    """The run of every point of a curve."""
    for trace in traces:
        if "text" in trace and "hovertemplate" in trace:
            points = side.counted
            if trace["name"].endswith(marks.NOT_COUNTED):
                points = side.hollow
            trace["customdata"] = [str(next(iter(mark.run_ids), "")) for mark in points]


def _collect_group(data: Sequence[Trace], label: str) -> list[Trace]:
    """All that belongs to one curve: its line, its band, its rings and where it meets the asked lines."""
    return [trace for trace in data if trace.get("legendgroup") == escaped(label)]


def _trace(points: Sequence[LoadPoint]) -> marks.Path:
    """The curve through the points, in the units of the axes."""
    return [(rounded(x), rounded(y_us / 1e3)) for x, y_us in trace_curve(points)]


def _collect_marks(side: DrawnCurve, point: Point) -> dict[str, str]:
    """The roles of a point (ceiling, knee), each with the symbol of its ring."""
    marks_by_text = {}
    if any(point is other for other in side.curve.ceiling_points):
        marks_by_text[_build_label([side])] = "circle-open"
    if point is side.curve.knee_point:
        marks_by_text["knee"] = "diamond-open"
    return marks_by_text


def _build_label(drawn: Iterable[DrawnCurve]) -> str:
    return ceiling_label(line.curve.ceiling for line in drawn if line.curve.ceiling)


def _keys(drawn: Sequence[DrawnCurve], ringed: Sequence[DrawnCurve], choice: Choice, frame: Frame) -> list[Trace]:
    """The legend of the marks and dashes that occur."""
    keys = []
    if len(choice.operations) > 1:
        for operation, says, dash in zip(choice.operations, ("solid", "dotted"), ("solid", "dot"), strict=True):
            key = marks.key(frame, "circle", escaped(f"{says}: {operation}"))
            keys.append({**key, "mode": "lines", "line": {"color": frame.theme.muted, "width": 2, "dash": dash}})
    if any(side.counted for side in ringed):
        keys.append(marks.key(frame, "circle-open", _build_label(ringed)))
    if any(side.curve.knee and side.curve.knee.reached for side in ringed):
        keys.append(marks.key(frame, "diamond-open", "knee"))
    return keys + marks.standing_keys([d.point for d in collect_drawn(drawn)], frame)

"""Latency against throughput: one curve per sweep, along its load ladder."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from reports.curves import STATISTICS, Curve, Point, in_order
from reports.figures import points as marks
from reports.figures.labels import Box, Label, place
from reports.figures.layout import Figure, Frame, Layout, Trace, axis, base_layout, cut, escaped, rounded
from reports.figures.theme import Look, looks

KIND_SAYS = {"service": "service time", "response": "response time"}
# Which axes are logarithmic, throughput and latency. "auto" decides about throughput by how far the ceilings lie apart.
SCALES = {"auto": (False, True), "log": (False, True), "loglog": (True, True), "linear": (False, False)}
WIDE_APART = 5.0
# The drawing area that labels are placed for: smaller than the real one, so that they never touch.
MOST_ANCHORS = 8
LONGEST_DIRECT = 28  # characters of a direct label
AREA_WIDE = (520.0, 300.0)
AREA_NARROW = (290.0, 230.0)


@dataclass(frozen=True, slots=True)
class Choice:
    """What is drawn of every curve."""

    operation: str = "READ"
    statistic: str = "p99"
    kind: str = "service"
    scale: str = "auto"
    highlight: str = ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One point in the figure's own units: operations per second and milliseconds."""

    point: Point
    x: float
    y: float
    low_y: float
    high_y: float
    repeats: int


@dataclass(frozen=True, slots=True)
class DrawnCurve:
    curve: Curve
    look: Look
    counted: tuple[Drawn, ...]
    hollow: tuple[Drawn, ...]


def drawn_curves(curves: Sequence[Curve], frame: Frame, choice: Choice) -> list[DrawnCurve]:
    """The points that have the chosen statistic, as coordinates; curves without any are left out."""
    appearance = looks(curves, frame.theme, highlight=choice.highlight)
    found = []
    for curve in in_order(curves):
        drawn = [one for point in curve.points if (one := _drawn(point, choice))]
        counted = tuple(one for one in drawn if one.point.counts)
        others = tuple(one for one in drawn if not one.point.counts)
        if drawn:
            found.append(DrawnCurve(curve, appearance[curve.sweep_id], counted, others))
    # What is only there for context is drawn first, below the rest.
    return sorted(found, key=lambda one: not one.look.faded)


def _drawn(point: Point, choice: Choice) -> Drawn | None:
    operation = point.operation(choice.operation, choice.kind)
    latency = operation.latencies_us.get(choice.statistic) if operation else None
    x = point.throughput_ops_s.median
    if latency is None or not (math.isfinite(x) and math.isfinite(latency.median)) or x <= 0 or latency.median <= 0:
        return None
    return Drawn(
        point,
        rounded(x),
        rounded(latency.median / 1e3),
        rounded(latency.low / 1e3),
        rounded(latency.high / 1e3),
        latency.n,
    )


def latency_figure(curves: Sequence[Curve], frame: Frame, choice: Choice) -> Figure:
    """Latency of one operation over the throughput of all of them."""
    drawn = drawn_curves(curves, frame, choice)
    log_x, log_y = _logarithmic(drawn, choice.scale)
    layout = base_layout(frame)
    layout["showlegend"] = True
    layout["xaxis"] = axis(frame, "throughput, all operations (ops/s)", tickformat="~s", **_range(drawn, "x", log_x))
    title = f"{choice.operation} {STATISTICS[choice.statistic]}, {KIND_SAYS[choice.kind]} (ms)"
    layout["yaxis"] = axis(frame, escaped(title), tickformat="~g", **_range(drawn, "y", log_y))
    layout["annotations"] += _labels(drawn, layout, frame)
    most = marks.MOST_WITH_RUNG_LABELS // 2 if frame.narrow else marks.MOST_WITH_RUNG_LABELS
    traces = [(one, _traces(one, choice, rungs=len(drawn) <= most)) for one in drawn]
    if len(drawn) > marks.MOST_WITH_RINGS or any(one.look.faded for one in drawn):
        lines = [(t, one.curve.database_name, one.look.faded) for one, some in traces for t in some if t["showlegend"]]
        marks.fold_legend(lines)
    ringed = [one for one in drawn if _has_rings(one, drawn)]
    data = [trace for _, some in traces for trace in some] + [ring for one in ringed for ring in _rings(one)]
    return {"data": data + _keys(drawn, ringed, frame), "layout": layout}


def _has_rings(one: DrawnCurve, drawn: Sequence[DrawnCurve]) -> bool:
    return len(drawn) <= marks.MOST_WITH_RINGS and not one.look.faded


def _logarithmic(drawn: Sequence[DrawnCurve], scale: str) -> tuple[bool, bool]:
    """On a linear axis a curve that ends at a fifth of the widest one is a vertical line at the edge."""
    ends = [max(d.x for d in one.counted) for one in drawn if one.counted]
    log_x, log_y = SCALES.get(scale, SCALES["auto"])
    if scale == "auto" and ends:
        log_x = max(ends) > WIDE_APART * min(ends)
    return log_x, log_y


def _traces(one: DrawnCurve, choice: Choice, *, rungs: bool) -> list[Trace]:
    look, counted = one.look, one.counted

    def hover(drawn: Sequence[Drawn]) -> list[str]:
        return [
            marks.hover_of(
                one.curve, look, d.point, operation=choice.operation, statistic=choice.statistic, kind=choice.kind
            )
            for d in drawn
        ]

    found: list[Trace] = []
    xs, ys = [d.x for d in counted], [d.y for d in counted]
    if any(d.repeats > 1 for d in counted):
        found.append(marks.band(look, x=xs, low=[d.low_y for d in counted], high=[d.high_y for d in counted]))
    found.append(marks.line(look, x=xs, y=ys, hover=hover(counted)))
    found += [marks.cross(look, x=d.x, y=d.y) for d in counted if d.point.overridden]
    if one.hollow:
        hollow = one.hollow
        found.append(marks.hollow(look, x=[d.x for d in hollow], y=[d.y for d in hollow], hover=hover(hollow)))
    if rungs:
        texts = [marks.rung_label(d.point) for d in counted]
        found.append(marks.rung_texts(look, x=xs, y=ys, texts=texts, ringed=[bool(_marks_of(one, d)) for d in counted]))
    return found


def _rings(one: DrawnCurve) -> list[Trace]:
    return [
        marks.ring(one.look, symbol, what, x=drawn.x, y=drawn.y)
        for drawn in one.counted
        for what, symbol in _marks_of(one, drawn).items()
    ]


def _marks_of(one: DrawnCurve, drawn: Drawn) -> dict[str, str]:
    """What a point is beside being a point, with the symbol of its ring."""
    here = (drawn.point.threads, drawn.point.throughput_ops_s.median)
    ceiling, knee = one.curve.ceiling, one.curve.knee
    found = {}
    if ceiling and here == (ceiling.threads, ceiling.throughput_ops_s):
        found["ceiling"] = "circle-open"
    if knee and knee.reached and here == (knee.threads, knee.throughput_ops_s):
        found["knee"] = "diamond-open"
    return found


def _keys(drawn: Sequence[DrawnCurve], ringed: Sequence[DrawnCurve], frame: Frame) -> list[Trace]:
    """What the marks mean, as far as they occur."""
    found = []
    if any(one.counted for one in ringed):
        found.append(marks.key(frame, "circle-open", "ceiling"))
    if any(one.curve.knee and one.curve.knee.reached for one in ringed):
        found.append(marks.key(frame, "diamond-open", "knee"))
    return found + marks.standing_keys([d.point for one in drawn for d in (*one.counted, *one.hollow)], frame)


def _range(drawn: Sequence[DrawnCurve], which: str, log: bool) -> dict[str, Any]:
    """The axis' type and range with room around the points; linear axes start at 0."""
    everything = [d for one in drawn for d in (*one.counted, *one.hollow)]
    values = [d.x for d in everything] if which == "x" else [v for d in everything for v in (d.low_y, d.high_y)]
    values = [value for value in values if value > 0]
    if not values:
        return {}
    # On the right there is room for the names of the curves that end there.
    beyond = 1.22 if which == "x" else 1.14
    if not log:
        return {"range": [0, max(values) * beyond]}
    low, high = math.log10(min(values)), math.log10(max(values))
    # Points that lie close together still stand among ticks that say where they are.
    room = max(0.12, (high - low) * 0.09, (0.8 - (high - low)) / 2)
    # Whole decades, on short axes with 2 and 5 between them.
    return {
        "type": "log",
        "range": [low - room, high + room * (2.6 if which == "x" else 1.2)],
        "dtick": 1 if high - low > 2.2 else "D2",
    }


def _labels(drawn: Sequence[DrawnCurve], layout: Layout, frame: Frame) -> list[dict[str, Any]]:
    """The direct labels, each near its curve's end, where it covers nothing."""
    width, height = AREA_NARROW if frame.narrow else AREA_WIDE
    across, up = layout["xaxis"], layout["yaxis"]
    everything = [d for one in drawn for d in (*one.counted, *one.hollow)]
    at = {id(d): (_share(across, d.x) * width, (1 - _share(up, d.y)) * height) for d in everything}
    obstacles = [Box(x - 24, y - 20, x + 8, y + 8) for x, y in at.values()]
    for one in drawn:
        obstacles += _along([at[id(d)] for d in one.counted])
    named = [one for one in drawn if one.counted and not one.look.faded]
    if len(named) > marks.MOST_WITH_RINGS:
        return []
    texts = [_short_label(one, drawn, frame) for one in named]
    labels = [Label(text, tuple(at[id(d)] for d in _preferred(one))) for one, text in zip(named, texts, strict=True)]
    found = []
    for one, text, spot in zip(named, texts, place(labels, obstacles, width, height), strict=True):
        anchor = _preferred(one)[spot.anchor]
        x, y = (coordinate(across, anchor.x), coordinate(up, anchor.y))
        found.append(marks.direct_label(one.look, text, x=x, y=y, place=spot))
    return found


def _short_label(one: DrawnCurve, drawn: Sequence[DrawnCurve], frame: Frame) -> str:
    """The whole label; on a telephone, where the colour says which database, only the mode if that is enough."""
    if frame.narrow and len({other.curve.label for other in drawn}) == len(drawn):
        return cut(one.curve.mode, 16)
    return cut(one.look.label, LONGEST_DIRECT)


def _preferred(one: DrawnCurve) -> list[Drawn]:
    """The points a label may stand at: from the last one backwards."""
    return list(reversed(one.counted))[:MOST_ANCHORS]


def _along(path: Sequence[tuple[float, float]]) -> list[Box]:
    """Small boxes along the segments of a curve, so that no label lies across it."""
    boxes = []
    for (x0, y0), (x1, y1) in pairwise(path):
        steps = max(1, int(math.hypot(x1 - x0, y1 - y0) / 12))
        for step in range(1, steps):
            x, y = x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps
            boxes.append(Box(x - 3, y - 3, x + 3, y + 3))
    return boxes


def coordinate(axis_: Mapping[str, Any], value: float) -> float:
    """A value as annotations want it: its logarithm on a log axis."""
    return rounded(math.log10(value)) if axis_.get("type") == "log" else value


def _share(axis_: Mapping[str, Any], value: float) -> float:
    """Where on the axis a value lies, from 0 to 1."""
    low, high = axis_.get("range", (0.0, 1.0))
    return float((coordinate(axis_, value) - low) / ((high - low) or 1.0))

"""Labels of lines where there is room for them, in pixels, and the lines that a reader lays through latency curves."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchsite.core import formatting
from reports.compare.analysis.equal_load import How, latency_at, throughput_within
from reports.compare.curves import STATISTICS
from reports.compare.figures.latency_points import Choice, DrawnCurve, collect_counted, collect_drawn
from reports.compare.figures.layout import Frame, Layout, Trace, annotation, coordinate, cut, escaped, rounded, straight
from reports.compare.figures.points import MAX_WITH_RINGS, MAX_WITH_RUNG_LABELS, Drawn, beside

Boxes = npt.NDArray[np.float64]  # left, top, right, bottom per row

CHARACTER_PX = 6.4
LINE_PX = 15.0
GAP_PX = 9.0
# How plotly's annotations anchor and shift a text right of its point, above, below, left; then at the corners.
SIDES = tuple(
    dict(zip(("xanchor", "yanchor", "xshift", "yshift"), side, strict=True))
    for side in (
        ("left", "middle", GAP_PX, 0.0),
        ("center", "bottom", 0.0, GAP_PX),
        ("center", "top", 0.0, -GAP_PX),
        ("right", "middle", -GAP_PX, 0.0),
        ("left", "bottom", GAP_PX, GAP_PX * 0.7),
        ("left", "top", GAP_PX, -GAP_PX * 0.7),
        ("right", "bottom", -GAP_PX, GAP_PX * 0.7),
        ("right", "top", -GAP_PX, -GAP_PX * 0.7),
    )
)
# Which share of a text lies left of its anchor, and above it.
SHARES_BEFORE = {"left": 0.0, "top": 0.0, "center": 0.5, "middle": 0.5, "right": 1.0, "bottom": 1.0}
# A line this many times beyond everything measured would make a dot of the curves: it is said, not drawn.
TOO_FAR = 2.0
SYMBOL = "x"
BESIDE = {"xanchor": "left", "yanchor": "bottom", "xshift": 4}
MAX_ANCHORS = 8
MAX_DIRECT = 28  # characters of a direct label
MAX_DIRECT_OF_FEW = 40  # of up to FEW in a wide figure, which has room for them
FEW = 3
# The drawing area that labels are placed for, in px. That of Compare is 433 to 596 px wide in windows of 1,000 to
# 1,280 px: labels may touch in the narrowest of them.
AREA_WIDE = (480.0, 230.0)
AREA_NARROW = (240.0, 190.0)
# Of a rung's name, which has ten points.
RUNG_CHARACTER_PX = 5.8
RUNG_LINE_PX = 11.0


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


class Label(NamedTuple):
    """A label to be placed at one of its anchors, given in pixels from the left top; the first is liked most."""

    text: str
    anchors: Sequence[tuple[float, float]]


class Spot(NamedTuple):
    """The number of the chosen anchor, the side of it that the text is on (one of `SIDES`), and the text's box."""

    anchor: int
    side: Mapping[str, Any]
    box: Box


def place_labels(
    labels: Sequence[Label], obstacles: Sequence[Box], area: tuple[float, float], *, only_free: bool = False
) -> list[Spot | None]:
    """A spot for each label, one after the other: the candidate that covers the least and stays inside.

    `only_free`: None for a label that would cover something or leave the area everywhere.
    """
    taken = np.array(obstacles, dtype=float).reshape(-1, 4)
    spots: list[Spot | None] = []
    for label in labels:
        candidates = list(product(range(len(label.anchors)), range(len(SIDES))))
        boxes = np.array([_box(label.text, label.anchors[anchor], SIDES[rank]) for anchor, rank in candidates])
        liking = np.array([rank * 2.0 + anchor * 5.0 for anchor, rank in candidates])
        over: Boxes = np.clip(-boxes[:, :2], 0, None).sum(axis=1) + np.clip(boxes[:, 2:] - np.array(area), 0, None).sum(
            axis=1
        )
        cost = _covered(boxes, taken) + over * 30.0
        best = int(np.argmin(cost + liking))
        if only_free and cost[best] > 0:
            spots.append(None)
            continue

        taken = np.vstack([taken, boxes[best]])
        anchor, rank = candidates[best]
        spots.append(Spot(anchor, SIDES[rank], Box(*boxes[best].tolist())))

    return spots


def _box(text: str, anchor: tuple[float, float], side: Mapping[str, Any]) -> Box:
    width = len(text) * CHARACTER_PX
    left = anchor[0] + side["xshift"] - SHARES_BEFORE[side["xanchor"]] * width
    top = anchor[1] - side["yshift"] - SHARES_BEFORE[side["yanchor"]] * LINE_PX
    return Box(left, top, left + width, top + LINE_PX)


def _covered(boxes: Boxes, taken: Boxes) -> Boxes:
    """For each box, the area in square pixels that it has in common with what is taken."""
    width = np.minimum(boxes[:, None, 2], taken[None, :, 2]) - np.maximum(boxes[:, None, 0], taken[None, :, 0])
    height = np.minimum(boxes[:, None, 3], taken[None, :, 3]) - np.maximum(boxes[:, None, 1], taken[None, :, 1])
    area: Boxes = (np.clip(width, 0, None) * np.clip(height, 0, None)).sum(axis=1)
    return area


def share(axis_: Mapping[str, Any], value: float) -> float:
    """Where on the axis a value lies, from 0 to 1."""
    low, high = axis_.get("range", (0.0, 1.0))
    return float((coordinate(axis_, value) - low) / ((high - low) or 1.0))


def pixels(layout: Layout, area: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    """Where a point lies in a drawing area, from the left top."""
    width, height = area
    return share(layout["xaxis"], x) * width, (1 - share(layout["yaxis"], y)) * height


# The load in ops/s and the limit in ms that are drawn as lines.
Lines = tuple[float | None, float | None]


def choose_lines(drawn: Sequence[DrawnCurve], choice: Choice) -> Lines:
    """Those of the choice that have a place beside the curves."""
    counted = collect_counted(drawn)
    if not counted:
        return None, None

    load_ops_s = choice.load_ops_s
    if load_ops_s and load_ops_s > max(d.x for d in counted) * TOO_FAR:
        load_ops_s = None
    # A limit far below every point is no line either; latencies lie decades apart, so that is generous.
    latencies_ms = [d.y for d in counted]
    limit_ms = choice.limit_us and choice.limit_us / 1e3
    if limit_ms and not min(latencies_ms) / 20 <= limit_ms <= max(latencies_ms) * 20:
        limit_ms = None
    return load_ops_s, limit_ms


def lay_lines(drawn: Sequence[DrawnCurve], choice: Choice, lines: Lines, layout: Layout, frame: Frame) -> list[Trace]:
    """Draws the lines into the layout and returns where they meet the curves: an x on each, named in its hover."""
    load, limit = lines
    shapes = layout.setdefault("shapes", [])
    traces = []
    if load is not None:
        shapes.append(straight(frame.theme.ink, "dashdot", x=load, width=1.25, **_movable("load", frame)))
        x = coordinate(layout["xaxis"], load)
        layout["annotations"].append(annotation(_load_text(load), frame.theme.muted, x=x, y=0, yref="paper", **BESIDE))
        traces += [trace for side in drawn if (trace := _at_load(side, load, choice, frame))]

    if limit is not None:
        shapes.append(straight(frame.theme.ink, "dashdot", y=limit, width=1.25, **_movable("within", frame)))
        text = f"{STATISTICS[choice.statistic]} ≤ {formatting.latency(limit * 1e3)}"
        y = coordinate(layout["yaxis"], limit)
        layout["annotations"].append(annotation(text, frame.theme.muted, x=0, y=y, xref="paper", **BESIDE))
        traces += [trace for side in drawn if (trace := _within(side, limit, choice, frame))]

    return traces


def _movable(name: str, frame: Frame) -> Layout:
    """A line with a name can be dragged; not on a telephone, where a finger scrolls."""
    if frame.linked and not frame.narrow:
        return {"name": name}
    return {"layer": "below"}


def _at_load(side: DrawnCurve, load: float, choice: Choice, frame: Frame) -> Trace | None:
    reading = latency_at(side.load_points(), load)
    if reading.latency_us is None or side.look.faded:
        return None

    text = f"{side.operation} {STATISTICS[choice.statistic]} {formatting.latency(reading.latency_us)}"
    lines = [f"at {formatting.throughput(load)}: {text}"]
    if reading.how is How.MEASURED:
        rung = reading.between[0]
        lines.append(f"measured at {rung.label}")
        return _cross(side, rung.throughput_ops_s, rung.latency_us / 1e3, lines, frame)

    low, high = reading.between
    lines.append(f"interpolated between {low.label} and {high.label}")
    lines.append(
        f"from {formatting.latency(reading.low_us)} to {formatting.latency(reading.high_us)} by the rungs beside it"
    )
    return _cross(side, load, reading.latency_us / 1e3, lines, frame)


def _within(side: DrawnCurve, limit_ms: float, choice: Choice, frame: Frame) -> Trace | None:
    """Only where the curve goes through the limit: a ceiling that is fast enough meets no line."""
    reading = throughput_within(side.load_points(), limit_ms * 1e3)
    if reading.throughput_ops_s is None or reading.how is not How.INTERPOLATED or side.look.faded:
        return None
    ceiling = side.curve.ceiling
    if ceiling and ceiling.bracket and reading.throughput_ops_s > ceiling.throughput_ops_s:
        return None  # What lies above the sustained ceiling of targets is no throughput to promise.
    between = " and ".join(point.label for point in reading.between)
    text = f"{side.operation} {STATISTICS[choice.statistic]} within {formatting.latency(limit_ms * 1e3)}"
    lines = [f"{text} up to {formatting.throughput(reading.throughput_ops_s)}", f"interpolated between {between}"]
    return _cross(side, reading.throughput_ops_s, limit_ms, lines, frame)


def _cross(side: DrawnCurve, x: float, y: float, lines: Sequence[str], frame: Frame) -> Trace:
    return beside(
        side.look,
        "on the line",
        [rounded(x)],
        [rounded(y)],
        hover=["<br>".join([f"<b>{escaped(side.look.label)}</b>", *map(escaped, lines)])],
        marker={
            "color": side.look.colour,
            "symbol": SYMBOL,
            "size": 10,
            "line": {"width": 1.5, "color": frame.theme.panel},
        },
    )


def direct_labels(
    drawn: Sequence[DrawnCurve], layout: Layout, frame: Frame, load_ops_s: float | None
) -> tuple[list[dict[str, Any]], list[Box]]:
    """The names of the curves that are not grey, of many those that have room; of two operations, of the solid one.

    With the boxes that they cover. `load_ops_s` is where a line stands.
    """
    area = AREA_NARROW if frame.narrow else AREA_WIDE
    clear = [side for side in drawn if not side.look.faded and not side.dotted]
    if len(clear) > MAX_WITH_RINGS:
        return [], []

    named = [(side, anchors) for side in clear if (anchors := _anchors(side, layout))]
    everything = collect_drawn(drawn)
    at = {id(d): pixels(layout, area, d.x, d.y) for d in everything}
    obstacles = [Box(x - 24, y - 20, x + 8, y + 8) for x, y in at.values()]
    # A line through a name hides more of it than the few pixels that it is wide.
    obstacles += _load_line(load_ops_s, layout, area, half_px=LINE_PX)
    # A name may lie on what is there for context only.
    for side in drawn:
        if not side.look.faded:
            obstacles += _along([at[id(d)] for d in side.counted])

    labels = [Label(_short_label(side, drawn, frame), [at[id(d)] for d in anchors]) for side, anchors in named]
    annotations = []
    covered = []
    spots = place_labels(labels, obstacles, area, only_free=len(named) > MAX_WITH_RUNG_LABELS)
    for (side, anchors), label, spot in zip(named, labels, spots, strict=True):
        if spot is None:
            continue
        anchor = anchors[spot.anchor]
        x, y = coordinate(layout["xaxis"], anchor.x), coordinate(layout["yaxis"], anchor.y)
        linked = {}
        if frame.linked:
            linked = {"name": str(side.curve.sweep_id)}
        annotations.append(annotation(escaped(label.text), side.look.colour, x=x, y=y, **spot.side, **linked))
        covered.append(spot.box)

    return annotations, covered


def thin_rung_labels(
    traces: Sequence[Trace],
    drawn: Sequence[DrawnCurve],
    layout: Layout,
    frame: Frame,
    load_ops_s: float | None = None,
    names_of_curves: Sequence[Box] = (),
) -> None:
    """Removes the names of rungs that would lie on something: ends of curves and ringed points keep theirs first.

    `load_ops_s` is where a line is.
    """
    area = AREA_NARROW if frame.narrow else AREA_WIDE
    at = partial(pixels, layout, area)
    names = []
    for trace in [trace for trace in traces if trace["mode"] == "markers+text"]:
        sizes = trace["marker"]["size"]
        for index, size in enumerate(sizes):
            is_ordinary = 0 < index < len(sizes) - 1 and size == min(sizes)
            names.append((is_ordinary, trace, index, size))

    axis = Box(-area[0], 0, 0, area[1])  # with its numbers, left of the drawing area
    obstacles = [axis, *names_of_curves, *_load_line(load_ops_s, layout, area)]
    for side in drawn:
        path = [at(d.x, d.y) for d in side.counted]
        # A name stands off its own point, whose box is as small as the mark.
        points = path + [at(d.x, d.y) for d in side.hollow]
        obstacles += _along(path) + [Box(x - 3, y - 3, x + 3, y + 3) for x, y in points]

    for _, trace, index, size in sorted(names, key=lambda name: name[0]):
        right, bottom = at(trace["x"][index], trace["y"][index])
        right, bottom = right - size / 2, bottom - size / 2
        box = Box(right - RUNG_CHARACTER_PX * len(trace["text"][index]), bottom - RUNG_LINE_PX, right, bottom)
        if any(box.overlaps(obstacle) for obstacle in obstacles):
            trace["text"][index] = ""
        else:
            obstacles.append(box)


def _load_line(load_ops_s: float | None, layout: Layout, area: tuple[float, float], half_px: float = 2) -> list[Box]:
    """The line of a load, `half_px` to both sides, and its text, which begins at the lower end."""
    if not load_ops_s:
        return []
    x, height = share(layout["xaxis"], load_ops_s) * area[0], area[1]
    text = CHARACTER_PX * len(_load_text(load_ops_s))
    return [Box(x - half_px, 0, x + half_px, height), Box(x, height - LINE_PX, x + 4 + text, height)]


def _load_text(load_ops_s: float) -> str:
    return f"at {formatting.throughput(load_ops_s)}"


def _short_label(side: DrawnCurve, drawn: Sequence[DrawnCurve], frame: Frame) -> str:
    """The whole label; on a telephone and of many, where the colour says which database, the mode if that is enough."""
    solid = [other for other in drawn if not other.dotted]
    if (frame.narrow or len(solid) > MAX_WITH_RUNG_LABELS) and len({other.curve.label for other in solid}) == len(
        solid
    ):
        return cut(side.curve.mode, 16, [other.curve.mode for other in solid])
    most = MAX_DIRECT_OF_FEW if len(solid) <= FEW and not frame.narrow else MAX_DIRECT
    return cut(side.look.label, most, [other.look.label for other in solid])


def _anchors(side: DrawnCurve, layout: Layout) -> list[Drawn]:
    """The points a label may stand at, from the last one backwards: those that are inside the axes."""
    across, up = layout["xaxis"], layout["yaxis"]
    inside = [d for d in side.counted if 0 <= share(across, d.x) <= 1 and 0 <= share(up, d.y) <= 1]
    return inside[::-1][:MAX_ANCHORS]


def _along(path: Sequence[tuple[float, float]]) -> list[Box]:
    """Small boxes along the segments of a curve, so that no label lies across it."""
    boxes = []
    for (x0, y0), (x1, y1) in pairwise(path):
        steps = min(max(1, int(math.hypot(x1 - x0, y1 - y0) / 12)), 60)
        for step in range(1, steps):
            x, y = x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps
            boxes.append(Box(x - 3, y - 3, x + 3, y + 3))
    return boxes

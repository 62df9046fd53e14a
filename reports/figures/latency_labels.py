"""Where the names of latency curves stand: beside their ends, on nothing else."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from reports.figures import points as marks
from reports.figures.labels import Box, Label, coordinate, pixels, place, share
from reports.figures.latency_points import DrawnCurve
from reports.figures.layout import Frame, Layout, Trace, cut
from reports.figures.points import Drawn

MAX_ANCHORS = 8
MAX_DIRECT = 28  # characters of a direct label
# The drawing area that labels are placed for: smaller than the real one, so that they never touch.
AREA_WIDE = (480.0, 200.0)
AREA_NARROW = (280.0, 190.0)
# Of a rung's name, which has ten points.
RUNG_CHARACTER_PX = 5.8
RUNG_LINE_PX = 11.0


def direct_labels(
    drawn: Sequence[DrawnCurve], layout: Layout, frame: Frame, load_ops_s: float | None = None
) -> list[dict[str, Any]]:
    """The names of the curves that are not grey, of many those that have room; of two operations, of the solid one.

    `load_ops_s` is where a line stands.
    """
    width, height = area = AREA_NARROW if frame.narrow else AREA_WIDE
    across, up = layout["xaxis"], layout["yaxis"]
    clear = [side for side in drawn if not side.look.faded and not side.dashed]
    if len(clear) > marks.MAX_WITH_RINGS:
        return []
    named = [(side, anchors) for side in clear if (anchors := _anchors(side, layout))]
    everything = [d for side in drawn for d in (*side.counted, *side.hollow)]
    at = {id(d): pixels(layout, area, d.x, d.y) for d in everything}
    obstacles = [Box(x - 24, y - 20, x + 8, y + 8) for x, y in at.values()]
    if load_ops_s:
        x = share(across, load_ops_s) * width
        obstacles.append(Box(x - 2, 0, x + 2, height))
    # A name may lie on what is there for context only.
    for side in drawn:
        obstacles += [] if side.look.faded else _along([at[id(d)] for d in side.counted])
    labels = [Label(_short_label(side, drawn, frame), tuple(at[id(d)] for d in some)) for side, some in named]
    annotations = []
    spots = place(labels, obstacles, width, height, only_free=len(named) > marks.MAX_WITH_RUNG_LABELS)
    for (side, some), label, spot in zip(named, labels, spots, strict=True):
        if spot is None:
            continue
        anchor = some[spot.anchor]
        x, y = (coordinate(across, anchor.x), coordinate(up, anchor.y))
        linked = {"name": str(side.curve.sweep_id)} if frame.linked else {}
        annotations.append({**spot.annotation(label.text, side.look.colour, x=x, y=y), **linked})
    return annotations


def thin_rung_labels(traces: Sequence[Trace], drawn: Sequence[DrawnCurve], layout: Layout, frame: Frame) -> None:
    """Removes the names of rungs that would lie on something: ends of curves and ringed points keep theirs first."""
    at = partial(pixels, layout, AREA_NARROW if frame.narrow else AREA_WIDE)
    texts = [trace for trace in traces if trace["mode"] == "markers+text"]
    names = [
        (0 < index < len(trace["x"]) - 1 and size == min(trace["marker"]["size"]), trace, index, size)
        for trace in texts
        for index, size in enumerate(trace["marker"]["size"])
    ]
    obstacles: list[Box] = []
    for side in drawn:
        path = [at(d.x, d.y) for d in side.counted]
        # A name stands off its own point, whose box is as small as the mark.
        obstacles += _along(path) + [Box(x - 3, y - 3, x + 3, y + 3) for x, y in path]
    kept: list[Box] = []
    for _, trace, index, size in sorted(names, key=lambda name: name[0]):
        right, bottom = at(trace["x"][index], trace["y"][index])
        right, bottom = right - size / 2, bottom - size / 2
        box = Box(right - RUNG_CHARACTER_PX * len(trace["text"][index]), bottom - RUNG_LINE_PX, right, bottom)
        if any(box.overlaps(other) for other in (*kept, *obstacles)):
            trace["text"][index] = ""
        else:
            kept.append(box)


def _short_label(side: DrawnCurve, drawn: Sequence[DrawnCurve], frame: Frame) -> str:
    """The whole label; on a telephone and of many, where the colour says which database, the mode if that is enough."""
    solid = [other for other in drawn if not other.dashed]
    if (frame.narrow or len(solid) > marks.MAX_WITH_RUNG_LABELS) and len({other.curve.label for other in solid}) == len(
        solid
    ):
        return cut(side.curve.mode, 16)
    return cut(side.look.label, MAX_DIRECT)


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

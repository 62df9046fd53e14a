"""Where direct labels go, so that they neither cover each other nor a point. Arithmetic in pixels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reports.figures.layout import Layout, annotation, escaped, rounded

Boxes = npt.NDArray[np.float64]  # left, top, right, bottom per row

CHARACTER_PX = 6.4
LINE_PX = 15.0
GAP_PX = 9.0


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


@dataclass(frozen=True, slots=True)
class Label:
    """A label to be placed at one of its anchors, given in pixels from the left top; the first is liked most."""

    text: str
    anchors: tuple[tuple[float, float], ...]

    @property
    def width(self) -> float:
        return len(self.text) * CHARACTER_PX


@dataclass(frozen=True, slots=True)
class Place:
    """The chosen anchor, and which side of it the text stands on, as plotly's annotations say it."""

    anchor: int
    xanchor: str
    yanchor: str
    xshift: float
    yshift: float

    def annotation(self, text: str, colour: str, **at: Any) -> dict[str, Any]:
        """The text beside the anchor, whose coordinates are `x` and `y`."""
        sides = {"xanchor": self.xanchor, "yanchor": self.yanchor, "xshift": self.xshift, "yshift": self.yshift}
        return annotation(escaped(text), colour, **at, **sides)


# Right of the point, above, below, left; then the corners.
SIDES = (
    ("left", "middle", GAP_PX, 0.0),
    ("center", "bottom", 0.0, GAP_PX),
    ("center", "top", 0.0, -GAP_PX),
    ("right", "middle", -GAP_PX, 0.0),
    ("left", "bottom", GAP_PX, GAP_PX * 0.7),
    ("left", "top", GAP_PX, -GAP_PX * 0.7),
    ("right", "bottom", -GAP_PX, GAP_PX * 0.7),
    ("right", "top", -GAP_PX, -GAP_PX * 0.7),
)


def place(
    labels: Sequence[Label], obstacles: Sequence[Box], width: float, height: float, *, only_free: bool = False
) -> list[Place | None]:
    """A place for each label, one after the other: the candidate that covers the least and stays inside.

    `only_free`: None for a label that would cover something or leave the area everywhere.
    """
    taken = np.array([(box.left, box.top, box.right, box.bottom) for box in obstacles], dtype=float).reshape(-1, 4)
    chosen: list[Place | None] = []
    for label in labels:
        candidates = [(anchor, rank) for anchor in range(len(label.anchors)) for rank in range(len(SIDES))]
        boxes = np.array([_box(label, label.anchors[anchor], SIDES[rank]) for anchor, rank in candidates])
        liking = np.array([rank * 2.0 + anchor * 5.0 for anchor, rank in candidates])
        cost = _covered(boxes, taken) + _outside(boxes, width, height) * 30.0
        best = int(np.argmin(cost + liking))
        if only_free and cost[best] > 0:
            chosen.append(None)
            continue
        taken = np.vstack([taken, boxes[best]])
        anchor, rank = candidates[best]
        chosen.append(Place(anchor, *SIDES[rank]))
    return chosen


def _box(label: Label, at: tuple[float, float], side: tuple[str, str, float, float]) -> tuple[float, ...]:
    xanchor, yanchor, xshift, yshift = side
    x, y = at[0] + xshift, at[1] - yshift
    left = x - {"left": 0.0, "center": 0.5, "right": 1.0}[xanchor] * label.width
    top = y - {"top": 0.0, "middle": 0.5, "bottom": 1.0}[yanchor] * LINE_PX
    return (left, top, left + label.width, top + LINE_PX)


def _covered(boxes: Boxes, taken: Boxes) -> Boxes:
    """For each box, the area in square pixels that it has in common with what is taken."""
    width = np.minimum(boxes[:, None, 2], taken[None, :, 2]) - np.maximum(boxes[:, None, 0], taken[None, :, 0])
    height = np.minimum(boxes[:, None, 3], taken[None, :, 3]) - np.maximum(boxes[:, None, 1], taken[None, :, 1])
    area: Boxes = (np.clip(width, 0, None) * np.clip(height, 0, None)).sum(axis=1)
    return area


def _outside(boxes: Boxes, width: float, height: float) -> Boxes:
    """For each box, by how many pixels it leaves the area."""
    over: Boxes = np.clip(-boxes[:, :2], 0, None).sum(axis=1) + np.clip(
        boxes[:, 2:] - np.array([width, height]), 0, None
    ).sum(axis=1)
    return over


def coordinate(axis_: Mapping[str, Any], value: float) -> float:
    """A value as annotations want it: its logarithm on a log axis."""
    return rounded(math.log10(value)) if axis_.get("type") == "log" else value


def share(axis_: Mapping[str, Any], value: float) -> float:
    """Where on the axis a value lies, from 0 to 1."""
    low, high = axis_.get("range", (0.0, 1.0))
    return float((coordinate(axis_, value) - low) / ((high - low) or 1.0))


def pixels(layout: Layout, area: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    """Where a point lies in a drawing area, from the left top."""
    width, height = area
    return share(layout["xaxis"], x) * width, (1 - share(layout["yaxis"], y)) * height

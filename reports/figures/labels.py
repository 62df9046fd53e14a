"""Where direct labels go, so that they neither cover each other nor a point. Pure arithmetic in pixels."""

from collections.abc import Sequence
from dataclasses import dataclass

CHARACTER_PX = 6.4
LINE_PX = 15.0
GAP_PX = 9.0


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """The common area in square pixels."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return width * height if width > 0 and height > 0 else 0.0


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


def place(labels: Sequence[Label], obstacles: Sequence[Box], width: float, height: float) -> list[Place]:
    """A place for each label, one after the other: the candidate that covers the least and stays inside."""
    taken = list(obstacles)
    chosen: list[Place] = []
    for label in labels:
        _, best, box = min(
            (
                (_cost(box, taken, width, height) + rank * 2.0 + anchor * 5.0, Place(anchor, *side), box)
                for anchor, at in enumerate(label.anchors)
                for rank, side in enumerate(SIDES)
                for box in (_box(label, at, side),)
            ),
            key=lambda candidate: candidate[0],
        )
        taken.append(box)
        chosen.append(best)
    return chosen


def _box(label: Label, at: tuple[float, float], side: tuple[str, str, float, float]) -> Box:
    xanchor, yanchor, xshift, yshift = side
    x, y = at[0] + xshift, at[1] - yshift
    left = x - {"left": 0.0, "center": 0.5, "right": 1.0}[xanchor] * label.width
    top = y - {"top": 0.0, "middle": 0.5, "bottom": 1.0}[yanchor] * LINE_PX
    return Box(left, top, left + label.width, top + LINE_PX)


def _cost(box: Box, taken: Sequence[Box], width: float, height: float) -> float:
    outside = max(0.0, -box.left) + max(0.0, box.right - width) + max(0.0, -box.top) + max(0.0, box.bottom - height)
    return sum(box.overlap(other) for other in taken) + outside * 30.0

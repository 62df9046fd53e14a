"""Names of lines at their right ends, pushed apart where lines end close together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reports.figures.layout import Layout, annotation, rounded, shortened

# More direct labels than this at the right edge would cover each other.
MAX_LABELS = 8
MIN_APART = 0.055  # of the axis
INSIDE_APART = 1.6  # times that, where the figure is low
CHARACTER_PX = 6.4


@dataclass(frozen=True, slots=True)
class End:
    """Where one line ends, in the units of the y axis, and what stands there."""

    text: str
    y: float
    colour: str


def label_ends(layout: Layout, ends: Sequence[End], *, longest: int = 30, inside: bool = False) -> None:
    """Write the names at the right edge of a linear y axis and give them their margin, or above the ends, inside."""
    low, high = layout["yaxis"]["range"]
    least = (high - low) * MIN_APART * (INSIDE_APART if inside else 1)
    below = -math.inf
    for end in sorted(ends, key=lambda end: end.y):
        y = max(end.y, below + least)
        below = y
        if inside:
            place: dict[str, Any] = {"xanchor": "right", "yanchor": "bottom", "yshift": 6}
        else:
            place = {"xanchor": "left", "yanchor": "middle", "xshift": 4}
        layout["annotations"].append(
            annotation(shortened(end.text, longest), end.colour, x=1, xref="paper", y=rounded(y), **place)
        )
    if inside:
        return
    most = max((len(end.text) for end in ends), default=0)
    layout["margin"]["r"] = 24 + round(min(most, longest) * CHARACTER_PX)

"""A finished figure for another medium than a screen: every size in it times a factor, so that type and marks agree.

A slide is 1920 x 1080 pixels and is drawn on 960 x 540 with two device pixels each. A column of a paper is 84 mm wide,
317 pixels of 96 to the inch, and its type has 8 points, 10.67 pixels; its marks are finer, for they stand closer.
"""

from typing import Any, Literal, NamedTuple

from benchsite.core.formatting import is_number
from reports.compare.figures.layout import PlotlyFigure

Medium = Literal["screen", "slide", "paper"]


class Factors(NamedTuple):
    """By how much type with the room that it needs grows, and by how much lines and markers."""

    type: float
    marks: float


# Type from that of the ordinary (12 px) and of the narrow (11 px) arrangement.
FACTORS = {"slide": Factors(16 / 12, 16 / 12), "paper": Factors(10.67 / 11, 0.62)}
# What is a length in pixels, wherever in a figure it stands; what is measured in data has other names, or is a bar.
ROOM = frozenset({"itemwidth", "entrywidth", "standoff", "xshift", "yshift", "l", "r", "t", "b"})
LINES = frozenset({"width", "thickness"})
TYPE_HOLDERS = frozenset({"font", "tickfont", "textfont"})


def medium_named(name: str) -> Medium:
    """The screen for everything that is neither of the others."""
    media: dict[str, Medium] = {"slide": "slide", "paper": "paper"}
    return media.get(name, "screen")


def scaled(figure: PlotlyFigure, medium: Medium) -> PlotlyFigure:
    """The figure with its lengths multiplied."""
    factors = FACTORS.get(medium)
    if factors is None:
        return figure
    data = [_scaled(trace, factors) for trace in figure["data"]]
    for trace, original in zip(data, figure["data"], strict=True):
        if original["type"] == "bar":
            trace["width"] = original["width"]  # in rows
    return {"data": data, "layout": _scaled(figure["layout"], factors)}


def _scaled(value: Any, factors: Factors, holder: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _length(name, item, factors, holder) for name, item in value.items()}
    if isinstance(value, list):
        return [_scaled(item, factors, holder) if isinstance(item, dict) else item for item in value]
    return value


def _length(name: str, value: Any, factors: Factors, holder: str) -> Any:
    """One entry: multiplied where it is a length, or looked into."""
    factor = None
    if name == "size":
        factor = factors.type if holder in TYPE_HOLDERS else factors.marks
    elif name in ROOM:
        factor = factors.type
    elif name in LINES:
        factor = factors.marks

    if factor is not None and is_number(value):
        return round(value * factor, 2)
    if factor is not None and isinstance(value, list) and all(map(is_number, value)):
        return [round(number * factor, 2) for number in value]

    return _scaled(value, factors, name)

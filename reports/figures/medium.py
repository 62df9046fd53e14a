"""A finished figure for another medium than a screen: every size in it times a factor, so that type and marks agree.

A slide is 1920 x 1080 pixels and is drawn on 960 x 540 with two device pixels each. A column of a paper is 84 mm wide,
317 pixels of 96 to the inch, and its type has 8 points, 10.67 pixels.
"""

from typing import Any, Literal

from reports.figures.layout import Figure

Medium = Literal["screen", "slide", "paper"]
# From the type of the ordinary (12 px) and the narrow (11 px) arrangement.
FACTORS: dict[Medium, float] = {"screen": 1.0, "slide": 16 / 12, "paper": 10.67 / 11}
# What is a length in pixels, wherever in a figure it stands.
SIZES = frozenset({"size", "width", "thickness", "itemwidth", "standoff", "xshift", "yshift", "l", "r", "t", "b"})
# A length in the units of an axis.
IN_DATA = frozenset({"bar"})


def medium_named(name: str) -> Medium:
    """The screen for everything that is neither of the others."""
    return "slide" if name == "slide" else "paper" if name == "paper" else "screen"


def scaled(figure: Figure, medium: Medium) -> Figure:
    """The figure with its lengths multiplied; what is measured in data is untouched."""
    factor = FACTORS[medium]
    if factor == 1.0:
        return figure
    data = [_trace(trace, factor) for trace in figure["data"]]
    return {"data": data, "layout": _scaled(figure["layout"], factor)}


def _trace(trace: dict[str, Any], factor: float) -> dict[str, Any]:
    found: dict[str, Any] = _scaled(trace, factor)
    if trace.get("type") in IN_DATA and "width" in trace:
        found["width"] = trace["width"]
    return found


def _scaled(value: Any, factor: float, *, is_size: bool = False) -> Any:
    if isinstance(value, dict):
        return {name: _scaled(one, factor, is_size=name in SIZES) for name, one in value.items()}
    if isinstance(value, list):
        numbers = is_size and all(isinstance(one, int | float) for one in value)
        return [round(one * factor, 2) for one in value] if numbers else [_nested(one, factor) for one in value]
    if is_size and isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * factor, 2)
    return value


def _nested(value: Any, factor: float) -> Any:
    return _scaled(value, factor) if isinstance(value, dict) else value

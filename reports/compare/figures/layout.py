"""What all figures share: fonts, axes, margins, escaping, and the lines that say what a figure is not."""

import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from benchsite.core.formatting import first_difference
from reports.compare.analysis.downsample import MAX_POINTS, thinned
from reports.compare.figures.theme import SANS, Theme

Array = npt.NDArray[np.float64]
Trace = dict[str, Any]
Layout = dict[str, Any]

# A label has room for this many characters; the whole name is in the hover.
MAX_LABEL_LENGTH = 34
NOTE_PX = 16  # a line of what a figure is not
CHARACTER_PX = 6.6  # of an ordinary font of 12 px
HOVER = "%{text}<extra></extra>"  # each point's own text, and no name of the trace beside it


class PlotlyFigure(TypedDict):
    """What plotly.js draws."""

    data: list[Trace]
    layout: Layout


@dataclass(frozen=True, slots=True)
class Frame:
    """How a figure is to be drawn, whatever it shows."""

    theme: Theme
    narrow: bool = False  # for about 390 px
    notes: tuple[str, ...] = ()  # what stands in the picture itself: "demonstration: too short to publish"
    linked: bool = False  # whether traces carry their sweep (`meta`) and points their run (`customdata`)

    @property
    def font_px(self) -> int:
        return 11 if self.narrow else 12


# Characters that turn the direction of what follows: in a name they would reverse its neighbours.
_TURNING = str.maketrans("", "", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


def escaped(text: object) -> str:
    """Text for plotly, which reads a small HTML of its own in every string."""
    return str(text).translate(_TURNING).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut(text: str, most: int, among: Collection[str] = ()) -> str:
    """Cut in the middle where it is too long: names often differ at their ends. Not escaped.

    Where that leaves the same of another one of `among`, it begins at the latest with what tells them apart.
    """
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    begin, end = text[:head].rstrip(), text[len(text) - (most - 1 - head) :].lstrip()
    alike = [other for other in among if other != text and other.startswith(begin) and other.endswith(end)]
    if not alike:
        return f"{begin}…{end}"
    differs = max(first_difference(text, other) for other in alike)
    return f"…{cut(text[min(differs, len(text) - most + 1) :], most - 1)}"


def shortened(text: str, most: int = MAX_LABEL_LENGTH, among: Collection[str] = ()) -> str:
    """Cut and escaped."""
    return escaped(cut(text, most, among))


def base_layout(frame: Frame) -> Layout:
    """The frame of every figure; transparent, so that the panel of the page is its ground."""
    theme = frame.theme
    lines = wrap_notes(frame.notes, is_narrow=frame.narrow)
    dragmode: str | bool = "zoom"
    xref = "paper"
    if frame.narrow:
        dragmode = False
        xref = "container"

    return {
        "font": {"family": SANS, "size": frame.font_px, "color": theme.ink},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        # Room for half a number at the end of an axis: plotly.js would make it, and move everything.
        "margin": {
            "l": 46 if frame.narrow else 60,
            "r": 16 if frame.narrow else 24,
            "t": 18 + NOTE_PX * len(lines),
            "b": 44,
        },
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": theme.panel, "bordercolor": theme.axis, "font": {"family": SANS, "color": theme.ink}},
        "legend": {
            "orientation": "h",
            "xref": xref,
            "x": 0,
            "xanchor": "left",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "bgcolor": "rgba(0,0,0,0)",
            "itemwidth": 34,
            "tracegroupgap": 0,
        },
        "annotations": _notes(frame, lines),
        "showlegend": False,
        "dragmode": dragmode,
        "modebar": {"bgcolor": "rgba(0,0,0,0)"},
    }


def wrap_notes(notes: Sequence[str], *, is_narrow: bool) -> list[str]:
    """The lines above a figure, each NOTE_PX high."""
    return textwrap.wrap(" · ".join(notes), 38 if is_narrow else 84)


def axis(frame: Frame, title: str, **more: Any) -> dict[str, Any]:
    """One axis with its title and unit."""
    theme = frame.theme
    return {
        "title": {"text": title, "font": {"color": theme.muted, "size": frame.font_px + 1}, "standoff": 8},
        "gridcolor": theme.grid,
        "linecolor": theme.axis,
        "zeroline": False,
        "tickfont": {"color": theme.muted},
        "automargin": True,
        # plotly.js hides labels beyond the figure's edge, and with none left puts the axis' title at -Infinity.
        "ticklabeloverflow": "allow",
        "fixedrange": frame.narrow,
        **more,
    }


def ceiling_axis(frame: Frame, **more: Any) -> dict[str, Any]:
    title = "ceiling (ops/s)" if frame.narrow else "throughput ceiling (ops/s)"
    return axis(frame, title, tickformat="~s", **more)


def scatter(x: Sequence[Any], y: Sequence[Any], name: str, *, hover: Sequence[str] | None = None, **more: Any) -> Trace:
    """Points or lines; `hover` is the text of each point, and without it the trace does not answer to the pointer.

    `name` and `hover` are escaped already.
    """
    pointed = {"hoverinfo": "skip"} if hover is None else {"text": list(hover), "hovertemplate": HOVER}
    return {"type": "scatter", "mode": "markers", "x": list(x), "y": list(y), "name": name, **pointed, **more}


def time_line(
    seconds: Array,
    values: Array,
    name: str,
    describe: Callable[[float], str],
    line: Mapping[str, Any],
    *,
    divisor: float = 1.0,
    most: int = MAX_POINTS,
    **more: Any,
) -> Trace:
    """A line of at most `most` points in units of `divisor`; its pointer shows each value with the escaped `name`."""
    indices = thinned(values, most)
    return scatter(
        coordinates(seconds[indices]),
        coordinates(values[indices] / divisor),
        name,
        hover=[describe(value) for value in values[indices]],
        hovertemplate=f"%{{text}}<extra>{name}</extra>",
        mode="lines" if indices.size > 1 else "markers",
        line=line,
        marker={"color": line["color"]},
        connectgaps=False,
        **more,
    )


def annotation(text: str, colour: str, **position: Any) -> dict[str, Any]:
    """A text in the picture, escaped already; its place as plotly's annotations say it."""
    return {"text": text, "showarrow": False, "font": {"color": colour}, **position}


def straight(
    colour: str, dash: str, *, x: Any = None, y: float | None = None, width: float = 1, **more: Any
) -> dict[str, Any]:
    """A line across the whole picture at one value of the axis that is named."""
    along, across, value = ("x", "y", x) if y is None else ("y", "x", y)
    return {
        "type": "line",
        f"{along}0": value,
        f"{along}1": value,
        f"{across}ref": "paper",
        f"{across}0": 0,
        f"{across}1": 1,
        "line": {"color": colour, "width": width, "dash": dash},
        **more,
    }


def legend_entry_px(traces: Iterable[Trace]) -> int:
    """Room for the longest name in the legend. All entries have the same, since no font can be measured here."""
    names = [trace["name"] for trace in traces if trace.get("showlegend")]
    return round(CHARACTER_PX * max((len(unescape(name)) for name in names), default=0))


def axis_name(stem: str, number: int) -> str:
    """As plotly numbers the axes of panels: "y", "y2", "y3"."""
    if number <= 1:
        return stem
    return f"{stem}{number}"


def upright_band(begin: float, end: float, colour: str) -> dict[str, Any]:
    """A coloured band behind the whole picture, between two values of the axis across."""
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": begin,
        "x1": end,
        "y0": 0,
        "y1": 1,
        "fillcolor": colour,
        "line": {"width": 0},
        "layer": "below",
    }


def _notes(frame: Frame, lines: Sequence[str]) -> list[dict[str, Any]]:
    if not lines:
        return []
    return [
        annotation(
            "<br>".join(escaped(line) for line in lines),
            frame.theme.muted,
            xref="paper",
            yref="paper",
            x=0,
            y=1,
            xanchor="left",
            yanchor="bottom",
            yshift=6,
            align="left",
        )
    ]


def rounded(value: float) -> float:
    """A coordinate without digits that nobody can see, which keeps the JSON small."""
    return float(f"{value:.6g}")


def coordinate(axis_: Mapping[str, Any], value: float) -> float:
    """A value as annotations want it: its logarithm on a log axis."""
    if axis_.get("type") == "log":
        return rounded(math.log10(value))
    return value


def coordinates(values: Iterable[float]) -> list[float | None]:
    """JSON knows no NaN: a gap is null."""
    return [rounded(value) if math.isfinite(value) else None for value in values]

"""Lying bars below each other, each with its value; their pattern is what may be lost.

Names with their notes are above the bars, where there is room for whole names and the bars have the whole width.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from benchsite.core.formatting import short
from reports.compare.figures.layout import (
    HOVER,
    NOTE_PX,
    Frame,
    PlotlyFigure,
    Trace,
    annotation,
    axis,
    base_layout,
    escaped,
    rounded,
    shortened,
    wrap_notes,
)
from reports.compare.figures.theme import PATTERN_SAYS, Look

MIN_ROWS: Final = 3.0  # that have room, however few bars there are: one alone is no wall
ORDINARY_ROWS: Final = 10  # bars for which the ordinary height is enough
ROW_PX: Final = 29
# The drawing area that labels are fitted into: no wider than the real one.
AREA_PX = 270.0
CHARACTER_PX: Final = 6.2
MAX_LABEL_SHARE: Final = 0.7  # of the drawing area
MAX_NAME, MAX_LINE = 32, 48
WIDTH = 0.36  # of bars, in rows
CAP_PX: Final = 5  # of an interval, to each side
ARROW_PX: Final = 10
# An interval of two repeats may end at fifty times its value, and the bars would be slivers beside it.
MAX_INTERVAL_END: Final = 2.0  # of the highest value


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. `value` is None where there is nothing to show; `value_label` then says why."""

    name: str  # the database
    detail: str  # the mode
    look: Look
    value: float | None
    value_label: str
    hover: str
    low: float | None = None  # of an interval
    high: float | None = None
    is_cut: bool = False  # the interval goes on beyond `high`
    note: str = ""  # behind the name, in a wide figure: "3.6x lower"
    hollow: bool = False  # there, but no part of the comparison
    side: str = ""  # the sweep that it is of


def compute_interval_limit(values: Iterable[float | None]) -> float:
    """Where intervals are cut, so that the bars of these values keep half of the axis."""
    return MAX_INTERVAL_END * max((value or 0.0 for value in values), default=0.0)


def cut_interval(bar: Bar, limit: float) -> Bar:
    """Up to `limit`, with the end that is not drawn behind the value."""
    if bar.high is None or bar.high <= limit:
        return bar
    return replace(bar, high=limit, is_cut=True, value_label=f"{bar.value_label}, to {short(bar.high)}")


def by_value(bars: Sequence[Bar]) -> list[Bar]:
    """The highest first; those without a value that counts last."""
    return sorted(bars, key=lambda bar: -math.inf if bar.value is None or bar.hollow else bar.value, reverse=True)


def bars_figure(bars: Sequence[Bar], frame: Frame, title: str, *, log: bool) -> PlotlyFigure:
    """The bars from top to bottom in the order given."""
    limit = compute_interval_limit(bar.value for bar in bars)
    bars = [cut_interval(bar, limit) for bar in bars]
    layout = base_layout(frame)
    layout["xaxis"] = value = axis(frame, title, rangemode="tozero", tickformat="~s", nticks=5)
    layout["yaxis"] = axis(
        frame,
        "",
        tickvals=[],
        range=[max(len(bars) - 0.5, MIN_ROWS - 0.5), -0.5],
        showgrid=False,
        ticks="",
        automargin=False,
    )
    values = [bar.value for bar in bars if bar.value and bar.value > 0]
    if not values:
        value["showticklabels"] = False  # An axis without a bar has no scale.
    # On a logarithmic axis the shortest bar has a length too.
    begin = 0.0
    if log:
        begin = math.floor(math.log10(min(values, default=1.0)) - 0.3)
    starts = [bar.high or bar.value or 0.0 for bar in bars]
    if log:
        starts = [math.log10(end) if end > 0 else begin for end in starts]
    starts = [max(start, begin) for start in starts]
    # Where the axis ends, so that the label behind each bar has room.
    shares = [min(CHARACTER_PX * (len(bar.value_label) + 1) / AREA_PX, MAX_LABEL_SHARE) for bar in bars]
    lengths = [(start - begin) / (1 - share) for start, share in zip(starts, shares, strict=True)]
    value["range"] = [begin, begin + (max(lengths, default=0.0) or 1.0)]
    if log:
        value |= {"type": "log", "dtick": 1}
        del value["rangemode"], value["nticks"]
    layout["barmode"] = "overlay"
    layout["annotations"] += [
        _value_label(bar, row, start, frame) for row, (bar, start) in enumerate(zip(bars, starts, strict=True))
    ]
    layout["margin"]["l"] = 16
    layout["annotations"] += [_name(bar, row, bars, frame) for row, bar in enumerate(bars)]
    layout["annotations"] += (key := _key(bars, frame))
    layout["margin"]["b"] = 40 + len(key) * (34 if frame.narrow else 20)
    first = 10**begin if log else 0.0
    arrows = [_arrow(bar, row, frame) for row, bar in enumerate(bars) if bar.is_cut]
    return {"data": [*(_trace(bar, row, frame, first) for row, bar in enumerate(bars)), *arrows], "layout": layout}


def height_px(bars: int, notes: Sequence[str] = ()) -> int:
    """How high the figure has to be for its bars below its notes; 0 where the ordinary height will do."""
    if bars > ORDINARY_ROWS:
        return 70 + ROW_PX * bars + NOTE_PX * len(wrap_notes(notes, is_narrow=True))
    return 0


def _name(bar: Bar, row: int, bars: Sequence[Bar], frame: Frame) -> dict[str, Any]:
    rest = MAX_LINE - min(len(bar.name), MAX_NAME)
    name = shortened(bar.name, MAX_NAME, [other.name for other in bars])
    texts = [f'<span style="color:{frame.theme.ink}">{name}</span>']
    if bar.detail:
        detail = shortened(bar.detail, rest, [other.detail for other in bars if other.name == bar.name])
        texts.append(f'<span style="font-size:0.9em">{detail}</span>')
    if bar.note and not frame.narrow:
        texts.append(escaped(f"· {bar.note}"))
    position = {"x": 0, "xref": "paper", "xanchor": "left", "y": row, "yanchor": "bottom", "borderpad": 0}
    return annotation("  ".join(texts), frame.theme.muted, **position)


def _middle(row: int) -> float:
    """Of the bar in its row."""
    return row + WIDTH / 2


def _trace(bar: Bar, row: int, frame: Frame, first: float) -> Trace:
    """`first` is where the axis begins."""
    trace: Trace = {
        "type": "bar",
        "orientation": "h",
        "x": [rounded(bar.value) if bar.value is not None else None],
        "y": [_middle(row)],
        "name": escaped(bar.look.label),
        "width": WIDTH,
        "marker": {
            "color": "rgba(0,0,0,0)" if bar.hollow else bar.look.colour,
            "line": {"color": bar.look.colour, "width": 1.5},
            "pattern": {
                "shape": "" if bar.hollow else bar.look.pattern,
                "fillmode": "replace",
                "fgcolor": bar.look.colour,
                "size": 7,
                "solidity": 0.4,
            },
        },
        "text": [bar.hover],
        "textposition": "none",
        "hovertemplate": HOVER,
        "showlegend": False,
    }
    if frame.linked and bar.side:
        trace["meta"] = bar.side
    if bar.value is not None and bar.low is not None and bar.high is not None:
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": [rounded(bar.high - bar.value)],
            "arrayminus": [rounded(bar.value - max(bar.low, first))],
            "color": frame.theme.ink,
            "thickness": 1.5,
            "width": 0 if bar.is_cut else CAP_PX,
        }
    return trace


def _arrow(bar: Bar, row: int, frame: Frame) -> Trace:
    """At the end of an interval that is cut: it has no cap, because it goes on."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [rounded(bar.high or 0.0)],
        "y": [_middle(row)],
        "marker": {"symbol": "triangle-right", "size": ARROW_PX, "color": frame.theme.ink, "line": {"width": 0}},
        "hoverinfo": "skip",
        "cliponaxis": False,
        "showlegend": False,
    }


def _key(bars: Sequence[Bar], frame: Frame) -> list[dict[str, Any]]:
    """What the patterns mean, where there are several: a line below the axis."""
    patterns = {bar.look.pattern for bar in bars if not bar.hollow and bar.look.has_promise}
    if len(patterns) < 2:
        return []
    first, *more = (text for pattern, text in PATTERN_SAYS.items() if pattern in patterns)
    says = f"{first}{'<br>' if frame.narrow else ' · '}{' · '.join(more)}"
    position = {
        "x": 1,
        "y": 0,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "right",
        "yanchor": "top",
        "yshift": -42,
        "align": "right",
    }
    return [annotation(says, frame.theme.muted, **position)]


def _value_label(bar: Bar, row: int, start: float, frame: Frame) -> dict[str, Any]:
    """`start` is where the bar ends on the axis' own scale."""
    text = escaped(bar.value_label)
    side = {}
    if frame.linked and bar.side:
        side = {"name": bar.side}
    return {
        "text": f"<b>{text}</b>" if bar.value is not None else f'<span style="color:{frame.theme.muted}">{text}</span>',
        "showarrow": False,
        "font": {"size": frame.font_px},
        "x": rounded(start),
        "y": _middle(row),
        "xanchor": "left",
        "yanchor": "middle",
        "xshift": 4 + (ARROW_PX if bar.is_cut else 0),
        **side,
    }

"""Bars grouped by database and patterned by durability mode, standing or, where they are many, lying."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reports.figures.layout import (
    HOVER,
    Frame,
    PlotlyFigure,
    Trace,
    annotation,
    axis,
    base_layout,
    escaped,
    rounded,
    shortened,
)
from reports.figures.theme import Look

# More bars than this are drawn lying, where their names have room.
MAX_STANDING = 9
MIN_ACROSS = 2.0  # bars that have room, however few there are
GROUP_GAP = 0.7  # between two databases, in bars
LYING_GAP = 0.95  # where the database's name stands between its bars and those before
ORDINARY_PX = 760.0  # what a drawing area has at least where the figure is not narrow
CHARACTER_PX = 7.2  # of a bold name


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. `value` is None where there is nothing to show; `value_label` then says why."""

    group: str  # the database
    name: str  # the mode
    look: Look
    value: float | None
    value_label: str
    hover: str
    low: float | None = None  # of an interval
    high: float | None = None
    share_of_best: float | None = None
    notes: tuple[str, ...] = ()  # what stands below or behind the value: "3.6x lower"
    hollow: bool = False  # there, but no part of the comparison
    position: float = 0.0
    side: str = ""  # the sweep that it is of

    @property
    def end(self) -> float:
        """Where the bar with its interval ends."""
        return self.high or self.value or 0.0


def placed(bars: Sequence[Bar], gap: float) -> list[Bar]:
    """The bars with their places: those of one group together, a gap between groups."""
    bars_placed: list[Bar] = []
    position = 0.0
    for number, bar in enumerate(bars):
        if number:
            position += 1.0 + (gap if bar.group != bars[number - 1].group else 0.0)
        bars_placed.append(replace(bar, position=position))
    return bars_placed


def bars_figure(bars: Sequence[Bar], frame: Frame, title: str, *, log: bool = False) -> PlotlyFigure:
    """One bar each, with its value, its notes and, where there are repeats, their interval."""
    lying = frame.narrow or len(bars) > MAX_STANDING or not _names_fit(placed(bars, GROUP_GAP))
    bars = placed(bars, LYING_GAP if lying else GROUP_GAP)
    layout = base_layout(frame)
    value = axis(frame, title, rangemode="tozero", tickformat="~s", nticks=5 if lying else 6)
    names = axis(
        frame,
        "",
        tickvals=[bar.position for bar in bars],
        ticktext=[shortened(bar.name, 16 if frame.narrow else 28 if lying else 20) for bar in bars],
        showgrid=False,
        ticks="",
    )
    last = bars[-1].position if bars else 0.0
    # A bar alone does not become a wall.
    room = max(0.0, MIN_ACROSS - last) / 2
    span = [(-1.25 if lying else -0.9) - room, last + 0.7 + room]
    names["range"] = span[::-1] if lying else span
    if not any(bar.end for bar in bars):
        value["showticklabels"] = False  # An axis without a bar has no scale.
    value["range"] = [0, (max((bar.end for bar in bars), default=1.0) or 1.0) * _room(bars, frame, lying)]
    if log:
        least, most = _decades(bars)
        value |= {"type": "log", "range": [least, least + (most - least) * _room(bars, frame, lying)], "dtick": 1}
        del value["rangemode"], value["nticks"]
    layout["xaxis"], layout["yaxis"] = (value, names) if lying else (names, value)
    layout["bargap"] = 0.2
    layout["annotations"] += _group_names(bars, lying)
    layout["annotations"] += [_value_label(bar, frame, lying, _decades(bars)[0] if log else None) for bar in bars]
    layout["margin"]["b"] = 40 if lying else 56
    return {"data": [_trace(bar, frame, lying) for bar in bars], "layout": layout}


def _room(bars: Sequence[Bar], frame: Frame, lying: bool) -> float:
    """By which factor the axis goes beyond the longest bar, so that the labels have room."""
    if not lying:
        return 1.17 + 0.05 * max((len(bar.notes) - 1 for bar in bars), default=0)
    if frame.narrow:
        return 1.3
    longest = max((len("  ".join((bar.value_label, *bar.notes))) for bar in bars), default=0)
    return 1.0 + max(0.2, min(0.6, longest * CHARACTER_PX / ORDINARY_PX))


def height_px(bars: int, groups: int) -> int:
    """How high the figure has to be for its lying bars; 0 where the ordinary height will do."""
    return 110 + 24 * bars + 24 * groups if bars > MAX_STANDING else 0


def _names_fit(bars: Sequence[Bar]) -> bool:
    """Whether the groups' names have room below their bars, in a figure of ordinary width."""
    across = (bars[-1].position + 1.6) if bars else 1.0
    names = {bar.group: 0.0 for bar in bars}
    for bar in bars:
        names[bar.group] += (1 + GROUP_GAP / 2) / across * ORDINARY_PX
    return all(len(name) * CHARACTER_PX <= room for name, room in names.items())


def _trace(bar: Bar, frame: Frame, lying: bool) -> Trace:
    along, across = ("x", "y") if lying else ("y", "x")
    colour = bar.look.colour
    trace: Trace = {
        "type": "bar",
        "orientation": "h" if lying else "v",
        along: [rounded(bar.value) if bar.value is not None else None],
        across: [bar.position],
        "name": escaped(bar.look.label),
        "width": 0.78,
        "marker": {
            "color": "rgba(0,0,0,0)" if bar.hollow else colour,
            "line": {"color": colour, "width": 1.5},
            "pattern": {
                "shape": "" if bar.hollow else bar.look.pattern,
                "fillmode": "replace",
                "fgcolor": colour,
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
        trace[f"error_{along}"] = {
            "type": "data",
            "symmetric": False,
            "array": [rounded(bar.high - bar.value)],
            "arrayminus": [rounded(bar.value - bar.low)],
            "color": frame.theme.ink,
            "thickness": 1.5,
            "width": 5,
        }
    return trace


def _decades(bars: Sequence[Bar]) -> tuple[float, float]:
    """From the decade below the shortest bar to the end of the longest, as exponents of ten."""
    ends = [bar.end for bar in bars if bar.end > 0] or [1.0]
    return math.floor(math.log10(min(ends)) - 0.3), math.log10(max(ends))


def _value_label(bar: Bar, frame: Frame, lying: bool, least: float | None = None) -> dict[str, Any]:
    """`least` is where a logarithmic axis begins: annotations stand at exponents there."""
    muted = f'<span style="color:{frame.theme.muted}">'
    number = escaped(bar.value_label)
    value = f"<b>{number}</b>" if bar.value is not None else f"{muted}{number}</span>"
    # A long bar leaves no room beside it on a telephone.
    crowded = frame.narrow and (bar.share_of_best or 0.0) > 0.6
    shown = () if crowded else bar.notes[:1] if frame.narrow else bar.notes
    notes = [f"{muted}{escaped(note)}</span>" for note in shown]
    end = rounded(bar.end) if least is None else rounded(math.log10(bar.end) if bar.end > 0 else least)
    text = ("  " if lying else "<br>").join((value, *notes))
    if lying:
        place = {"x": end, "y": bar.position, "xanchor": "left", "yanchor": "middle", "xshift": 4}
    else:
        place = {"x": bar.position, "y": end, "xanchor": "center", "yanchor": "bottom", "yshift": 2}
    side = {"name": bar.side} if frame.linked and bar.side else {}
    return {"text": text, "showarrow": False, "align": "center", "font": {"size": frame.font_px + 1}, **place, **side}


def _group_names(bars: Sequence[Bar], lying: bool) -> list[dict[str, Any]]:
    """The name of each database: below its bars, or above its first one where they lie."""
    groups: dict[str, list[Bar]] = {}
    for bar in bars:
        groups.setdefault(bar.group, []).append(bar)
    annotations = []
    for name, group in groups.items():
        middle = (group[0].position + group[-1].position) / 2
        if lying:
            place = {"x": 0, "xref": "paper", "y": group[0].position - 0.82, "xanchor": "left", "yanchor": "middle"}
        else:
            place = {"x": middle, "y": 0, "yref": "paper", "xanchor": "center", "yanchor": "top", "yshift": -26}
        annotations.append(annotation(f"<b>{shortened(name)}</b>", group[0].look.colour, **place))
    return annotations

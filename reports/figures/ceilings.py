"""Throughput ceilings as bars: grouped by database, patterned by durability mode."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from benchsite import formatting
from reports.analysis.ceiling import Ladder
from reports.curves import Curve, Point, in_order
from reports.figures.layout import Figure, Frame, axis, base_layout, escaped, rounded, shortened
from reports.figures.theme import Look, looks

# More bars than this are drawn lying, where their names have room.
MOST_STANDING = 9
GROUP_GAP = 0.7  # between two databases, in bars
LYING_GAP = 0.95  # where the database's name stands between its bars and those before
ORDINARY_PX = 760.0  # what a drawing area has at least where the figure is not narrow
CHARACTER_PX = 7.2  # of a bold name
TIMES = "\N{MULTIPLICATION SIGN}"

LADDER_SAYS = {
    Ladder.SATURATED: "saturated",
    Ladder.RETROGRADE: "saturated, fell beyond",
    Ladder.SHORT: "at least: the ladder is too short",
    Ladder.EMPTY: "",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One ceiling. `throughput_ops_s` is None where no point counts; `why_none` says why."""

    sweep_id: UUID
    database_name: str
    mode: str
    position: float
    throughput_ops_s: float | None
    low_ops_s: float | None
    high_ops_s: float | None
    lower_bound: bool
    share_of_best: float | None
    hover: str
    why_none: str = ""

    @property
    def value_label(self) -> str:
        if self.throughput_ops_s is None:
            return self.why_none
        return ("≥ " if self.lower_bound else "") + formatting.short(self.throughput_ops_s)

    @property
    def ratio_label(self) -> str:
        """ "highest", or by which factor the bar is lower: the reader's next question."""
        if not self.share_of_best:
            return ""
        factor = 1 / self.share_of_best
        digits = 3 if factor < 1.095 else 2
        return "highest" if factor < 1.005 else f"{formatting.significant(factor, digits)}{TIMES} lower"


def bars_of(curves: Sequence[Curve], gap: float = GROUP_GAP) -> list[Bar]:
    """The bars with their places: databases together, a gap between them, the weakest promise first."""
    ordered = in_order(curves)
    best = max((found.throughput_ops_s for curve in ordered if (found := curve.ceiling)), default=0.0)
    bars: list[Bar] = []
    position = 0.0
    for number, curve in enumerate(ordered):
        if number:
            position += 1.0 + (gap if curve.database_name != ordered[number - 1].database_name else 0.0)
        bars.append(_bar(curve, position, best))
    return bars


def _bar(curve: Curve, position: float, best: float) -> Bar:
    found = curve.ceiling
    point = curve.point_at(found.threads, found.target_ops_s) if found else None
    spread = point.throughput_ops_s if point and point.throughput_ops_s.n > 1 else None
    return Bar(
        sweep_id=curve.sweep_id,
        database_name=curve.database_name,
        mode=curve.mode,
        position=position,
        throughput_ops_s=found.throughput_ops_s if found else None,
        low_ops_s=spread.low if spread else None,
        high_ops_s=spread.high if spread else None,
        lower_bound=found.is_lower_bound if found else False,
        share_of_best=found.throughput_ops_s / best if found and best else None,
        hover=_hover(curve, point),
        why_none="" if found else _why_none(curve),
    )


def _why_none(curve: Curve) -> str:
    if curve.points:
        return "no point counts"
    return "measuring" if curve.progress.going else "did not complete" if curve.progress.runs else "no data"


def _hover(curve: Curve, point: Point | None) -> str:
    found = curve.ceiling
    lines = [f"<b>{escaped(curve.label)}</b>", escaped(curve.mode_name)]
    if found and point:
        spread = point.throughput_ops_s
        at = f"target {formatting.throughput(found.target_ops_s)}" if found.target_ops_s else f"{found.threads} threads"
        lines += [f"{formatting.throughput(found.throughput_ops_s)} at {at}", LADDER_SAYS[found.ladder]]
        if spread.n > 1:
            lines.append(f"{spread.n} repeats, {formatting.short(spread.low)} to {formatting.short(spread.high)}")
    else:
        lines.append(_why_none(curve))
    return "<br>".join(line for line in lines if line)


def ceilings_figure(curves: Sequence[Curve], frame: Frame, *, highlight: str = "") -> Figure:
    """One bar per sweep, with its value and by which factor it lies below the highest."""
    bars = bars_of(curves)
    appearance = looks(curves, frame.theme, highlight=highlight)
    lying = frame.narrow or len(bars) > MOST_STANDING or not _names_fit(bars)
    bars = bars_of(curves, LYING_GAP) if lying else bars
    layout = base_layout(frame)
    value = axis(frame, "throughput ceiling (ops/s)", rangemode="tozero", tickformat="~s", nticks=5 if lying else 6)
    names = axis(
        frame,
        "",
        tickvals=[bar.position for bar in bars],
        ticktext=[shortened(bar.mode, 16 if frame.narrow else 20) for bar in bars],
        showgrid=False,
        ticks="",
    )
    span = [-1.25 if lying else -0.9, (bars[-1].position if bars else 0.0) + 0.7]
    names["range"] = span[::-1] if lying else span
    # Room for the labels beyond the highest bar.
    highest = max((bar.high_ops_s or bar.throughput_ops_s or 0.0 for bar in bars), default=1.0) or 1.0
    value["range"] = [0, highest * ((1.3 if frame.narrow else 1.2) if lying else 1.17)]
    layout["xaxis"], layout["yaxis"] = (value, names) if lying else (names, value)
    layout["bargap"] = 0.2
    layout["annotations"] += _database_names(bars, frame, appearance, lying)
    layout["annotations"] += [_value_label(bar, frame, lying) for bar in bars]
    layout["margin"]["b"] = 40 if lying else 56
    return {"data": [_trace(bar, appearance[bar.sweep_id], frame, lying) for bar in bars], "layout": layout}


def _names_fit(bars: Sequence[Bar]) -> bool:
    """Whether the databases' names have room below their bars, in a figure of ordinary width."""
    across = (bars[-1].position + 1.6) if bars else 1.0
    names = {bar.database_name: 0.0 for bar in bars}
    for bar in bars:
        names[bar.database_name] += (1 + GROUP_GAP / 2) / across * ORDINARY_PX
    return all(len(name) * CHARACTER_PX <= room for name, room in names.items())


def height_px(curves: Sequence[Curve]) -> int:
    """How high the figure has to be for its lying bars; 0 where the ordinary height will do."""
    databases = len({curve.database_name for curve in curves})
    return 110 + 24 * len(curves) + 24 * databases if len(curves) > MOST_STANDING else 0


def _trace(bar: Bar, look: Look, frame: Frame, lying: bool) -> dict[str, Any]:
    along, across = ("x", "y") if lying else ("y", "x")
    trace: dict[str, Any] = {
        "type": "bar",
        "orientation": "h" if lying else "v",
        along: [rounded(bar.throughput_ops_s) if bar.throughput_ops_s is not None else None],
        across: [bar.position],
        "name": escaped(look.label),
        "width": 0.78,
        "marker": {
            "color": look.colour,
            "line": {"color": look.colour, "width": 1.5},
            "pattern": {
                "shape": look.pattern,
                "fillmode": "replace",
                "fgcolor": look.colour,
                "size": 7,
                "solidity": 0.4,
            },
        },
        "text": [bar.hover],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }
    if bar.throughput_ops_s is not None and bar.low_ops_s is not None and bar.high_ops_s is not None:
        trace[f"error_{along}"] = {
            "type": "data",
            "symmetric": False,
            "array": [rounded(bar.high_ops_s - bar.throughput_ops_s)],
            "arrayminus": [rounded(bar.throughput_ops_s - bar.low_ops_s)],
            "color": frame.theme.ink,
            "thickness": 1.5,
            "width": 5,
        }
    return trace


def _value_label(bar: Bar, frame: Frame, lying: bool) -> dict[str, Any]:
    muted = f'<span style="color:{frame.theme.muted}">'
    value = f"<b>{bar.value_label}</b>" if bar.throughput_ops_s is not None else f"{muted}{bar.why_none}</span>"
    # A long bar leaves no room beside it on a telephone.
    crowded = frame.narrow and (bar.share_of_best or 0.0) > 0.6
    ratio = f"{muted}{bar.ratio_label}</span>" if bar.ratio_label and not crowded else ""
    end = rounded(bar.high_ops_s or bar.throughput_ops_s or 0.0)
    common = {"showarrow": False, "align": "center", "font": {"size": frame.font_px + 1}}
    if lying:
        text = "  ".join(part for part in (value, ratio) if part)
        return {
            **common,
            "text": text,
            "x": end,
            "y": bar.position,
            "xanchor": "left",
            "yanchor": "middle",
            "xshift": 4,
        }
    text = "<br>".join(part for part in (value, ratio) if part)
    return {**common, "text": text, "x": bar.position, "y": end, "xanchor": "center", "yanchor": "bottom", "yshift": 2}


def _database_names(
    bars: Sequence[Bar], frame: Frame, appearance: dict[UUID, Look], lying: bool
) -> list[dict[str, Any]]:
    """The name of each database: below its bars, or above its first one where they lie."""
    groups: dict[str, list[Bar]] = {}
    for bar in bars:
        groups.setdefault(bar.database_name, []).append(bar)
    found = []
    for name, group in groups.items():
        colour = appearance[group[0].sweep_id].colour
        middle = (group[0].position + group[-1].position) / 2
        label = {"text": f"<b>{shortened(name)}</b>", "showarrow": False, "font": {"color": colour}}
        if lying:
            place = {"x": 0, "xref": "paper", "y": group[0].position - 0.82, "xanchor": "left", "yanchor": "middle"}
        else:
            place = {"x": middle, "y": 0, "yref": "paper", "xanchor": "center", "yanchor": "top", "yshift": -26}
        found.append({**label, **place})
    return found

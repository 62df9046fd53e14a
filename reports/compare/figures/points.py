"""How points of curves are written and marked, the same in every figure that draws curves."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from benchsite.core import formatting
from reports.compare.curves import STATISTICS, LeftOut, Point, Standing
from reports.compare.figures.layout import Frame, Layout, Trace, annotation, escaped, rounded, scatter, shortened
from reports.compare.figures.theme import Look, rgba
from reports.compare.messages import MEAN_OF_REPEATS

# More direct labels than this at the right edge would cover each other.
MAX_LABELS = 8
MIN_APART = 0.055  # of the axis
INSIDE_APART = 1.6  # times that, where the figure is low
CHARACTER_PX = 6.4
MARKER_PX = 8
FADED_PX = 4  # of a curve that is there for context only
RING_PX = 16
NOT_COUNTED = "not counted"
CROSS = "x-thin-open"
HOLLOW = "square-open"  # of every curve, as rings of ceilings and knees are circles and diamonds
# From this many curves on, numbers at every point would hide the curves.
MAX_WITH_RUNG_LABELS = 6
# And from this many on rings would too, and the legend names databases instead of curves.
MAX_WITH_RINGS = 12
OTHERS = "others"
STANDING_SAYS = {
    Standing.COUNTED: "",
    Standing.REJECTED: "rejected by the validity checks",
    Standing.EXCLUDED: "left out by a person",
    Standing.STAND_IN: "not the product: a stand-in",
}


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
    names = [end.text for end in ends]
    for end in sorted(ends, key=lambda end: end.y):
        y = max(end.y, below + least)
        below = y
        if inside:
            position: dict[str, Any] = {"xanchor": "right", "yanchor": "bottom", "yshift": 6}
        else:
            position = {"xanchor": "left", "yanchor": "middle", "xshift": 4}
        layout["annotations"].append(
            annotation(shortened(end.text, longest, names), end.colour, x=1, xref="paper", y=rounded(y), **position)
        )

    if inside:
        return

    most = max((len(end.text) for end in ends), default=0)
    layout["margin"]["r"] = 24 + round(min(most, longest) * CHARACTER_PX)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One point in the units of its figure's axes."""

    point: Point
    x: float
    y: float
    low_y: float
    high_y: float
    repeats: int
    left_out: LeftOut | None = None  # one repeat that is no part of the point

    @property
    def run_ids(self) -> list[UUID]:
        """The run that a press on the point opens first."""
        if self.left_out:
            return [self.left_out.run_id]
        return self.point.nearest_runs


def rung_label(point: Point) -> str:
    """The label of a point along its curve: its threads, or its target."""
    if point.target_ops_s:
        return formatting.short(point.target_ops_s)
    return str(point.threads)


def rung_text(point: Point) -> str:
    """ "16 threads", or its target."""
    return f"{rung_label(point)}{'' if point.target_ops_s else ' threads'}"


def build_hover_text(look: Look, drawn: Drawn, *, operation: str = "", statistic: str = "", kind: str = "") -> str:
    """Everything about a point that a reader asks while pointing at it; three significant digits."""
    point, spread = drawn.point, drawn.point.throughput_ops_s
    if repeat := drawn.left_out:
        # A repeat that is no part of its point: which it is, and why not.
        target = f"target {formatting.throughput(point.target_ops_s)}"
        lines = [
            f"<b>{escaped(look.label)}</b>",
            f"one repeat at {target if point.target_ops_s else formatting.client_threads(point.threads)}",
            formatting.throughput(repeat.throughput_ops_s),
            f"{escaped(operation)} {STATISTICS[statistic]} {formatting.latency(drawn.y * 1e3)}" if operation else "",
            f"<b>{STANDING_SAYS[repeat.standing]}</b>",
            escaped(repeat.reason)[:120],
        ]
        return "<br>".join(text for text in lines if text)

    lines = [f"<b>{escaped(look.label)}</b>", formatting.client_threads(point.threads)]
    if point.target_ops_s:
        lines[-1] += f", target {formatting.throughput(point.target_ops_s)}"
    lines.append(formatting.throughput(spread.geomean))
    if point.dropped_share:
        lines.append(f"{formatting.percent(point.dropped_share)} dropped, in no latency")
    if latency := point.latency(operation, statistic, kind):
        lines.append(f"{escaped(operation)} {STATISTICS[statistic]} {formatting.latency(latency.geomean)}")
        if latency.n > 1:
            lines.append(f"from {formatting.latency(latency.low)} to {formatting.latency(latency.high)}")

    if spread.n > 1:
        lines.append(
            MEAN_OF_REPEATS.format(
                repeats=spread.n, low=formatting.short(spread.low), high=formatting.short(spread.high)
            )
        )

    lines.append(f"{point.clients_merged} of {point.clients_expected} clients merged")
    if not point.counts:
        lines.append(f"<b>{STANDING_SAYS[point.standing]}</b>")
    if point.overridden:
        lines.append(escaped(f"rejected, counted: {point.overridden[0]}")[:120])
    if point.excluded:
        lines.append(escaped(f"left out: {point.excluded[0]}")[:120])
    if point.worst_finding:
        lines.append(shortened(point.worst_finding, 60))
    return "<br>".join(lines)


def marker(colour: str, symbol: str, size: float, edge: float = 1.5) -> dict[str, Any]:
    """A mark with its edge in the same colour, which is all that is seen of an open one."""
    return {"color": colour, "symbol": symbol, "size": size, "line": {"width": edge, "color": colour}}


Path = Sequence[tuple[float, float]]


def curved_line(look: Look, path: Path, points: Trace) -> list[Trace]:
    """The trace of points that straight lines join, joined by a curve in their place; the legend keeps both."""
    xs, ys = zip(*path, strict=True)
    style, shared = points["line"], {"opacity": points["opacity"]}
    key = {**points, "x": [None], "y": [None]}
    for name in ("text", "hovertemplate", "hoverinfo"):
        key.pop(name, None)
    points |= {"showlegend": False, "line": {**style, "width": 0}}
    return [beside(look, "curve", list(xs), list(ys), mode="lines", line=style, **shared), points, key]


def line(
    look: Look,
    *,
    x: Sequence[float | None],
    y: Sequence[float | None],
    hover: Sequence[str],
    among: Collection[str] = (),
) -> Trace:
    """The points that count, joined in the order of the ladder. `among` are the labels of all lines."""
    return scatter(
        x,
        y,
        shortened(look.label, 40, among),
        hover=hover,
        mode="lines+markers",
        legendgroup=escaped(look.label),
        showlegend=True,
        line={"color": look.colour, "width": 1.25 if look.faded else 2.25, "dash": look.dash},
        marker=marker(look.colour, look.symbol, FADED_PX if look.faded else MARKER_PX, 0),
        opacity=0.75 if look.faded else 1.0,
        connectgaps=False,
    )


def beside(look: Look, meaning: str, x: Sequence[float], y: Sequence[float], **more: Any) -> Trace:
    """A trace that belongs to a curve without being its line, and is hidden with the curve's entry in the legend."""
    name, group = escaped(f"{look.label}, {meaning}"), escaped(look.label)
    return scatter(x, y, name, legendgroup=group, showlegend=False, **more)


def ring(look: Look, symbol: str, meaning: str, *, x: float, y: float) -> Trace:
    """A ring around a point that has a meaning: the ceiling, the knee."""
    return beside(look, meaning, [x], [y], marker=marker(look.colour, symbol, RING_PX))


def curve_traces(
    look: Look,
    counted: Sequence[Drawn],
    hollow: Sequence[Drawn],
    hover: Callable[[Drawn], str],
    among: Collection[str] = (),
    path: Path = (),
    edges: tuple[Path, Path] = ((), ()),
) -> list[Trace]:
    """A curve with the band of its repeats; points that do not count are there, but hollow and not joined.

    Crossed out are points that the checks reject and that count by a written reason. `among` are the labels of all
    curves; `path` is the curve through the points where it is no straight line, `edges` those of the band, the upper
    one first.
    """
    traces = []
    xs = [d.x for d in counted]
    if any(d.repeats > 1 for d in counted):
        # The least and most of the repeats, as one closed shape.
        upper = edges[0] or [(d.x, d.high_y) for d in counted]
        lower = edges[1] or [(d.x, d.low_y) for d in counted]
        outline = [*upper, *reversed(lower)]
        colour = rgba(look.colour, 0.16)
        style = {"fill": "toself", "fillcolor": colour, "line": {"width": 0, "color": colour}}
        traces.append(
            beside(look, "all repeats", [x for x, _ in outline], [y for _, y in outline], mode="lines", **style)
        )

    points = line(look, x=xs, y=[d.y for d in counted], hover=[hover(d) for d in counted], among=among)
    traces += curved_line(look, path, points) if len(path) > len(counted) else [points]
    traces += [ring(look, CROSS, "rejected, counted", x=d.x, y=d.y) for d in counted if d.point.overridden]
    if hollow:
        mark = marker(look.colour, HOLLOW, MARKER_PX + 2, 1.75)
        xs, ys, texts = [d.x for d in hollow], [d.y for d in hollow], [hover(d) for d in hollow]
        traces.append(beside(look, NOT_COUNTED, xs, ys, hover=texts, marker=mark))

    return traces


def fold_long_legend(curves: Sequence[tuple[Sequence[Trace], Look]]) -> None:
    """Fold the legend of more curves than have rings, and of those of which some are grey."""
    if len(curves) > MAX_WITH_RINGS or any(look.faded for _, look in curves):
        fold_legend(curves)


def fold_legend(curves: Iterable[tuple[Sequence[Trace], Look]]) -> None:
    """Leave one entry of the legend for each colour, and one for all curves that are grey.

    A click on an entry hides the whole group.
    """
    seen: set[str] = set()
    for traces, look in curves:
        group = look.group
        if look.faded:
            group = OTHERS
        for trace in traces:
            trace["legendgroup"] = escaped(group)
            if trace["showlegend"]:
                trace["showlegend"] = group not in seen
                trace["name"] = shortened(group, 40)
                seen.add(group)


def standing_keys(points: Sequence[Point], frame: Frame) -> list[Trace]:
    """The legend of the marks that occur for points that do not count, or count by a written reason."""
    keys = []
    if any(not point.counts or point.left_out for point in points):
        keys.append(key(frame, HOLLOW, "hollow: not counted"))
    if any(point.overridden for point in points):
        keys.append(key(frame, CROSS, "crossed: rejected, counted with a reason"))
    return keys


def key(frame: Frame, symbol: str, text: str) -> Trace:
    """An entry of the legend that explains a mark and draws nothing."""
    return scatter([None], [None], text, showlegend=True, marker=marker(frame.theme.muted, symbol, 11))

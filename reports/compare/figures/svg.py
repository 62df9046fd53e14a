"""A figure as SVG, drawn without a browser: for readers without JavaScript. Pure.

It draws what plotly.js draws of bars, lines, points, straight lines and texts, in panels one below the other on one
axis across; what a pointer shows is left out. Margins, ticks and keys are where plotly.js 4.1 has them, so that nothing
moves where a plot takes the place of a drawing.
"""

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape, unescape
from itertools import chain, product, zip_longest
from typing import Any, Final

from benchsite.core import formatting
from reports.compare.figures.layout import PlotlyFigure, Trace, legend_entry_px

WIDTH: Final = 720
HEIGHT: Final = 360
MIN_PX, MAX_PX = 160, 4000  # of a drawing
TICK_PX: Final = {True: 80, False: 40}  # least between ticks, across and up
AXIS_PX: Final = 48  # what an axis across with its numbers and its title takes below the area
ENTRY_PX: Final = 49  # of an entry of the legend beside its text
ROW_PX: Final = 19  # of the legend
LEGEND_PX: Final = 10  # around its rows
DIGIT_PX: Final = 7.6
DAY_S: Final = 86_400
DASHES: Final = {"dash": "9 9", "dot": "3 3", "dashdot": "9 3 3 3", "longdash": "15 15"}
# Corners of the marks that are no circle, in radii.
CORNERS: Final = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    "triangle-up": ((0, -1.25), (1.25, 1), (-1.25, 1)),
    "triangle-right": ((1.25, 0), (-1, 1.25), (-1, -1.25)),
    "pentagon": ((0, -1), (0.95, -0.31), (0.59, 0.81), (-0.59, 0.81), (-0.95, -0.31)),
    "star": (
        (0, -1.4), (0.32, -0.43), (1.33, -0.43), (0.51, 0.17), (0.82, 1.13),
        (0, 0.53), (-0.82, 1.13), (-0.51, 0.17), (-1.33, -0.43), (-0.32, -0.43),
    ),
}  # fmt: skip
# Marks without an area.
STROKES: Final = {
    "cross": "M-{r},0H{r}M0,-{r}V{r}",
    "x": "M-{r},-{r}L{r},{r}M{r},-{r}L-{r},{r}",
    "x-thin": "M-{r},-{r}L{r},{r}M{r},-{r}L-{r},{r}",
}
PATTERN_PX: Final = 7
# Lines of a square that repeats itself; a dot has no lines.
PATTERN_LINES: Final = {
    "/": "M-2,2l4,-4M0,7l7,-7M5,9l4,-4",
    "\\": "M-2,5l4,4M0,0l7,7M5,-2l4,4",
    "x": "M0,7l7,-7M0,0l7,7",
    "-": "M0,3.5h7",
    "|": "M3.5,0v7",
}
_SPAN = re.compile(r'<span style="(color:[#\w(),. ]+|font-size:[\d.]+em)">(.*?)</span>')
ANCHORS: Final = {"left": "start", "center": "middle", "right": "end"}
# How far a text's baseline lies below the place that it is anchored at, in lines.
BASELINES: Final = {"top": 0.9, "middle": 0.35, "bottom": -0.25}


class Axis:
    """One axis: values, numbers, dates or names, to pixels."""

    def __init__(self, layout: Mapping[str, Any], values: Sequence[Any], begin_px: float, end_px: float) -> None:
        self.layout, self.begin_px, self.end_px = layout, begin_px, end_px
        self.is_log = layout.get("type") == "log"
        texts = [value for value in values if isinstance(value, str)]
        are_dates = bool(texts) and all(_instant(text) is not None for text in texts)
        self.is_date = layout.get("type") == "date" or are_dates
        self.names = []
        if not self.is_date:
            self.names = list(dict.fromkeys(texts))
        numbers = [number for value in values if (number := self.number(value)) is not None]
        if ends := layout.get("range"):
            low, high = (self.number(end) if isinstance(end, str) else float(end) for end in ends)
        else:
            low, high = min(numbers, default=0.0), max(numbers, default=1.0)
            room = (high - low or 1.0) * 0.06
            low = 0.0 if layout.get("rangemode") == "tozero" and low >= 0 and not self.is_log else low - room
            high += room

        self.low, self.high = low or 0.0, high if high is not None and high != low else (low or 0.0) + 1.0

    def number(self, value: Any) -> float | None:
        """A value on the axis' own scale: the exponent on a logarithmic one, seconds of a date, the place of a name."""
        if isinstance(value, str):
            if self.is_date:
                return _instant(value)
            if value not in self.names:
                return None
            return float(self.names.index(value))
        if value is None or not math.isfinite(value) or (self.is_log and value <= 0):
            return None
        if self.is_log:
            return math.log10(value)
        return float(value)

    def px(self, number: float) -> float:
        return self.begin_px + (number - self.low) / (self.high - self.low) * (self.end_px - self.begin_px)

    def ticks(self) -> list[tuple[float, str]]:
        """Numbers on the axis' own scale with their texts."""
        if "tickvals" in self.layout:
            texts = self.layout.get("ticktext") or map(str, self.layout["tickvals"])
            labelled = zip(map(self.number, self.layout["tickvals"]), texts, strict=False)
            return [(number, text) for number, text in labelled if number is not None]
        if self.names:
            return [(float(position), name) for position, name in enumerate(self.names)]

        low, high = sorted((self.low, self.high))
        if self.is_log:
            parts = (1, 2, 5) if high - low < 2.2 else (1,)
            exponents = range(math.floor(low), math.ceil(high) + 1)
            marks = [math.log10(part * 10.0**exponent) for exponent, part in product(exponents, parts)]
            return [(mark, _tick_text(10**mark)) for mark in marks if low <= mark <= high]

        # A round distance of ticks: 1, 2 or 5 times a power of ten, of dates whole days.
        length = abs(self.end_px - self.begin_px)
        is_across = self.end_px > self.begin_px
        ticks = self.layout.get("nticks") or min(max(length / TICK_PX[is_across], 4), 9) + 1
        rough = (high - low) / ticks
        unit = DAY_S if self.is_date else 10.0 ** math.floor(math.log10(rough))
        step = next((part * unit for part in (1, 2, 5, 10, 20, 50, 100) if part * unit >= rough), rough)
        marks = [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if self.is_date:
            return [(mark, datetime.fromtimestamp(mark, UTC).strftime("%d %b")) for mark in marks]

        return [(mark, _tick_text(mark)) for mark in marks]


def _tick_text(value: float) -> str:
    """As the formats "~s" and "~g" write the round numbers of ticks: 500, 2k, 1.5M."""
    for unit, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.6g}{sign}".replace("-", formatting.MINUS)
    return f"{value:.6g}".replace("-", formatting.MINUS)


def _instant(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()


def render_svg(figure: PlotlyFigure, *, width_px: int = 0, height_px: int, title: str) -> str:
    """A document; without a width or a height it has the ordinary one. `title` is for those who do not see it."""
    layout = figure["layout"]
    traces = figure["data"]
    keys = [trace for trace in traces if layout.get("showlegend") and trace.get("showlegend")]
    width_px, height = width_px or WIDTH, height_px or HEIGHT
    margin = layout["margin"]
    left, top = margin["l"], margin["t"]
    if texts := layout["yaxis"].get("ticktext"):
        left = max(left, 24 + 6 * max(len(_plain(line)) for line in "<br>".join(texts).split("<br>")))
    entry_px = ENTRY_PX + (legend_entry_px(keys))
    columns = max(int((width_px - left) // entry_px), 1)
    legend_px = LEGEND_PX + ROW_PX * math.ceil(len(keys) / columns) if keys else 0
    bottom = height - max(margin["b"], AXIS_PX + legend_px)
    xs = list(chain.from_iterable(trace["x"] for trace in traces))
    across = Axis(layout["xaxis"], xs, left, width_px - margin["r"])
    panels: dict[str, Axis] = {}
    for name in (name for name in layout if name.startswith("yaxis")):
        reference = name.replace("axis", "")
        values = list(chain.from_iterable(trace["y"] for trace in traces if trace.get("yaxis", "y") == reference))
        low, high = (bottom - share * (bottom - top) for share in layout[name].get("domain", (0.0, 1.0)))
        panels[reference] = Axis(layout[name], values, low, high)

    visible = [panel for panel in panels.values() if panel.layout.get("visible", True)]
    # Shapes and notes that speak of the paper span all panels.
    up = panels["y"] if len(visible) == 1 else Axis(layout["yaxis"], [], bottom, top)
    font = layout["font"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width_px}" height="{height}" '
        f'viewBox="0 0 {width_px} {height}" '
        f'font-family="{escape(font["family"])}" font-size="{font["size"]}" fill="{font["color"]}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<clipPath id="area"><rect x="{left}" y="{top}" width="{width_px - margin["r"] - left}" '
        f'height="{bottom - top}"/></clipPath>',
        *chain.from_iterable(_axes(across, panel, bottom) for panel in visible),
        '<g clip-path="url(#area)">',
        *chain.from_iterable(_shape(shape, across, up) for shape in layout.get("shapes", ())),
        *chain.from_iterable(_trace(trace, across, panels[trace.get("yaxis", "y")]) for trace in traces),
        "</g>",
        *chain.from_iterable(_annotation(note, across, up, font) for note in layout.get("annotations", ())),
        *_legend(keys, columns, entry_px, left, height - legend_px + LEGEND_PX / 2),
        "</svg>",
    ]
    return "".join(parts)


def svg_of_text(text: str, colour: str) -> str:
    """The drawing of a figure that has nothing to draw: why that is so."""
    lines = textwrap.wrap(text, 90)
    texts = (_text(line, 0, 20 * (number + 1), "start") for number, line in enumerate(lines))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{20 * len(lines) + 10}" '
        f'viewBox="0 0 {WIDTH} {20 * len(lines) + 10}" font-family="sans-serif" font-size="14" fill="{colour}" '
        f'role="img">{"".join(texts)}</svg>'
    )


def _axes(across: Axis, up: Axis, lowest_px: float) -> Iterator[str]:
    """The axes of one panel; the texts of the x axis are below the lowest panel."""
    bottom, top, left, right = up.begin_px, up.end_px, across.begin_px, across.end_px
    for axis, is_across in ((across, True), (up, False)):
        colour, muted = axis.layout["gridcolor"], axis.layout["tickfont"]["color"]
        for number, text in axis.ticks():
            at = axis.px(number)
            if axis.layout.get("showgrid", True):
                yield _line(*((at, top, at, bottom) if is_across else (left, at, right, at)), colour)
            x, y, anchor = (at, bottom + 15, "middle") if is_across else (left - 4, at + 4, "end")
            if is_across and bottom < lowest_px - 1:
                continue
            size = axis.layout["tickfont"].get("size", 12)
            lines = text.split("<br>")
            for row, part in enumerate(lines):
                below = 1.1 * size * (row - (len(lines) - 1) / 2)
                yield _text(part, x, y + below, anchor, f' fill="{muted}" font-size="{size}"')

        line = axis.layout["linecolor"]
        yield _line(left, bottom, right, bottom, line) if is_across else _line(left, top, left, bottom, line)
        middle = (axis.begin_px + axis.end_px) / 2
        title = axis.layout.get("title", {})
        if title.get("text") and (not is_across or bottom > lowest_px - 1):
            digits = max((len(text) for _, text in axis.ticks()), default=0)
            x, y = (middle, bottom + 35) if is_across else (max(left - 16 - DIGIT_PX * digits, 14.0), middle)
            turn = "" if is_across else f' transform="rotate(-90 {x:.1f} {middle:.1f})"'
            yield _text(title["text"], x, y, "middle", f' fill="{muted}" font-size="{title["font"]["size"]}"{turn}')


def _trace(trace: Trace, across: Axis, up: Axis) -> Iterator[str]:
    yield f'<g opacity="{trace.get("opacity", 1)}">'
    positions = [
        (across.px(x), up.px(y)) if x is not None and y is not None else None
        for x, y in zip(map(across.number, trace["x"]), map(up.number, trace["y"]), strict=True)
    ]
    if trace["type"] == "bar":
        for position in positions:
            if position:
                yield from _bar(trace, position, across, up)
    else:
        yield from _scatter(trace, positions)

    yield "</g>"


def _bar(trace: Trace, end: tuple[float, float], across: Axis, up: Axis) -> Iterator[str]:
    """A lying one, from the beginning of the axis across."""
    x, y = end
    half = abs(up.px(trace["width"]) - up.px(0)) / 2
    start = across.px(across.low if across.is_log else max(min(0.0, across.high), across.low))
    fill, outline = trace["marker"]["color"], trace["marker"]["line"]
    if shape := trace["marker"]["pattern"]["shape"]:
        name = f"pattern-{ord(shape)}-{re.sub(r'[^0-9a-zA-Z]', '', fill)}"
        yield _pattern(name, shape, fill)
        fill = f"url(#{name})"

    yield (
        f'<rect x="{min(start, x):.1f}" y="{y - half:.1f}" width="{abs(x - start):.1f}" height="{2 * half:.1f}" '
        f'fill="{fill}" stroke="{outline["color"]}" stroke-width="{outline["width"]}"/>'
    )
    if interval := trace.get("error_x"):
        value = trace["x"][0]
        bounds = (value - interval["arrayminus"][0], value + interval["array"][0])
        low, high = (start if (number := across.number(bound)) is None else across.px(number) for bound in bounds)
        yield _line(low, y, high, y, interval["color"], width=1.5)
        cap = interval["width"]
        for at in (low, high) if cap else ():
            yield _line(at, y - cap, at, y + cap, interval["color"], width=1.5)


def _pattern(name: str, shape: str, colour: str) -> str:
    lines = PATTERN_LINES.get(shape)
    if lines:
        mark = f'<path d="{lines}" stroke="{colour}" stroke-width="2"/>'
    else:
        mark = f'<circle cx="3.5" cy="3.5" r="2.2" fill="{colour}"/>'
    size = f'width="{PATTERN_PX}" height="{PATTERN_PX}"'
    return f'<pattern id="{name}" {size} patternUnits="userSpaceOnUse">{mark}</pattern>'


def _scatter(trace: Trace, positions: Sequence[tuple[float, float] | None]) -> Iterator[str]:
    mode, line = trace.get("mode", "markers"), trace.get("line", {})
    if "lines" in mode:
        drawn = " ".join(f"{position[0]:.1f},{position[1]:.1f}" for position in positions if position)
        fill = "none"
        if trace.get("fill"):
            fill = trace.get("fillcolor", "none")
        yield (
            f'<polyline points="{drawn}" fill="{fill}" stroke="{line.get("color", "none")}" '
            f'stroke-width="{line.get("width", 2)}" stroke-dasharray="{DASHES.get(line.get("dash", ""), "none")}"/>'
        )

    if "markers" in mode and "text" not in mode:
        for number, position in enumerate(positions):
            if position:
                yield _mark(trace.get("marker", {}), number, *position)

    if "text" in mode:
        colour = trace.get("textfont", {}).get("color", "currentColor")
        size = trace.get("marker", {}).get("size", 8)
        sizes = size if isinstance(size, list | tuple) else [size] * len(positions)
        for text, position, diameter in zip(trace["text"], positions, sizes, strict=True):
            if position:
                x, y = position[0] - diameter / 2 - 2.5, position[1] - diameter / 2 - 5
                yield _text(text, x, y, "end", f' font-size="10" fill="{colour}"')


def _mark(marker: Mapping[str, Any], number: int, x: float, y: float) -> str:
    def own(name: str, usual: Any) -> Any:
        value = marker.get(name, usual)
        if isinstance(value, list | tuple):
            return value[number]
        return value

    symbol, colour, radius = own("symbol", "circle"), own("color", "currentColor"), own("size", 8) / 2
    name = symbol.removesuffix("-open")
    is_open = name != symbol or name in STROKES
    paint = f'fill="{"none" if is_open else colour}" stroke="{colour}" stroke-width="{1.5 if is_open else 0}"'
    area, cross, _ = name.partition("-cross")
    if cross:
        return f"<g>{_symbol(area, x, y, radius, paint)}{_symbol('cross', x, y, radius, paint)}</g>"
    return _symbol(name, x, y, radius, paint)


def _symbol(name: str, x: float, y: float, radius: float, paint: str) -> str:
    if corners := CORNERS.get(name):
        points = " ".join(f"{x + radius * across:.1f},{y + radius * down:.1f}" for across, down in corners)
        return f'<polygon points="{points}" {paint}/>'
    if path := STROKES.get(name):
        return f'<path transform="translate({x:.1f} {y:.1f})" d="{path.format(r=f"{radius:.1f}")}" {paint}/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {paint}/>'


def _shape(shape: Mapping[str, Any], across: Axis, up: Axis) -> Iterator[str]:
    ends = []
    for axis, name in ((across, "x"), (up, "y")):
        for end in (shape[f"{name}0"], shape[f"{name}1"]):
            if shape.get(f"{name}ref") == "paper":
                ends.append(axis.begin_px + end * (axis.end_px - axis.begin_px))
            elif (number := axis.number(end)) is not None:
                ends.append(axis.px(number))

    if len(ends) < 4:
        return

    x0, x1, y0, y1 = ends
    line = shape.get("line", {})
    if shape["type"] == "rect":
        yield (
            f'<rect x="{min(x0, x1):.1f}" y="{min(y0, y1):.1f}" width="{abs(x1 - x0):.1f}" '
            f'height="{abs(y1 - y0):.1f}" fill="{shape.get("fillcolor", "none")}"/>'
        )
    elif shape["type"] == "line":
        colour, dash = line.get("color", "currentColor"), DASHES.get(line.get("dash", ""), "none")
        yield _line(x0, y0, x1, y1, colour, dash, line.get("width", 1))


def _annotation(note: Mapping[str, Any], across: Axis, up: Axis, font: Mapping[str, Any]) -> Iterator[str]:
    """Places of annotations are on the axis' own scale already, or shares of the paper."""
    positions = []
    for axis, name in ((across, "x"), (up, "y")):
        if note.get(f"{name}ref") == "paper":
            positions.append(axis.begin_px + note[name] * (axis.end_px - axis.begin_px))
        else:
            number = axis.number(note[name]) if isinstance(note[name], str) else float(note[name])
            if number is None:
                return
            positions.append(axis.px(number))

    lines = note["text"].split("<br>")
    size = note.get("font", {}).get("size", font["size"])
    padding = {"left": 1, "right": -1}.get(note.get("xanchor", "center"), 0) * (1 + note.get("borderpad", 1))
    x, y = positions[0] + note.get("xshift", 0) + padding, positions[1] - note.get("yshift", 0)
    anchor = note.get("yanchor", "middle")
    above = {"bottom": len(lines) - 1, "middle": (len(lines) - 1) / 2}.get(anchor, 0)
    for number, text in enumerate(lines):
        at = y + (number - above + BASELINES.get(anchor, 0.35)) * size * 1.25
        colour = note.get("font", {}).get("color", font["color"])
        yield _text(text, x, at, ANCHORS[note.get("xanchor", "center")], f' fill="{colour}" font-size="{size}"')


def _legend(keys: Sequence[Trace], columns: int, entry_px: float, left: float, top: float) -> Iterator[str]:
    for number, trace in enumerate(keys):
        x, y = left + number % columns * entry_px, top + number // columns * ROW_PX + ROW_PX / 2
        line, marker = trace.get("line", {}), trace.get("marker", {})
        if "lines" in trace.get("mode", ""):
            yield _line(x + 5, y, x + 39, y, line.get("color", "none"), DASHES.get(line.get("dash", ""), "none"), 2)
        if marker:
            yield _mark({**marker, "size": min(marker.get("size", 8), 16)}, 0, x + 22, y)
        yield _text(trace["name"], x + 44, y + 4, "start")


def _line(x0: float, y0: float, x1: float, y1: float, colour: str, dash: str = "none", width: float = 1) -> str:
    crisp = ' shape-rendering="crispEdges"' if width == 1 else ""
    return (
        f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{colour}" '
        f'stroke-width="{width}" stroke-dasharray="{dash}"{crisp}/>'
    )


def _text(text: str, x: float, y: float, anchor: str, more: str = "") -> str:
    weight = ' font-weight="bold"' if text.startswith("<b>") else ""
    parts = _SPAN.split(text)
    spans = [escape(_plain(part)) for part in parts[::3]]
    styled = [
        f'<tspan style="{escape(style.replace("color", "fill"))}">{escape(_plain(span))}</tspan>'
        for style, span in zip(parts[1::3], parts[2::3], strict=True)
    ]
    inner = "".join(chain(*zip_longest(spans, styled, fillvalue="")))
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}{more} xml:space="preserve">{inner}</text>'


def _plain(text: str) -> str:
    """Without the tags and the escapes that plotly reads, and without characters that XML refuses."""
    return re.sub(r"[\x00-\x1f\ufffe\uffff]", " ", unescape(re.sub(r"</?(?:b|i|br|span)\b[^>]*>", "", text)))

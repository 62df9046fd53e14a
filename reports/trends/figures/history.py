"""One number over commits or dates: levels, changes with their direction, and what else changed."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import chain
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from benchsite.core import formatting
from benchsite.core.table import Columns, Table, tabulated
from reports.compare.analysis.downsample import MAX_POINTS, thinned
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import Figure
from reports.compare.figures.layout import (
    Frame,
    Layout,
    PlotlyFigure,
    Trace,
    annotation,
    axis,
    base_layout,
    escaped,
    rounded,
    scatter,
    shortened,
    straight,
)
from reports.compare.figures.theme import rgba
from reports.trends.analysis.changes import Change, Level
from reports.trends.analysis.edivisive import MAX_P
from reports.trends.histories import ACCEPTED, History, HistoryChange, HistoryPoint
from reports.trends.messages import CHANGE_ACCEPTED, UNCERTAIN

COMMITS: Final = "commits"
DATES: Final = "dates"
AXES: Final = (COMMITS, DATES)
MIN_SHARE_OF_CUT_AXIS: Final = 0.5  # the lowest value of the highest; an axis of others begins at 0
MAX_MARKERS: Final = 400  # of more points only the line is drawn
MAX_NAMED: Final = 12  # changes with their per cent in the picture; the others say it where one points
MAX_TICKS: Final = 10
US_PER_MS: Final = 1e3
TABLE_ROWS: Final = 300  # beside the picture; files have all
NOTHING_FOLLOWED: Final = (
    "No run of this test that counts has measured this. Choose another metric, or look at its runs."
)

Locate = Callable[[int], Any]  # index among all points -> coordinate


class HistoryFigure(Figure):
    """The points, the level they are at, and every change; along commits each point has the same room.

    The table beside the picture has the newest points, a file (`whole`) all.
    """

    def __init__(self, history: History, *, along: str = COMMITS, whole: bool = False, name: str = "history") -> None:
        self.name = name
        self.history = history
        self.along = along
        self.whole = whole

    def draw(self, frame: Frame) -> PlotlyFigure:
        history = self.history
        layout = base_layout(frame)
        layout["showlegend"] = True
        layout["margin"]["t"] += 30
        layout["margin"]["b"] = 96 if frame.narrow else 84
        title, tickformat = "throughput (ops/s)", "~s"
        if history.metric.operation:
            title, tickformat = shortened(f"{history.metric.label} (ms)", 48), "~g"
        # A small change needs an axis of its own, which would otherwise look like a fall to nothing.
        is_cut = min(history.values, default=0) > MIN_SHARE_OF_CUT_AXIS * max(history.values, default=0)
        layout["yaxis"] = axis(frame, title, tickformat=tickformat, rangemode="tozero")
        if is_cut:
            layout["yaxis"] = axis(frame, f"{title}, not from 0", tickformat=tickformat)
        # Marks that belong to an instant and to no value stand at the bottom of the picture, whatever the values are.
        layout["yaxis2"] = {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}
        layout["xaxis"] = axis(frame, self.along, showgrid=False, **self._build_ticks(frame))
        data = [
            *_draw_levels(history, self._locate, frame),
            _draw_line(history, self._locate, frame),
            *_draw_left_out(history, self._locate, frame),
            *_draw_changes(history, self._locate, frame),
            *_draw_marks(history, self._locate, self.along, frame),
        ]
        _label_changes(layout, history, self._locate, frame)
        return {"data": data, "layout": layout}

    def _build_ticks(self, frame: Frame) -> dict[str, Any]:
        """Some points by their names; dates name themselves."""
        if self.along != COMMITS:
            return {"type": "date"}
        points = self.history.points
        max_ticks = 4 if frame.narrow else MAX_TICKS
        step = max(1, math.ceil(len(points) / max_ticks))
        indices = list(range(0, len(points), step))
        names = [escaped(points[index].label) for index in indices]
        return {"tickvals": indices, "ticktext": names, "range": [-0.75, max(len(points) - 0.25, 0.75)]}

    def _locate(self, index: int) -> Any:
        """The coordinate of a point."""
        if self.along == COMMITS:
            return index
        return self.history.points[index].at.isoformat(timespec="seconds")

    @property
    def remarks(self) -> list[Remark]:
        """The meaning of a point, what was left out, and the rule of reported changes."""
        history = self.history
        repeats = [point.n for point in history.points if point.n]
        fewest, most = min(repeats, default=0), max(repeats, default=0)
        n = str(fewest)
        if most > fewest:
            n = f"{fewest} to {most}"
        label = history.metric.label
        left_out = ""
        if history.left_out == 1:
            left_out = "1 run does not count and is hollow"
        elif history.left_out:
            left_out = f"{history.left_out} runs do not count and are hollow"
        unmeasured = ""
        if history.unmeasured:
            unmeasured = f"{formatting.counted(history.unmeasured, 'run')} did not measure this"
        min_magnitude = formatting.percent(history.metric.rule.min_magnitude)
        return [
            (
                "Points",
                f"{label[:1].upper()}{label[1:]}: each point is the geometric mean of one commit's sessions; n = {n}",
            ),
            ("Changes", history.too_short),
            ("Left out", left_out),
            ("Not measured", unmeasured),
            ("Rule", f"Changes: E-divisive means, p below {formatting.exact(MAX_P)}, at least {min_magnitude}"),
            ("No commit", "Where no commit is known, a point is of one matrix or day"),
        ]

    @property
    def table(self) -> Table:
        """A row per point, newest last."""
        points = self.history.points
        changes = {entry.index: entry for entry in self.history.changes}
        environment = {index: "; ".join(texts) for index, texts in self.history.environment}
        first = 0
        if not self.whole:
            first = max(0, len(points) - TABLE_ROWS)
        rows = [
            SimpleNamespace(
                point=point,
                change=changes.get(index),
                environment=environment.get(index, ""),
                unit=self.history.metric.unit,
            )
            for index, point in enumerate(points[first:], first)
        ]
        return tabulated(COLUMNS, rows)

    @property
    def empty(self) -> str:
        points = self.history.points
        left_out = chain.from_iterable(point.left_out for point in points)
        drawable = self.history.followed or any(run.value is not None for run in left_out)
        if points and drawable:
            return ""
        return NOTHING_FOLLOWED


COLUMNS: Final[Columns] = {
    "point": "point.label",
    "commit": "point.commit",
    "branch": "point.branch",
    "first measured (UTC)": lambda row: row.point.at.strftime("%Y-%m-%d %H:%M:%S"),
    "geometric mean": "point.value",
    "least": "point.low",
    "greatest": "point.high",
    "unit": "unit",
    "runs": "point.n",
    "runs that do not count": lambda row: len(row.point.left_out),
    "change (%)": lambda row: row.change and 100 * row.change.change.relative,
    "change is": lambda row: change_words(row.change) if row.change else "",
    "decided": lambda row: row.change.state if row.change and row.change.triage else "",
    "environment": "environment",
}


def change_words(entry: HistoryChange) -> str:
    """Better or worse, or why it does not count."""
    if entry.change.weak:
        return UNCERTAIN
    if entry.change.dismissed:
        return "a false alarm"
    direction = "worse"
    if entry.change.better:
        direction = "better"
    if entry.state == ACCEPTED:
        return CHANGE_ACCEPTED.format(direction=direction)
    return direction


def _scale(history: History, value: float) -> float:
    if history.metric.operation:
        value /= US_PER_MS
    return rounded(value)


def _format_hover(history: History, point: HistoryPoint, value: float | None) -> str:
    name = point.label
    if point.commit:
        name = f"{point.label}, {point.at:%Y-%m-%d}"
    title = escaped(f"{name} · n = {point.n}")
    return f"<b>{title}</b><br>{history.metric.text(value)}"


def _draw_line(history: History, locate: Locate, frame: Frame) -> Trace:
    values = np.asarray(history.values, dtype=float)
    indices = [history.followed[position] for position in thinned(values).tolist()]
    points = [history.points[index] for index in indices]
    heights = [_scale(history, point.value or 0.0) for point in points]
    has_markers = len(history.followed) <= MAX_MARKERS
    mode = "lines"
    if has_markers:
        mode = "lines+markers"
    trace = scatter(
        [locate(index) for index in indices],
        heights,
        f"{escaped(history.metric.label)}, geometric mean",
        hover=[_format_hover(history, point, point.value) for point in points],
        mode=mode,
        line={"color": rgba(frame.theme.ink, 0.55), "width": 1},
        marker={"color": frame.theme.ink, "size": 6},
    )
    if has_markers and any(point.n > 1 for point in points):
        pairs = list(zip(points, heights, strict=True))
        up = [rounded(_scale(history, point.high or 0.0) - value) for point, value in pairs]
        down = [rounded(value - _scale(history, point.low or 0.0)) for point, value in pairs]
        trace["error_y"] = {
            "type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1, "width": 0,
            "color": frame.theme.muted,
        }  # fmt: skip

    return trace


def _draw_levels(history: History, locate: Locate, frame: Frame) -> list[Trace]:
    """The median of each level's points, and the band of the current one."""
    levels = history.course.levels
    if not levels:
        return []

    x: list[Any] = []
    y: list[float | None] = []
    for level in levels:
        first, last = _locate_ends(history, level, locate)
        median = _scale(history, level.median)
        # None ends the line of a level.
        x += [first, last, last]
        y += [median, median, None]

    dashed = {"color": frame.theme.ink, "width": 2, "dash": "dash"}
    medians = scatter(x, y, "level, median of its points", mode="lines", connectgaps=False, line=dashed)
    current = levels[-1]
    first, last = _locate_ends(history, current, locate)
    low, high = _scale(history, current.low), _scale(history, current.high)
    band = scatter(
        [first, last, last, first],
        [high, high, low, low],
        "band of the current level",
        mode="lines",
        fill="toself",
        fillcolor=frame.theme.shade,
        line={"width": 0},
    )
    return [band, medians]


def _locate_ends(history: History, level: Level, locate: Locate) -> tuple[Any, Any]:
    return locate(history.followed[level.start]), locate(history.followed[level.stop - 1])


def _draw_left_out(history: History, locate: Locate, frame: Frame) -> list[Trace]:
    """Runs that do not count: there, but hollow."""
    entries = []
    for index, point in enumerate(history.points):
        for run in point.left_out:
            if run.value is not None and np.isfinite(run.value):
                entries.append((index, run.value, run))

    if not entries:
        return []

    entries = entries[-MAX_POINTS:]
    hover = []
    for index, value, run in entries:
        reason = shortened(f"{run.standing}: {run.reason}".rstrip(": "), 90)
        hover.append(f"{_format_hover(history, history.points[index], value)}<br>{reason}")

    return [
        scatter(
            [locate(index) for index, _, _ in entries],
            [_scale(history, value) for _, value, _ in entries],
            "does not count",
            hover=hover,
            marker=_build_hollow_marker("circle-open", 8, frame),
        )
    ]


def change_text(change: Change) -> str:
    """Arrow and signed per cent."""
    arrow = "▼"
    if change.after > change.before:
        arrow = "▲"
    return f"{arrow} {formatting.signed_percent(change.relative)}"


def _draw_changes(history: History, locate: Locate, frame: Frame) -> list[Trace]:
    """Triangles at the changes, hollow ones where they do not count."""
    gains = [entry for entry in history.counting if entry.change.better]
    losses = [entry for entry in history.counting if not entry.change.better]
    others = [entry for entry in history.changes if not entry.change.counts]
    better, worse = frame.theme.series[:2]
    traces = []
    for name, colour, entries in (
        ("better", better, gains),
        ("worse", worse, losses),
        ("uncertain, small or false", frame.theme.grey, others),
    ):
        if not entries:
            continue
        recent = entries[-MAX_POINTS:]
        marker = {
            "symbol": [_choose_symbol(entry.change) for entry in recent],
            "size": 13,
            "color": colour,
            "line": {"width": 0},
        }
        if entries is others:
            marker |= {"size": 10, "line": {"width": 1.5}}
        traces.append(
            scatter(
                [locate(entry.index) for entry in recent],
                [_scale(history, entry.point.value or 0.0) for entry in recent],
                f"change, {name}",
                hover=[_format_change_hover(entry) for entry in recent],
                marker=marker,
            )
        )

    return traces


def _choose_symbol(change: Change) -> str:
    symbol = "triangle-down"
    if change.after > change.before:
        symbol = "triangle-up"
    if change.counts:
        return symbol
    return f"{symbol}-open"


def _label_changes(layout: Layout, history: History, locate: Locate, frame: Frame) -> None:
    """A line at each change that counts, and the per cent of the newest."""
    better, worse = frame.theme.series[:2]
    colours = {True: better, False: worse}
    layout["shapes"] = [
        straight(colours[entry.change.better], "dot", x=locate(entry.index), layer="below")
        for entry in history.counting
    ]
    max_named = 4 if frame.narrow else MAX_NAMED
    for number, entry in enumerate(history.counting[-max_named:]):
        # Every second text stands higher, so that neighbours do not cover each other.
        layout["annotations"].append(
            annotation(
                f"<b>{change_text(entry.change)}</b>",
                colours[entry.change.better],
                x=locate(entry.index),
                y=1,
                yref="paper",
                yanchor="bottom",
                yshift=2 + 13 * (number % 2),
            )
        )


def _format_change_hover(entry: HistoryChange) -> str:
    change = entry.change
    lines = [
        f"<b>{change_text(change)}</b> from {escaped(entry.point.label)}",
        f"p = {formatting.significant(change.p, 2)}",
    ]
    if change.weak:
        lines.append(UNCERTAIN)
    elif entry.triage:
        lines.append(escaped(entry.state))
    return "<br>".join(lines)


def _draw_marks(history: History, locate: Locate, along: str, frame: Frame) -> list[Trace]:
    """Other changes and people's notes, at the bottom."""
    environment = []
    for index, texts in history.environment:
        lines = ["environment", *(shortened(text, 90) for text in texts[:6])]
        environment.append((locate(index), "<br>".join(lines)))

    notes = []
    instants = [point.at for point in history.points]
    for note in history.notes:
        if not instants or note.at < instants[0]:
            continue  # Before the first point: it says nothing about this history.
        index = min(bisect_left(instants, note.at), len(instants) - 1)
        x = locate(index) if along == COMMITS else note.at.isoformat(timespec="seconds")
        notes.append((x, f"{note.at:%Y-%m-%d} {shortened(note.text, 120)}"))

    return [
        *_draw_marks_at(environment, "other environment", "diamond-open", 0.03, frame),
        *_draw_marks_at(notes, "note", "star", 0.09, frame),
    ]


def _draw_marks_at(
    marks: Sequence[tuple[Any, str]], name: str, symbol: str, height: float, frame: Frame
) -> list[Trace]:
    """Coordinates with their texts as one trace; none without marks."""
    if not marks:
        return []
    recent = marks[-MAX_POINTS:]
    return [
        scatter(
            [x for x, _ in recent],
            [height] * len(recent),
            name,
            hover=[text for _, text in recent],
            yaxis="y2",
            marker=_build_hollow_marker(symbol, 10, frame),
        )
    ]


def _build_hollow_marker(symbol: str, size: int, frame: Frame) -> dict[str, Any]:
    return {"symbol": symbol, "size": size, "color": frame.theme.muted, "line": {"width": 1.5}}

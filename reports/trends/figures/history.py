"""One number over commits or dates: levels, changes with their direction, and what else changed."""

import math
from bisect import bisect_left
from collections.abc import Sequence
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
from reports.compare.figures.points import CROSS
from reports.compare.figures.theme import rgba
from reports.trends.analysis.changes import Change, Level
from reports.trends.analysis.edivisive import MAX_P
from reports.trends.histories import History, HistoryChange, HistoryPoint, State
from reports.trends.messages import ACCEPTED_POINT, CHANGE_ACCEPTED, UNCERTAIN

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

Mark = tuple[Any, float, str]  # coordinate, height and text


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
            *self._draw_levels(frame),
            self._draw_line(frame),
            *self._draw_left_out(frame),
            *self._draw_accepted(frame),
            *self._draw_changes(frame),
            *self._draw_marks(frame),
        ]
        self._label_changes(layout, frame)
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

    def _scale(self, value: float | None) -> float:
        """A height in the figure; latencies are in ms."""
        divisor = US_PER_MS if self.history.metric.operation else 1
        return rounded((value or 0.0) / divisor)

    def _format_hover(self, point: HistoryPoint, value: float | None) -> str:
        name = f"{point.label}, {point.at:%Y-%m-%d}" if point.commit else point.label
        title = escaped(f"{name} · n = {point.n}")
        return f"<b>{title}</b><br>{self.history.metric.text(value)}"

    def _draw_line(self, frame: Frame) -> Trace:
        history = self.history
        indices = [history.followed[position] for position in thinned(np.asarray(history.values)).tolist()]
        points = [history.points[index] for index in indices]
        heights = [self._scale(point.value) for point in points]
        has_markers = len(history.followed) <= MAX_MARKERS
        trace = scatter(
            [self._locate(index) for index in indices],
            heights,
            f"{escaped(history.metric.label)}, geometric mean",
            hover=[self._format_hover(point, point.value) for point in points],
            mode="lines+markers" if has_markers else "lines",
            line={"color": rgba(frame.theme.ink, 0.55), "width": 1},
            marker={"color": frame.theme.ink, "size": 6},
        )
        if has_markers and any(point.n > 1 for point in points):
            pairs = list(zip(points, heights, strict=True))
            up = [rounded(self._scale(point.high) - height) for point, height in pairs]
            down = [rounded(height - self._scale(point.low)) for point, height in pairs]
            trace["error_y"] = {
                "type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1, "width": 0,
                "color": frame.theme.muted,
            }  # fmt: skip

        return trace

    def _draw_levels(self, frame: Frame) -> list[Trace]:
        """The median of each level's points, and the band of the current one."""
        levels = self.history.course.levels
        if not levels:
            return []

        x: list[Any] = []
        y: list[float | None] = []
        for level in levels:
            first, last = self._locate_ends(level)
            median = self._scale(level.median)
            # None ends the line of a level.
            x += [first, last, last]
            y += [median, median, None]

        dashed = {"color": frame.theme.ink, "width": 2, "dash": "dash"}
        medians = scatter(x, y, "level, median of its points", mode="lines", connectgaps=False, line=dashed)
        current = levels[-1]
        first, last = self._locate_ends(current)
        low, high = self._scale(current.low), self._scale(current.high)
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

    def _locate_ends(self, level: Level) -> tuple[Any, Any]:
        followed = self.history.followed
        return self._locate(followed[level.start]), self._locate(followed[level.stop - 1])

    def _draw_left_out(self, frame: Frame) -> list[Trace]:
        """Runs that do not count: there, but hollow."""
        marks: list[Mark] = []
        for index, point in enumerate(self.history.points):
            for run in point.left_out:
                if run.value is not None and np.isfinite(run.value):
                    reason = shortened(f"{run.standing}: {run.reason}".rstrip(": "), 90)
                    text = f"{self._format_hover(point, run.value)}<br>{reason}"
                    marks.append((self._locate(index), self._scale(run.value), text))

        return _draw_hollow(marks, "does not count", "circle-open", 8, frame)

    def _draw_accepted(self, frame: Frame) -> list[Trace]:
        """A cross on points with runs that a person counts although a check rejects them."""
        marks: list[Mark] = []
        for index, point in enumerate(self.history.points):
            if point.accepted and point.value is not None:
                text = f"{self._format_hover(point, point.value)}<br>{shortened('; '.join(point.accepted), 90)}"
                marks.append((self._locate(index), self._scale(point.value), text))

        return _draw_hollow(marks, ACCEPTED_POINT, CROSS, 12, frame)

    def _draw_changes(self, frame: Frame) -> list[Trace]:
        """Triangles at the changes, hollow ones where they do not count."""
        history = self.history
        gains = [change for change in history.counting if change.better]
        losses = [change for change in history.counting if not change.better]
        others = [change for change in history.changes if not change.counts]
        better, worse = frame.theme.series[:2]
        traces = []
        for name, colour, changes in (
            ("better", better, gains),
            ("worse", worse, losses),
            ("uncertain, small or false", frame.theme.grey, others),
        ):
            if not changes:
                continue
            recent = changes[-MAX_POINTS:]
            marker = {
                "symbol": [_choose_symbol(change) for change in recent],
                "size": 13,
                "color": colour,
                "line": {"width": 0},
            }
            if changes is others:
                marker |= {"size": 10, "line": {"width": 1.5}}
            traces.append(
                scatter(
                    [self._locate(change.position) for change in recent],
                    [self._scale(change.point.value) for change in recent],
                    f"change, {name}",
                    hover=[_format_change_hover(change) for change in recent],
                    marker=marker,
                )
            )

        return traces

    def _label_changes(self, layout: Layout, frame: Frame) -> None:
        """A line at each change that counts, and the per cent of the newest."""
        better, worse = frame.theme.series[:2]
        colours = {True: better, False: worse}
        counting = self.history.counting
        layout["shapes"] = [
            straight(colours[change.better], "dot", x=self._locate(change.position), layer="below")
            for change in counting
        ]
        max_named = 4 if frame.narrow else MAX_NAMED
        for number, change in enumerate(counting[-max_named:]):
            # Every second text stands higher, so that neighbours do not cover each other.
            layout["annotations"].append(
                annotation(
                    f"<b>{change_text(change)}</b>",
                    colours[change.better],
                    x=self._locate(change.position),
                    y=1,
                    yref="paper",
                    yanchor="bottom",
                    yshift=2 + 13 * (number % 2),
                )
            )

    def _draw_marks(self, frame: Frame) -> list[Trace]:
        """Other changes and people's notes, at the bottom."""
        history = self.history
        environment: list[Mark] = []
        for index, texts in history.environment:
            lines = ["environment", *(shortened(text, 90) for text in texts[:6])]
            environment.append((self._locate(index), 0.03, "<br>".join(lines)))

        notes: list[Mark] = []
        instants = [point.at for point in history.points]
        for note in history.notes:
            if not instants or note.at < instants[0]:
                continue  # Before the first point: it says nothing about this history.
            index = min(bisect_left(instants, note.at), len(instants) - 1)
            x = self._locate(index) if self.along == COMMITS else note.at.isoformat(timespec="seconds")
            notes.append((x, 0.09, f"{note.at:%Y-%m-%d} {shortened(note.text, 120)}"))

        return [
            *_draw_hollow(environment, "other environment", "diamond-open", 10, frame, yaxis="y2"),
            *_draw_hollow(notes, "note", "star", 10, frame, yaxis="y2"),
        ]

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
        changes = {change.position: change for change in self.history.changes}
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
    "rejected, counted because": lambda row: "; ".join(row.point.accepted),
    "change (%)": lambda row: row.change and 100 * row.change.relative,
    "change is": lambda row: change_words(row.change) if row.change else "",
    "decided": lambda row: row.change.state if row.change and row.change.triage else "",
    "environment": "environment",
}


def change_words(change: HistoryChange) -> str:
    """Better or worse, or why it does not count."""
    if change.weak:
        return UNCERTAIN
    if change.dismissed:
        return "a false alarm"
    direction = "worse"
    if change.better:
        direction = "better"
    if change.state == State.ACCEPTED:
        return CHANGE_ACCEPTED.format(direction=direction)
    return direction


def change_text(change: Change) -> str:
    """Arrow and signed per cent."""
    arrow = "▲" if change.after > change.before else "▼"
    return f"{arrow} {formatting.signed_percent(change.relative)}"


def _choose_symbol(change: Change) -> str:
    symbol = "triangle-up" if change.after > change.before else "triangle-down"
    return symbol if change.counts else f"{symbol}-open"


def _format_change_hover(change: HistoryChange) -> str:
    lines = [
        f"<b>{change_text(change)}</b> from {escaped(change.point.label)}",
        f"p = {formatting.significant(change.p, 2)}",
    ]
    if change.weak:
        lines.append(UNCERTAIN)
    elif change.triage:
        lines.append(escaped(change.state))
    return "<br>".join(lines)


def _draw_hollow(marks: Sequence[Mark], name: str, symbol: str, size: int, frame: Frame, **fields: Any) -> list[Trace]:
    """The newest of these marks as one trace; none without marks."""
    if not marks:
        return []
    x, heights, hover = zip(*marks[-MAX_POINTS:], strict=True)
    marker = {"symbol": symbol, "size": size, "color": frame.theme.muted, "line": {"width": 1.5}}
    return [scatter(list(x), list(heights), name, hover=list(hover), marker=marker, **fields)]

"""One number over commits or dates: levels, changes with their direction, and what else changed."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from itertools import chain
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from benchsite.core import formatting
from benchsite.core.table import Columns, Table, tabulated
from reports.compare.analysis.downsample import MAX_POINTS, thinned
from reports.compare.figures.figure import Figure, sentences
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
from reports.trends.analysis.changes import MIN_HISTORY, Change
from reports.trends.analysis.edivisive import MAX_P
from reports.trends.histories import History, HistoryChange, HistoryPoint
from reports.trends.messages import UNCERTAIN

COMMITS: Final = "commits"
DATES: Final = "dates"
AXES: Final = (COMMITS, DATES)
MAX_MARKERS: Final = 400  # of more points only the line is drawn
MAX_NAMED: Final = 12  # changes with their per cent in the picture; the others say it where one points
MAX_TICKS: Final = 10
US_PER_MS: Final = 1e3
TABLE_ROWS: Final = 300  # beside the picture; files have all
NOTHING_FOLLOWED: Final = (
    "No run of this test that counts has measured this. Choose another metric, or look at its runs."
)

Place = Callable[[int], Any]  # index among all points -> coordinate


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
        history, along = self.history, self.along
        layout = base_layout(frame)
        layout["showlegend"] = True
        layout["margin"]["t"] += 30
        layout["margin"]["b"] = 96 if frame.narrow else 84
        title = "throughput (ops/s)"
        if history.metric.operation:
            title = f"{history.metric.label} (ms)"
        tickformat = "~g"
        if not history.metric.operation:
            tickformat = "~s"
        layout["yaxis"] = axis(frame, shortened(title, 48), tickformat=tickformat)
        # Marks that belong to an instant and to no value stand at the bottom of the picture, whatever the values are.
        layout["yaxis2"] = {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}
        # Some points by their names; dates name themselves.
        if along != COMMITS:
            ticks: dict[str, Any] = {"type": "date"}
        else:
            count = len(history.points)
            step = max(1, -(-count // (4 if frame.narrow else MAX_TICKS)))
            at = list(range(0, count, step))
            names = [escaped(history.points[index].label) for index in at]
            ticks = {"tickvals": at, "ticktext": names, "range": [-0.75, max(count - 0.25, 0.75)]}

        layout["xaxis"] = axis(frame, along, showgrid=False, **ticks)
        points = history.points

        def place(index: int) -> Any:
            if along == COMMITS:
                return index
            return points[index].at.isoformat(timespec="seconds")

        data = [
            *_levels(history, place, frame),
            _line(history, place, frame),
            *_left_out(history, place, frame),
            *_changes(history, place, frame, layout),
            *_marks(history, place, along, frame),
        ]
        return {"data": data, "layout": layout}

    @property
    def caption(self) -> str:
        """The meaning of a point, what was left out, and the rule of reported changes."""
        history = self.history
        repeats = Counter(point.n for point in history.points if point.n)
        low, high = min(repeats, default=0), max(repeats, default=0)
        rule = history.metric.rule
        out, silent = history.left_out, history.unmeasured
        hollow = f"{out} run{'s do' if out != 1 else ' does'} not count and {'are' if out != 1 else 'is'} hollow"

        return sentences(
            f"{history.metric.label[:1].upper()}{history.metric.label[1:]}: each point is the median of the runs of "
            "one commit, or of one matrix or day where no commit is known; "
            f"n = {low if low == high else f'{low} to {high}'}",
            hollow if out else "",
            f"{formatting.counted(silent, 'run')} did not measure this" if silent else "",
            f"Changes: E-divisive means, p below {formatting.exact(MAX_P)}, "
            f"at least {formatting.percent(rule.min_magnitude)}",
            f"Fewer than {MIN_HISTORY} points since the baseline: too few to say anything of changes"
            if history.course.too_short
            else "",
        )

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
    "median": "point.value",
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
    if entry.change.better:
        return "better"
    return "worse"


def _scaled(history: History, value: float) -> float:
    return rounded(value / US_PER_MS if history.metric.operation else value)


def _about(history: History, point: HistoryPoint, value: float | None) -> str:
    name = f"{point.label}, {point.at:%Y-%m-%d}" if point.commit else point.label
    return f"<b>{escaped(f'{name} · n = {point.n}')}</b><br>{history.metric.text(value)}"


def _line(history: History, locate: Place, frame: Frame) -> Trace:
    followed = history.followed
    values = np.asarray([history.points[index].value for index in followed], dtype=float)
    indices = [followed[at] for at in thinned(values).tolist()]
    points = [history.points[index] for index in indices]
    crowded = len(followed) > MAX_MARKERS
    y = [_scaled(history, point.value or 0.0) for point in points]
    mode = "lines+markers"
    if crowded:
        mode = "lines"
    trace = scatter(
        [locate(index) for index in indices],
        y,
        f"{escaped(history.metric.label)}, median",
        hover=[_about(history, point, point.value) for point in points],
        mode=mode,
        line={"color": rgba(frame.theme.ink, 0.55), "width": 1},
        marker={"color": frame.theme.ink, "size": 6},
    )
    if not crowded and any(point.n > 1 for point in points):
        up = [rounded(_scaled(history, point.high or 0.0) - at) for point, at in zip(points, y, strict=True)]
        down = [rounded(at - _scaled(history, point.low or 0.0)) for point, at in zip(points, y, strict=True)]
        trace["error_y"] = {
            "type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1, "width": 0,
            "color": frame.theme.muted,
        }  # fmt: skip

    return trace


def _levels(history: History, locate: Place, frame: Frame) -> list[Trace]:
    """The median of each level, and the band of the current one."""
    levels = history.course.levels
    if not levels:
        return []

    x: list[Any] = []
    y: list[float | None] = []
    for level in levels:
        ends = (history.followed[level.start], history.followed[level.stop - 1])
        x += [*(locate(index) for index in ends), locate(ends[1])]
        y += [*[_scaled(history, level.median)] * 2, None]

    dashed = {"color": frame.theme.ink, "width": 2, "dash": "dash"}
    median = scatter(x, y, "level", mode="lines", connectgaps=False, line=dashed)
    now = levels[-1]
    first, last = locate(history.followed[now.start]), locate(history.followed[now.stop - 1])
    low, high = _scaled(history, now.low), _scaled(history, now.high)
    band = scatter(
        [first, last, last, first],
        [high, high, low, low],
        "band of the current level",
        mode="lines",
        fill="toself",
        fillcolor=frame.theme.shade,
        line={"width": 0},
    )
    return [band, median]


def _left_out(history: History, locate: Place, frame: Frame) -> list[Trace]:
    """Runs that do not count: there, but hollow."""
    out = []
    for index, point in enumerate(history.points):
        for run in point.left_out:
            if run.value is not None and np.isfinite(run.value):
                out.append((index, run.value, run))

    out = out[-MAX_POINTS:]
    if not out:
        return []

    text = [
        f"{_about(history, history.points[index], value)}<br>"
        f"{shortened(f'{run.standing}: {run.reason}'.rstrip(': '), 90)}"
        for index, value, run in out
    ]

    return [
        scatter(
            [locate(index) for index, _, _ in out],
            [_scaled(history, value) for _, value, _ in out],
            "does not count",
            hover=text,
            marker=_open_marker("circle-open", 8, frame),
        )
    ]


def change_text(change: Change) -> str:
    """Arrow and signed per cent."""
    arrow = "▼"
    if change.after > change.before:
        arrow = "▲"
    return f"{arrow} {formatting.signed_percent(change.relative)}"


def _changes(history: History, locate: Place, frame: Frame, layout: Layout) -> list[Trace]:
    traces = []
    better, worse = frame.theme.series[:2]
    kinds = (
        ("better", better, [entry for entry in history.changes if entry.change.counts and entry.change.better]),
        ("worse", worse, [entry for entry in history.changes if entry.change.counts and not entry.change.better]),
        ("uncertain, small or false", frame.theme.grey, [e for e in history.changes if not e.change.counts]),
    )
    for name, colour, entries in kinds:
        if some := entries[-MAX_POINTS:]:
            up = ["triangle-up" if entry.change.after > entry.change.before else "triangle-down" for entry in some]
            counts = some[0].change.counts
            traces.append(
                scatter(
                    [locate(entry.index) for entry in some],
                    [_scaled(history, entry.point.value or 0.0) for entry in some],
                    f"change, {name}",
                    hover=[_change_hover(entry) for entry in some],
                    marker={
                        "symbol": up if counts else [f"{symbol}-open" for symbol in up],
                        "size": 13 if counts else 10,
                        "color": colour,
                        "line": {"width": 1.5 if not counts else 0},
                    },
                )
            )

    counted = [entry for entry in history.changes if entry.change.counts]
    layout["shapes"] = [
        straight(better if entry.change.better else worse, "dot", x=locate(entry.index), layer="below")
        for entry in counted
    ]
    for number, entry in enumerate(counted[-(4 if frame.narrow else MAX_NAMED) :]):
        layout["annotations"].append(
            annotation(
                f"<b>{change_text(entry.change)}</b>",
                better if entry.change.better else worse,
                x=locate(entry.index),
                y=1,
                yref="paper",
                yanchor="bottom",
                yshift=2 + 13 * (number % 2),
            )
        )

    return traces


def _change_hover(entry: HistoryChange) -> str:
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


def _marks(history: History, locate: Place, along: str, frame: Frame) -> list[Trace]:
    """Other changes and people's notes, at the bottom."""
    environment = [
        (locate(index), "<br>".join(["environment", *(shortened(text, 90) for text in texts[:6])]))
        for index, texts in history.environment
    ]
    notes = []
    if history.points:
        instants = [point.at for point in history.points]
        for note in history.notes:
            if note.at < instants[0]:
                continue  # Before the first point: it says nothing about this history.
            index = min(bisect_left(instants, note.at), len(instants) - 1)
            x = locate(index) if along == COMMITS else note.at.isoformat(timespec="seconds")
            notes.append((x, f"{note.at:%Y-%m-%d} {shortened(note.text, 120)}"))

    return [
        scatter(
            [x for x, _ in some[-MAX_POINTS:]],
            [height] * len(some[-MAX_POINTS:]),
            name,
            hover=[text for _, text in some[-MAX_POINTS:]],
            yaxis="y2",
            marker=_open_marker(symbol, 10, frame),
        )
        for some, name, symbol, height in (
            (environment, "other environment", "diamond-open", 0.03),
            (notes, "note", "star", 0.09),
        )
        if some
    ]


def _open_marker(symbol: str, size: int, frame: Frame) -> dict[str, Any]:
    return {"symbol": symbol, "size": size, "color": frame.theme.muted, "line": {"width": 1.5}}

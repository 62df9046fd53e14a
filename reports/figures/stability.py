"""How even throughput is over time: one ridge per sweep, relative to its own median, slow seconds coloured."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from benchsite.core import formatting
from reports.analysis.downsample import MAX_POINTS, thinned
from reports.curves import Curve
from reports.figures import captions
from reports.figures.figure import SIDE, CurvesFigure, named, sentences
from reports.figures.layout import (
    Frame,
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
from reports.figures.run_series import Array
from reports.figures.table import Columns, Table, tabulated
from reports.figures.theme import looks
from runs.measures.stability import SLOW, Stability, stability

# Of all ridges together; a single one may have as many points as any trace.
MAX_TOGETHER = 16_000
MAX_TIMES_MEDIAN = 1.5  # times the median; what lies above is cut off
RIDGE = 0.56  # of a row's height is the median
MIN_TO_GRADE_S = 60  # of the window; a shorter one is too short for a grade (analysis 4.2)
MIN_PX = 220  # of the figure
MARGIN_PX = 168  # for what is said of each ridge
NOTE_CHARACTERS = 60  # beside the names of the rows


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """The measured window of one run: seconds from its begin, and the rate in operations per second, NaN for a gap."""

    curve: Curve
    load: str  # the rung, in words
    seconds: Array
    rate_ops_s: Array
    interval_s: int = 1

    @property
    def stability(self) -> Stability | None:
        """Of the window; a second of which nobody says anything counts as one in which nothing was done."""
        return stability(np.nan_to_num(self.rate_ops_s).tolist())

    @property
    def grade(self) -> str:
        """ "flat", "variable" or "erratic"; of less than a minute nobody can say."""
        stability = self.stability
        if stability is None:
            return "too little was done"
        return stability.grade if stability.seconds * self.interval_s >= MIN_TO_GRADE_S else "too short to grade"

    @property
    def cut_s(self) -> int:
        """Seconds whose rate lies above what is drawn."""
        stability = self.stability
        return int(np.sum(self.rate_ops_s > MAX_TIMES_MEDIAN * stability.median)) * self.interval_s if stability else 0

    @property
    def label(self) -> str:
        return self.curve.label


COLUMNS: Final[Columns] = {
    **{name: lambda ridge, *_, cell=cell: cell(ridge.curve) for name, cell in SIDE.items()},
    "at its ceiling": lambda ridge, *_: ridge.load,
    "interval (s)": lambda ridge, *_: ridge.interval_s,
    "intervals": lambda ridge, stability: stability.seconds if stability else ridge.seconds.size,
    "median (ops/s)": lambda ridge, stability: stability and stability.median,
    "CV (%)": lambda ridge, stability: stability and stability.cv * 100,
    "robust CV (%)": lambda ridge, stability: stability and stability.robust_cv * 100,
    "slow (%)": lambda ridge, stability: stability and stability.slow_share * 100,
    "longest dip (s)": lambda ridge, stability: stability and stability.longest_slow_s * ridge.interval_s,
    "deepest dip (%)": lambda ridge, stability: stability and stability.down_spike_share * 100,
    "grade": lambda ridge, _: ridge.grade,
}


class StabilityFigure(CurvesFigure):
    """Rows from top to bottom in the order given; the dotted line of each is its median."""

    name = "stability"

    def __init__(self, curves: Sequence[Curve], ridges: Sequence[Ridge], *, highlight: str = "") -> None:
        super().__init__(curves, highlight=highlight)
        self.ridges = ridges

    def draw(self, frame: Frame) -> PlotlyFigure:
        graded = [(ridge, ridge.stability) for ridge in self.ridges]
        sides = {curve.sweep_id: curve for curve in (*self.among, *(ridge.curve for ridge in self.ridges))}
        appearance = looks(list(sides.values()), frame.theme, highlight=self.highlight)
        layout = base_layout(frame, characters=NOTE_CHARACTERS)
        last = max(
            (float(ridge.seconds[-1]) + ridge.interval_s for ridge in self.ridges if ridge.seconds.size), default=1.0
        )
        layout["xaxis"] = axis(frame, "seconds of the measured window", range=[0, last])
        # The line itself is grey, so that colour within the rows means one thing only: slow.
        names = [
            f'<span style="color:{appearance[ridge.curve.sweep_id].colour}">{shortened(ridge.label, 30)}</span>'
            for ridge in self.ridges
        ]
        layout["yaxis"] = axis(
            frame,
            "",
            tickvals=[-row + RIDGE for row in range(len(self.ridges))],
            ticktext=[""] * len(names) if frame.narrow else names,
            range=[-len(self.ridges) + 0.9, 1.05],
            showgrid=False,
            ticks="",
        )
        layout["shapes"] = [
            straight(frame.theme.axis, "dot", y=-row + RIDGE, layer="below") for row in range(len(self.ridges))
        ]
        layout["annotations"] += [_said(row, ridge, stability, frame) for row, (ridge, stability) in enumerate(graded)]
        most = min(MAX_POINTS, max(200, MAX_TOGETHER // max(len(self.ridges), 1)))
        if not frame.narrow:
            layout["margin"]["r"] = MARGIN_PX
        data: list[Trace] = []
        for row, (ridge, measured) in enumerate(graded):
            if measured is not None:
                data += _traces(row, ridge, measured, frame, most)
        return {"data": data, "layout": layout}

    @property
    def caption(self) -> str:
        interval_s = max((ridge.interval_s for ridge in self.ridges), default=1)
        every = "each second" if interval_s == 1 else f"the mean of every {interval_s} s"
        drawn = [ridge.curve for ridge in self.ridges]
        have = {curve.sweep_id for curve in drawn}
        tops = [replace(curve, points=(curve.ceiling_rung,) if curve.ceiling_rung else ()) for curve in drawn]
        # That parts are cut off, and how many; empty where none is.
        seconds = sum(ridge.cut_s for ridge in self.ridges)
        times = f"{MAX_TIMES_MEDIAN}\N{MULTIPLICATION SIGN}"
        plural = "" if seconds == 1 else "s"
        return sentences(
            f"Each sweep's run at its ceiling, {every} of the measured window relative to the run's own median "
            "(dotted); slow is below 90 % of it",
            f"Cut off at {times} the median (triangles): {seconds} second{plural}" if seconds else "",
            named("not drawn", [curve for curve in self.curves if curve.sweep_id not in have]),
            captions.caption(tops),
        )

    @property
    def table(self) -> Table:
        """A row per run; shares and coefficients of variation in per cent."""
        return tabulated(COLUMNS, ((ridge, ridge.stability) for ridge in self.ridges))

    def lacking(self) -> str:
        if self.ridges:
            return ""
        return "No series of a run at its ceiling is stored: only summaries were uploaded, or they were deleted."

    @property
    def height_px(self) -> int:
        return max(MIN_PX, 90 + 56 * len(self.ridges))


def _said(row: int, ridge: Ridge, stability: Stability | None, frame: Frame) -> dict[str, Any]:
    """Right of each ridge how uneven it is; on a telephone above it, with whose it is."""
    # How even, in two lines: the grade with the robust CV, and how much of the time was slow.
    if stability is None:
        first, *more = ["too little was done to tell"]
    else:
        slow = f"{formatting.percent(stability.slow_share)} slow" if stability.slow_share else "no slow second"
        longest = f", longest {stability.longest_slow_s * ridge.interval_s} s" if stability.longest_slow_s else ""
        first, *more = [f"{ridge.grade}, CV {formatting.percent(stability.cv)}", slow + longest]
    if frame.narrow:
        text = f"<b>{shortened(ridge.label, 26)}</b> {escaped(first)}"
        place = {"x": 0, "y": -row + RIDGE * MAX_TIMES_MEDIAN, "yanchor": "bottom", "yshift": -4}
    else:
        text = "<br>".join([f"<b>{escaped(first)}</b>", *map(escaped, more)])
        place = {"x": 1, "y": -row + RIDGE, "yanchor": "middle", "xshift": 8}
    note = annotation(text, frame.theme.muted, xref="paper", xanchor="left", align="left", **place)
    note["font"]["size"] = frame.font_px - 1
    return note


def _traces(row: int, ridge: Ridge, stability: Stability, frame: Frame, most: int) -> list[Trace]:
    """M4 keeps every dip: they are what this picture is for."""
    kept = thinned(ridge.rate_ops_s, most)
    share = ridge.rate_ops_s[kept] / stability.median
    y = [None if not np.isfinite(s) else rounded(-row + RIDGE * min(float(s), MAX_TIMES_MEDIAN)) for s in share]
    x = [rounded(float(second)) for second in ridge.seconds[kept] + (ridge.interval_s - 1) / 2]
    line = scatter(
        x,
        y,
        escaped(ridge.label),
        hover=[formatting.throughput(float(rate)) for rate in ridge.rate_ops_s[kept]],
        hovertemplate=f"%{{text}}<extra>{shortened(ridge.label)}</extra>",
        mode="lines" if kept.size > 1 else "markers",
        line={"color": frame.theme.muted, "width": 1.25},
        connectgaps=False,
    )
    slow, cut = np.flatnonzero(share < SLOW), np.flatnonzero(share > MAX_TIMES_MEDIAN)
    traces = [line]
    if cut.size:
        # A triangle at the edge for each second that goes on beyond it.
        traces.append(
            scatter(
                [x[i] for i in cut],
                [rounded(-row + RIDGE * MAX_TIMES_MEDIAN)] * cut.size,
                escaped(f"{ridge.label}, beyond {MAX_TIMES_MEDIAN} times its median"),
                marker={"symbol": "triangle-up", "size": 6, "color": frame.theme.muted},
            )
        )
    if slow.size:
        traces.append(_slow(row, ridge, [x[i] for i in slow], [y[i] or 0.0 for i in slow], frame))
    return traces


def _slow(row: int, ridge: Ridge, x: Sequence[float], y: Sequence[float], frame: Frame) -> Trace:
    """From the median down to what was done in a slow second: colour and shape both say it."""
    points: list[tuple[float | None, float | None]] = []
    for second, value in zip(x, y, strict=True):
        points += [(second, -row + RIDGE), (second, value), (None, None)]
    # Each dip needs three points; where they are too many, the deepest are drawn.
    if len(points) > MAX_POINTS:
        depth = sorted(range(len(x)), key=lambda i: y[i])[: MAX_POINTS // 3]
        points = [p for i in sorted(depth) for p in points[3 * i : 3 * i + 3]]
    return scatter(
        [a for a, _ in points],
        [b for _, b in points],
        escaped(f"{ridge.label}, slow seconds"),
        mode="lines",
        line={"color": frame.theme.series[1], "width": 2},
        connectgaps=False,
    )

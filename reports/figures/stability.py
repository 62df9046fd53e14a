"""How even throughput is over time: one ridge per sweep, relative to its own median, slow seconds coloured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchsite import formatting
from reports.analysis.downsample import MOST_POINTS, thinned
from reports.curves import Curve
from reports.figures.layout import Figure, Frame, Trace, axis, base_layout, escaped, rounded, shortened
from reports.figures.run_series import Array
from reports.figures.theme import Look, looks
from runs.measures.stability import SLOW, Stability, stability

# Of all ridges together; a single one may have as many points as any trace.
MOST_TOGETHER = 16_000
HIGHEST = 1.5  # times the median; what lies above is cut off
RIDGE = 0.56  # of a row's height is the median
LEAST_TO_GRADE_S = 60  # of the window; a shorter one is too short for a grade (analysis 4.2)
LEAST_PX = 220  # of the figure
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
        one = self.stability
        if one is None:
            return "too little was done"
        return one.grade if one.seconds * self.interval_s >= LEAST_TO_GRADE_S else "too short to grade"

    @property
    def cut_s(self) -> int:
        """Seconds whose rate lies above what is drawn."""
        one = self.stability
        return int(np.sum(self.rate_ops_s > HIGHEST * one.median)) * self.interval_s if one else 0

    @property
    def label(self) -> str:
        return self.curve.label


def cut_said(ridges: Sequence[Ridge]) -> str:
    """For the caption: that parts are cut off, and how many; empty where none is."""
    seconds = sum(ridge.cut_s for ridge in ridges)
    times = f"{HIGHEST}\N{MULTIPLICATION SIGN}"
    return (
        f"Cut off at {times} the median (triangles): {seconds} second{'' if seconds == 1 else 's'}" if seconds else ""
    )


def stability_figure(ridges: Sequence[Ridge], frame: Frame, *, highlight: str = "") -> Figure:
    """Rows from top to bottom in the order given; the dotted line of each is its median."""
    found = [(ridge, ridge.stability) for ridge in ridges]
    appearance = looks([ridge.curve for ridge in ridges], frame.theme, highlight=highlight)
    layout = base_layout(frame, characters=NOTE_CHARACTERS)
    last = max((float(ridge.seconds[-1]) + ridge.interval_s for ridge in ridges if ridge.seconds.size), default=1.0)
    layout["xaxis"] = axis(frame, "seconds of the measured window", range=[0, last])
    layout["yaxis"] = axis(
        frame,
        "",
        tickvals=[-row + RIDGE for row in range(len(ridges))],
        ticktext=["" if frame.narrow else _coloured(ridge, appearance[ridge.curve.sweep_id]) for ridge in ridges],
        range=[-len(ridges) + 0.9, 1.05],
        showgrid=False,
        ticks="",
    )
    layout["shapes"] = [_median(row, frame) for row in range(len(ridges))]
    layout["annotations"] += [_said(row, ridge, one, frame) for row, (ridge, one) in enumerate(found)]
    most = min(MOST_POINTS, max(200, MOST_TOGETHER // max(len(ridges), 1)))
    if not frame.narrow:
        layout["margin"]["r"] = MARGIN_PX
    data: list[Trace] = []
    for row, (ridge, one) in enumerate(found):
        if one is not None:
            data += _traces(row, ridge, one, frame, most)
    return {"data": data, "layout": layout}


def height_px(rows: int) -> int:
    """How high the figure has to be for its rows."""
    return max(LEAST_PX, 90 + 56 * rows)


def _coloured(ridge: Ridge, look: Look) -> str:
    """The line itself is grey, so that colour within the rows means one thing only: slow."""
    return f'<span style="color:{look.colour}">{shortened(ridge.label, 30)}</span>'


def _median(row: int, frame: Frame) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": -row + RIDGE,
        "y1": -row + RIDGE,
        "line": {"color": frame.theme.axis, "width": 1, "dash": "dot"},
        "layer": "below",
    }


def _said(row: int, ridge: Ridge, one: Stability | None, frame: Frame) -> dict[str, Any]:
    """Right of each ridge how uneven it is; on a telephone above it, with whose it is."""
    first, *more = in_words(ridge, one)
    if frame.narrow:
        text = f"<b>{shortened(ridge.label, 26)}</b> {escaped(first)}"
        place = {"x": 0, "y": -row + RIDGE * HIGHEST, "yanchor": "bottom", "yshift": -4}
    else:
        text = "<br>".join([f"<b>{escaped(first)}</b>", *map(escaped, more)])
        place = {"x": 1, "y": -row + RIDGE, "yanchor": "middle", "xshift": 8}
    return {
        **place,
        "text": text,
        "xref": "paper",
        "xanchor": "left",
        "align": "left",
        "showarrow": False,
        "font": {"color": frame.theme.muted, "size": frame.font_px - 1},
    }


def in_words(ridge: Ridge, one: Stability | None) -> list[str]:
    """How even, in two lines: the grade with the robust CV, and how much of the time was slow."""
    if one is None:
        return ["too little was done to tell"]
    slow = f"{formatting.percent(one.slow_share)} slow" if one.slow_share else "no slow second"
    longest = f", longest {one.longest_slow_s * ridge.interval_s} s" if one.longest_slow_s else ""
    return [f"{ridge.grade}, CV {formatting.percent(one.cv)}", slow + longest]


def _traces(row: int, ridge: Ridge, one: Stability, frame: Frame, most: int) -> list[Trace]:
    """M4 keeps every dip: they are what this picture is for."""
    kept = thinned(ridge.rate_ops_s, most)
    share = ridge.rate_ops_s[kept] / one.median
    y = [None if not np.isfinite(s) else rounded(-row + RIDGE * min(float(s), HIGHEST)) for s in share]
    x = [rounded(float(second)) for second in ridge.seconds[kept] + (ridge.interval_s - 1) / 2]
    line = {
        "type": "scatter",
        "mode": "lines" if kept.size > 1 else "markers",
        "x": x,
        "y": y,
        "text": [formatting.throughput(float(rate)) for rate in ridge.rate_ops_s[kept]],
        "name": escaped(ridge.label),
        "line": {"color": frame.theme.muted, "width": 1.25},
        "connectgaps": False,
        "hovertemplate": f"%{{text}}<extra>{shortened(ridge.label)}</extra>",
    }
    slow, cut = np.flatnonzero(share < SLOW), np.flatnonzero(share > HIGHEST)
    found = [line]
    if cut.size:
        found.append(_cut(row, ridge, [x[i] for i in cut], frame))
    if not slow.size:
        return found
    return [*found, _slow(row, ridge, [x[i] for i in slow], [y[i] or 0.0 for i in slow], frame)]


def _cut(row: int, ridge: Ridge, x: Sequence[float], frame: Frame) -> Trace:
    """A triangle at the edge for each second that goes on beyond it."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": list(x),
        "y": [rounded(-row + RIDGE * HIGHEST)] * len(x),
        "name": escaped(f"{ridge.label}, beyond {HIGHEST} times its median"),
        "marker": {"symbol": "triangle-up", "size": 6, "color": frame.theme.muted},
        "hoverinfo": "skip",
    }


def _slow(row: int, ridge: Ridge, x: Sequence[float], y: Sequence[float], frame: Frame) -> Trace:
    """From the median down to what was done in a slow second: colour and shape both say it."""
    points: list[tuple[float | None, float | None]] = []
    for second, value in zip(x, y, strict=True):
        points += [(second, -row + RIDGE), (second, value), (None, None)]
    # Each dip needs three points; where they are too many, the deepest are drawn.
    if len(points) > MOST_POINTS:
        depth = sorted(range(len(x)), key=lambda i: y[i])[: MOST_POINTS // 3]
        points = [p for i in sorted(depth) for p in points[3 * i : 3 * i + 3]]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [a for a, _ in points],
        "y": [b for _, b in points],
        "name": escaped(f"{ridge.label}, slow seconds"),
        "line": {"color": frame.theme.series[1], "width": 2},
        "connectgaps": False,
        "hoverinfo": "skip",
    }

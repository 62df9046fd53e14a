"""Pictures of what the studies printed: values over cluster sizes, and a histogram. Nothing here is measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchsite import formatting
from reports.figures.layout import (
    HOVER,
    Frame,
    PlotlyFigure,
    Trace,
    axis,
    base_layout,
    escaped,
    rounded,
    scatter,
    shortened,
)
from reports.figures.points import MARKER_PX
from reports.figures.theme import DASHES, SYMBOLS


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """One system's printed values by number of nodes; those in `disputed` are drawn hollow."""

    label: str
    colour: int  # which of the theme's series
    values: tuple[tuple[int, float], ...]
    disputed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class PrintedBucket:
    """One bucket of a printed histogram; bounds in microseconds, the last one without an upper one."""

    low_us: float
    high_us: float | None
    count: int
    disputed: bool = False

    @property
    def label(self) -> str:
        if self.high_us is None:
            return f"> {formatting.latency(self.low_us)}"
        return f"≤ {formatting.latency(self.high_us)}"


def printed_lines_figure(
    lines: Sequence[PrintedLine], frame: Frame, title: str, *, ideal: bool = False
) -> PlotlyFigure:
    """Values over nodes; with `ideal` the dotted lines say what as many nodes would bring at best."""
    layout = base_layout(frame)
    layout["showlegend"] = True
    nodes = sorted({size for line in lines for size, _ in line.values})
    highest = max((value for line in lines for _, value in line.values), default=1.0)
    layout["xaxis"] = axis(frame, "nodes of the cluster", tickvals=nodes)
    layout["yaxis"] = axis(frame, title, range=[0, highest * 1.12], tickformat="~s" if ideal else "~g")
    traces = [trace for line in lines for trace in _line(line, frame, title, ideal)]
    return {"data": traces, "layout": layout}


def _line(line: PrintedLine, frame: Frame, title: str, ideal: bool) -> list[Trace]:
    colour = frame.theme.series[line.colour % len(frame.theme.series)]
    symbol = SYMBOLS[line.colour % len(SYMBOLS)]
    unit = title.rsplit("(", 1)[-1].rstrip(")")
    trace = scatter(
        [size for size, _ in line.values],
        [rounded(value) for _, value in line.values],
        shortened(line.label),
        hover=[
            f"<b>{escaped(line.label)}</b><br>{size} nodes: {formatting.significant(value, 4)} {escaped(unit)}"
            + ("<br><b>disputed</b>" if size in line.disputed else "")
            for size, value in line.values
        ],
        mode="lines+markers",
        line={"color": colour, "width": 2.25, "dash": DASHES[line.colour % len(DASHES)]},
        marker={
            "color": colour,
            "size": MARKER_PX,
            "symbol": [f"{symbol}-open" if size in line.disputed else symbol for size, _ in line.values],
            "line": {"width": 2, "color": colour},
        },
    )
    if not ideal or not line.values:
        return [trace]
    first, base = line.values[0]
    dotted = scatter(
        [size for size, _ in line.values],
        [rounded(base * size / first) for size, _ in line.values],
        escaped(f"{line.label}, ideal"),
        mode="lines",
        line={"color": colour, "width": 1, "dash": "dot"},
        opacity=0.7,
        showlegend=False,
    )
    return [dotted, trace]


def printed_histogram_figure(buckets: Sequence[PrintedBucket], frame: Frame) -> PlotlyFigure:
    """Operations per bucket, logarithmic, so that a bucket of twelve is seen beside one of a million."""
    layout = base_layout(frame)
    labels = [bucket.label for bucket in buckets]
    layout["xaxis"] = axis(
        frame, "latency", tickvals=list(range(len(buckets))), ticktext=labels, showgrid=False, tickangle=-60
    )
    layout["yaxis"] = axis(frame, "operations", type="log", dtick=1, tickformat="~s")
    layout["bargap"] = 0.12
    layout["margin"]["b"] = 78
    colour = frame.theme.series[0]
    return {
        "data": [
            {
                "type": "bar",
                "x": list(range(len(buckets))),
                "y": [bucket.count or None for bucket in buckets],
                "marker": {
                    "color": ["rgba(0,0,0,0)" if bucket.disputed else colour for bucket in buckets],
                    "line": {"color": colour, "width": 1.5},
                },
                "text": [
                    f"{bucket.label}: {formatting.grouped(bucket.count)} operations"
                    + ("<br><b>disputed</b>" if bucket.disputed else "")
                    for bucket in buckets
                ],
                "textposition": "none",
                "hovertemplate": HOVER,
            }
        ],
        "layout": layout,
    }

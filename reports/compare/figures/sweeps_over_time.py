"""One operation of several sweeps over time: each in the run at its ceiling, from the begin of its window."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Final
from uuid import UUID

import numpy as np

from benchsite.core import formatting
from benchsite.core.table import Columns, Table, tabulated
from reports.compare.curves import Curve, in_order
from reports.compare.figures import captions, points as marks
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import SIDE, CurvesFigure
from reports.compare.figures.layout import (
    Frame,
    PlotlyFigure,
    Trace,
    axis,
    base_layout,
    coordinates,
    escaped,
    rounded,
    scatter,
    time_line,
)
from reports.compare.figures.overlay import (
    NAMED,
    TOWERING,
    Published,
    build_hover_text,
    find_highest,
    published_said,
)
from reports.compare.figures.run_series import OverTime
from reports.compare.figures.theme import Look
from reports.compare.messages import AT_OWN_CEILINGS_OVER_TIME, NO_SERIES

COLUMNS: Final[Columns] = {
    **SIDE,
    "second of the window": "second",
    "operation": "series.operation",
    "throughput (ops/s)": "rate_ops_s",
    "p99 (µs)": "p99_us",
}


class SweepsOverTimeFigure(CurvesFigure):
    """Throughput above, p99 of each interval below, a line for each sweep; what lies before the window is cut off."""

    def __init__(
        self,
        curves: Sequence[Curve],
        series: Mapping[UUID, OverTime],
        *,
        operation: str,
        highlight: str = "",
        published: Sequence[Published] = (),
    ) -> None:
        super().__init__(curves, highlight=highlight)
        self.published = published
        self.series, self.operation = series, operation
        self.name = f"over-time-{operation.lower()}"

    @property
    def _drawn(self) -> list[tuple[Curve, OverTime]]:
        return [
            (curve, self.series[curve.sweep_id]) for curve in in_order(self.curves) if curve.sweep_id in self.series
        ]

    def draw(self, frame: Frame) -> PlotlyFigure:
        appearance = self.get_looks(frame)
        operation = escaped(self.operation)
        layout = base_layout(frame)
        layout["showlegend"] = True
        layout["xaxis"] = axis(frame, "time in the measured window (s)", anchor="y2", showgrid=False)
        layout["yaxis"] = axis(frame, f"{operation} (ops/s)", domain=[0.56, 1.0], rangemode="tozero", tickformat="~s")
        layout["yaxis2"] = axis(frame, f"{operation} p99 (ms)", domain=[0.0, 0.46], rangemode="tozero", tickformat="~g")
        drawn = sorted(self._drawn, key=lambda side: not appearance[side[0].sweep_id].faded)
        looks = [appearance[curve.sweep_id] for curve, _ in drawn]
        lines = [_lines(look, series) for look, (_, series) in zip(looks, drawn, strict=True)]
        marks.fold_long_legend([(above, look) for (*above, _), look in zip(lines, looks, strict=True)])
        highest = max((float(np.nanmax(series.rate_ops_s, initial=0.0)) for _, series in drawn), default=0.0)
        if 0 < highest * TOWERING < find_highest(self.published):
            layout["yaxis"] |= {"type": "log", "rangemode": "normal"}
        end = max((float(series.seconds[-1]) for _, series in drawn), default=0.0)
        printed = [_published_line(result, end, frame) for result in self.published]
        return {"data": [*printed, *chain.from_iterable(lines)], "layout": layout}

    @property
    def remarks(self) -> list[Remark]:
        every = sorted({series.interval_s for series in self.series.values()})
        interval = " to ".join(formatting.duration(seconds) for seconds in every)
        return [
            ("Runs", AT_OWN_CEILINGS_OVER_TIME.format(interval=interval)),
            ("Published", published_said(self.published)),
            ("Sides", self.shown_sentence),
            *captions.list_doubts(self.curves),
            *captions.list_basics(self.curves),
        ]

    @property
    def table(self) -> Table:
        """A row per sweep and interval."""
        return tabulated(COLUMNS, self._rows())

    def _rows(self) -> Iterator[SimpleNamespace]:
        for curve, series in self._drawn:
            columns = (series.seconds.tolist(), coordinates(series.rate_ops_s), coordinates(series.p99_us))
            for second, rate_ops_s, p99_us in zip(*columns, strict=True):
                yield SimpleNamespace(curve=curve, series=series, second=second, rate_ops_s=rate_ops_s, p99_us=p99_us)

    def lacking(self) -> str:
        if self._drawn:
            return ""
        return NO_SERIES.format(operation=self.operation)


def _published_line(result: Published, end_s: float, frame: Frame) -> Trace:
    """A printed throughput over the whole time, named in the legend."""
    return scatter(
        [0, end_s],
        [rounded(result.throughput_ops_s)] * 2,
        escaped(f"{NAMED}: {result.label}"),
        hover=[build_hover_text(result)] * 2,
        mode="lines",
        yaxis="y",
        showlegend=True,
        line={"color": frame.theme.grey, "width": 1.25, "dash": "dash"},
    )


def _lines(look: Look, series: OverTime) -> tuple[Trace, Trace]:
    """Throughput, and p99 in milliseconds."""
    label = escaped(look.label)
    line = {"color": look.colour, "width": 1.25 if look.faded else 1.75, "dash": look.dash}
    draw = partial(time_line, series.seconds, name=label, line=line, legendgroup=label)
    return (
        draw(values=series.rate_ops_s, describe=formatting.throughput, yaxis="y", showlegend=True),
        draw(values=series.p99_us, describe=formatting.latency, divisor=1e3, yaxis="y2", showlegend=False),
    )

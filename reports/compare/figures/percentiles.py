"""Latency by percentile of a run and of sweeps: the axis stretches towards the tail, as HdrHistogram's plots do."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, cycle
from operator import itemgetter
from types import SimpleNamespace
from typing import Final

from benchsite.core import formatting
from benchsite.core.table import Columns, Table, tabulated
from reports.compare.curves import Curve, Operation, Point, in_order
from reports.compare.figures import captions, points as marks
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import RUNG, SIDE, CurvesFigure, Figure, named
from reports.compare.figures.layout import Frame, PlotlyFigure, Trace, axis, base_layout, cut, escaped, rounded, scatter
from reports.compare.figures.theme import Look
from reports.compare.messages import (
    AT_OWN_CEILINGS,
    MEANS_OF_REPEATS,
    NO_CEILING_TO_DRAW,
    NO_LATENCY_STORED,
    NOTHING_UP_TO_LOAD,
    PERCENTILES_OF_WINDOW,
    UP_TO_LOAD,
)

PERCENTILES: Final = "Percentiles"
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
FROM_SUMMARIES = "Percentiles as the clients' summaries allow; bars are bounds, histograms missing"
TICKS = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
AS_LOAD = 1.01  # a rung that achieved this little more than the asked load is still below it


def list_steps(operation: Operation) -> list[tuple[float, float]]:
    """(Share of the operations that were at most so slow, latency in µs), ascending."""
    latencies = [(share, operation.geomean_us(name)) for name, share in SHARES.items()]
    return [(share, latency_us) for share, latency_us in latencies if latency_us is not None]


def list_bounds(operation: Operation) -> list[tuple[float, float, float | None]]:
    """Shares whose latency is only known to lie between two values in µs, the upper one None: without bound."""
    return [(share, *operation.bounds_us[name]) for name, share in SHARES.items() if name in operation.bounds_us]


def count_operations(operation: Operation) -> int | None:
    """Of several repeats as many as one of them counted; None: nobody says."""
    if operation.ok is None:
        return None
    repeats = max((spread.n for spread in operation.latencies_us.values()), default=1)
    return operation.ok // max(repeats, 1)


COLUMNS: Final[Columns] = {
    "operation": "operation.operation",
    "latency": "operation.kind",
    "operations": lambda row: count_operations(row.operation),
    "percentile (%)": "percentile",
    "latency (µs)": "latency_us",
    "at most, where it is a bound (µs)": "bound_us",
}


def list_rows(operation: Operation, **more: object) -> list[SimpleNamespace]:
    """Rows of `COLUMNS`."""
    steps = [*((share, latency_us, None) for share, latency_us in list_steps(operation)), *list_bounds(operation)]
    if max_us := operation.geomean_us("max"):
        steps.append((1.0, max_us, None))
    steps.sort(key=itemgetter(0))
    return [
        SimpleNamespace(operation=operation, percentile=100 * share, latency_us=latency_us, bound_us=bound_us, **more)
        for share, latency_us, bound_us in steps
    ]


class PercentilesFigure(Figure):
    """The operations of one run: a colour each, response times dashed."""

    def __init__(self, name: str, point: Point | None) -> None:
        """`point` is that of the run; None: nothing was measured."""
        self.name = name
        self.point = point
        self.operations = [row for row in point.operations if list_steps(row) or list_bounds(row)] if point else []

    def draw(self, frame: Frame) -> PlotlyFigure:
        names = sorted({row.operation for row in self.operations})
        colours = dict(zip(names, cycle(frame.theme.series), strict=False))
        drawn = []
        for row in self.operations:
            label, dash, symbol = row.operation, "solid", "circle"
            if row.kind != "service":
                label, dash, symbol = f"{label}, response time", "dash", "square"
            drawn.append((row, Look(colours[row.operation], dash, symbol, pattern="", label=label)))

        return draw_percentiles(drawn, frame)

    @property
    def remarks(self) -> list[Remark]:
        origin, merged = PERCENTILES_OF_WINDOW, ""
        if any(map(list_bounds, self.operations)):
            origin = FROM_SUMMARIES
        if self.point:
            merged = f"{self.point.clients_merged} of {self.point.clients_expected} clients merged"
        return [(PERCENTILES, origin), ("Clients", merged)]

    @property
    def table(self) -> Table:
        return tabulated(COLUMNS, chain.from_iterable(map(list_rows, self.operations)))

    @property
    def empty(self) -> str:
        if self.operations:
            return ""
        return NO_LATENCY_STORED


def draw_percentiles(
    drawn: Sequence[tuple[Operation, Look]], frame: Frame, title: str = "latency (ms)"
) -> PlotlyFigure:
    """Latency (ms, logarithmic) over the percentile; distances on the axis are decades of the slower share."""
    layout = base_layout(frame)
    layout["showlegend"] = True
    shares: list[float] = []
    values: list[float] = []
    for operation, _ in drawn:
        for share, latency_us in _list_visible_steps(operation):
            shares.append(share)
            values.append(latency_us)
        for share, *ends in list_bounds(operation):
            shares.append(share)
            values += filter(None, ends)

    tail = max(shares, default=0.9999)
    most = _decades(0.9999) if frame.narrow else _decades(tail)
    ticks = [tick for tick in TICKS if _decades(tick) <= min(most, _decades(tail)) + 0.05]
    layout["xaxis"] = axis(
        frame,
        "percentile of the operations (%)",
        tickvals=[rounded(_decades(tick)) for tick in ticks],
        ticktext=[f"{formatting.exact(tick * 100)}" for tick in ticks],
        tickangle=0,
        range=[0, _decades(tail) * 1.04],
    )
    # Ticks at 1, 2 and 5 of each decade, or of many decades at each one only.
    wide = len(values) > 1 and max(values) > 10**2.7 * max(min(values), 1.0)
    layout["yaxis"] = axis(frame, escaped(title), type="log", tickformat="~g", dtick=1 if wide else "D2")
    data = [_trace(operation, look) for operation, look in drawn]
    data += [_bars(operation, look) for operation, look in drawn if list_bounds(operation)]
    return {"data": data, "layout": layout}


def _decades(share: float) -> float:
    """0 for 0 %, 1 for 90 %, 2 for 99 %: log10 of one over the slower share."""
    return math.log10(1 / max(1e-9, 1 - share))


def _list_visible_steps(operation: Operation) -> list[tuple[float, float]]:
    """The steps that this many operations can show; the greatest latency stands at its own share."""
    steps = [(share, value) for share, value in list_steps(operation) if value > 0 and math.isfinite(value)]
    count = count_operations(operation)
    if count is None:
        return steps
    if count < 1:
        return []
    last = 1 - 1 / (count + 1)
    steps = [(share, value) for share, value in steps if share <= last]
    max_us = operation.geomean_us("max")
    if max_us and 0 < max_us < math.inf:
        steps.append((last, max_us))
    return steps


def _trace(operation: Operation, look: Look) -> Trace:
    steps = _list_visible_steps(operation)
    return scatter(
        [rounded(_decades(share)) for share, _ in steps],
        [rounded(value / 1e3) for _, value in steps],
        escaped(look.label),
        hover=[f"{formatting.exact(share * 100)} %: {formatting.latency(value)}" for share, value in steps],
        hovertemplate=f"%{{text}}<extra>{escaped(look.label)}</extra>",
        # No line leads through what is not known.
        mode="markers" if list_bounds(operation) else "lines+markers",
        legendgroup=escaped(look.label),
        line={"color": look.colour, "width": 1.25 if look.faded else 2, "dash": look.dash},
        marker={"color": look.colour, "size": 3 if look.faded else 6, "symbol": look.symbol},
        opacity=0.75 if look.faded else 1.0,
        showlegend=True,
    )


def _bars(operation: Operation, look: Look) -> Trace:
    """A bar from bound to bound for each percentile that is only known so; without an upper one to the maximum."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    texts: list[str] = []
    for share, low, high in list_bounds(operation):
        top = high if high is not None else max(operation.geomean_us("max") or low, low)
        text = (
            f"{formatting.exact(share * 100)} %: {formatting.latency_between(low, high)} (bounds, histograms missing)"
        )
        xs += [rounded(_decades(share))] * 2 + [None]
        ys += [rounded(max(low, 1.0) / 1e3), rounded(max(top, 1.0) / 1e3), None]
        texts += [text, text, ""]

    return scatter(
        xs,
        ys,
        escaped(f"{look.label}, bounds"),
        hover=texts,
        hovertemplate=f"%{{text}}<extra>{escaped(look.label)}</extra>",
        mode="lines+markers",
        legendgroup=escaped(look.label),
        line={"color": look.colour, "width": 5},
        marker={"color": look.colour, "size": 9, "symbol": "line-ew-open", "line": {"color": look.colour, "width": 2}},
        opacity=0.55,
    )


def choose_rungs(curves: Sequence[Curve], load_ops_s: float | None = None) -> list[tuple[Curve, Point]]:
    """The sweeps with the point of their ceiling, or with their highest one up to the load."""
    rungs = [
        (curve, curve.ceiling_rung if load_ops_s is None else _find_highest(curve, load_ops_s))
        for curve in in_order(curves)
    ]
    return [(curve, point) for curve, point in rungs if point]


def _find_highest(curve: Curve, load_ops_s: float) -> Point | None:
    below = [point for point in curve.counted if 0 < point.throughput_ops_s.geomean <= load_ops_s * AS_LOAD]
    return max(below, key=lambda point: point.throughput_ops_s.geomean, default=None)


class SweepsPercentilesFigure(CurvesFigure):
    """The percentiles of one operation, a line for each sweep."""

    def __init__(
        self,
        curves: Sequence[Curve],
        *,
        operation: str = "READ",
        kind: str = "service",
        load_ops_s: float | None = None,
        highlight: str = "",
    ) -> None:
        super().__init__(curves, highlight=highlight)
        self.operation, self.kind, self.load_ops_s = operation, kind, load_ops_s
        self.name = f"percentiles-{operation.lower()}"
        self.rungs = choose_rungs(curves, load_ops_s)
        self.drawn = [(curve, point, row) for curve, point in self.rungs if (row := point.operation(operation, kind))]

    def draw(self, frame: Frame) -> PlotlyFigure:
        appearance = self.get_looks(frame)
        labels = [look.label for look in appearance.values()]
        drawn = []
        for curve, point, row in self.drawn:
            look = appearance[curve.sweep_id]
            label = f"{cut(look.label, 24 if frame.narrow else 40, labels)}, {marks.rung_text(point)}"
            drawn.append((row, replace(look, label=label)))

        drawn.sort(key=lambda pair: not pair[1].faded)  # Grey ones first, below the rest.
        title = f"{self.operation} (ms)"
        if not frame.narrow:
            title = f"{self.operation} latency, {captions.KIND_SAYS[self.kind]} (ms)"
        figure = draw_percentiles(drawn, frame, title)
        # After the lines stand the bars of what is only known within bounds.
        marks.fold_long_legend([([line], look) for line, (_, look) in zip(figure["data"], drawn, strict=False)])
        return figure

    @property
    def remarks(self) -> list[Remark]:
        # They speak of nothing but the points that are drawn.
        only = [replace(curve, points=(point,)) for curve, point, _ in self.drawn]
        loads = AT_OWN_CEILINGS
        if self.load_ops_s is not None:
            loads = UP_TO_LOAD.format(load=formatting.throughput(self.load_ops_s))
        # Where the percentiles come from.
        origin = ""
        if any(spread.n > 1 for _, _, row in self.drawn for spread in row.latencies_us.values()):
            origin = MEANS_OF_REPEATS
        if any(list_bounds(row) for _, _, row in self.drawn):
            origin = FROM_SUMMARIES

        have = {curve.sweep_id for curve, _ in self.rungs}
        return [
            ("Loads", loads),
            ("Left out", named("without such a rung", [curve for curve in self.curves if curve.sweep_id not in have])),
            *captions.list_doubts(only),
            (PERCENTILES, origin),
            *captions.list_basics(only, self.kind),
        ]

    @property
    def table(self) -> Table:
        """A row per sweep and percentile, at the rung that is drawn."""
        rows = chain.from_iterable(list_rows(row, curve=curve, point=point) for curve, point, row in self.drawn)
        return tabulated({**SIDE, **RUNG, **COLUMNS}, rows)

    def lacking(self) -> str:
        if self.drawn:
            return ""
        if self.rungs:
            return captions.not_measured(self.curves, self.operation, self.kind)
        if self.load_ops_s is None:
            return NO_CEILING_TO_DRAW
        return NOTHING_UP_TO_LOAD.format(load=formatting.throughput(self.load_ops_s))

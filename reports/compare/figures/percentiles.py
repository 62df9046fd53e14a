"""Latency by percentile of a run and of sweeps: the axis stretches towards the tail, as HdrHistogram's plots do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle
from operator import itemgetter
from types import SimpleNamespace
from typing import Final, Self

from benchsite.core import formatting
from benchsite.core.table import Columns, Table, tabulated
from reports.compare.curves import Curve, Operation, Point, in_order
from reports.compare.figures import captions, points as marks
from reports.compare.figures.captions import Remark
from reports.compare.figures.figure import RUNG as RUNG_COLUMNS, SIDE, CurvesFigure, Figure, named
from reports.compare.figures.layout import Frame, PlotlyFigure, Trace, axis, base_layout, cut, escaped, rounded, scatter
from reports.compare.figures.theme import Look, looks
from reports.compare.messages import (
    AT_OWN_CEILINGS,
    AT_SHARED_RUNG,
    MEANS_OF_REPEATS,
    NO_LATENCY_STORED,
    NO_SHARED_RUNG,
    NOTHING_UP_TO_LOAD,
    PERCENTILES_OF_WINDOW,
    UP_TO_LOAD,
)

PERCENTILES: Final = "Percentiles"
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
COLUMNS: Final[Columns] = {
    "operation": "distribution.operation",
    "latency": "distribution.kind",
    "operations": "distribution.count",
    "percentile (%)": lambda row: row.step[0],
    "latency (µs)": lambda row: row.step[1],
    "at most, where it is a bound (µs)": lambda row: row.step[2],
}
FROM_SUMMARIES = "Percentiles as the clients' summaries allow; bars are bounds, histograms missing"
TICKS = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
AS_LOAD = 1.01  # a rung that achieved this little more than the asked load is still below it


@dataclass(frozen=True, slots=True)
class Distribution:
    """The latencies of one operation: (share of operations that were at most so slow, latency in µs), ascending.

    `bounds` are of the shares whose latency is only known to lie between two values, the upper one None: without bound.
    """

    operation: str
    kind: str
    count: int | None  # None: nobody says
    steps: tuple[tuple[float, float], ...]
    max_us: float | None
    bounds: tuple[tuple[float, float, float | None], ...] = ()

    def rows(self, **more: object) -> list[SimpleNamespace]:
        """Rows of `COLUMNS`: steps of percentile, latency in µs and, where that is a bound, the upper one."""
        every = [*((share, value, None) for share, value in self.steps), *self.bounds]
        if self.max_us:
            every.append((1.0, self.max_us, None))
        every.sort(key=itemgetter(0))
        return [SimpleNamespace(distribution=self, step=(100 * share, *ends), **more) for share, *ends in every]


def build_distribution(row: Operation) -> Distribution:
    """The stored percentiles of one operation; of several repeats, as many operations as one of them counted."""
    repeats = max((spread.n for spread in row.latencies_us.values()), default=1) or 1
    count = None
    if row.ok is not None:
        count = row.ok // repeats

    return Distribution(
        operation=row.operation,
        kind=row.kind,
        count=count,
        steps=tuple((share, value) for name, share in SHARES.items() if (value := row.geomean_us(name)) is not None),
        max_us=row.geomean_us("max"),
        bounds=tuple((share, *row.bounds_us[name]) for name, share in SHARES.items() if name in row.bounds_us),
    )


class PercentilesFigure(Figure):
    """The operations of one run: a colour each, response times dashed."""

    def __init__(self, name: str, distributions: Sequence[Distribution], merged: str = "") -> None:
        """`merged` says how many of the clients the percentiles are of."""
        self.name = name
        self.distributions = [
            distribution for distribution in distributions if distribution.steps or distribution.bounds
        ]
        self.merged = merged

    @classmethod
    def of(cls, name: str, point: Point | None) -> Self:
        """The stored percentiles of a run."""
        if point is None:
            return cls(name, ())
        merged = f"{point.clients_merged} of {point.clients_expected} clients merged"
        return cls(name, [build_distribution(operation) for operation in point.operations], merged)

    def draw(self, frame: Frame) -> PlotlyFigure:
        operations = sorted({distribution.operation for distribution in self.distributions})
        colours = dict(zip(operations, cycle(frame.theme.series), strict=False))
        drawn = []
        for distribution in self.distributions:
            name, colour = distribution.operation, colours[distribution.operation]
            service = distribution.kind == "service"
            dash, symbol = ("solid", "circle") if service else ("dash", "square")
            label = name
            if not service:
                label = f"{name}, response time"
            drawn.append((distribution, Look(colour, dash, symbol, pattern="", label=label)))

        return drawn_percentiles(drawn, frame)

    @property
    def remarks(self) -> list[Remark]:
        origin = PERCENTILES_OF_WINDOW
        if any(distribution.bounds for distribution in self.distributions):
            origin = FROM_SUMMARIES
        return [(PERCENTILES, origin), ("Clients", self.merged)]

    @property
    def table(self) -> Table:
        return tabulated(COLUMNS, chain.from_iterable(distribution.rows() for distribution in self.distributions))

    @property
    def empty(self) -> str:
        if self.distributions:
            return ""
        return NO_LATENCY_STORED


def drawn_percentiles(
    drawn: Sequence[tuple[Distribution, Look]], frame: Frame, title: str = "latency (ms)"
) -> PlotlyFigure:
    """Latency (ms, logarithmic) over the percentile; distances on the axis are decades of the slower share."""
    layout = base_layout(frame)
    layout["showlegend"] = True
    everything = [distribution for distribution, _ in drawn]
    shares: list[float] = []
    for distribution in everything:
        shares += [share for share, _ in _steps(distribution)]
        shares += [share for share, _, _ in distribution.bounds]

    tail = max(shares, default=0.9999)
    most = _place(0.9999) if frame.narrow else _place(tail)
    ticks = [tick for tick in TICKS if _place(tick) <= min(most, _place(tail)) + 0.05]
    layout["xaxis"] = axis(
        frame,
        "percentile of the operations (%)",
        tickvals=[rounded(_place(tick)) for tick in ticks],
        ticktext=[f"{formatting.exact(tick * 100)}" for tick in ticks],
        tickangle=0,
        range=[0, _place(tail) * 1.04],
    )
    # Ticks at 1, 2 and 5 of each decade, or of many decades at each one only.
    values: list[float] = []
    for distribution in everything:
        values += [value for _, value in _steps(distribution)]
        for _, *ends in distribution.bounds:
            values += filter(None, ends)

    wide = len(values) > 1 and max(values) > 10**2.7 * max(min(values), 1.0)
    layout["yaxis"] = axis(frame, escaped(title), type="log", tickformat="~g", dtick=1 if wide else "D2")
    data = [_trace(distribution, look) for distribution, look in drawn]
    data += [_bars(distribution, look) for distribution, look in drawn if distribution.bounds]
    return {"data": data, "layout": layout}


def _place(share: float) -> float:
    """0 for 0 %, 1 for 90 %, 2 for 99 %: log10 of one over the slower share."""
    return math.log10(1 / max(1e-9, 1 - share))


def _steps(distribution: Distribution) -> list[tuple[float, float]]:
    """The steps that this many operations can show; the greatest latency stands at its own share."""
    known = [(share, value) for share, value in distribution.steps if value > 0 and math.isfinite(value)]
    if distribution.count is None:
        return known
    if distribution.count < 1:
        return []
    last = 1 - 1 / (distribution.count + 1)
    steps = [(share, value) for share, value in known if share <= last]
    if distribution.max_us and 0 < distribution.max_us < math.inf:
        steps.append((last, distribution.max_us))
    return steps


def _trace(distribution: Distribution, look: Look) -> Trace:
    steps = _steps(distribution)
    return scatter(
        [rounded(_place(share)) for share, _ in steps],
        [rounded(value / 1e3) for _, value in steps],
        escaped(look.label),
        hover=[f"{formatting.exact(share * 100)} %: {formatting.latency(value)}" for share, value in steps],
        hovertemplate=f"%{{text}}<extra>{escaped(look.label)}</extra>",
        # No line leads through what is not known.
        mode="markers" if distribution.bounds else "lines+markers",
        legendgroup=escaped(look.label),
        line={"color": look.colour, "width": 1.25 if look.faded else 2, "dash": look.dash},
        marker={"color": look.colour, "size": 3 if look.faded else 6, "symbol": look.symbol},
        opacity=0.75 if look.faded else 1.0,
        showlegend=True,
    )


def _bars(distribution: Distribution, look: Look) -> Trace:
    """A bar from bound to bound for each percentile that is only known so; without an upper one to the maximum."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    texts: list[str] = []
    for share, low, high in distribution.bounds:
        top = high if high is not None else max(distribution.max_us or low, low)
        text = (
            f"{formatting.exact(share * 100)} %: {formatting.latency_between(low, high)} (bounds, histograms missing)"
        )
        xs += [rounded(_place(share))] * 2 + [None]
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


CEILING, RUNG = "ceiling", "rung"


def choose(
    curves: Sequence[Curve], *, at: str = CEILING, load_ops_s: float | None = None
) -> tuple[list[tuple[Curve, Point]], str]:
    """Each sweep at its ceiling, at the highest rung that all of them have, or at the highest one up to a load.

    The sweeps that have such a point, each with it, and what the points have in common in words.
    """
    ordered = [curve for curve in in_order(curves) if curve.counted]
    if load_ops_s is not None:
        most_ops_s = load_ops_s * AS_LOAD
        point_of = {
            curve.sweep_id: max(
                (point for point in curve.counted if 0 < point.throughput_ops_s.geomean <= most_ops_s),
                key=lambda point: point.throughput_ops_s.geomean,
                default=None,
            )
            for curve in ordered
        }
        sentence = UP_TO_LOAD.format(load=formatting.throughput(load_ops_s))
    elif at == RUNG:
        measured = [{(point.target_ops_s or 0, point.threads): point for point in curve.counted} for curve in ordered]
        point_of, sentence = {}, ""
        # The highest rung that counts in every curve.
        if shared := set.intersection(*map(set, measured)) if measured else set():
            target, threads = rung = max(shared)
            point_of = {curve.sweep_id: points[rung] for curve, points in zip(ordered, measured, strict=True)}
            load = f"target {formatting.throughput(target)}" if target else f"{threads} threads"
            sentence = AT_SHARED_RUNG.format(load=load)
    else:
        point_of = {curve.sweep_id: curve.ceiling_rung for curve in ordered}
        sentence = AT_OWN_CEILINGS

    return [(curve, point) for curve in ordered if (point := point_of.get(curve.sweep_id))], sentence


class SweepsPercentilesFigure(CurvesFigure):
    """The percentiles of one operation, a line for each sweep."""

    def __init__(
        self,
        curves: Sequence[Curve],
        *,
        operation: str = "READ",
        kind: str = "service",
        at: str = CEILING,
        load_ops_s: float | None = None,
        highlight: str = "",
    ) -> None:
        super().__init__(curves, highlight=highlight)
        self.operation, self.kind, self.load_ops_s = operation, kind, load_ops_s
        self.name = f"percentiles-{operation.lower()}"
        self.chosen, self.sentence = choose(curves, at=at, load_ops_s=load_ops_s)
        self.drawn = [(*rung, held) for rung in self.chosen if (held := rung[1].operation(operation, kind))]

    def draw(self, frame: Frame) -> PlotlyFigure:
        appearance = looks(self.among, frame.theme, highlight=self.highlight)
        labels = [look.label for look in appearance.values()]
        drawn = []
        for curve, point, held in self.drawn:
            look = appearance[curve.sweep_id]
            rung = f"{marks.rung_label(point)}{'' if point.target_ops_s else ' threads'}"
            label = f"{cut(look.label, 24 if frame.narrow else 40, labels)}, {rung}"
            drawn.append((build_distribution(held), replace(look, label=label)))

        drawn.sort(key=lambda pair: not pair[1].faded)  # Grey ones first, below the rest.
        quantity = "response time"
        if self.kind == "service":
            quantity = "service time"
        title = f"{self.operation} (ms)" if frame.narrow else f"{self.operation} latency, {quantity} (ms)"
        figure = drawn_percentiles(drawn, frame, title)
        if len(drawn) > marks.MAX_WITH_RINGS or any(look.faded for _, look in drawn):
            # After the lines stand the bars of what is only known within bounds.
            lines = zip(figure["data"], drawn, strict=False)
            marks.fold_legend([([line], look.group, look.faded) for line, (_, look) in lines])

        return figure

    @property
    def remarks(self) -> list[Remark]:
        # They speak of nothing but the points that are drawn.
        only = [replace(curve, points=(point,)) for curve, point, _ in self.drawn]
        have = {curve.sweep_id for curve, _ in self.chosen}
        # Where the percentiles come from.
        spreads = chain.from_iterable(held.latencies_us.values() for _, _, held in self.drawn)
        repeated = any(spread.n > 1 for spread in spreads)
        origin = ""
        if repeated:
            origin = MEANS_OF_REPEATS
        if any(held.bounds_us for _, _, held in self.drawn):
            origin = FROM_SUMMARIES

        return [
            ("Loads", self.sentence),
            ("Left out", named("without such a rung", [curve for curve in self.curves if curve.sweep_id not in have])),
            *captions.list_doubts(only),
            (PERCENTILES, origin),
            *captions.list_basics(only, self.kind),
        ]

    @property
    def table(self) -> Table:
        """A row per sweep and percentile, at the rung that is drawn."""
        rows = chain.from_iterable(
            build_distribution(operation).rows(curve=curve, point=point) for curve, point, operation in self.drawn
        )
        return tabulated({**SIDE, **RUNG_COLUMNS, **COLUMNS}, rows)

    def lacking(self) -> str:
        if not self.chosen and self.load_ops_s is None:
            return NO_SHARED_RUNG
        if not self.chosen:
            return NOTHING_UP_TO_LOAD.format(load=formatting.throughput(self.load_ops_s))
        if self.drawn:
            return ""
        return captions.not_measured(self.curves, self.operation, self.kind)

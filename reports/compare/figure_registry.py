"""The figures of a comparison by the names in their addresses: which curves, and what of them, each draws."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from reports.compare.curves import Curve
from reports.compare.figures.ceilings import CeilingsFigure
from reports.compare.figures.figure import CurvesFigure
from reports.compare.figures.latency import LatencyFigure
from reports.compare.figures.latency_points import Choice
from reports.compare.figures.loss import LossFigure
from reports.compare.figures.overlay import list_rates, list_throughputs
from reports.compare.figures.percentiles import SweepsPercentilesFigure
from reports.compare.figures.scalability import ScalabilityFigure
from reports.compare.figures.sweeps_over_time import SweepsOverTimeFigure
from reports.compare.queries.series import series_at_ceilings
from reports.compare.selection import Selection

# Of a figure beside the state of its page: "with", "mix".
Options = Mapping[str, str]
# Drawn sides, all of the comparison, the state of its page, and those options.
Maker = Callable[[Sequence[Curve], Sequence[Curve], Selection, Options], CurvesFigure]
MAX_OPERATION: Final = 60


def throughputs(
    kind: type[CeilingsFigure | ScalabilityFigure],
    curves: Sequence[Curve],
    among: Sequence[Curve],
    selection: Selection,
    options: Options,
) -> CurvesFigure:
    """How much each sweep sustains, by side or over the sizes of clusters, beside what studies printed."""
    published = list_throughputs(selection.choose_overlays(curves, among))
    return kind(curves, highlight=selection.highlight, published=published)


def latency(curves: Sequence[Curve], among: Sequence[Curve], selection: Selection, options: Options) -> CurvesFigure:
    """Latency against throughput of the chosen operation, READ where none is; `with` names a second, dotted one."""
    # An operation as YCSB names it; empty for what can be none.
    second = options.get("with", "").upper()[:MAX_OPERATION]
    choice = Choice(
        operation=selection.operation or "READ",
        statistic=selection.statistic,
        kind=selection.kind_for(curves),
        scale=selection.scale,
        highlight=selection.highlight,
        second=second if all(c.isalnum() or c in "-_" for c in second) else "",
        load_ops_s=selection.load_ops_s,
        limit_us=selection.limit_us,
    )
    printed = list_throughputs(selection.choose_overlays(curves, among), choice.operations, choice.statistic)
    return LatencyFigure(curves, choice, printed)


def percentiles(
    curves: Sequence[Curve], among: Sequence[Curve], selection: Selection, options: Options
) -> CurvesFigure:
    """One operation of every sweep: at its ceiling, or up to `load` where it is named."""
    return SweepsPercentilesFigure(
        curves,
        operation=selection.operation or "READ",
        kind=selection.kind_for(curves),
        load_ops_s=selection.load_ops_s,
        highlight=selection.highlight,
    )


def over_time(curves: Sequence[Curve], among: Sequence[Curve], selection: Selection, options: Options) -> CurvesFigure:
    """One operation of every sweep, in the run at its ceiling."""
    operation = selection.operation or "READ"
    series = series_at_ceilings(curves, operation, selection.kind_for(curves))
    rates = list_rates(selection.choose_overlays(curves, among), operation)
    return SweepsOverTimeFigure(curves, series, operation=operation, highlight=selection.highlight, published=rates)


PICTURES: Final[Mapping[str, Maker]] = {
    "ceilings": partial(throughputs, CeilingsFigure),
    "latency": latency,
    "percentiles": percentiles,
    "over-time": over_time,
    "scalability": partial(throughputs, ScalabilityFigure),
    "loss": lambda curves, among, selection, options: LossFigure(curves, highlight=selection.highlight),
}


def build_figure(name: str, curves: Sequence[Curve], selection: Selection, options: Options) -> CurvesFigure:
    """The figure of the sides that the selection shows, of the workload `mix` where one is named; colours and ranks are
    those among all.
    """
    mix = options.get("mix")
    sides = [curve for curve in curves if mix in (None, curve.workload)]
    figure = PICTURES[name](selection.select_visible(sides), curves, selection, options)
    figure.among = curves
    return figure

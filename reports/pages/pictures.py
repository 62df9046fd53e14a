"""Which figures a comparison has: two on the first screen, the rest when they are asked for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse

from reports.curves import STATISTICS, Curve, operations_of
from reports.figures.ceilings import height_px
from reports.selection import VERSION, Selection

# Two pictures stand side by side without anybody's asking; more are a choice.
MOST_OPERATIONS = 2
WRITES = ("UPDATE", "INSERT", "READ-MODIFY-WRITE")


@dataclass(frozen=True, slots=True)
class FigureLink:
    """One figure of the page."""

    title: str
    src: str
    csv: str
    json: str
    live: bool
    height_px: int = 0  # where the ordinary height will not do
    says: str = ""  # how to read it


def figure_link(
    title: str,
    view: str,
    selection: Selection,
    curves: Sequence[Curve],
    *,
    says: str = "",
    height: int = 0,
    drawing: Sequence[tuple[str, str]] = (),
) -> FigureLink:
    """`drawing` is what the figure alone is told beside the state of the page."""
    query = urlencode([("v", VERSION), *selection.pairs(), *drawing])
    return FigureLink(
        title,
        f"{reverse(view)}?{query}",
        f"{reverse(f'{view}-data', args=['csv'])}?{query}",
        f"{reverse(f'{view}-data', args=['json'])}?{query}",
        any(curve.progress.going for curve in curves),
        height,
        says,
    )


def shown_operations(selection: Selection, curves: Sequence[Curve]) -> list[str]:
    """The chosen operation, or the first ones that were measured."""
    return [selection.operation] if selection.operation else operations_of(curves)[:MOST_OPERATIONS]


def ceilings_link(selection: Selection, curves: Sequence[Curve]) -> FigureLink:
    says = "per database and durability mode, weakest promise first"
    # What only the latencies and the ratios know makes no other picture of the ceilings, so a browser keeps it.
    plain = replace(selection, load_ops_s=None, limit_us=None, baseline=None, anyway=False, vary=())
    return figure_link("Throughput ceilings", "figure-ceilings", plain, curves, says=says, height=height_px(curves))


def latency_links(selection: Selection, curves: Sequence[Curve]) -> list[FigureLink]:
    """A picture of each shown operation."""
    statistic = STATISTICS[selection.statistic]
    targets = bool(curves) and all(point.target_ops_s for curve in curves for point in curve.points)
    loads = "targets" if targets else "client threads"
    says = f"numbers at the points: {loads}" if len(curves) < 7 else ""
    return [
        figure_link(
            f"{one} {statistic} against throughput",
            "figure-latency",
            replace(selection, operation=one),
            curves,
            says=says,
        )
        for one in shown_operations(selection, curves)
    ]


def more_links(selection: Selection, curves: Sequence[Curve]) -> list[FigureLink]:
    """What else can be drawn of these sweeps; only pictures that have something to show."""
    plain = replace(selection, baseline=None, anyway=False, vary=())
    return [link for link in _more(plain, curves) if link is not None]


def _more(selection: Selection, curves: Sequence[Curve]) -> Iterable[FigureLink | None]:
    measured = operations_of(curves)
    statistic = STATISTICS[selection.statistic]
    first = selection.operation or (measured[0] if measured else "")
    reads = replace(selection, operation="READ")
    if "READ" in measured and (write := next((one for one in WRITES if one in measured), "")):
        title = f"READ solid, {write} dashed: {statistic}"
        yield _known(title, "figure-latency", reads, curves, "both operations in one panel", ("with", write))
    if first:
        chosen = replace(selection, operation=first)
        yield _known(f"{first} {statistic}, zoomed", "figure-latency", chosen, curves, "below the knees", ("zoom", "1"))
        yield _known(f"{first} by percentile", "figure-percentiles", chosen, curves, "each side at its ceiling")
    yield _known("Stability", "figure-stability", selection, curves, "throughput by second, each side at its ceiling")
    yield _known("What durability costs", "figure-durability", selection, curves, "ceiling against what may be lost")
    if len({curve.setup.nodes for curve in curves if curve.setup.nodes}) > 1:
        yield _known("Scalability", "figure-scalability", selection, curves, "ceiling by number of nodes")
    if any(curve.setup.price_per_hour for curve in curves):
        yield _known("Price and performance", "figure-price", selection, curves, "operations per US$")


def _known(
    title: str, view: str, selection: Selection, curves: Sequence[Curve], says: str, *drawing: tuple[str, str]
) -> FigureLink | None:
    """None where this site has no such figure."""
    try:
        return figure_link(title, view, selection, curves, says=says, drawing=drawing)
    except NoReverseMatch:
        return None

"""Which figures a comparison has: two on the first screen, the rest when they are asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.text import slugify

from reports.compare.curves import STATISTICS, Curve, collect_operations, collect_points
from reports.compare.figures.ceilings import CeilingsFigure
from reports.compare.figures.overlay import list_throughputs
from reports.compare.selection import BOTH, VERSION, Selection

MAX_OPERATIONS = 2  # whose numbers stand side by side without anybody's asking
WRITES = ("UPDATE", "INSERT", "READ-MODIFY-WRITE")


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure that a comparison has, before anybody draws it."""

    key: str  # its name among the others of the comparison: "latency-read"
    title: str
    name: str  # of `reports.compare.figure_registry.PICTURES`
    selection: Selection
    says: str = ""  # how to read it
    options: tuple[tuple[str, str], ...] = ()  # of the figure alone, beside the state of the page


def figure_link(
    title: str,
    view: str,
    *args: object,
    query: str = "",
    curves: Sequence[Curve] = (),
    height_px: int = 0,
    says: str = "",
) -> dict[str, Any]:
    """The figure that the view of this name draws, with the page's state in its `query`; live as its curves are.

    `says` is how to read it; `height_px` is 0 where the ordinary height will do.
    """
    return {
        "title": title,
        "src": reverse(view, args=args) + query,
        "csv": reverse(f"{view}-data", args=[*args, "csv"]) + query,
        "json": reverse(f"{view}-data", args=[*args, "json"]) + query,
        "live": any(curve.progress.going for curve in curves),
        "height_px": height_px,
        "says": says,
    }


def shown_operations(selection: Selection, curves: Sequence[Curve]) -> list[str]:
    """The chosen operation, or the first ones that were measured."""
    chosen = selection.operation not in ("", BOTH)
    if chosen:
        return [selection.operation]
    return collect_operations(curves)[:MAX_OPERATIONS]


def ceilings_picture(selection: Selection) -> Picture:
    order = "highest first"
    if selection.published:
        order = "highest first, then what was printed"
    # What only the latencies and the ratios know makes no other picture of the ceilings, so a browser keeps it.
    plain = replace(
        selection, operation="", statistic="p99", kind="", scale="auto", load_ops_s=None, limit_us=None,
        max_loss_s=None, baseline=None, anyway=False, vary=(),
    )  # fmt: skip
    return Picture("ceilings", "Throughput ceilings", "ceilings", plain, order)


def latency_picture(selection: Selection, curves: Sequence[Curve]) -> Picture | None:
    """Latency against throughput of the chosen operation or operations; None where none was measured."""
    operations = shown_operations(selection, curves)
    if selection.operation == BOTH and len(operations) > 1:
        return _of_both(selection, *operations)
    return next(iter(latency_pictures(selection, curves, operations[:1])), None)


def _of_both(selection: Selection, first: str, second: str) -> Picture:
    title, says = f"{first} and {second} {STATISTICS[selection.statistic]} against throughput", f"dotted: {second}"
    chosen = replace(selection, operation=first)
    return Picture("reads-and-writes", title, "latency", chosen, says, (("with", second),))


def latency_pictures(selection: Selection, curves: Sequence[Curve], operations: Sequence[str]) -> list[Picture]:
    """Latency against throughput of each of the operations."""
    statistic = STATISTICS[selection.statistic]
    targets = bool(curves) and all(point.target_ops_s for point in collect_points(curves))
    loads = "targets" if targets else "client threads"
    says = ""
    if len(curves) < 7:
        says = f"numbers at the points: {loads}"
    return [
        Picture(
            f"latency-{operation.lower()}",
            f"{operation} {statistic} against throughput",
            "latency",
            replace(selection, operation=operation),
            says,
        )
        for operation in operations
    ]


def more_pictures(selection: Selection, curves: Sequence[Curve]) -> list[Picture]:
    """What else can be drawn of these sweeps; only pictures that have something to show."""
    plain = replace(selection, baseline=None, anyway=False, vary=())
    return [*_mixes(plain, curves), *_more(plain, curves)]


def every_picture(selection: Selection, curves: Sequence[Curve]) -> list[Picture]:
    """All that a comparison has to show, the first screen's first."""
    latencies = latency_pictures(selection, curves, collect_operations(curves))
    shown = {f"latency-{operation.lower()}" for operation in shown_operations(selection, curves)}
    first = [latency for latency in latencies if latency.key in shown]
    rest = [latency for latency in latencies if latency.key not in shown]
    return [ceilings_picture(selection), *first, *more_pictures(selection, curves), *rest]


def _mixes(selection: Selection, curves: Sequence[Curve]) -> Iterator[Picture]:
    """Reads and writes of each workload in a figure of its own, where there are several."""
    workloads = list(dict.fromkeys(curve.workload for curve in curves))
    for workload in workloads if len(workloads) > 1 else ():
        first, *others = collect_operations([curve for curve in curves if curve.workload == workload]) or ("",)
        write = next((operation for operation in WRITES if operation in others), "")
        both = " and ".join(filter(None, (first, write)))
        yield Picture(
            f"mix-{slugify(workload)}",
            f"{workload}: {both} {STATISTICS[selection.statistic]} against throughput",
            "latency",
            replace(selection, operation=first),
            says=f"dotted: {write}" if write else "",
            options=(("with", write), ("mix", workload)),
        )


def _more(selection: Selection, curves: Sequence[Curve]) -> Iterator[Picture]:
    measured = collect_operations(curves)
    first = next(iter(shown_operations(selection, curves)), "")
    if "READ" in measured and (write := next((operation for operation in WRITES if operation in measured), "")):
        yield _of_both(selection, "READ", write)
    if first:
        chosen, title = replace(selection, operation=first), f"{first} by percentile"
        yield Picture(f"percentiles-{first.lower()}", title, "percentiles", chosen, "each side at its ceiling")
    for operation in shown_operations(selection, curves):
        chosen = replace(selection, operation=operation)
        says = "each side at its ceiling, the warm-up cut off"
        yield Picture(f"over-time-{operation.lower()}", f"{operation} over time", "over-time", chosen, says)
    yield Picture("loss", "Throughput against loss", "loss", selection, "ceiling over what a power cut takes")
    if len({curve.setup.nodes for curve in curves if curve.setup.nodes}) > 1:
        yield Picture("scalability", "Scalability", "scalability", selection, "ceiling by number of nodes")


def picture_link(picture: Picture, curves: Sequence[Curve]) -> dict[str, Any]:
    selection = picture.selection
    # Menus of the drawing alone are in the address of the figure that they change: charts.js changes them there.
    menus = []
    if picture.name == "latency":
        menus = [("stat", selection.statistic), ("scale", selection.scale)]
    query = urlencode([("v", VERSION), *selection.pairs(without=dict(menus)), *menus, *picture.options])
    height_px = 0
    if picture.name == "ceilings":
        visible = selection.select_visible(curves)
        published = list_throughputs(selection.choose_overlays(visible, curves))
        height_px = CeilingsFigure(visible, published=published).height_px
    view = f"figure-{picture.name}"
    return figure_link(picture.title, view, query=f"?{query}", curves=curves, height_px=height_px, says=picture.says)

"""Latency by percentile of several sweeps, each at one rung of its ladder: which one is part of the picture."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchsite import formatting
from reports.curves import Curve, Point, in_order
from reports.figures import points as marks
from reports.figures.layout import Figure, Frame, cut
from reports.figures.percentiles import Drawing, distribution_of, drawn_percentiles
from reports.figures.theme import looks

CEILING, RUNG = "ceiling", "rung"
AS_LOAD = 1.01  # a rung that achieved this little more than the asked load is still below it


@dataclass(frozen=True, slots=True)
class Chosen:
    """One sweep and the point of it that is drawn."""

    curve: Curve
    point: Point

    @property
    def at(self) -> str:
        return f"{marks.rung_label(self.point)}{'' if self.point.target_ops_s else ' threads'}"


@dataclass(frozen=True, slots=True)
class Choosing:
    """The points, what they have in common in words, and the sweeps that have none."""

    chosen: tuple[Chosen, ...]
    said: str
    without: tuple[Curve, ...]


def choose(curves: Sequence[Curve], *, at: str = CEILING, load_ops_s: float | None = None) -> Choosing:
    """Each sweep at its ceiling, at the highest rung that all of them have, or at the highest one up to a load."""
    ordered = [curve for curve in in_order(curves) if curve.counted]
    if load_ops_s is not None:
        found = {curve.sweep_id: _up_to(curve, load_ops_s) for curve in ordered}
        said = f"Each sweep at its highest rung up to {formatting.throughput(load_ops_s)}"
    elif at == RUNG:
        rung = common_rung(ordered)
        found = {curve.sweep_id: curve.point_at(*rung) if rung else None for curve in ordered}
        said = f"All at the highest rung that every sweep measured: {_rung_said(rung)}" if rung else ""
    else:
        found = {curve.sweep_id: _at_ceiling(curve) for curve in ordered}
        said = "Each sweep at its own ceiling: the loads differ"
    chosen = tuple(Chosen(curve, point) for curve in ordered if (point := found[curve.sweep_id]))
    have = {one.curve.sweep_id for one in chosen}
    return Choosing(chosen, said, tuple(curve for curve in curves if curve.sweep_id not in have))


def common_rung(curves: Sequence[Curve]) -> tuple[int, int | None] | None:
    """Threads and target of the highest rung that counts in every curve; None where there is none."""
    if not curves:
        return None
    shared = set.intersection(*({(p.target_ops_s or 0, p.threads) for p in curve.counted} for curve in curves))
    if not shared:
        return None
    target, threads = max(shared)
    return threads, target or None


def _rung_said(rung: tuple[int, int | None]) -> str:
    threads, target = rung
    return f"target {formatting.throughput(target)}" if target else f"{threads} threads"


def _at_ceiling(curve: Curve) -> Point | None:
    found = curve.ceiling
    return curve.point_at(found.threads, found.target_ops_s) if found else None


def _up_to(curve: Curve, load_ops_s: float) -> Point | None:
    below = [p for p in curve.counted if 0 < p.throughput_ops_s.median <= load_ops_s * AS_LOAD]
    return max(below, key=lambda point: point.throughput_ops_s.median, default=None)


def drawn_of(
    chosen: Sequence[Chosen], frame: Frame, *, operation: str, kind: str, highlight: str = ""
) -> list[Drawing]:
    """The chosen operation of each point; grey ones first, below the rest."""
    appearance = looks([one.curve for one in chosen], frame.theme, highlight=highlight)
    found = []
    for one in chosen:
        held = one.point.operation(operation, kind)
        if held is None:
            continue
        look = appearance[one.curve.sweep_id]
        label = f"{cut(look.label, 24 if frame.narrow else 40)}, {one.at}"
        found.append(
            Drawing(
                distribution_of(held), label, look.colour, look.dash, look.symbol, one.curve.database_name, look.faded
            )
        )
    return sorted(found, key=lambda drawing: not drawing.faded)


def sweeps_percentiles_figure(
    chosen: Sequence[Chosen], frame: Frame, *, operation: str = "READ", kind: str = "service", highlight: str = ""
) -> Figure:
    """The percentiles of one operation, a line for each sweep."""
    drawings = drawn_of(chosen, frame, operation=operation, kind=kind, highlight=highlight)
    what = "service time" if kind == "service" else "response time"
    title = f"{operation} (ms)" if frame.narrow else f"{operation} latency, {what} (ms)"
    figure = drawn_percentiles(drawings, frame, title)
    if len(drawings) > marks.MOST_WITH_RINGS or any(one.faded for one in drawings):
        lines = figure["data"][: len(drawings)]
        marks.fold_legend([(t, one.group, one.faded) for t, one in zip(lines, drawings, strict=True)])
    return figure


def distributions_said(chosen: Sequence[Chosen], operation: str, kind: str) -> str:
    """Where the percentiles come from."""
    held = [found for one in chosen if (found := one.point.operation(operation, kind))]
    if any(one.bounds_us for one in held):
        return "Percentiles as the clients' summaries allow; bars are bounds, histograms missing"
    repeated = any(spread.n > 1 for one in held for spread in one.latencies_us.values())
    return "Each percentile is the median of its repeats'; their histograms are not pooled" if repeated else ""

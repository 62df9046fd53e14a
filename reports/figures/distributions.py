"""Latency by percentile of several sweeps, each at one rung of its ladder: which one is part of the picture."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchsite import formatting
from reports.curves import Curve, Point, in_order
from reports.figures import captions
from reports.figures import points as marks
from reports.figures.figure import RUNG as RUNG_COLUMNS
from reports.figures.figure import SIDE, CurvesFigure, named, sentences
from reports.figures.layout import Frame, PlotlyFigure, cut
from reports.figures.percentiles import (
    FROM_SUMMARIES,
    PERCENTILE_COLUMNS,
    Distribution,
    distribution_of,
    drawn_percentiles,
)
from reports.figures.table import Cell, Table
from reports.figures.theme import Look, looks

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
    sentence: str
    without: tuple[Curve, ...]


def choose(curves: Sequence[Curve], *, at: str = CEILING, load_ops_s: float | None = None) -> Choosing:
    """Each sweep at its ceiling, at the highest rung that all of them have, or at the highest one up to a load."""
    ordered = [curve for curve in in_order(curves) if curve.counted]
    if load_ops_s is not None:
        point_of = {curve.sweep_id: _up_to(curve, load_ops_s) for curve in ordered}
        sentence = f"Each sweep at its highest rung up to {formatting.throughput(load_ops_s)}"
    elif at == RUNG:
        rung = common_rung(ordered)
        point_of = {curve.sweep_id: curve.point_at(*rung) if rung else None for curve in ordered}
        sentence = ""
        if rung:
            threads, target = rung
            load = f"target {formatting.throughput(target)}" if target else f"{threads} threads"
            sentence = f"All at the highest rung that every sweep measured: {load}"
    else:
        point_of = {curve.sweep_id: curve.ceiling_rung for curve in ordered}
        sentence = "Each sweep at its own ceiling: the loads differ"
    chosen = tuple(Chosen(curve, point) for curve in ordered if (point := point_of[curve.sweep_id]))
    have = {rung.curve.sweep_id for rung in chosen}
    return Choosing(chosen, sentence, tuple(curve for curve in curves if curve.sweep_id not in have))


def common_rung(curves: Sequence[Curve]) -> tuple[int, int | None] | None:
    """Threads and target of the highest rung that counts in every curve; None where there is none."""
    if not curves:
        return None
    shared = set.intersection(*({(p.target_ops_s or 0, p.threads) for p in curve.counted} for curve in curves))
    if not shared:
        return None
    target, threads = max(shared)
    return threads, target or None


def _up_to(curve: Curve, load_ops_s: float) -> Point | None:
    below = [p for p in curve.counted if 0 < p.throughput_ops_s.median <= load_ops_s * AS_LOAD]
    return max(below, key=lambda point: point.throughput_ops_s.median, default=None)


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
        self.choosing = choose(curves, at=at, load_ops_s=load_ops_s)
        self.drawn = [(rung, held) for rung in self.choosing.chosen if (held := rung.point.operation(operation, kind))]

    def draw(self, frame: Frame) -> PlotlyFigure:
        drawn = self._with_looks(frame)
        quantity = "service time" if self.kind == "service" else "response time"
        title = f"{self.operation} (ms)" if frame.narrow else f"{self.operation} latency, {quantity} (ms)"
        figure = drawn_percentiles(drawn, frame, title)
        if len(drawn) > marks.MAX_WITH_RINGS or any(look.faded for _, look in drawn):
            # After the lines stand the bars of what is only known within bounds.
            lines = zip(figure["data"], drawn, strict=False)
            marks.fold_legend([(line, look.group, look.faded) for line, (_, look) in lines])
        return figure

    def _with_looks(self, frame: Frame) -> list[tuple[Distribution, Look]]:
        """Grey ones first, below the rest."""
        appearance = looks(self.among, frame.theme, highlight=self.highlight)
        drawn = []
        for rung, held in self.drawn:
            look = appearance[rung.curve.sweep_id]
            label = f"{cut(look.label, 24 if frame.narrow else 40)}, {rung.at}"
            drawn.append((distribution_of(held), replace(look, label=label)))
        return sorted(drawn, key=lambda pair: not pair[1].faded)

    @property
    def caption(self) -> str:
        # It speaks of nothing but the points that are drawn.
        only = [replace(rung.curve, points=(rung.point,)) for rung, _ in self.drawn]
        return sentences(
            self.choosing.sentence,
            named("without such a rung", self.choosing.without),
            self._repeats_said(),
            captions.caption(only, kind=self.kind),
        )

    def _repeats_said(self) -> str:
        """Where the percentiles come from."""
        if any(held.bounds_us for _, held in self.drawn):
            return FROM_SUMMARIES
        repeated = any(spread.n > 1 for _, held in self.drawn for spread in held.latencies_us.values())
        return "Each percentile is the median of its repeats'; their histograms are not pooled" if repeated else ""

    @property
    def table(self) -> Table:
        """A row per sweep and percentile, at the rung that is drawn."""
        rows: list[tuple[Cell, ...]] = []
        for rung, held in self.drawn:
            distribution = distribution_of(held)
            who = [cell(rung.curve, rung.point) for cell in (*SIDE.values(), *RUNG_COLUMNS.values())]
            rows += [(*who, self.operation, self.kind, distribution.count, *row) for row in distribution.rows()]
        return Table((*SIDE, *RUNG_COLUMNS, "operation", "latency", "operations", *PERCENTILE_COLUMNS), tuple(rows))

    def lacking(self) -> str:
        if not self.choosing.chosen and self.load_ops_s is None:
            return "The sweeps have no rung in common that counts. Look at each at its ceiling instead."
        if not self.choosing.chosen:
            return f"No sweep was measured at {formatting.throughput(self.load_ops_s)} or less. Choose a higher load."
        return "" if self.drawn else captions.not_measured(self.curves, self.operation, self.kind)

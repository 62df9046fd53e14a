"""The table of a comparison: one row for each side, the reference first, with the best value of each column marked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from reports.analysis.equal_load import AtLoad, Within
from reports.curves import Curve
from reports.figures.ceilings import Ranking
from reports.pages.baseline_ratios import Against, Ratio, Row
from reports.pages.equal_load import EqualLoad, SideAt, latency_text, percentiles_of


@dataclass(frozen=True, slots=True)
class LatencyCell:
    """Latency of one operation at the equal load, with its ratio to the reference's."""

    at: AtLoad
    ratio: Ratio | None
    is_best: bool

    @property
    def how(self) -> str:
        return latency_text(self.at)


@dataclass(frozen=True, slots=True)
class TableRow:
    curve: Curve
    share: float | None  # of the highest ceiling
    is_among_best: bool | None  # None where no repeats show it
    against: Row | None  # None where nothing is compared
    ratio: Ratio | None  # of throughput
    latencies: tuple[LatencyCell, ...]  # one for each operation
    within: Within | None  # of the operation that reaches the limit first; None without a limit
    best: frozenset[str]  # columns whose best value it has: "knee", "within", an operation
    is_shown: bool  # in the figures


def table_rows(
    curves: Sequence[Curve], equal: EqualLoad | None, against: Against | None, shown: Sequence[Curve]
) -> list[TableRow]:
    """The reference first, then by falling ceiling. `shown` are those that the figures draw."""
    ranking = Ranking.of(curves)
    sides = {side.curve.sweep_id: side for side in equal.sides} if equal else {}
    rows = {row.curve.sweep_id: row for row in against.rows} if against else {}
    best = _best_values(curves, equal)
    drawn = {curve.sweep_id for curve in shown}
    made = [
        _row(
            curve,
            ranking,
            rows.get(curve.sweep_id),
            sides.get(curve.sweep_id),
            equal,
            best,
            is_shown=curve.sweep_id in drawn,
        )
        for curve in curves
    ]
    reference = against.baseline.sweep_id if against else None
    return sorted(made, key=lambda row: (row.curve.sweep_id != reference, -row.curve.ceiling_ops_s))


def _row(
    curve: Curve,
    ranking: Ranking,
    row: Row | None,
    side: SideAt | None,
    equal: EqualLoad | None,
    best: Mapping[str, float],
    *,
    is_shown: bool,
) -> TableRow:
    ratios = {ratio.quantity: ratio for ratio in row.ratios} if row else {}
    latencies = _latencies(side, equal) if side and equal else {}
    own_best = frozenset(name for name, value in _values(curve, side, equal) if best.get(name) == value)
    return TableRow(
        curve=curve,
        share=ranking.share(curve),
        is_among_best=ranking.best.get(curve.sweep_id),
        against=row,
        ratio=ratios.get("throughput"),
        latencies=tuple(LatencyCell(at, ratios.get(name), name in own_best) for name, at in latencies.items()),
        within=_within(side) if side else None,
        best=own_best,
        is_shown=is_shown,
    )


def _latencies(side: SideAt, equal: EqualLoad) -> dict[str, AtLoad]:
    """Of each operation, the chosen statistic."""
    column = percentiles_of(equal.statistic).index(equal.statistic)
    return {operation.operation: operation.at[column] for operation in side.operations}


def _within(side: SideAt) -> Within | None:
    """The least of the operations: all of them keep the limit up to there."""
    withins = [operation.within for operation in side.operations if operation.within]
    return min(withins, key=lambda within: within.throughput_ops_s or 0.0, default=None)


def _values(curve: Curve, side: SideAt | None, equal: EqualLoad | None) -> Iterator[tuple[str, float]]:
    """The numbers of a side by column."""
    if curve.knee and curve.knee.reached:
        yield "knee", curve.knee.throughput_ops_s
    if side and equal:
        for name, at in _latencies(side, equal).items():
            if at.latency_us is not None:
                yield name, at.latency_us
        if (within := _within(side)) and within.throughput_ops_s:
            yield "within", within.throughput_ops_s


def _best_values(curves: Sequence[Curve], equal: EqualLoad | None) -> dict[str, float]:
    """The best value of each column that two or more sides have: the highest throughput, the lowest latency."""
    sides: dict[UUID, SideAt] = {side.curve.sweep_id: side for side in equal.sides} if equal else {}
    columns: dict[str, list[float]] = {}
    for curve in curves:
        for name, value in _values(curve, sides.get(curve.sweep_id), equal):
            columns.setdefault(name, []).append(value)
    highest = ("knee", "within")
    return {
        name: max(values) if name in highest else min(values) for name, values in columns.items() if len(values) > 1
    }

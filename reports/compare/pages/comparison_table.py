"""The table of a comparison: one row for each side, the reference first, with the best sides of each column marked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from reports.compare.analysis.best import Rank, rank_sides
from reports.compare.analysis.equal_load import AtLoad, Within
from reports.compare.analysis.ratios import Noise
from reports.compare.analysis.repeat_comparison import THRESHOLD
from reports.compare.curves import Curve
from reports.compare.figures.ceilings import Ranking
from reports.compare.pages.baseline_ratios import Against, Ratio, Row, latency_threshold
from reports.compare.pages.equal_load import (
    EqualLoad,
    SideAt,
    latencies_at,
    latency_text,
    repeats_within,
)


@dataclass(frozen=True, slots=True)
class LatencyScale:
    """One unit and one precision for all latencies of a table, so that their digits stand below each other."""

    unit: str
    divisor: float  # microseconds of the unit
    places: int

    @classmethod
    def choose(cls, equal: EqualLoad) -> "LatencyScale":
        """Three significant digits of the lowest latency, and at most three decimals."""
        readings = [operation.at[equal.column].latency_us for side in equal.sides for operation in side.operations]
        latencies = [latency_us for latency_us in readings if latency_us]
        unit, divisor = "ms", 1000.0
        if max(latencies, default=0.0) < divisor:
            unit, divisor = "µs", 1.0
        digits = 1 + math.floor(math.log10(min(latencies, default=1.0) / divisor))
        return cls(unit, divisor, min(max(3 - digits, 0), 3))


class LatencyCell(NamedTuple):
    """The latency of one operation at the equal load."""

    name: str
    at: AtLoad
    how: str  # in words, how it was read
    ratio: Ratio | None
    is_best: bool


class TableRow(NamedTuple):
    """One side."""

    curve: Curve
    share: float | None  # of the highest ceiling
    rank: Rank | None  # of the ceiling; None: it has none
    against: Row | None
    ratio: Ratio | None  # of the throughput
    latencies: list[LatencyCell]
    within: Within | None  # of the operation that reaches the limit first
    is_best_within: bool
    is_shown: bool
    is_listed: bool


def table_rows(
    curves: Sequence[Curve],
    equal: EqualLoad | None,
    against: Against | None,
    shown: Sequence[Curve],
    kind: str = "service",
) -> list[TableRow]:
    """The reference first, then by falling ceiling. `shown` are those that the figures draw.

    The page has the rows of the reference and of the shown sides at once (`is_listed`); the others come when they are
    asked for.
    """
    ranking = Ranking.of(curves)
    sides = {}
    if equal:
        sides = {side.curve.sweep_id: side for side in equal.sides}
    rows = {}
    if against:
        rows = {row.curve.sweep_id: row for row in against.rows}
    best = _best_sides(equal, kind)
    drawn = {curve.sweep_id for curve in shown}
    made = []
    for curve in curves:
        key = curve.sweep_id
        row, side = rows.get(key), sides.get(key)
        ratios = {}
        if row:
            ratios = {ratio.quantity: ratio for ratio in row.ratios}
        latencies = {}
        within = None
        if side and equal:
            latencies = {operation.operation: operation.at[equal.column] for operation in side.operations}
            within = _within(side)

        made.append(
            TableRow(
                curve=curve,
                share=ranking.share(curve),
                rank=ranking.ranks.get(key),
                against=row,
                ratio=ratios.get("throughput"),
                latencies=[
                    LatencyCell(name, at, latency_text(at), ratios.get(name), key in best.get(name, ()))
                    for name, at in latencies.items()
                ],
                within=within,
                is_best_within=key in best.get("within", ()),
                is_shown=key in drawn,
                is_listed=key in drawn or bool(row and row.is_baseline),
            )
        )

    reference = None
    if against:
        reference = against.baseline.sweep_id
    return sorted(made, key=lambda row: (row.curve.sweep_id != reference, -row.curve.ceiling_ops_s))


def _within(side: SideAt) -> Within | None:
    """The least of the operations: all of them keep the limit up to there."""
    withins = [operation.within for operation in side.operations if operation.within]
    return min(withins, key=lambda within: within.throughput_ops_s or 0.0, default=None)


def _best_sides(equal: EqualLoad | None, kind: str) -> dict[str, set[UUID]]:
    """By column (an operation's latency, "within"), the sides that their repeats show to be among the best."""
    if equal is None:
        return {}

    columns: dict[str, list[tuple[UUID, Sequence[float], Noise | None]]] = {}
    for side in equal.sides:
        key = side.curve.sweep_id
        for name in equal.operations:
            latencies = latencies_at(side.curve, name, equal.statistic, kind, equal.load_ops_s)
            if latencies.values and min(latencies.values) > 0:
                speeds = [1 / latency for latency in latencies.values]
                columns.setdefault(name, []).append((key, speeds, latencies.noise))
        if equal.limit_us and (within := _within(side)) and within.throughput_ops_s:
            repeats = repeats_within(
                side.curve, equal.operations, equal.statistic, kind, equal.limit_us, within.throughput_ops_s
            )
            columns.setdefault("within", []).append((key, repeats, None))

    best = {}
    for name, column in columns.items():
        keys, values, noises = zip(*column, strict=True)
        threshold = THRESHOLD
        if name != "within":
            threshold = latency_threshold(equal.statistic)
        ranks = rank_sides(values, noises=noises, threshold=threshold) if len(keys) > 1 else [Rank(None)]
        best[name] = {key for key, rank in zip(keys, ranks, strict=True) if rank.is_among_best}

    return best

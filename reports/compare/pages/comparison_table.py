"""The table of a comparison: one row for each side, the reference first, with the best sides of each column marked."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from reports.compare.analysis.best import rank_sides
from reports.compare.analysis.equal_load import Within
from reports.compare.analysis.ratios import Noise
from reports.compare.analysis.repeat_comparison import THRESHOLD
from reports.compare.curves import Curve
from reports.compare.figures.ceilings import Ranking
from reports.compare.pages.baseline_ratios import Against, latency_threshold
from reports.compare.pages.equal_load import EqualLoad, SideAt, latencies_at, latency_text, repeats_within


class LatencyScale(NamedTuple):
    """One unit and one precision for all latencies of a table, so that their digits stand below each other."""

    unit: str
    divisor: float  # microseconds of the unit
    places: int


def choose_scale(equal: EqualLoad) -> LatencyScale:
    """Three significant digits of the lowest latency, and at most three decimals."""
    readings = [side.latencies[name, equal.statistic] for side in equal.sides for name in equal.operations]
    latencies = [reading.latency_us for reading in readings if reading.latency_us]
    unit, divisor = "ms", 1000.0
    if max(latencies, default=0.0) < divisor:
        unit, divisor = "µs", 1.0
    digits = 1 + math.floor(math.log10(min(latencies, default=1.0) / divisor))
    return LatencyScale(unit, divisor, min(max(3 - digits, 0), 3))


def table_rows(
    curves: Sequence[Curve], equal: EqualLoad | None, against: Against | None, drawn: Sequence[Curve]
) -> list[dict[str, Any]]:
    """The reference first, then by falling ceiling. `drawn` are those that the figures show.

    The page has the rows of the reference and of the drawn sides at once (`is_listed`); the others come when they are
    asked for.
    """
    ranking = Ranking(curves)
    sides = {}
    if equal:
        sides = {side.curve.sweep_id: side for side in equal.sides}
    against_rows = {}
    if against:
        against_rows = {row.curve.sweep_id: row for row in against.rows}
    best = {}
    if equal:
        best = _best_sides(equal)
    drawn_keys = {curve.sweep_id for curve in drawn}
    rows = []
    for curve in sorted(curves, key=lambda curve: -curve.ceiling_ops_s):
        key = curve.sweep_id
        row, side = against_rows.get(key), sides.get(key)
        ratios = {}
        if row:
            ratios = {ratio.quantity: ratio for ratio in row.ratios}
        latencies = []
        if equal and side:
            for name in equal.operations:
                reading = side.latencies[name, equal.statistic]
                cell = {"name": name, "at": reading, "how": latency_text(reading), "ratio": ratios.get(name)}
                latencies.append({**cell, "is_best": key in best[name]})
        rows.append(
            {
                "curve": curve,
                "rank": ranking.ranks.get(key),
                "against": row,
                "ratio": ratios.get("throughput"),
                "latencies": latencies,
                "within": _least_within(side) if side else None,
                "is_best_within": key in best.get("within", ()),
                "is_shown": key in drawn_keys,
                "is_listed": key in drawn_keys or bool(row and row.is_baseline),
            }
        )

    return sorted(rows, key=lambda row: not (row["against"] and row["against"].is_baseline))


def _least_within(side: SideAt) -> Within | None:
    """Of the operations: all of them keep the limit up to there."""
    return min(side.within.values(), key=lambda within: within.throughput_ops_s or 0.0, default=None)


def _best_sides(equal: EqualLoad) -> dict[str, set[UUID]]:
    """By column (an operation's latency, "within"), the sides that their repeats show to be among the best."""
    best = {}
    for name in equal.operations:
        column = []
        for side in equal.sides:
            latencies = latencies_at(side.curve, name, equal)
            if latencies.values and min(latencies.values) > 0:
                speeds = [1 / latency for latency in latencies.values]
                column.append((side.curve.sweep_id, speeds, latencies.noise))
        best[name] = _select_best(column, latency_threshold(equal.statistic))

    column = []
    for side in equal.sides:
        within = _least_within(side)
        if equal.limit_us and within and within.throughput_ops_s:
            repeats = repeats_within(
                side.curve, equal.operations, equal.statistic, equal.kind, equal.limit_us, within.throughput_ops_s
            )
            column.append((side.curve.sweep_id, list(repeats), None))
    return {**best, "within": _select_best(column, THRESHOLD)}


def _select_best(column: Sequence[tuple[UUID, list[float], Noise | None]], threshold: float) -> set[UUID]:
    """Of the sides with the values of their repeats, those that are shown to be among the best; of one alone none."""
    if len(column) < 2:
        return set()
    keys, values, noises = zip(*column, strict=True)
    ranks = rank_sides(values, noises=noises, threshold=threshold)
    return {key for key, rank in zip(keys, ranks, strict=True) if rank.is_among_best}

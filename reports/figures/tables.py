"""The table twin of each figure: the same numbers, whole, with units in the column names."""

from collections.abc import Sequence
from typing import Any

from reports.analysis.ceiling import NOT_KNOWN
from reports.curves import STATISTICS, Curve, in_order
from reports.figures.ceilings import Ranking
from reports.figures.percentiles import Distribution
from reports.figures.points import STANDING_SAYS
from reports.figures.run_series import OverTime, total_rate
from reports.figures.table import Cell, Table
from reports.words import ladder_says, notes_said

CEILING_COLUMNS = (
    "database",
    "system",
    "mode",
    "workload",
    "ceiling (ops/s)",
    "least repeat (ops/s)",
    "greatest repeat (ops/s)",
    "repeats",
    "at threads",
    "within 5 % from threads",
    "ladder",
    "knee (ops/s)",
    "knee at threads",
    "rungs",
    "target (ops/s)",
    "first failed target (ops/s)",
    "knee at target (ops/s)",
    "notes",
    "95 % interval from (ops/s)",
    "95 % interval to (ops/s)",
    "highest measured (ops/s)",
    "not distinguishable from the best",
)


def ceilings_table(curves: Sequence[Curve]) -> Table:
    best = Ranking.of(curves).best
    return Table(CEILING_COLUMNS, tuple(_ceiling_row(curve, best.get(curve.sweep_id)) for curve in in_order(curves)))


def _ceiling_row(curve: Curve, is_best: bool | None) -> tuple[Cell, ...]:
    found, knee = curve.ceiling, curve.knee
    names = (curve.database_name, curve.system_name, curve.mode, curve.workload)
    if found is None:
        return (*names, *[None] * 6, "no point counts" if curve.points else "no data", None, None, 0, *[None] * 8)
    point = curve.point_at(found.threads, found.target_ops_s)
    spread = point.throughput_ops_s if point else None
    reached = knee if knee and knee.reached else None
    return (
        *names,
        found.throughput_ops_s,
        spread.low if spread else None,
        spread.high if spread else None,
        spread.n if spread else None,
        found.threads,
        found.saturation_threads,
        ladder_says(found),
        reached.throughput_ops_s if reached else None,
        reached.threads if reached else None,
        found.rungs,
        found.target_ops_s,
        found.bracket[1] if found.bracket and NOT_KNOWN not in found.notes else None,
        reached.target_ops_s if reached else None,
        notes_said(found),
        found.low_ops_s,
        found.high_ops_s,
        found.highest_ops_s,
        {True: "yes", False: "no", None: None}[is_best],
    )


POINT_COLUMNS = (
    "database",
    "mode",
    "workload",
    "threads",
    "target (ops/s)",
    "throughput (ops/s)",
    "repeats",
    "operation",
    "latency",
    "ok",
    "failed",
    *(f"{label} (µs)" for label in STATISTICS.values()),
    "clients merged",
    "clients",
    "verdict",
    "not counted because",
    "rejected, counted because",
)


def points_table(curves: Sequence[Curve], *, operations: Sequence[str] = (), kind: str = "") -> Table:
    """A row per point and operation; some operations or one kind of latency only where they are named."""
    return Table(
        POINT_COLUMNS,
        tuple(
            (
                curve.database_name,
                curve.mode,
                curve.workload,
                point.threads,
                point.target_ops_s,
                point.throughput_ops_s.median,
                point.throughput_ops_s.n,
                one.operation,
                one.kind,
                one.ok,
                one.failed,
                *(one.median_us(name) for name in STATISTICS),
                point.clients_merged,
                point.clients_expected,
                point.verdict,
                STANDING_SAYS[point.standing],
                "; ".join(point.overridden),
            )
            for curve in in_order(curves)
            for point in curve.points
            for one in point.operations
            if (not operations or one.operation in operations) and kind in ("", one.kind)
        ),
    )


LADDER_COLUMNS = (
    "database",
    "mode",
    "workload",
    "threads",
    "target (ops/s)",
    "throughput (ops/s)",
    "least repeat (ops/s)",
    "greatest repeat (ops/s)",
    "repeats",
    "verdict",
    "not counted because",
    "rejected, counted because",
)


def ladder_table(curves: Sequence[Curve]) -> Table:
    return Table(
        LADDER_COLUMNS,
        tuple(
            (
                curve.database_name,
                curve.mode,
                curve.workload,
                point.threads,
                point.target_ops_s,
                point.throughput_ops_s.median,
                point.throughput_ops_s.low,
                point.throughput_ops_s.high,
                point.throughput_ops_s.n,
                point.verdict,
                STANDING_SAYS[point.standing],
                "; ".join(point.overridden),
            )
            for curve in in_order(curves)
            for point in curve.points
        ),
    )


def run_series_table(series: Sequence[OverTime]) -> Table:
    """A row per interval, at the second at which it begins: all operations together, then each one's mean and p99."""
    seconds, rate = total_rate(series)
    columns = ["second", "all operations (ops/s)"]
    values: list[dict[float, Cell]] = [dict(zip(seconds.tolist(), _cells(rate), strict=True))]
    for one in series:
        for what, array in (("mean", one.mean_us), ("p99", one.p99_us)):
            columns.append(f"{one.operation} {one.kind} {what} (µs)")
            values.append(dict(zip(one.seconds.tolist(), _cells(array), strict=True)))
    return Table(tuple(columns), tuple((second, *(by.get(second) for by in values)) for second in seconds.tolist()))


def _cells(array: Any) -> list[Cell]:
    return [value if value == value else None for value in array.tolist()]  # NaN differs from itself


def percentiles_table(distributions: Sequence[Distribution]) -> Table:
    return Table(
        ("operation", "latency", "operations", "percentile (%)", "latency (µs)", "at most, where it is a bound (µs)"),
        tuple(
            (one.operation, one.kind, one.count, share * 100, low, high)
            for one in distributions
            for share, low, high in sorted(
                [
                    *((share, value, None) for share, value in one.steps),
                    *one.bounds,
                    *([(1.0, one.max_us, None)] if one.max_us else []),
                ],
                key=lambda row: row[0],
            )
        ),
    )

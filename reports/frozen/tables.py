"""The tables of a report: the compare page's, with whole numbers and units in the names of the columns. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from benchsite import formatting
from reports.analysis.differences import differences
from reports.analysis.repeat_comparison import ALGORITHM, Comparison, Outcome, finite
from reports.curves import STATISTICS, Curve
from reports.figures.ceilings import Ranking
from reports.figures.table import Cell, Table
from reports.ladder_text import bracket_says, ladder_says, threads_text
from reports.pages.baseline_ratios import Against, Ratio, Row
from reports.pages.equal_load import EqualLoad, percentiles_of

Labels = Mapping[UUID, str]


def sustained_table(curves: Sequence[Curve], labels: Labels) -> Table:
    """What each side sustains, at what load, and what a write waits for."""
    ranking = Ranking.of(curves)
    return Table(
        (
            "side", "a write waits for", "ceiling (ops/s)", "95 % interval from (ops/s)", "95 % interval to (ops/s)",
            "runs", "of the highest (%)", "not distinguishable from the best", "at", "what the ladder shows",
        ),
        tuple(_sustained(curve, labels, ranking) for curve in curves),
    )  # fmt: skip


def _sustained(curve: Curve, labels: Labels, ranking: Ranking) -> tuple[Cell, ...]:
    found, side = curve.ceiling, (labels.get(curve.sweep_id, curve.label), curve.promise or "not known")
    if found is None:
        return (*side, *[None] * 7, "no point counts" if curve.points else "nothing was measured")
    return (
        *side,
        found.throughput_ops_s,
        found.low_ops_s,
        found.high_ops_s,
        len(found.repeats_ops_s) or None,
        round(100 * (ranking.share(curve) or 0.0), 1) or None,
        {True: "yes", False: "no", None: None}[ranking.best[curve.sweep_id]],
        bracket_says(found) or threads_text(found.plateau),
        ladder_says(found),
    )


def against_table(found: Against, equal: EqualLoad | None, labels: Labels) -> Table:
    """Every side against the baseline: how many times better, with the interval and what follows from it."""
    latency = equal.statistic_label if equal else "latency"
    names = [("ceiling", "higher"), *((f"{one} {latency}", "lower") for one in found.latency_operations)]
    interval = "interval" if found.has_looks else "95 % interval"
    columns = [
        column
        for what, better in names
        for column in (f"{what}, times {better}", f"{what}: {interval}", f"{what}: outcome")
    ]
    rows = [(labels.get(row.curve.sweep_id, row.curve.label), *_against(row, len(columns))) for row in found.rows]
    return Table(("side", *columns), tuple(rows))


def _at(equal: EqualLoad | None) -> str:
    return f"{equal.statistic_label} at {formatting.throughput(equal.load_ops_s)}" if equal else "latency"


def _against(row: Row, width: int) -> list[Cell]:
    blank: list[Cell] = [None] * (width - 3)
    if row.is_baseline:
        return [None, None, "the baseline", *blank]
    if not row.ratios:
        return [None, None, f"not comparable: {' '.join(row.gate.stops) if row.gate else ''}", *blank]
    return [cell for one in row.ratios for cell in _ratio(one)]


def _ratio(one: Ratio) -> tuple[Cell, Cell, Cell]:
    if one.comparison is None:
        return None, None, one.why
    at = f"at {one.at}" if one.at else ""
    said = "; ".join(part for part in (one.outcome, at, one.counts, one.why, one.note) if part)
    return _rounded(one.comparison.shown, 4), one.interval, said


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else float(f"{value:.{digits}g}")


def _metric(one: Ratio, equal: EqualLoad | None) -> str:
    if one.what != "throughput":
        return f"{one.what} {_at(equal)}"
    return f"throughput at {one.at}" if one.at else "throughput"


def verdicts_of(found: Against | None, equal: EqualLoad | None, labels: Labels) -> list[dict[str, Any]]:
    """Each comparison with its numbers, for programs: which algorithm said what, of how many runs."""
    if found is None:
        return []
    baseline = labels.get(found.baseline.sweep_id, found.baseline.label)
    return [
        {
            "side": labels.get(row.curve.sweep_id, row.curve.label),
            "baseline": baseline,
            "metric": _metric(one, equal),
            **_verdict(one.comparison, one.why, refused=row.refused),
        }
        for row in found.rows
        if not row.is_baseline
        for one in row.ratios or (Ratio("throughput", None, " ".join(row.gate.stops) if row.gate else ""),)
    ]


def _verdict(found: Comparison | None, why: str, *, refused: bool) -> dict[str, Any]:
    if found is None:
        outcome = Outcome.NOT_COMPARABLE if refused else Outcome.INCONCLUSIVE
        return {
            "ratio": None, "low": None, "high": None, "outcome": outcome.value, "reason": why,
            "algorithm": ALGORITHM, "runs": 0, "runs_of_baseline": 0,
        }  # fmt: skip
    return {
        "ratio": found.ratio,
        "low": finite(found.low),
        "high": finite(found.high),
        "bound": found.bound,
        "outcome": found.outcome.value,
        "reason": " ".join(
            part for part in (found.reason, f"{why[0].upper()}{why[1:]}." if why else "", found.note) if part
        ),
        "algorithm": ALGORITHM,
        "analysis": found.analysis,
        "runs": found.n_a,
        "runs_of_baseline": found.n_b,
        "level": found.level,
        "p": found.p,
        "adjusted_p": found.adjusted_p,
        "threshold": found.threshold,
        "noise_floor": found.noise_floor,
        "runs_lacking": found.needs_more,
    }


def equal_table(equal: EqualLoad, labels: Labels) -> Table:
    """Latencies where every side does the same work."""
    statistics = percentiles_of(equal.statistic)
    columns = [f"{name} {STATISTICS[one]} (µs)" for name in equal.operations for one in statistics]
    rows = [
        (
            labels.get(side.curve.sweep_id, side.curve.label),
            *(_rounded(at.latency_us, 5) for one in side.operations for at in one.at),
            side.how,
        )
        for side in equal.sides
    ]
    return Table(("side", *columns, "read off"), tuple(rows))


def differences_table(curves: Sequence[Curve], labels: Labels) -> Table:
    """What the sides differ in beside what the comparison is about."""
    return Table(
        ("what", "value", "sides"),
        tuple(
            (one.what, value, ", ".join(who)) for one in differences(curves, dict(labels)) for value, who in one.sides
        ),
    )

"""The headline and the tables of a report: the compare page's, with whole numbers and units in the columns. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from benchsite import formatting
from reports.analysis.differences import differences
from reports.analysis.repeat_comparison import ALGORITHM, Comparison, Outcome, finite, interval_text, times_text
from reports.curves import STATISTICS, Curve
from reports.figures.ceilings import Ranking
from reports.figures.table import Cell, Table
from reports.ladder_text import bound_reason, bracket_says, ceiling_text, ladder_says, threads_text
from reports.pages.baseline_ratios import Against, Ratio, Row
from reports.pages.equal_load import EqualLoad, percentiles_of

Labels = Mapping[UUID, str]

NOTHING = "No point counts here, so nothing can be said of how much any side sustains."


def proposed(curves: Sequence[Curve], against: Against | None, labels: Labels) -> str:
    """One sentence about throughput: which side sustains how much, how many times the baseline, and how sure."""
    standing = [curve for curve in curves if curve.ceiling]
    if not standing:
        return NOTHING
    if against is None or len(standing) == 1:
        curve = standing[0]
        ceiling = curve.ceiling
        assert ceiling is not None
        runs = len(ceiling.repeats_ops_s)
        if ceiling.is_estimate:
            low, high = formatting.short(ceiling.low_ops_s), formatting.short(ceiling.high_ops_s)
            made = f"95 % interval {low} to {high}, {runs} repeats"
        else:
            made = "one run, so nothing is known of how much it varies" if runs <= 1 else f"median of {runs} runs"
        alone = f"{_name(curve, labels)} sustains {_sustains(curve)} ({made})."
        return f"{_demonstration(standing)}{alone}"
    rows = [row for row in against.rows if not row.is_baseline and row.curve.ceiling]
    ratios = [(row, row.ratios[0]) for row in rows if row.ratios and not row.refused]
    known = [(row, ratio, ratio.comparison) for row, ratio in ratios if ratio.comparison and ratio.comparison.ratio]
    if not known:
        best = max(standing, key=lambda curve: curve.ceiling_ops_s)
        incomparable = (
            f"{_name(best, labels)} measured the highest of these {len(standing)} sides, {_sustains(best)}; they "
            "differ in more than what is compared, so no ratio is claimed."
        )
        return f"{_demonstration(standing)}{incomparable}"
    row, ratio, comparison = max(known, key=lambda entry: (not entry[1].at, entry[2].shown or 0.0))
    text = f"{_demonstration(standing)}{_result(row, ratio, comparison, against, labels)}"
    return text[0].upper() + text[1:] if text.startswith(("in ", "at ")) else text


def _demonstration(curves: Sequence[Curve]) -> str:
    return "" if all(curve.publishable for curve in curves) else "In a demonstration too short to publish, "


def _name(curve: Curve, labels: Labels) -> str:
    return labels.get(curve.sweep_id, curve.label)


def _sustains(curve: Curve) -> str:
    """ "at least 31.0k ops/s (the ladder is too short)"."""
    assert curve.ceiling is not None
    reason = bound_reason(curve.ceiling)
    return ceiling_text(curve.ceiling) + (f" ({reason})" if reason else "")


def _result(row: Row, ratio: Ratio, comparison: Comparison, against: Against, labels: Labels) -> str:
    side, base = _name(row.curve, labels), _name(against.baseline, labels)
    if ratio.at:
        # Where a ladder is too short for a ratio of ceilings: no side "sustains" more than the other.
        result = {
            Outcome.FASTER: f"{side} does {_times(comparison)} times {interval_text(comparison)} what {base} does",
            Outcome.SLOWER: f"{side} does {_times(comparison)} times {interval_text(comparison)} what {base} does",
            Outcome.EQUIVALENT: f"{side} and {base} do the same within {formatting.percent(comparison.threshold)}",
        }.get(comparison.outcome, f"{side} did {_times(comparison)} times what {base} did, which may be chance")
        return f"at {ratio.at} {result}{_few(comparison)}; {ratio.why}."
    times = _times(comparison)
    mine, theirs = _sustains(row.curve), _sustains(against.baseline)
    if comparison.low is None:
        if comparison.look and not comparison.look.after:
            return f"{side} reached {mine} and {base} {theirs} ({times} times): {comparison.note}"
        runs = (
            "in one run each"
            if comparison.n_a == comparison.n_b == 1
            else f"in {comparison.n_a} and {comparison.n_b} runs"
        )
        return (
            f"{runs} {side} reached {mine} and {base} {theirs} ({times} times): too few runs to tell a difference "
            "from chance."
            if min(comparison.n_a, comparison.n_b) <= 1
            else f"{side} reached {mine} and {base} {theirs} ({times} times); identical repeats bear no interval."
        )
    match comparison.outcome:
        case Outcome.FASTER:
            return (
                f"{side} sustains {mine}, {times} times {interval_text(comparison)} what {base} does{_few(comparison)}."
            )
        case Outcome.SLOWER:
            multiple = f"{times} times {interval_text(comparison)}"
            return f"{base} sustains {theirs}; {side} does {multiple} of it{_few(comparison)}."
        case Outcome.EQUIVALENT:
            within = formatting.percent(comparison.threshold)
            return f"{side} and {base} sustain the same within {within}: {mine} and {theirs}{_few(comparison)}."
    return (
        f"{side} sustains {mine} and {base} {theirs} ({times} times {interval_text(comparison)}): whether that is a "
        f"difference is open{_few(comparison)}."
    )


def _times(comparison: Comparison) -> str:
    """ "1.25", "at least 1.7"."""
    return times_text(comparison).removesuffix(formatting.TIMES).replace("≥", "at least").replace("≤", "at most")


def _few(comparison: Comparison) -> str:
    """That few runs stand behind it."""
    fewest = min(comparison.n_a, comparison.n_b)
    return f", by only {fewest} runs of each side" if comparison.low_n else f" ({fewest} runs of each side)"


def sustained_table(curves: Sequence[Curve], labels: Labels) -> Table:
    """What each side sustains, at what load, and what a write waits for."""
    ranking = Ranking.of(curves)
    return Table(
        (
            "side", "a write waits for", "ceiling (ops/s)", "95 % interval from (ops/s)", "95 % interval to (ops/s)",
            "runs", "of the highest", "not distinguishable from the best", "at", "what the ladder shows",
        ),
        tuple(_sustained(curve, labels, ranking) for curve in curves),
    )  # fmt: skip


def _sustained(curve: Curve, labels: Labels, ranking: Ranking) -> tuple[Cell, ...]:
    ceiling, side = curve.ceiling, (labels.get(curve.sweep_id, curve.label), curve.promise or "not known")
    if ceiling is None:
        return (*side, *[None] * 7, "no point counts" if curve.points else "nothing was measured")
    return (
        *side,
        ceiling.throughput_ops_s,
        ceiling.low_ops_s,
        ceiling.high_ops_s,
        len(ceiling.repeats_ops_s) or None,
        ranking.share_text(curve),
        {True: "yes", False: "no", None: None}[ranking.best[curve.sweep_id]],
        bracket_says(ceiling) or threads_text(ceiling.plateau),
        ladder_says(ceiling),
    )


def against_table(against: Against, equal: EqualLoad | None, labels: Labels) -> Table:
    """Every side against the baseline: how many times better, with the interval and what follows from it."""
    latency = equal.statistic_label if equal else "latency"
    names = [("ceiling", "higher"), *((f"{operation} {latency}", "lower") for operation in against.latency_operations)]
    interval = "interval" if against.has_looks else "95 % interval"
    columns = [
        column
        for label, better in names
        for column in (f"{label}, times {better}", f"{label}: {interval}", f"{label}: outcome")
    ]
    rows = [(labels.get(row.curve.sweep_id, row.curve.label), *_against(row, len(columns))) for row in against.rows]
    return Table(("side", *columns), tuple(rows))


def _against(row: Row, width: int) -> list[Cell]:
    blank: list[Cell] = [None] * (width - 3)
    if row.is_baseline:
        return [None, None, "the baseline", *blank]
    if not row.ratios:
        return [None, None, f"not comparable: {' '.join(row.gate.stops) if row.gate else ''}", *blank]
    return [cell for ratio in row.ratios for cell in _ratio(ratio)]


def _ratio(ratio: Ratio) -> tuple[Cell, Cell, Cell]:
    if ratio.comparison is None:
        return None, None, ratio.why
    at = f"at {ratio.at}" if ratio.at else ""
    notes = "; ".join(part for part in (ratio.outcome, at, ratio.counts, ratio.why, ratio.note) if part)
    return _rounded(ratio.comparison.shown, 4), ratio.interval, notes


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else float(f"{value:.{digits}g}")


def _metric(ratio: Ratio, equal: EqualLoad | None) -> str:
    if ratio.quantity != "throughput":
        at = f"{equal.statistic_label} at {formatting.throughput(equal.load_ops_s)}" if equal else "latency"
        return f"{ratio.quantity} {at}"
    return f"throughput at {ratio.at}" if ratio.at else "throughput"


def verdicts_of(against: Against | None, equal: EqualLoad | None, labels: Labels) -> list[dict[str, Any]]:
    """Each comparison with its numbers, for programs: which algorithm said what, of how many runs."""
    if against is None:
        return []
    baseline = labels.get(against.baseline.sweep_id, against.baseline.label)
    return [
        {
            "side": labels.get(row.curve.sweep_id, row.curve.label),
            "baseline": baseline,
            "metric": _metric(ratio, equal),
            **_verdict(ratio.comparison, ratio.why, refused=row.refused),
        }
        for row in against.rows
        if not row.is_baseline
        for ratio in row.ratios or (Ratio("throughput", None, " ".join(row.gate.stops) if row.gate else ""),)
    ]


def _verdict(comparison: Comparison | None, why: str, *, refused: bool) -> dict[str, Any]:
    if comparison is None:
        outcome = Outcome.NOT_COMPARABLE if refused else Outcome.INCONCLUSIVE
        return {
            "ratio": None, "low": None, "high": None, "outcome": outcome.value, "reason": why,
            "algorithm": ALGORITHM, "runs": 0, "runs_of_baseline": 0,
        }  # fmt: skip
    return {
        "ratio": comparison.ratio,
        "low": finite(comparison.low),
        "high": finite(comparison.high),
        "bound": comparison.bound,
        "outcome": comparison.outcome.value,
        "reason": " ".join(
            part for part in (comparison.reason, f"{why[0].upper()}{why[1:]}." if why else "", comparison.note) if part
        ),
        "algorithm": ALGORITHM,
        "analysis": comparison.analysis,
        "runs": comparison.n_a,
        "runs_of_baseline": comparison.n_b,
        "level": comparison.level,
        "p": comparison.p,
        "adjusted_p": comparison.adjusted_p,
        "threshold": comparison.threshold,
        "noise_floor": comparison.noise_floor,
        "runs_lacking": comparison.needs_more,
    }


def equal_table(equal: EqualLoad, labels: Labels) -> Table:
    """Latencies where every side does the same work."""
    statistics = percentiles_of(equal.statistic)
    columns = [f"{name} {STATISTICS[statistic]} (µs)" for name in equal.operations for statistic in statistics]
    rows = [
        (
            labels.get(side.curve.sweep_id, side.curve.label),
            *(_rounded(at.latency_us, 5) for operation in side.operations for at in operation.at),
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
            (difference.label, value, ", ".join(who))
            for difference in differences(curves, dict(labels))
            for value, who in difference.sides
        ),
    )

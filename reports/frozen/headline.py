"""The sentence that the numbers propose for a report. It claims no more than they bear. Pure."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from benchsite import formatting
from reports.analysis.repeat_comparison import Comparison, Outcome, interval_text, times_text
from reports.curves import Curve
from reports.pages.baseline_ratios import Against, Ratio, Row

Labels = Mapping[UUID, str]
NOTHING = "No point counts here, so nothing can be said of how much any side sustains."


def proposed(curves: Sequence[Curve], found: Against | None, labels: Labels) -> str:
    """One sentence about throughput: which side sustains how much, how many times the baseline, and how sure."""
    standing = [curve for curve in curves if curve.ceiling]
    if not standing:
        return NOTHING
    if found is None or len(standing) == 1:
        return f"{_demonstration(standing)}{_alone(standing[0], labels)}"
    rows = [row for row in found.rows if not row.is_baseline and row.curve.ceiling]
    ratios = [(row, row.ratios[0]) for row in rows if row.ratios and not row.refused]
    known = [(row, one, one.comparison) for row, one in ratios if one.comparison and one.comparison.ratio]
    if not known:
        return f"{_demonstration(standing)}{_incomparable(standing, labels)}"
    row, ratio, comparison = max(known, key=lambda one: (not one[1].at, one[2].shown or 0.0))
    said = f"{_demonstration(standing)}{_against(row, ratio, comparison, found, labels)}"
    return said[0].upper() + said[1:] if said.startswith(("in ", "at ")) else said


def _demonstration(curves: Sequence[Curve]) -> str:
    return "" if all(curve.publishable for curve in curves) else "In a demonstration too short to publish, "


def _name(curve: Curve, labels: Labels) -> str:
    return labels.get(curve.sweep_id, curve.label)


def _sustains(curve: Curve) -> str:
    """ "at least 31.0k ops/s" where the ladder did not show the end."""
    found = curve.ceiling
    assert found is not None
    least = "at least " if found.is_lower_bound else ""
    return f"{least}{formatting.throughput(found.throughput_ops_s)}"


def _alone(curve: Curve, labels: Labels) -> str:
    runs = curve.ceiling_rung.throughput_ops_s.n if curve.ceiling_rung else 0
    made = "one run, so nothing is known of how much it varies" if runs <= 1 else f"median of {runs} runs"
    return f"{_name(curve, labels)} sustains {_sustains(curve)} ({made})."


def _incomparable(curves: Sequence[Curve], labels: Labels) -> str:
    best = max(curves, key=lambda curve: curve.ceiling_ops_s)
    return (
        f"{_name(best, labels)} measured the highest of these {len(curves)} sides, {_sustains(best)}; they differ in "
        "more than what is compared, so no ratio is claimed."
    )


def _against(row: Row, ratio: Ratio, found: Comparison, against: Against, labels: Labels) -> str:
    side, base = _name(row.curve, labels), _name(against.baseline, labels)
    if ratio.at:
        return _at_common_load(side, base, ratio, found)
    times = _times(found)
    mine, theirs = _sustains(row.curve), _sustains(against.baseline)
    if found.low is None:
        if found.look and not found.look.after:
            return f"{side} reached {mine} and {base} {theirs} ({times} times): {found.note}"
        runs = "in one run each" if found.n_a == found.n_b == 1 else f"in {found.n_a} and {found.n_b} runs"
        return (
            f"{runs} {side} reached {mine} and {base} {theirs} ({times} times): too few runs to tell a difference "
            "from chance."
            if min(found.n_a, found.n_b) <= 1
            else f"{side} reached {mine} and {base} {theirs} ({times} times); identical repeats bear no interval."
        )
    match found.outcome:
        case Outcome.FASTER:
            return f"{side} sustains {mine}, {times} times {interval_text(found)} what {base} does{_few(found)}."
        case Outcome.SLOWER:
            return f"{base} sustains {theirs}; {side} does {times} times {interval_text(found)} of it{_few(found)}."
        case Outcome.EQUIVALENT:
            within = formatting.percent(found.threshold)
            return f"{side} and {base} sustain the same within {within}: {mine} and {theirs}{_few(found)}."
    return (
        f"{side} sustains {mine} and {base} {theirs} ({times} times {interval_text(found)}): whether that is a "
        f"difference is open{_few(found)}."
    )


def _at_common_load(side: str, base: str, ratio: Ratio, found: Comparison) -> str:
    """Where a ladder is too short for a ratio of ceilings: no side "sustains" more than the other."""
    result = {
        Outcome.FASTER: f"{side} does {_times(found)} times {interval_text(found)} what {base} does",
        Outcome.SLOWER: f"{side} does {_times(found)} times {interval_text(found)} what {base} does",
        Outcome.EQUIVALENT: f"{side} and {base} do the same within {formatting.percent(found.threshold)}",
    }.get(found.outcome, f"{side} did {_times(found)} times what {base} did, which may be chance")
    return f"at {ratio.at} {result}{_few(found)}; {ratio.why}."


def _times(found: Comparison) -> str:
    """ "1.25", "at least 1.7"."""
    return times_text(found).removesuffix(formatting.TIMES).replace("≥", "at least").replace("≤", "at most")


def _few(found: Comparison) -> str:
    """That few runs stand behind it."""
    fewest = min(found.n_a, found.n_b)
    return f", by only {fewest} runs of each side" if found.low_n else f" ({fewest} runs of each side)"

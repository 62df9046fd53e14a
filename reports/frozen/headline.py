"""The sentence that the numbers propose for a report. It claims no more than they bear. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from benchsite.core import formatting
from reports.analysis.repeat_comparison import Comparison, Outcome, interval_text, times_text
from reports.curves import Curve
from reports.ladder_text import bound_reason, ceiling_text
from reports.pages.baseline_ratios import Against, Ratio, Row
from reports.pages.headline import guarantees_of

Labels = Mapping[UUID, str]
MAX_GUARANTEES: Final = 3
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
        guarantees = guarantees_of(standing, labels)
        if len(guarantees) > 1:
            return _by_guarantee(guarantees, standing)
        best = max(standing, key=lambda curve: curve.ceiling_ops_s)
        incomparable = (
            f"{_name(best, labels)} measured the highest of these {len(standing)} sides, {_sustains(best)}; they "
            "differ in more than what is compared, so no ratio is claimed."
        )
        return f"{_demonstration(standing)}{incomparable}"
    row, ratio, comparison = max(known, key=lambda entry: (not entry[1].at, entry[2].shown or 0.0))
    text = f"{_demonstration(standing)}{_against(row, ratio, comparison, against, labels)}"
    return text[0].upper() + text[1:] if text.startswith(("in ", "at ")) else text


def _by_guarantee(guarantees: Sequence[tuple[str, str]], curves: Sequence[Curve]) -> str:
    """ "Loses none (disk): Redis at least 18.5k ops/s. May lose any (memory): ...": no winner across guarantees."""
    lead = "" if all(curve.publishable for curve in curves) else "A demonstration too short to publish. "
    texts = " ".join(f"{guarantee}: {sides}." for guarantee, sides in guarantees[:MAX_GUARANTEES])
    more = len(guarantees) - MAX_GUARANTEES
    rest = f" {formatting.counted(more, 'more guarantee')}." if more > 0 else ""
    return f"{lead}{texts}{rest} They differ in more than what is compared, so no ratio is claimed."


def _demonstration(curves: Sequence[Curve]) -> str:
    return "" if all(curve.publishable for curve in curves) else "In a demonstration too short to publish, "


def _name(curve: Curve, labels: Labels) -> str:
    return labels.get(curve.sweep_id, curve.label)


def _sustains(curve: Curve) -> str:
    """ "at least 31.0k ops/s (the ladder is too short)"."""
    assert curve.ceiling is not None
    reason = bound_reason(curve.ceiling)
    return ceiling_text(curve.ceiling) + (f" ({reason})" if reason else "")


def _against(row: Row, ratio: Ratio, comparison: Comparison, against: Against, labels: Labels) -> str:
    side, base = _name(row.curve, labels), _name(against.baseline, labels)
    if ratio.at:
        # Where a ladder is too short for a ratio of ceilings: no side "sustains" more than the other.
        differs = f"{side} does {_times(comparison)} times {interval_text(comparison)} what {base} does"
        result = {
            Outcome.FASTER: differs,
            Outcome.SLOWER: differs,
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
    runs = f"{formatting.counted(fewest, 'run')} of each side"
    return f", by only {runs}" if comparison.low_n else f" ({runs})"

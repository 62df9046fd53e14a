"""Ceilings and knees in whole sentences, with the rule that made them. Pure."""

from collections.abc import Iterable, Sequence

from benchsite import formatting
from reports.analysis.ceiling import MIN_GAIN_PER_DOUBLING, NON_MONOTONE, NOT_KNOWN, THREAD_LIMITED, Ceiling, Ladder
from reports.analysis.knee import Knee
from reports.analysis.sessions import SessionSpread
from reports.curves import Curve

LADDER_SAYS = {
    Ladder.SATURATED: "saturated",
    Ladder.RETROGRADE: "saturated, fell beyond",
    Ladder.SHORT: "at least: the ladder is too short",
    Ladder.FIRST: "the first rung is as high as any",
    Ladder.OPEN: "the repeats do not show where it ends",
    Ladder.EMPTY: "",
}
MEASURED_ONCE = "highest measured"  # of single runs: nothing confirms it


def ceiling_sentence(ceiling: Ceiling | None) -> str:
    """What the ladder shows about the ceiling."""
    if ceiling is None:
        return "No point counts, so there is no ceiling."
    value = formatting.throughput(ceiling.throughput_ops_s)
    if ceiling.bracket:
        return _target_sentence(ceiling, value, *ceiling.bracket)
    highest = f"{formatting.throughput(ceiling.highest_ops_s)} at {threads_text((ceiling.threads,))}"
    if not ceiling.is_estimate:
        return f"{highest} is the highest measured. {_single_says(ceiling)}"
    return f"{_estimate_sentence(ceiling, value)} {_end_says(ceiling)} Highest measured: {highest}."


def _single_says(ceiling: Ceiling) -> str:
    """What single runs show of the end of the ladder."""
    if ceiling.rungs == 1:
        return "It is a lower bound: one rung says nothing about where throughput ends."
    if ceiling.ladder is Ladder.FIRST:
        return f"It is the first rung{_lower_rungs(ceiling)}."
    if ceiling.ladder is Ladder.SHORT:
        gain = formatting.signed_percent(ceiling.last_gain)
        return (
            f"It is the last rung, which still gained {gain} per doubling of the threads: the ladder is too short. "
            "Add rungs to see the ceiling."
        )
    return "Whether throughput ends there is open: no repeats show how much runs vary. Repeat the rungs."


def _estimate_sentence(ceiling: Ceiling, value: str) -> str:
    """The estimate, its interval, and which runs it is made of."""
    passes = len(ceiling.repeats_ops_s)
    interval = f"{formatting.short(ceiling.low_ops_s)} to {formatting.short(ceiling.high_ops_s)}"
    least = "At least " if ceiling.is_lower_bound else ""
    where = threads_text(ceiling.plateau)
    made = (
        f"the mean of {passes} repeats at {where}"
        if len(ceiling.plateau) == 1
        else f"the mean of {passes} repeats, each at those of {where} that the other repeats put highest"
    )
    return f"{least}{value} (95 % interval {interval}): {made}."


def _end_says(ceiling: Ceiling) -> str:
    """What the repeats show of the end of the ladder."""
    gain, least = formatting.signed_percent(ceiling.last_gain), formatting.percent(MIN_GAIN_PER_DOUBLING)
    fewer = ceiling.saturation_threads < min(ceiling.plateau)
    near = f" {threads_text((ceiling.saturation_threads,))} already come within 5 % of it." if fewer else ""
    match ceiling.ladder:
        case Ladder.SHORT if ceiling.rungs == 1:
            return "One rung says nothing about where throughput ends."
        case Ladder.SHORT:
            return (
                f"The ladder is too short: its last step still gained {gain} per doubling of the threads. "
                "Add rungs to see the ceiling."
            )
        case Ladder.FIRST:
            return f"The first rung is as high as any{_lower_rungs(ceiling)}."
        case Ladder.RETROGRADE:
            return f"It is the ceiling: with more threads throughput falls clearly below it.{near}"
        case Ladder.SATURATED:
            return f"It is the ceiling: the last steps gain less than {least} per doubling, beyond noise.{near}"
    return f"Whether throughput ends there is open: the last step gained {gain} per doubling, within the noise."


def _lower_rungs(ceiling: Ceiling) -> str:
    return ": add lower rungs to see the ceiling" if min(ceiling.plateau) > 1 else ", so more threads gain nothing"


def threads_text(threads: Sequence[int]) -> str:
    """ "8, 16 and 32 threads"."""
    *others, last = map(str, threads)
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{listed} thread{'' if listed == '1' else 's'}"


def variation_sentence(curve: Curve, floor: SessionSpread | None) -> str:
    """Beside a value of single runs: what repeats differ by on this cluster; empty where there are repeats."""
    ceiling = curve.ceiling
    if ceiling is None or ceiling.is_estimate or len(ceiling.repeats_ops_s) > 1:
        return ""
    single = "One run per rung" if all(point.throughput_ops_s.n == 1 for point in curve.points) else "A single run"
    if floor is None:
        return f"{single}: how much runs vary on this cluster is not known, for too little was repeated there."
    share = formatting.percent(floor.relative)
    return f"{single}: repeats of a test on this cluster differ by up to {share} (19 of 20 pairs)."


def ladder_says(ceiling: Ceiling) -> str:
    """What the end of a ladder shows, in a few words."""
    if THREAD_LIMITED in ceiling.notes:
        return "at least: the next target lacked threads"
    if NOT_KNOWN in ceiling.notes:
        return "at least: of the next target no run counts"
    if ceiling.bracket and ceiling.ladder is Ladder.SHORT:
        return "at least: every target was sustained"
    if ceiling.bracket:
        return "a target failed" if ceiling.target_ops_s else "no target was sustained"
    if ceiling.is_estimate or ceiling.is_lower_bound:
        return LADDER_SAYS[ceiling.ladder]
    return f"{MEASURED_ONCE} (n = {max(len(ceiling.repeats_ops_s), 1)})"


def bracket_says(ceiling: Ceiling) -> str:
    """ "target 75.0k, 100k failed": the last target that was sustained, and the next; empty of threads."""
    if not ceiling.bracket:
        return ""
    low, high = ceiling.bracket
    held = f"target {formatting.short(low)}" if low else "no target"
    if high is None:
        return f"{held}, none failed"
    next_one = formatting.short(high)
    if THREAD_LIMITED in ceiling.notes:
        return f"{held}, {next_one} lacked threads"
    return f"{held}, {next_one} {'not known' if NOT_KNOWN in ceiling.notes else 'failed'}"


NOTES_SAY = {
    NON_MONOTONE: "non-monotone: a target was sustained above one that failed",
    THREAD_LIMITED: "the first failed target lacked threads",
    NOT_KNOWN: "the next target has no counted run",
}


def notes_said(ceiling: Ceiling) -> str:
    """The notes of a ceiling in a cell of a table."""
    return "; ".join(NOTES_SAY[note] for note in ceiling.notes if note in NOTES_SAY)


# More than this above the ceiling, and what rungs that were not sustained reached is worth a sentence.
CLEARLY_MORE = 1.02


def _target_sentence(ceiling: Ceiling, value: str, low: float, high: float | None) -> str:
    target, failed = formatting.throughput(low), formatting.throughput(high)
    if high is None:
        return f"At least {value}: every target up to {target} was sustained. Add higher targets to see the ceiling."
    if NOT_KNOWN in ceiling.notes:
        upto = f"every target up to {target} was sustained" if low else "this is the most that a rung reached"
        return f"{'At least ' if low else ''}{value}: {upto}, but of {failed} no run counts. Measure it again."
    if THREAD_LIMITED in ceiling.notes:
        least = (
            f" Give it {ceiling.threads_needed} threads or more."
            if ceiling.threads_needed
            else " Give it more threads."
        )
        return (
            f"At least {value}: the target of {failed} was missed for lack of threads. All of them were busy while the "
            f"database answered about as fast as at the lowest target.{least}"
        )
    most = formatting.throughput(ceiling.saturation_ops_s)
    if not low:
        return f"No target was sustained, not even {failed}; the most that a rung reached is {most}."
    beyond = ceiling.saturation_ops_s > CLEARLY_MORE * ceiling.throughput_ops_s
    made = "in one run: " if len(ceiling.repeats_ops_s) < 2 else "is the ceiling: "
    return (
        f"{value} {made}{target} is the highest target that was sustained with all targets below it, and "
        f"{failed} was not.{f' Overloaded, it did {most}.' if beyond else ''}"
    )


def ceiling_notes(ceiling: Ceiling | None) -> list[str]:
    """What else has to be known about the targets."""
    if ceiling is None:
        return []
    notes = []
    if NON_MONOTONE in ceiling.notes:
        notes.append(
            "A target was sustained above one that was not, so the rungs contradict each other: the lower one counts. "
            "Repeat the rungs between."
        )
    if NOT_KNOWN in ceiling.notes and ceiling.bracket:
        notes.append(
            f"This target has no counted run: {formatting.throughput(ceiling.bracket[1])}. Its runs were rejected for "
            "reasons that do not concern the load, so it is open, and no target above it counts."
        )
    if ceiling.marginal:
        named = ", ".join(formatting.throughput(target) for target in ceiling.marginal)
        notes.append(f"Marginal, missed by 2 to 5 %: {named}. A longer run may sustain it.")
    return notes


def ceiling_label(ceilings: Iterable[Ceiling]) -> str:
    """What the mark of a ceiling means in the legend of these: of single runs nothing confirms one."""
    labels = {"ceiling" if ceiling.is_estimate or ceiling.bracket else MEASURED_ONCE for ceiling in ceilings}
    return " or ".join(sorted(labels))


def knee_sentence(knee: Knee | None, ceiling: Ceiling | None) -> str:
    """Where latency begins to rise faster than throughput."""
    if knee is None:
        return ""
    load = f"a target of {formatting.throughput(knee.target_ops_s)}" if knee.target_ops_s else f"{knee.threads} threads"
    where = f"{formatting.throughput(knee.throughput_ops_s)} at {load}"
    if not knee.reached:
        return f"No knee within the ladder: {knee.reason}."
    top = f"the {ceiling_label([ceiling])}" if ceiling else "the ceiling"
    return (
        f"The knee is at {where}: {formatting.percent(knee.share_of_ceiling)} of {top}. The mean latency is "
        f"{formatting.significant(knee.latency_growth, 2)} times that of the first rung."
    )


def progress_sentence(curve: Curve) -> str:
    """How many runs have ended, and how."""
    done = curve.progress
    if not done.runs:
        return "No run belongs to this sweep."
    parts = [f"{done.succeeded} of {done.runs} runs succeeded"]
    if done.failed:
        parts.append(f"{done.failed} failed")
    if done.cancelled:
        parts.append(f"{done.cancelled} cancelled")
    waiting = done.runs - done.succeeded - done.failed - done.cancelled
    if waiting:
        parts.append(f"{waiting} to come")
    return ", ".join(parts) + "."

"""Ceilings and knees in whole sentences, with the rule that made them. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from benchsite.core import formatting
from reports.compare.analysis.ceiling import (
    CLIENT_LIMITED,
    MIN_GAIN_PER_DOUBLING,
    NON_MONOTONE,
    NOT_KNOWN,
    THREAD_LIMITED,
    Ceiling,
    Ladder,
    Status,
)
from reports.compare.analysis.knee import Knee
from reports.compare.curves import Curve
from reports.trends.analysis.sessions import SessionSpread

MAX_NAMES: Final = 4  # of sides in a sentence
LADDER_SAYS = {
    Ladder.SATURATED: "saturated",
    Ladder.RETROGRADE: "saturated, fell beyond",
    Ladder.FIRST: "the first rung is as high as any",
    Ladder.OPEN: "the repeats do not show where it ends",
}
MEASURED_ONCE = "highest measured"  # of single runs: nothing confirms it
SINGLE = "in one run"


def bound_reason(ceiling: Ceiling) -> str:
    """Why the ceiling may lie higher, as the end of a sentence; empty where it is no lower bound."""
    if not ceiling.is_lower_bound:
        return ""
    if CLIENT_LIMITED in ceiling.notes:
        return "the clients were at their limit"
    if THREAD_LIMITED in ceiling.notes:
        return "the next target lacked threads"
    if NOT_KNOWN in ceiling.notes:
        return "of the next target no run counts"
    if ceiling.bracket and ceiling.limit:
        return f"the search sought {ceiling.limit}, not the ceiling"
    return "every target was sustained" if ceiling.bracket else "the ladder is too short"


def status_note(ceiling: Ceiling) -> str:
    """The status in two words, where a figure has no room for more; empty where repeats bracket the ceiling."""
    match ceiling.status:
        case Status.CLIENT_LIMITED:
            return "client limit"
        case Status.LOWER_BOUND:
            return "short ladder" if not ceiling.limit else "search of a limit"
        case Status.UNCONFIRMED if ceiling.bracket:
            return "unconfirmed" if ceiling.target_ops_s else "not sustained"
    return ""


def bounded(ceiling: Ceiling, text: str) -> str:
    """ "≥ 31.0k": a text with the ceiling's value, marked where it is a lower bound."""
    return f"≥ {text}" if ceiling.is_lower_bound else text


def ceiling_text(ceiling: Ceiling) -> str:
    """ "at least 31.0k ops/s", for a sentence."""
    least = "at least " if ceiling.is_lower_bound else ""
    return f"{least}{formatting.throughput(ceiling.throughput_ops_s)}"


def status_sentences(curves: Sequence[Curve], labels: Mapping[UUID, str] | None = None) -> list[str]:
    """Beside several ceilings: what is known of those that are not bracketed, without full stops."""
    groups: dict[str, list[str]] = {}
    ceilings = [(curve, curve.ceiling) for curve in curves if curve.ceiling]
    for curve, ceiling in ceilings:
        is_highest_measured = not (ceiling.is_lower_bound or ceiling.bracket or ceiling.is_estimate)
        if ceiling.status is not Status.BRACKETED and not is_highest_measured:
            says, name = ladder_says(ceiling), (labels or {}).get(curve.sweep_id, curve.label)
            groups.setdefault(f"{says[0].upper()}{says[1:]}", []).append(name)
    every = len(ceilings)
    whole = "both ceilings" if every == 2 else f"all {every} ceilings"
    return [
        f"{says} ({whole if len(names) == every > 1 else formatting.listed(names, MAX_NAMES)})"
        for says, names in groups.items()
    ]


def ceiling_sentence(ceiling: Ceiling | None) -> str:
    """What the ladder shows about the ceiling."""
    if ceiling is None:
        return "No point counts, so there is no ceiling."
    value = formatting.throughput(ceiling.throughput_ops_s)
    if ceiling.bracket:
        return _target_sentence(ceiling, value, *ceiling.bracket)
    highest = f"{formatting.throughput(ceiling.highest_ops_s)} at {threads_text((ceiling.threads,))}"
    clients = f" {CLIENTS_SAY}" if CLIENT_LIMITED in ceiling.notes else ""
    if not ceiling.is_estimate:
        least = f"At least {highest}; that" if clients else highest
        return f"{least} is the highest measured.{clients} {_single_says(ceiling)}"
    return f"{_estimate_sentence(ceiling, value)}{clients} {_end_says(ceiling)} Highest measured: {highest}."


def _single_says(ceiling: Ceiling) -> str:
    """What single runs show of the end of the ladder."""
    if ceiling.rungs == 1:
        return "It is a lower bound: one rung says nothing about where throughput ends."
    if ceiling.ladder is Ladder.FIRST:
        more = _lower_rungs(ceiling) or ". Repeat the rungs to see whether more threads gain anything"
        return f"It is the first rung{more}."
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
    top = "the clients' ceiling" if ceiling.is_lower_bound else "the ceiling"
    match ceiling.ladder:
        case Ladder.SHORT if ceiling.rungs == 1:
            return "One rung says nothing about where throughput ends."
        case Ladder.SHORT:
            return (
                f"The ladder is too short: its last step still gained {gain} per doubling of the threads. "
                "Add rungs to see the ceiling."
            )
        case Ladder.FIRST:
            return f"The first rung is as high as any, as far as the repeats tell{_lower_rungs(ceiling)}."
        case Ladder.RETROGRADE:
            return f"It is {top}: with more threads throughput falls clearly below it.{near}"
        case Ladder.SATURATED:
            return f"It is {top}: the last steps gain less than {least} per doubling, beyond noise.{near}"
    return f"Whether throughput ends there is open: the last step gained {gain} per doubling, within the noise."


def _lower_rungs(ceiling: Ceiling) -> str:
    """Empty where no rung can lie below."""
    return ": add lower rungs to see the ceiling" if min(ceiling.plateau) > 1 else ""


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
    """What the end of a ladder shows, in a few words: the status of the ceiling with its reason."""
    if ceiling.is_lower_bound:
        once = "" if ceiling.bracket is None or len(ceiling.repeats_ops_s) > 1 else f", {SINGLE}"
        return f"at least: {bound_reason(ceiling)}{once}"
    if ceiling.bracket:
        says = "a target failed" if ceiling.target_ops_s else "no target was sustained"
        return says if ceiling.is_confirmed or not ceiling.target_ops_s else f"unconfirmed: {says}, {SINGLE}"
    if ceiling.is_estimate:
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
    if CLIENT_LIMITED in ceiling.notes:
        return f"{held}, {next_one} above the clients' limit"
    if THREAD_LIMITED in ceiling.notes:
        return f"{held}, {next_one} lacked threads"
    return f"{held}, {next_one} {'not known' if NOT_KNOWN in ceiling.notes else 'failed'}"


NOTES_SAY = {
    NON_MONOTONE: "non-monotone: a target was sustained above one that failed",
    THREAD_LIMITED: "the first failed target lacked threads",
    CLIENT_LIMITED: "the clients were at their limit",
    NOT_KNOWN: "the next target has no counted run",
}
# Behind the value of a ceiling that is the clients'.
CLIENTS_SAY: Final = "The clients were at their limit, not the database (V02, V03): add clients."


def notes_said(ceiling: Ceiling) -> str:
    """The notes of a ceiling in a cell of a table."""
    return "; ".join(NOTES_SAY[note] for note in ceiling.notes if note in NOTES_SAY)


# More than this above the ceiling, and what rungs that were not sustained reached is worth a sentence.
CLEARLY_MORE = 1.02


def _target_sentence(ceiling: Ceiling, value: str, low: float, high: float | None) -> str:
    target, failed = formatting.throughput(low), formatting.throughput(high)
    if high is None:
        sought = f" The search sought {ceiling.limit}, which the ceiling does not count." if ceiling.limit else ""
        more = sought or " Add higher targets to see the ceiling."
        return f"At least {value}: every target up to {target} was sustained.{more}"
    if NOT_KNOWN in ceiling.notes:
        upto = f"every target up to {target} was sustained" if low else "this is the most that a rung reached"
        return f"{'At least ' if low else ''}{value}: {upto}, but of {failed} no run counts. Measure it again."
    least = f" Give it {ceiling.threads_needed or 'more'} threads{' or more' if ceiling.threads_needed else ''}."
    if CLIENT_LIMITED in ceiling.notes:
        upto = f"the target of {target} was sustained and {failed} was not" if low else f"{failed} was not sustained"
        return f"At least {value}: {upto}. {CLIENTS_SAY}{least if THREAD_LIMITED in ceiling.notes else ''}"
    if THREAD_LIMITED in ceiling.notes:
        return (
            f"At least {value}: the target of {failed} was missed for lack of threads. All of them were busy while the "
            f"database answered about as fast as at the lowest target.{least}"
        )
    most = formatting.throughput(ceiling.saturation_ops_s)
    if not low:
        return f"No target was sustained, not even {failed}; the most that a rung reached is {most}."
    beyond = ceiling.saturation_ops_s > CLEARLY_MORE * ceiling.throughput_ops_s
    made = "is the ceiling" if ceiling.is_confirmed else "is unconfirmed"
    runs = (formatting.counted(n, "run") for n in (len(ceiling.repeats_ops_s) or 1, ceiling.failed_runs or 1))
    sustained, missed = runs
    return (
        f"{value} {made}: {target} is the highest target that was sustained with all targets below it ({sustained}), "
        f"and {failed} was not ({missed}).{f' Overloaded, it did {most}.' if beyond else ''}"
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
    labels = {_label(ceiling) for ceiling in ceilings}
    return " or ".join(sorted(labels))


def _label(ceiling: Ceiling) -> str:
    if not ceiling.is_estimate and not ceiling.bracket:
        return MEASURED_ONCE
    return "ceiling (at least)" if ceiling.is_lower_bound else "ceiling"


def knee_sentence(knee: Knee | None, ceiling: Ceiling | None) -> str:
    """Where latency begins to rise faster than throughput."""
    if knee is None:
        return ""
    load = f"a target of {formatting.throughput(knee.target_ops_s)}" if knee.target_ops_s else f"{knee.threads} threads"
    where = f"{formatting.throughput(knee.throughput_ops_s)} at {load}"
    if not knee.reached:
        return f"No knee within the ladder: {knee.reason}."
    most = "at most " if ceiling and ceiling.is_lower_bound else ""
    single = ceiling and not ceiling.is_estimate and not ceiling.bracket
    top = f"the {MEASURED_ONCE}" if single else "the ceiling"
    return (
        f"The knee is at {where}: {most}{formatting.percent(knee.share_of_ceiling)} of {top}. The mean latency is "
        f"{formatting.significant(knee.latency_growth, 2)} times that of the first rung."
    )


def progress_sentence(curve: Curve) -> str:
    """How many runs have ended, and how."""
    done = curve.progress
    if not done.runs:
        return "No run belongs to this sweep."
    waiting = done.runs - done.succeeded - done.failed - done.cancelled
    others = ((done.failed, "failed"), (done.cancelled, "cancelled"), (waiting, "to come"))
    parts = [f"{done.succeeded} of {done.runs} runs succeeded", *(f"{n} {state}" for n, state in others if n)]
    return ", ".join(parts) + "."

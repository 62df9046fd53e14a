"""What is known of ceilings, in the few words that figures and tables have room for. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from benchsite.core import formatting
from reports.compare.analysis.ceiling import (
    CLIENT_LIMITED,
    NON_MONOTONE,
    NOT_KNOWN,
    THREAD_LIMITED,
    Ceiling,
    Ladder,
    Status,
)
from reports.compare.curves import Curve
from reports.compare.messages import (
    ABOVE_CLIENTS_LIMIT,
    ALL_SUSTAINED,
    CEILING,
    CEILING_OR_MORE,
    CLIENTS_AT_LIMIT,
    LADDER_TOO_SHORT,
    LAST_SUSTAINED,
    NEXT_TARGET_UNKNOWN,
    NO_POINT,
    NONE_SUSTAINED,
    SEARCHED_LIMIT,
    SOME_CEILINGS_OR_MORE,
    THREADS_LACKING,
    UNDER_TOP_POINT,
)

MAX_NAMES: Final = 4  # of sides in a sentence
LADDER_SAYS = {
    Ladder.SATURATED: "saturated",
    Ladder.RETROGRADE: "saturated, fell beyond",
    Ladder.FIRST: "the first rung is as high as any",
    Ladder.OPEN: "the repeats do not show where it ends",
}
NOT_THE_PRODUCT = "not the product: a stand-in"
MEASURED_ONCE = "highest measured"  # of single runs: nothing confirms it
SINGLE = "in one run"


def bound_reason(ceiling: Ceiling) -> str:
    """Why the ceiling may lie higher, as the end of a sentence; empty where it is no lower bound."""
    if not ceiling.is_lower_bound:
        return ""
    if CLIENT_LIMITED in ceiling.notes:
        return CLIENTS_AT_LIMIT
    if THREAD_LIMITED in ceiling.notes:
        return THREADS_LACKING
    if NOT_KNOWN in ceiling.notes:
        return NEXT_TARGET_UNKNOWN
    if ceiling.bracket and ceiling.limit:
        return SEARCHED_LIMIT.format(limit=ceiling.limit)
    if NON_MONOTONE in ceiling.notes:
        return LAST_SUSTAINED
    if ceiling.bracket:
        return ALL_SUSTAINED

    return LADDER_TOO_SHORT


def status_note(ceiling: Ceiling) -> str:
    """The status in two words, where a figure has no room for more; empty where repeats bracket the ceiling."""
    match ceiling.status:
        case Status.CLIENT_LIMITED:
            return "client limit"
        case Status.LOWER_BOUND:
            if not ceiling.limit:
                return "short ladder"
            return "search of a limit"
        case Status.UNCONFIRMED if ceiling.bracket:
            if ceiling.target_ops_s:
                return "unconfirmed"
            return "not sustained"
    return ""


def bounded(ceiling: Ceiling, text: str) -> str:
    """ "≥ 31.0k": a text with the ceiling's value, marked where it is a lower bound."""
    if ceiling.is_lower_bound:
        return f"≥ {text}"
    return text


def ceiling_text(ceiling: Ceiling) -> str:
    """ "at least 31.0k ops/s", for a sentence."""
    least = "at least " if ceiling.is_lower_bound else ""
    return f"{least}{formatting.throughput(ceiling.throughput_ops_s)}"


def below_highest(ceiling: Ceiling) -> str:
    """Why the value lies below the highest point of its curve; empty where it does not."""
    if not ceiling.is_below_highest:
        return ""
    return UNDER_TOP_POINT.format(highest=formatting.short(ceiling.highest_ops_s))


def status_sentences(curves: Sequence[Curve], labels: Mapping[UUID, str] | None = None) -> list[str]:
    """Beside several ceilings: what is known of those that are not bracketed, without full stops."""
    groups: dict[str, list[str]] = {}
    ceilings = [(curve, curve.ceiling) for curve in curves if curve.ceiling]
    for curve, ceiling in ceilings:
        is_highest_measured = not (ceiling.is_lower_bound or ceiling.bracket or ceiling.is_estimate)
        if ceiling.status is not Status.BRACKETED and not is_highest_measured:
            says = ladder_says(ceiling)
            name = (labels or {}).get(curve.sweep_id, curve.label)
            groups.setdefault(f"{says[0].upper()}{says[1:]}", []).append(name)

    every = len(ceilings)
    whole = "both ceilings"
    if every != 2:
        whole = f"all {every} ceilings"

    return [
        f"{says} ({whole if len(names) == every > 1 else formatting.listed(names, MAX_NAMES)})"
        for says, names in groups.items()
    ]


def threads_text(threads: Sequence[int]) -> str:
    """ "8, 16 and 32 threads"."""
    *others, last = map(str, threads)
    listed = last
    if others:
        listed = f"{', '.join(others)} and {last}"
    return f"{listed} thread{'' if listed == '1' else 's'}"


def ladder_says(ceiling: Ceiling) -> str:
    """The status of the ceiling with its reason, in a few words."""
    if ceiling.is_lower_bound:
        once = "" if ceiling.bracket is None or len(ceiling.repeats_ops_s) > 1 else f", {SINGLE}"
        return f"at least: {bound_reason(ceiling)}{once}"
    if ceiling.bracket:
        says = NONE_SUSTAINED
        if ceiling.target_ops_s:
            says = "a target failed"
        if ceiling.is_confirmed or not ceiling.target_ops_s:
            return says
        return f"unconfirmed: {says}, {SINGLE}"
    if ceiling.is_estimate:
        return LADDER_SAYS[ceiling.ladder]

    return f"{MEASURED_ONCE} (n = {max(len(ceiling.repeats_ops_s), 1)})"


def why_none(curve: Curve) -> str:
    """Why a sweep has no ceiling."""
    if curve.is_unsustained:
        return NONE_SUSTAINED
    if curve.counted:
        return "no throughput"
    if curve.points:
        return NOT_THE_PRODUCT if curve.is_stand_in else "no point counts"
    if curve.progress.going:
        return "measuring"
    if curve.progress.succeeded:
        return NO_POINT
    if curve.progress.runs:
        return "did not complete"
    return "no data"


def describe_ladder(curve: Curve) -> str:
    """The status of its ceiling, or why it has none."""
    if curve.ceiling:
        return ladder_says(curve.ceiling)
    return why_none(curve)


def bracket_says(ceiling: Ceiling) -> str:
    """ "target 75.0k, 100k failed": the last target that was sustained, and the next; empty of threads."""
    if not ceiling.bracket:
        return ""

    low, high = ceiling.bracket
    sustained = "no target"
    if low:
        sustained = f"target {formatting.short(low)}"
    if high is None:
        return f"{sustained}, {'only lower ones' if NON_MONOTONE in ceiling.notes else 'none'} failed"

    says = "not known" if NOT_KNOWN in ceiling.notes else "failed"
    if CLIENT_LIMITED in ceiling.notes:
        says = ABOVE_CLIENTS_LIMIT
    elif THREAD_LIMITED in ceiling.notes:
        says = "lacked threads"

    uneven = ", non-monotone" if NON_MONOTONE in ceiling.notes else ""
    return f"{sustained}, {formatting.short(high)} {says}{uneven}"


NOTES_SAY = {
    NON_MONOTONE: "non-monotone: a lower target failed",
    THREAD_LIMITED: "the first failed target lacked threads",
    CLIENT_LIMITED: "the clients were at their limit",
    NOT_KNOWN: "the next target has no counted run",
}


def notes_said(ceiling: Ceiling) -> str:
    """The notes of a ceiling in a cell of a table."""
    return "; ".join(NOTES_SAY[note] for note in ceiling.notes if note in NOTES_SAY)


def ceiling_label(ceilings: Iterable[Ceiling]) -> str:
    """The legend's text for the mark of these ceilings: of single runs nothing confirms one."""
    labels = {_label(ceiling) for ceiling in ceilings}
    if {CEILING, CEILING_OR_MORE} <= labels:
        labels = (labels - {CEILING, CEILING_OR_MORE}) | {SOME_CEILINGS_OR_MORE}
    return " or ".join(sorted(labels))


def _label(ceiling: Ceiling) -> str:
    if not ceiling.is_estimate and not ceiling.bracket:
        return MEASURED_ONCE
    if ceiling.is_lower_bound:
        return CEILING_OR_MORE
    return CEILING

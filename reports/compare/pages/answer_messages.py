"""The English of an answer: a finding in at most 20 words, its certainty in at most 15."""

from collections.abc import Callable, Sequence
from typing import Final

from benchsite.core import formatting
from reports.compare.pages.answer import Answer, Code, Doubt, Finding, Side

MAX_SIDES: Final = 3  # that a sentence names
FACTS: Final = {
    Doubt.ONE_MACHINE: "one machine",
    Doubt.DEMONSTRATION: "short demo",
    Doubt.UNPUBLISHABLE: "not for publication",
}
LIMITS: Final = {
    Doubt.CLIENTS: "the clients were the limit, so values may be higher",
    Doubt.SHORT_LADDERS: "the load ended early, so values may be higher",
    Doubt.OPEN_ENDS: "where throughput ends is open",
    Doubt.FEW_RUNS: "too few to call a difference",
    Doubt.OTHER_DIFFERENCES: "they differ in more, so no ratio is stated",
    Doubt.PROMISES: "guarantees differ or are unknown, so no ratio",
}


def sentence(finding: Finding) -> str:
    return SENTENCES[finding.code](finding) + (f" under {finding.workload}." if finding.workload else ".")


def certainty(answer: Answer) -> str:
    """How sure the findings are; empty where nothing was measured."""
    least, most = answer.repeats
    if not most:
        return ""
    repeats = formatting.counted(most, "run") if least == most else f"{least} to {most} runs"
    facts = [f"{repeats} each", *(text for doubt, text in FACTS.items() if doubt in answer.doubts)]
    limits = [text for doubt, text in LIMITS.items() if doubt in answer.doubts]
    return "; ".join([", ".join(facts), *limits]) + "."


def render_text(answer: Answer) -> str:
    """The first finding and its certainty, for one line of plain text."""
    return f"{sentence(answer.findings[0])} {certainty(answer)}".strip()


def _cost(finding: Finding) -> str:
    return f"{_promise(finding)} costs {finding.sides[0].database} {_whole_percent(finding.value)} of its throughput"


def _small_cost(finding: Finding) -> str:
    database = finding.sides[0].database
    return f"{_promise(finding)} costs {database} less than {_whole_percent(finding.value)} of its throughput"


def _faster(finding: Finding) -> str:
    first, second = finding.sides
    return f"{first.label} served {formatting.significant(finding.value, 2)} times as much as {second.label}"


def _same(finding: Finding) -> str:
    first, second = finding.sides
    return f"{first.label} and {second.label} served the same within {_whole_percent(finding.value)}"


def _values(finding: Finding) -> str:
    sides = finding.sides
    is_one_database = len({side.database for side in sides}) == 1 < len({side.mode for side in sides})
    lead = "Losing no write, " if finding.loss_s == 0 and not is_one_database and len(sides) > 1 else ""
    if is_one_database:
        first, *others = [f"{_did(side)} in mode {side.mode}" for side in sides]
        first = f"{sides[0].database} did {first}"
    else:
        first, *others = [f"{side.label} did {_did(side)}" for side in sides]
    return f"{lead}{_listed([first, *others])}"


def _knee(finding: Finding) -> str:
    return f"The latency of {finding.sides[0].label} rises steeply beyond {formatting.throughput(finding.value)}"


def _nothing_measured(finding: Finding) -> str:
    return "Nothing was measured yet"


def _nothing_counts(finding: Finding) -> str:
    return f"Nothing counts: the checks rejected {formatting.counted(int(finding.value), 'point')}"


SENTENCES: Final[dict[Code, Callable[[Finding], str]]] = {
    Code.NOTHING_MEASURED: _nothing_measured,
    Code.NOTHING_COUNTS: _nothing_counts,
    Code.COST: _cost,
    Code.SMALL_COST: _small_cost,
    Code.FASTER: _faster,
    Code.SAME: _same,
    Code.VALUES: _values,
    Code.KNEE: _knee,
}


def _promise(finding: Finding) -> str:
    """What a side buys, as the subject of a sentence."""
    if finding.loss_s is None:
        return f"Mode {finding.sides[0].mode}"
    if finding.loss_s > 0:
        return f"Losing at most {formatting.exact(finding.loss_s)} s of writes"
    return "Losing no write in a power cut"


def _did(side: Side) -> str:
    bound = "at least " if side.is_bound else ""
    return f"{bound}{formatting.throughput(side.ops_s)}"


def _whole_percent(share: float) -> str:
    return f"{round(share * 100)}{formatting.THIN}%"


def _listed(texts: Sequence[str]) -> str:
    """ "a, b and c"; of more than MAX_SIDES the rest as a number."""
    if len(texts) > MAX_SIDES:
        return formatting.listed(texts, MAX_SIDES)
    *others, last = texts
    return f"{', '.join(others)} and {last}" if others else last

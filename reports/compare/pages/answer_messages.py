"""The English of an answer: a finding in at most 20 words, its certainty in at most 15."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from django.template.loader import render_to_string

from reports.compare.pages.answer import Answer, Code, Finding

MAX_WORDS: Final = 20
MAX_NAME_WORDS: Final = 9
# How many values a sentence lists and how many words a name has in it: fewer from step to step.
STEPS: Final = ((3, MAX_NAME_WORDS), (2, MAX_NAME_WORDS), (2, 4), (2, 3), (2, 2), (1, 2), (1, 1))
SEPARATOR: Final = " · "


def plain_text(template: str, **context: object) -> str:
    """A template below `reports/` as one line of plain text, without blanks before punctuation."""
    line = re.sub(r"[ \n]+", " ", render_to_string(f"reports/{template}", context))
    return re.sub(r" (?=[,;.:])", "", line).strip()


def sentence(finding: Finding) -> str:
    """In at most 20 words: of many values the first, of long names the words that differ."""
    text = ""
    for values, words in STEPS:
        text = _render(finding, values, words)
        if count_words(text) <= MAX_WORDS:
            break
    return text


def _render(finding: Finding, values: int, words: int) -> str:
    sides = finding.sides[:values]
    if finding.code is not Code.VALUES:
        sides = finding.sides
    databases = shorten([side.database for side in sides], words)
    modes = shorten([side.mode for side in sides], words)
    labels = shorten([side.label for side in sides], words)
    sides = tuple(
        replace(side, database=database, mode=mode, label=label)
        for side, database, mode, label in zip(sides, databases, modes, labels, strict=True)
    )
    return plain_text(
        "compare/finding.txt",
        finding=finding,
        sides=sides,
        more=len(finding.sides) - len(sides),
        workload=shorten([finding.workload], words)[0],
    )


def count_words(text: str) -> int:
    return len(text.replace(" ·", "").split())


def shorten(names: Sequence[str], words: int) -> list[str]:
    """Names of at most so many words, from the first word on that differs; unchanged where they become alike."""
    if words < MAX_NAME_WORDS:
        names = _drop_common_parts(names)
    split = [name.split() for name in names]
    columns = enumerate(zip(*split, strict=False))
    common = next((number for number, words_at in columns if len(set(words_at)) > 1), 0)
    shortened = [_cut(parts, common, words) for parts in split]
    if len(set(shortened)) < len(set(names)):
        return list(names)
    return shortened


def _drop_common_parts(names: Sequence[str]) -> Sequence[str]:
    """Names without the parts that all of several have; unchanged where nothing would be left of one."""
    split = [name.split(SEPARATOR) for name in names]
    if len(split) < 2:
        return names
    common = set(split[0]).intersection(*split[1:])
    shortened = [SEPARATOR.join(part for part in parts if part not in common) for parts in split]
    return shortened if all(shortened) else names


def _cut(parts: Sequence[str], begin: int, words: int) -> str:
    if len(parts) <= words:
        return " ".join(parts)
    begin = min(begin, len(parts) - words)
    text = " ".join(parts[begin : begin + words]).strip(" ·")
    before = "…" if begin else ""
    after = "…" if begin + words < len(parts) else ""
    return f"{before}{text}{after}"


def certainty(answer: Answer) -> str:
    """How sure the findings are; empty where nothing was measured."""
    return plain_text("compare/certainty.txt", answer=answer)


def render_text(answer: Answer, longest: int) -> str:
    """The findings and their certainty as one line of plain text: as many as fit into its length."""
    sure = certainty(answer)
    findings = [sentence(finding) for finding in answer.findings]
    lines = [" ".join(filter(None, [*findings[:n], sure])) for n in range(len(findings) + 1)]
    return max((line for line in lines if len(line) <= longest), key=len, default="")

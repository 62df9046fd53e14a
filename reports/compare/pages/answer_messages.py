"""The English of an answer: a finding in at most 20 words, its certainty in at most 15."""

import re

from django.template.loader import render_to_string

from reports.compare.pages.answer import Answer, Finding


def plain_text(template: str, **context: object) -> str:
    """A template below `reports/` as one line of plain text, without blanks before punctuation."""
    line = re.sub(r"[ \n]+", " ", render_to_string(f"reports/{template}", context))
    return re.sub(r" (?=[,;.:])", "", line).strip()


def sentence(finding: Finding) -> str:
    return plain_text("compare/finding.txt", finding=finding)


def certainty(answer: Answer) -> str:
    """How sure the findings are; empty where nothing was measured."""
    return plain_text("compare/certainty.txt", answer=answer)


def render_text(answer: Answer) -> str:
    """The first finding and its certainty, for one line of plain text."""
    return f"{sentence(answer.findings[0])} {certainty(answer)}".strip()

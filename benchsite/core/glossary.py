"""The terms of docs/glossary.md, for the glossary page and for tooltips."""

import re
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"


@cache
def sections() -> dict[str, dict[str, str]]:
    """Section title -> term -> definition as plain text, in the order of the document."""
    terms: dict[str, dict[str, str]] = {}
    for section in SOURCE.read_text("utf-8").split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        terms[title] = dict(re.findall(r"^- \*\*(.+?)\*\*: (.+)$", body, re.M))
    return terms


@cache
def definitions() -> dict[str, str]:
    """Term -> definition, over all sections."""
    terms: dict[str, str] = {}
    for section in sections().values():
        terms |= section
    return terms

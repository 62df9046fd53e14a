"""`manage.py coverage_of_studies`: which items of the published studies Benchsite covers, and where."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand

ROOT: Final = Path(__file__).parents[3]
TABLE: Final = ROOT / "benchmarks" / "coverage_of_studies.csv"
DOCUMENT: Final = ROOT / "docs" / "evidence" / "coverage-of-the-studies.md"
HEAD: Final = """\
# Coverage of the published studies

The items of five published studies, and the part of Benchsite that makes the same figure, table or check from your own
runs. `page:` is the name of an address, `plan:` the plan file of a study, `system:` a file of the catalog, `property:`
a property that Benchsite declares, `doc:` a document. The page *Published results* has the printed numbers.
`manage.py coverage_of_studies` writes this list from `benchmarks/coverage_of_studies.csv`, which also has the ids of
the printed numbers of each item.
"""


@dataclass(frozen=True, slots=True)
class Item:
    """A table, figure, list of settings, conclusion or wished test of a study."""

    section: str
    item: str
    shows: str
    facts: str  # ids of published_results.csv and ranges of them, separated by ", "
    references: str  # "kind:name", separated by blanks
    covered: str  # "yes", "partly" or "no"
    reason: str


class Command(BaseCommand):
    help = "Writes docs/evidence/coverage-of-the-studies.md from benchmarks/coverage_of_studies.csv."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        DOCUMENT.write_text(render(read_items()), encoding="utf-8")


def read_items() -> list[Item]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [Item(**row) for row in csv.DictReader(file)]


def render(items: Iterable[Item]) -> str:
    """The document, with one table for each section."""
    parts = [HEAD]
    for section, members in groupby(items, key=attrgetter("section")):
        rows = "".join(map(_row, members))
        parts.append(f"## {section}\n\n| item | where | test | covered |\n|---|---|---|---|\n{rows}")
    return "\n".join(parts)


def _row(item: Item) -> str:
    references = item.references.split()
    tests = [name.removeprefix("test:") for name in references if name.startswith("test:")]
    others = [name for name in references if not name.startswith("test:")]
    covered = "yes" if item.covered == "yes" else f"{item.covered}: {item.reason}"
    return f"| {item.item} | {_code(others)} | {_code(tests)} | {covered} |\n"


def _code(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)

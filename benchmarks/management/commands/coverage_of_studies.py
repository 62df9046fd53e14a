"""`manage.py coverage_of_studies`: which items of the published studies Benchsite covers, and where."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand

from runs.plans.studies.coverage import Item, read_items

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "evidence" / "coverage-of-the-studies.md"
HEAD: Final = """\
# Coverage of the published studies

The items of five published studies, and the part of Benchsite that makes the same figure, table or check from your own
runs. `page:` is the name of an address, `plan:` the plan file of a study, `system:` a file of the catalog, `property:`
a property that Benchsite declares, `doc:` a document. The page *Published results* has the printed numbers.
`manage.py coverage_of_studies` writes this list from `runs/plans/studies/coverage.csv`, which also has the ids of
the printed numbers of each item.
"""


class Command(BaseCommand):
    help = "Writes docs/evidence/coverage-of-the-studies.md from runs/plans/studies/coverage.csv."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        DOCUMENT.write_text(render(read_items()), encoding="utf-8")


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

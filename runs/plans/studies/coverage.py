"""The items of the studies, and how far Benchsite covers each."""

import csv
import functools
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).with_name("coverage.csv")
NAMED_ANYWHERE: Final = "Systems and features that are named anywhere"


@dataclass(frozen=True, slots=True)
class Item:
    """A table, figure, list of settings, conclusion or wished test of a study."""

    section: str  # the study's name
    item: str
    shows: str
    facts: str  # ids of published_results.csv and ranges of them, separated by ", "
    references: str  # "kind:name", separated by blanks
    covered: str  # "yes", "partly" or "no"
    reason: str

    @property
    def name(self) -> str:
        """The item without its number, such as B4.1."""
        return self.item.partition(" ")[2]

    @property
    def systems(self) -> set[str]:
        """References to the catalog."""
        return {name for name in self.references.split() if name.startswith("system:")}


@functools.cache
def read_items() -> tuple[Item, ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(Item(**row) for row in csv.DictReader(file))


def list_partial() -> dict[str, list[Item]]:
    """The items that are covered in part, or not, by section. A study's begin with those of the systems it measured."""
    partial = [item for item in read_items() if item.covered != "yes"]
    sections = {}
    for name, members in groupby(read_items(), key=attrgetter("section")):
        systems = set().union(*(item.systems for item in members))
        measured = [item for item in partial if item.section == NAMED_ANYWHERE and item.systems & systems]
        own = [item for item in partial if item.section == name]
        sections[name] = list(dict.fromkeys([*measured, *own]))

    return sections

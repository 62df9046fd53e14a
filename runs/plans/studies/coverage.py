"""The items of the studies, and how far Benchsite covers each."""

import csv
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).with_name("coverage.csv")


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


@functools.cache
def read_items() -> tuple[Item, ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(Item(**row) for row in csv.DictReader(file))

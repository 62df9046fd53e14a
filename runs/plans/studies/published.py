"""The numbers that studies printed, and the file of each study's plan."""

import csv
import functools
import io
import math
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
FACTS: Final = FOLDER / "published_results.csv"
_MICROSECONDS: Final = {"us": 1.0, "ms": 1e3, "s": 1e6}
# How firmly a number was printed -> what stands before it; nothing for one that was printed plainly.
MARKS: Final = {
    "approx": "≈",
    "greater_than": ">",
    "less_than": "<",
    "less_or_equal": "≤",
    "range_min": "from",
    "range_max": "to",
    "order_of_magnitude": "~",
    "order_of_magnitude_range_min": "~ from",
    "order_of_magnitude_range_max": "~ to",
    "as_high_as": "up to",
    "max_observed": "≤",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """One number that a study printed: a line of the table."""

    id: str
    study: str  # the slug
    database: str  # one system, or "A vs B"
    version: str
    mode: str
    dataset: str
    workload: str
    nodes: str  # "4", or "4->8" for what compares sizes
    reads_percent: str  # of the mix, whose rest are updates; empty: of several, or not stated
    distribution: str  # of the requests, as `requestdistribution` has it; empty as above
    records: str  # a number; empty as above
    metric: str
    printed: str  # the digits of the study: "25.10" says more than 25.1
    unit: str
    qualifier: str
    note: str
    disputed: str  # why it cannot be right as printed, or not under its name; empty: nothing contradicts it
    overlay: str  # its label beside measured results in Compare; empty: not shown there
    beside: str  # the id of the fact of whose overlay it is a part: a further throughput, or the latency
    operation: str  # of what is measured here too; empty: all operations together
    statistic: str  # of it: "throughput", "knee", or that of a latency; empty: nothing here is the same quantity
    phase: str  # "load" of what was measured while loading
    overlay_note: str
    source: str  # the citation

    @property
    def value(self) -> float:
        return float(self.printed)

    @property
    def mark(self) -> str:
        return MARKS.get(self.qualifier, "")

    @property
    def microseconds(self) -> float | None:
        """A latency in microseconds; None for another unit."""
        if self.unit not in _MICROSECONDS:
            return None
        return self.value * _MICROSECONDS[self.unit]

    def from_microseconds(self, latency_us: float) -> float:
        """A latency in the unit of this one."""
        return latency_us / _MICROSECONDS[self.unit]

    @property
    def conditions(self) -> str:
        """Workload, nodes, data and mode in one line; without what the study does not state."""
        nodes = "1 node"
        if self.nodes != "1":
            nodes = self.nodes and f"{self.nodes} nodes"
        return "; ".join(part for part in (self.workload, nodes, self.dataset, self.mode) if part)


@dataclass(frozen=True, slots=True)
class Overlay:
    """Facts shown grey beside measured results: a throughput, and the latencies that were printed for this load."""

    throughputs: tuple[Fact, ...]  # several are one system's operations at the same time, and are added
    latencies: tuple[Fact, ...]  # one of each operation

    @property
    def label(self) -> str:
        return self.throughputs[0].overlay

    @property
    def phase(self) -> str:
        return self.throughputs[0].phase

    @property
    def note(self) -> str:
        return self.throughputs[0].overlay_note

    @property
    def throughput_ops_s(self) -> float:
        return math.fsum(fact.value for fact in self.throughputs)


@dataclass(frozen=True, slots=True)
class Study:
    """One published study with its facts."""

    slug: str  # "thumbtack-2014"
    facts: tuple[Fact, ...]

    @property
    def organisation(self) -> str:
        return self.slug.rpartition("-")[0].capitalize()

    @property
    def year(self) -> int:
        return int(self.slug.rpartition("-")[2])

    @property
    def name(self) -> str:
        """Short, for labels: "Thumbtack 2014"."""
        return f"{self.organisation} {self.year}"

    @property
    def source(self) -> str:
        return self.facts[0].source

    @property
    def disputed(self) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.facts if fact.disputed)

    @property
    def overlays(self) -> tuple[Overlay, ...]:
        overlays = []
        for fact in self.facts:
            if fact.overlay:
                parts = [fact, *(other for other in self.facts if other.beside == fact.id)]
                throughputs = tuple(part for part in parts if part.unit == fact.unit)
                latencies = tuple(part for part in parts if part.unit != fact.unit)
                overlays.append(Overlay(throughputs, latencies))
        return tuple(overlays)


@functools.cache
def studies() -> tuple[Study, ...]:
    """The studies that ship with Benchsite, oldest first, read once."""
    facts = read_facts(FACTS.read_text("utf-8"))
    by_study = groupby(facts, key=lambda fact: fact.study)
    packs = [Study(slug, tuple(group)) for slug, group in by_study]
    return tuple(sorted(packs, key=lambda study: (study.year, study.slug)))


def read_facts(text: str) -> list[Fact]:
    """The lines of the table. Raises ValueError for other columns."""
    reader = csv.DictReader(io.StringIO(text))
    names = ["value" if field.name == "printed" else field.name for field in fields(Fact)]
    if reader.fieldnames != names:
        raise ValueError(f"the columns must be {', '.join(names)}")
    return [Fact(*row.values()) for row in reader]


def plan_text(slug: str) -> str:
    """The plan file of a study. Raises KeyError for an unknown slug."""
    paths = {path.name.removesuffix(".plan.toml"): path for path in (FOLDER / "plans").glob("*.plan.toml")}
    return paths[slug].read_text("utf-8")

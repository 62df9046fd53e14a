"""The plans of the published studies as templates for matrices: one TOML file each in `plans/`, checked as a whole.

A template says what a study ran, in the words of the catalog; `scaling.scaled` fits it to a machine and
`deviations.deviations` says what a chosen plan does otherwise. CatalogError: a file is wrong, and where.
"""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runs.catalog import Catalog, UnknownMode, UnknownName, UnknownSystem, load_catalog
from runs.catalog.toml_table import CatalogError, Table, check_slug
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import check_workload

FOLDER = Path(__file__).parent / "plans"
Ladder = Literal["threads", "target"]
Guarantee = Literal["durable", "fast"]
Purpose = Literal["measured", "soak"]


class UnknownTemplate(UnknownName):
    kind = "study template"


class UnknownScenario(UnknownName):
    kind = "scenario of this study"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One system in the mode in which a study ran it."""

    slug: str
    system: str  # a slug of the catalog
    name: str  # "Couchbase 2.0.0"
    version: str
    mode: str  # the mode of the catalog that is nearest to what the study says
    says: str  # what the study says of its durability, contradictions included
    driver: str = ""
    replication_factor: int = 1
    left_out: str = ""  # why the study itself has no result of it; empty where it has

    @property
    def runs(self) -> bool:
        return not self.left_out


@dataclass(frozen=True, slots=True)
class StudyWorkload:
    """An operation mix of a study over its data set, as checked YCSB properties."""

    short_name: str
    name: str
    properties: Mapping[str, str]

    @property
    def records(self) -> int:
        return int(self.properties["recordcount"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One matrix of a study. Threads and targets are totals over all clients, seconds are per rung."""

    slug: str
    name: str
    guarantee: str  # what a database that stands in for a studied one has to promise: durable or fast
    workloads: tuple[StudyWorkload, ...]
    per_node: bool  # records grow with the nodes; `records` are those of the fewest
    ladder: str
    rungs: tuple[int, ...]
    threads: int | None  # of a target ladder
    clients: int = 1  # machines that drive it
    nodes: tuple[int, ...]
    warmup_s: int = 0
    measure_s: int = 0
    repeats: int = 1
    purpose: str
    parts: tuple[Part, ...]
    notes: tuple[
        str, ...
    ] = ()  # what of the study a matrix cannot say, or what the study does not state: always deviations

    @property
    def records(self) -> int:
        return max(workload.records for workload in self.workloads)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTemplate:
    """The plan of one study; `slug` is that of the study."""

    slug: str
    name: str
    year: int = 0
    client: str  # what drove it: the YCSB of its time
    hardware: str
    scenarios: tuple[Scenario, ...]

    def scenario(self, slug: str = "") -> Scenario:
        """The scenario of that name, the first one for an empty name. Raises UnknownScenario."""
        known = {item.slug: item for item in self.scenarios}
        if slug and slug not in known:
            raise UnknownScenario(slug, known)
        return known[slug] if slug else self.scenarios[0]


@functools.cache
def templates() -> tuple[StudyTemplate, ...]:
    """The templates that ship with Benchsite, by year; read once."""
    read = [read_template(path.read_text("utf-8"), path.name, load_catalog()) for path in FOLDER.glob("*.toml")]
    return tuple(sorted(read, key=lambda template: (template.year, template.slug)))


def template_of(slug: str) -> StudyTemplate:
    """The template of a study. Raises UnknownTemplate."""
    known = {template.slug: template for template in templates()}
    if slug not in known:
        raise UnknownTemplate(slug, known)
    return known[slug]


def read_template(text: str, file: str, catalog: Catalog) -> StudyTemplate:
    """The template that one file describes. Raises CatalogError."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"{file}: {error}") from None
    with Table(content, file) as table:
        mixes = table.table("workloads")
        workloads = {name: mixes.table(name) for name in mixes.names()}
        section = table.table("scenarios")
        scenarios = tuple(
            _scenario(check_slug(slug, section.where), section.table(slug), workloads, catalog)
            for slug in section.names()
        )
        if not scenarios:
            raise table.error("a template needs at least one scenario")
        return table.record(StudyTemplate, slug=table.slug("slug"), scenarios=scenarios)


def _scenario(slug: str, table: Table, mixes: Mapping[str, Table], catalog: Catalog) -> Scenario:
    with table:
        records = table.count("records")
        ladder, rungs = table.word("ladder", Ladder), _counts(table, "rungs")
        threads = table.count("threads") or None
        if (ladder == "target") != (threads is not None):
            raise table.error("threads belongs to a ladder of targets, and such a ladder needs it")
        if list(rungs) != sorted(set(rungs)):
            raise table.error("rungs must ascend, each once")
        parts = table.table("parts")
        return table.record(
            Scenario,
            slug=slug,
            guarantee=table.word("guarantee", Guarantee),
            workloads=tuple(
                _workload(name, mixes, table, {**table.mapping("properties"), "recordcount": str(records)})
                for name in table.texts("workloads", required=True)
            ),
            per_node=table.flag("records_per_node"),
            ladder=ladder,
            rungs=rungs,
            threads=threads,
            nodes=_counts(table, "nodes"),
            purpose=table.word("purpose", Purpose),
            parts=tuple(_part(check_slug(name, parts.where), parts.table(name), catalog) for name in parts.names()),
        )


def _workload(name: str, mixes: Mapping[str, Table], scenario: Table, more: Mapping[str, str]) -> StudyWorkload:
    if name not in mixes:
        raise scenario.error(f"there is no workload {name!r}")
    with mixes[name] as table:
        try:
            properties = check_workload({**table.mapping("properties"), **more})
        except PropertyError as error:
            raise table.error(str(error)) from None
        return StudyWorkload(name, table.text("name"), properties)


def _part(slug: str, table: Table, catalog: Catalog) -> Part:
    with table:
        try:
            system = catalog.system(table.text("system", slug))
            mode = system.mode(table.text("mode"))
        except (UnknownSystem, UnknownMode) as error:
            raise table.error(str(error)) from None
        version = table.text("version")
        return table.record(
            Part,
            slug=slug,
            system=system.slug,
            name=f"{system.name} {version}",
            version=version,
            mode=mode.slug,
        )


def _counts(table: Table, key: str) -> tuple[int, ...]:
    counts = table.value(key)
    if not isinstance(counts, list) or not counts or not all(type(item) is int and item > 0 for item in counts):
        raise table.error(f"{key} must be a list of whole numbers, 1 or more")
    return tuple(counts)

"""What a plan file holds, as plain values. Machines are roles: how many, and what must be known to judge fit. Pure."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from runs.planning.expansion import PlannedRun
from runs.planning.plan import Entry, Plan, PlannedDatabase, PlannedGenerator, PlannedWorkload, Rule

FORMAT: Final = "benchsite-plan"
VERSION: Final = 1
# Facts of a machine by which a reader judges whether another one will do.
FACTS: Final = ("cores", "memory_bytes")


class PlanRefused(ValueError):
    """This is no plan file that can be read. The message says where and why."""


@dataclass(frozen=True, slots=True)
class ClusterRole:
    """The machines that some databases stand on."""

    provisioner: str
    nodes: tuple[Mapping[str, int], ...]  # the facts of each


@dataclass(frozen=True, slots=True)
class GeneratorRole:
    """A machine that clients run on."""

    slots: int
    facts: Mapping[str, int]
    shares: tuple[str, ...]  # clusters that have a node on the same machine


@dataclass(frozen=True, slots=True)
class PlanDatabase:
    name: str
    system: str
    version: str
    replication_factor: int
    flavour: str
    cluster: str  # a role
    settings: Mapping[str, str]
    binding_properties: Mapping[str, str]  # without addresses and secrets
    secrets: tuple[str, ...]  # properties that had a secret, to be filled in again
    client: str = ""  # the stock binding; empty: Benchsite's own


@dataclass(frozen=True, slots=True)
class PlanWorkload:
    name: str
    short_name: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A matrix without a single row behind it. Databases, workloads and machines go by roles: "database-1"."""

    catalog: str  # the digest of the catalog that its modes were taken from
    name: str
    purpose: str
    tags: tuple[str, ...]
    ladder: str
    rungs: tuple[int, ...]
    threads: int | None
    repeats: int
    order: str
    seed: int
    bracket: bool
    processes_per_generator: int
    load_policy: str
    load_threads: int
    warmup_s: int
    min_measure_s: int
    max_measure_s: int
    min_operations: int
    resets: Mapping[str, str]
    clusters: Mapping[str, ClusterRole]
    generators: Mapping[str, GeneratorRole]
    databases: Mapping[str, PlanDatabase]
    workloads: Mapping[str, PlanWorkload]
    entries: tuple[tuple[str, str], ...]  # database and durability mode
    exclusions: tuple[Mapping[str, Any], ...] = ()
    overrides: tuple[Mapping[str, Any], ...] = ()
    stops_early: bool = False
    search: Mapping[str, Any] | None = None  # `runs.spec.SearchSpec`; None: the rungs are fixed
    thresholds: Mapping[str, float] = field(default_factory=dict)  # those that the team had replaced
    study: Mapping[str, Any] = field(default_factory=dict)
    looks: tuple[int, ...] = ()


# By which rules match cells, in the order in which they are written.
AXES: Final = ("database", "mode", "workload", "rung", "repeat")
# What a matrix says of itself, by its own columns; the rest of a plan file is of other rows.
COLUMNS: Final = (
    "name", "purpose", "ladder", "threads", "repeats", "order", "seed", "bracket", "stops_early",
    "processes_per_generator",
    "load_policy", "load_threads", "warmup_s", "min_measure_s", "max_measure_s", "min_operations",
)  # fmt: skip


def digest_of(text: str) -> str:
    """By which a kit's outputs are known to be of this plan."""
    return hashlib.sha256(text.encode()).hexdigest()


def planned(file: PlanFile) -> Plan:
    """The plan that expands into the runs of this file, its roles in the place of rows."""
    databases = {role: _database(role, one, file) for role, one in file.databases.items()}
    return Plan(
        name=file.name,
        purpose=file.purpose,
        entries=tuple(Entry(databases[role], mode) for role, mode in file.entries),
        workloads=tuple(
            PlannedWorkload(role, one.name, one.short_name, one.properties) for role, one in file.workloads.items()
        ),
        generators=tuple(_generator(role, one) for role, one in file.generators.items()),
        processes=file.processes_per_generator,
        ladder=file.ladder,
        rungs=file.rungs,
        threads=file.threads,
        repeats=file.repeats,
        order=file.order,
        seed=file.seed,
        exclusions=tuple(Rule(one["match"], reason=one.get("reason", "")) for one in file.exclusions),
        overrides=tuple(Rule(one["match"], set=one["set"]) for one in file.overrides),
        load_policy=file.load_policy,
        load_threads=file.load_threads,
        resets=file.resets,
        warmup_s=file.warmup_s,
        min_measure_s=file.min_measure_s,
        max_measure_s=file.max_measure_s,
        min_operations=file.min_operations,
        priming=None,
        bracket=file.bracket,
        looks=file.looks,
        search=file.search,
    )


def twice_the_same(runs: Iterable[PlannedRun]) -> str:
    """Two runs that would be one point, as rules about threads can make them: their names, or empty."""
    seen: dict[object, str] = {}
    for run in runs:
        key = (run.sweep.key, run.threads, run.target_ops_s, run.repeat)
        if key in seen:
            return f"{seen[key]} is planned twice: a rule gives two rungs the same threads."
        seen[key] = run.name
    return ""


def _database(role: str, one: PlanDatabase, file: PlanFile) -> PlannedDatabase:
    cluster = file.clusters[one.cluster]
    return PlannedDatabase(
        id=role,
        name=one.name,
        system=one.system,
        version=one.version,
        replication_factor=one.replication_factor,
        settings=one.settings,
        binding_properties=one.binding_properties,
        flavour=one.flavour,
        client=one.client,
        cluster_id=one.cluster,
        cluster_name=one.cluster,
        provisioner=cluster.provisioner,
        machine_ids=tuple(f"{one.cluster}/{number}" for number in range(1, len(cluster.nodes) + 1)),
    )


def _generator(role: str, one: GeneratorRole) -> PlannedGenerator:
    return PlannedGenerator(role, role, one.slots, f"{role}/1", role, {})

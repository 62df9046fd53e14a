"""The plan as plain values: what `expand` and `preview` read, apart from any row."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import median
from typing import Any

from django.db.models import Max
from pydantic import ConfigDict

from benchsite.core.formatting import counted
from runs import builds
from runs.catalog import OwnMode, count_copies, count_servers, load_catalog
from runs.checks.facts import fact, parse_number
from runs.checks.short_windows import find_min_window_s
from runs.models import Cluster, Database, LoadGenerator, Matrix, Phase, Run, Status, Workload
from runs.plans.faults import KINDS
from runs.plans.messages import (
    FEWER_GENERATORS,
    GENERATORS_TWICE,
    LOOKS_EXAMPLE,
    NO_BUILDS_ON_OTHER_MACHINES,
    NO_FAULTS_ON_OTHER_MACHINES,
    NO_LOOK_AFTER,
    NO_RUNG,
    RUNG_TWICE,
    WRONG_LOOKS,
)
from runs.plans.plan_spec import MAX_LOOKS, MAX_REPEATS, PlanColumns, PlanGroup
from runs.queue.bindings import Capacity
from runs.queue.spec import BuildSpec, FaultSpec, build_client_properties, max_warmup_s
from runs.ycsb.command import TAIL_S
from runs.ycsb.properties import inserts, warm_up_s

# No client does as many operations as YCSB can count in a shorter time, so nothing is predicted for it.
MIN_PREDICTED_S = 600
# A load that takes less says little about the rate of a longer one: its JVM is still compiling.
MIN_LOADING_S = 1.0
# Columns that plan files have no fields of.
UNSHARED = ("search", "faults", "builds")
# What is asked of a node before a plan is submitted; the disk is that of the data folders where both are known.
NODE_FACTS = {
    "disk_free_bytes": ("data_disk_free_bytes", "disk_free_bytes"),
    "disk_total_bytes": ("data_disk_total_bytes", "disk_total_bytes"),
    "memory_bytes": ("memory_bytes",),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that keeps a plan from being run: the form field it belongs to, and a sentence that says what to do.

    Or a check, `code`, that will reject its runs whatever they measure; the field with `remedy` as its value mends it.
    """

    field: str
    message: str
    code: str = "plan"
    remedy: int = 0


class PlanError(Exception):
    """The plan cannot be run as it stands; `problems` says why."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(" ".join(problem.message for problem in problems))


@dataclass(frozen=True, slots=True)
class PlannedDatabase:
    id: str
    name: str
    system: str
    version: str
    replication_factor: int
    settings: Mapping[str, str]
    binding_properties: Mapping[str, str]
    flavour: str
    cluster_id: str
    cluster_name: str
    provisioner: str
    machine_ids: tuple[str, ...]
    ports: tuple[int, ...] = ()  # of the servers of an external cluster
    address: str = ""  # host:port of an external server; empty where it is not known or there is none
    is_spread: bool = False  # load generators start its servers, one on each machine
    separates_cpus: bool = False  # clients on its machines get half of their cores, unless the servers are external
    client: str = ""  # the stock binding or go-ycsb's driver; empty: Benchsite's own
    # Of each node the machine's name and those of NODE_FACTS that are known.
    nodes: tuple[tuple[str, Mapping[str, float]], ...] = ()
    own_modes: Mapping[str, OwnMode] = field(default_factory=dict)
    refused_faults: Mapping[str, str] = field(default_factory=dict)  # kind -> why its machines cannot apply it
    refused_builds: Mapping[str, str] = field(default_factory=dict)  # source -> why its machines start none

    @property
    def servers(self) -> int:
        """The nodes of its cluster."""
        system = load_catalog().systems.get(self.system)
        return count_servers(system, self.provisioner, self.settings, len(self.machine_ids))

    @property
    def stored_copies(self) -> int:
        """Of each record: those that no node has take no room."""
        return count_copies(load_catalog().systems.get(self.system), self.servers, self.replication_factor)

    @property
    def binding(self) -> str:
        """The name under which load generators register the binding of its client."""
        return self.client or load_catalog().system(self.system).binding.name


@dataclass(frozen=True, slots=True)
class PlannedWorkload:
    id: str
    name: str
    short_name: str
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlannedGenerator:
    id: str
    name: str
    slots: int
    machine_id: str
    bindings: Mapping[str, str]  # binding -> digest over its jars
    cores: int = 0  # 0: unknown
    capacity: Mapping[str, Capacity] = field(default_factory=dict)  # binding -> what its clients can generate


@dataclass(frozen=True, slots=True)
class Entry:
    """One database in one durability mode."""

    database: PlannedDatabase
    mode: str
    build: BuildSpec | None = None  # of the plan's builds

    @property
    def build_name(self) -> str:
        return self.build["name"] if self.build else ""


@dataclass(frozen=True, slots=True)
class Rule:
    """An exclusion or an override: it applies where every axis named in `match` agrees.

    Axes: database (id), mode, workload (id), rung (int), repeat (int).
    """

    match: Mapping[str, object]
    reason: str = ""
    set: Mapping[str, Any] | None = None

    def applies(self, **axes: object) -> bool:
        """Whether the rule covers the cell; an axis that the cell leaves open never agrees."""
        return all(axis in axes and str(axes[axis]) == str(value) for axis, value in self.match.items())


@dataclass(frozen=True, slots=True)
class Overhead:
    """What runs of one database and mode take beside their measured part: assumed, unless a trial run measured it."""

    run_s: float = 2.5  # starting two JVMs, agreeing on the instant, collecting and merging
    load_s: float = 4.0  # holds the server's first start
    load_records_s: float = 8000.0  # records per second


ASSUMED = Overhead()


class Plan(PlanColumns):
    """A matrix and what it crosses. Its values are not validated again: `model_construct` makes it."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    entries: tuple[Entry, ...]
    workloads: tuple[PlannedWorkload, ...]
    generators: tuple[PlannedGenerator, ...]
    exclusions: tuple[Rule, ...] = ()
    overrides: tuple[Rule, ...] = ()
    search: Mapping[str, Any] | None = None  # `runs.queue.spec.SearchSpec`; None: the rungs are fixed
    faults: Sequence[FaultSpec] = ()
    builds: Sequence[BuildSpec] = ()
    groups: Sequence[PlanGroup] = ()
    group_workloads: Mapping[str, PlannedWorkload] = {}  # by their names, as far as they exist
    # (database, mode, workload) -> threads -> the highest throughput of earlier runs without a target
    measured_ops_s: Mapping[tuple[str, ...], Mapping[int, float]] = {}
    overheads: Mapping[tuple[str, str], Overhead] = {}  # (database, mode), from a trial run
    min_window_s: int = 0  # V05 rejects a shorter one under the team's thresholds

    @property
    def clients(self) -> int:
        """How many YCSB processes each run has for its ladder."""
        return len(self.ladder_generators) * self.processes_per_generator

    @property
    def ladder_generators(self) -> tuple[PlannedGenerator, ...]:
        """Those that no group has for itself."""
        own = sum(group.generators or 0 for group in self.groups)
        return self.generators[: max(len(self.generators) - own, 0)]

    @property
    def groups_insert(self) -> bool:
        """Whether clients beside the ladder add records."""
        return any(inserts(workload.properties) for workload in self.group_workloads.values())

    def own_generators(self, group: PlanGroup) -> tuple[PlannedGenerator, ...]:
        """Those that the group has for itself, from the end of the list; empty where it shares those of the ladder."""
        end = len(self.generators)
        for other in self.groups:
            if other == group:
                break
            end -= other.generators or 0
        return self.generators[max(end - (group.generators or 0), 0) : max(end, 0)]

    @property
    def machine_ids(self) -> set[str]:
        """Of the servers and the load generators."""
        databases = chain.from_iterable(entry.database.machine_ids for entry in self.entries)
        return {generator.machine_id for generator in self.generators}.union(databases)

    def overhead(self, entry: Entry) -> Overhead:
        return self.overheads.get((entry.database.id, entry.mode), ASSUMED)


def looks_problem(looks: Sequence[int], repeats: int) -> str:
    """What is wrong with the looks of a plan of so many repeats, and what to do; empty where nothing is."""
    if not looks:
        return ""
    example = LOOKS_EXAMPLE
    if len(looks) > MAX_LOOKS or list(looks) != sorted({look for look in looks if 2 <= look <= MAX_REPEATS}):
        return WRONG_LOOKS.format(limit=MAX_LOOKS, most=MAX_REPEATS, example=example)
    if repeats not in looks:
        return NO_LOOK_AFTER.format(repeats=repeats)
    return ""


def rungs_problem(rungs: Sequence[int], ladder: str, *, searches: bool) -> str:
    """What is wrong with a load ladder, and what to do; empty where nothing is."""
    if repeated := [rung for rung in rungs if rungs.count(rung) > 1]:
        return RUNG_TWICE.format(rung=min(repeated))
    if not rungs and not (searches and ladder == Matrix.Ladder.TARGET):
        return NO_RUNG
    return ""


def generator_counts_problem(counts: Sequence[int], generators: int) -> str:
    """What is wrong with the numbers of load generators of a plan that has so many for its ladder; empty: nothing."""
    repeated = [count for count in counts if counts.count(count) > 1]
    if repeated:
        return GENERATORS_TWICE.format(count=min(repeated))
    if counts and generators and max(counts) > generators:
        return FEWER_GENERATORS.format(count=max(counts), generators=counted(generators, "load generator"))
    return ""


def next_look(looks: Sequence[int], repeats: Iterable[int]) -> int | None:
    """The first look beyond these numbers of planned repeats; None: there is none. Copies have higher numbers."""
    highest = max((repeat for repeat in repeats if looks and repeat <= looks[-1]), default=0)
    return next((look for look in looks if look > highest), None)


def build_plan(
    matrix: Matrix,
    *,
    entries: Sequence[tuple[Database, str]],
    workloads: Iterable[Workload],
    generators: Iterable[LoadGenerator],
) -> Plan:
    """The plan of a matrix, saved or not. `entries` are (database, mode); databases bring their cluster and nodes."""
    databases = {database.pk: database for database, _ in entries}
    planned = {key: _read_database(database) for key, database in databases.items()}
    planned_entries = []
    for database, mode in entries:
        for build in matrix.builds or [None]:
            planned_entries.append(Entry(planned[database.pk], mode, build))
    columns = {name: getattr(matrix, name) for name in (*PlanColumns.model_fields, *UNSHARED)}
    return Plan.model_construct(
        **columns,
        groups=tuple(PlanGroup.model_construct(**group) for group in matrix.groups),
        group_workloads=_find_group_workloads(matrix),
        entries=tuple(planned_entries),
        workloads=tuple(map(_read_workload, workloads)),
        generators=tuple(map(read_generator, generators)),
        exclusions=tuple(Rule(rule["match"], reason=rule.get("reason", "")) for rule in matrix.exclusions),
        overrides=tuple(Rule(rule["match"], set=rule["set"]) for rule in matrix.overrides),
        measured_ops_s=_find_measured_ops_s(matrix, list(databases.values()), workloads),
        min_window_s=find_min_window_s(matrix.team_id, matrix.purpose),
    )


def _read_workload(workload: Workload) -> PlannedWorkload:
    return PlannedWorkload(str(workload.pk), workload.name, workload.short_name, workload.properties)


def _find_group_workloads(matrix: Matrix) -> dict[str, PlannedWorkload]:
    if not matrix.groups:
        return {}
    names = [group["workload"] for group in matrix.groups]
    rows = Workload.objects.filter(team=matrix.team_id, name__in=names)
    return {workload.name: _read_workload(workload) for workload in rows}


def _find_measured_ops_s(
    matrix: Matrix, databases: Sequence[Database], workloads: Iterable[Workload]
) -> dict[tuple[str, ...], dict[int, float]]:
    if matrix.warmup_s + matrix.max_measure_s < MIN_PREDICTED_S or matrix.ladder == Matrix.Ladder.TARGET:
        return {}
    rows = (
        Run.objects.filter(
            sweep__database__in=databases, sweep__workload__in=workloads, phase=Phase.MEASURE, status=Status.SUCCEEDED,
            target_ops_s__isnull=True, throughput_ops_s__gt=0, matrix__trial_of__isnull=True,
        )
        .values_list("sweep__database_id", "mode", "sweep__workload_id", "threads")
        .annotate(highest=Max("throughput_ops_s"))
        .order_by()
    )  # fmt: skip
    rates: defaultdict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    for database_id, mode, workload_id, threads, highest in rows:
        rates[str(database_id), mode, str(workload_id)][threads] = highest
    return dict(rates)


def compute_overheads(matrix: Matrix) -> dict[tuple[str, str], Overhead]:
    """Medians over the successful runs of a matrix's trial runs, by database and mode."""
    rows = Run.objects.filter(matrix__trial_of=matrix, status=Status.SUCCEEDED, throughput_ops_s__gt=0)
    columns = ("sweep__database_id", "mode", "phase", "spec", "throughput_ops_s", "started_at", "finished_at")
    samples: defaultdict[tuple[str, str], defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for database_id, mode, phase, spec, ops_s, started_at, finished_at in rows.order_by().values_list(*columns):
        assert started_at is not None and finished_at is not None and ops_s is not None  # It succeeded.
        measured = samples[str(database_id), mode]
        seconds = (finished_at - started_at).total_seconds()
        if phase == Phase.MEASURE:
            window = spec["window"]
            planned_s = max_warmup_s(window) + window["min_measure_s"] + TAIL_S
            planned_s += warm_up_s(build_client_properties(spec))
            measured["run_s"].append(max(seconds - planned_s, 0))
            continue
        loading_s = spec["dataset"]["records"] / ops_s
        measured["load_s"].append(max(seconds - loading_s, 0))
        if loading_s >= MIN_LOADING_S:
            measured["load_records_s"].append(ops_s)

    overheads = {}
    for key, measured in samples.items():
        overheads[key] = Overhead(**{name: median(values) for name, values in measured.items()})
    return overheads


def _read_database(database: Database) -> PlannedDatabase:
    return PlannedDatabase(
        id=str(database.pk),
        name=database.name,
        system=database.system,
        version=database.version,
        replication_factor=database.replication_factor,
        settings=database.settings,
        binding_properties=database.binding_properties,
        flavour=database.flavour,
        own_modes=database.own_modes,
        client=database.client,
        **read_cluster(database.cluster, database.system, database.flavour),
    )


def read_cluster(cluster: Cluster, system_slug: str, flavour: str) -> dict[str, Any]:
    """The columns of a planned database of this system that its cluster decides."""
    system = load_catalog().get(system_slug, flavour)
    ports: Sequence[int] = ()
    if system:
        ports = cluster.list_ports(system.binding.default_port)
    nodes = cluster.nodes.all()
    refused_faults = _find_refusals(cluster, {kind: kind for kind in KINDS})
    refused_builds = _find_refusals(cluster, builds.FACTS)
    if cluster.is_spread:
        refused_faults = dict.fromkeys(KINDS, NO_FAULTS_ON_OTHER_MACHINES)
        refused_builds = dict.fromkeys(builds.FACTS, NO_BUILDS_ON_OTHER_MACHINES)
    return {
        "cluster_id": str(cluster.pk),
        "cluster_name": cluster.name,
        "provisioner": cluster.provisioner,
        "machine_ids": tuple(str(node.machine_id) for node in nodes),
        "ports": tuple(ports),
        "address": cluster.address,
        "is_spread": cluster.is_spread,
        "separates_cpus": cluster.separates_cpus and not cluster.is_spread,
        "nodes": tuple((node.machine.name, _node_facts(node.machine.facts)) for node in nodes),
        "refused_faults": refused_faults,
        "refused_builds": refused_builds,
    }


def _find_refusals(cluster: Cluster, facts: Mapping[str, str]) -> dict[str, str]:
    """Why a machine of the cluster refuses what it states under the name of a fact."""
    refusals = {}
    for node in cluster.nodes.all():
        for name, stated in facts.items():
            reason = fact(node.machine.facts, stated)
            if reason not in (None, builds.AVAILABLE):
                refusals[name] = str(reason)
    return refusals


def _node_facts(facts: Mapping[str, Mapping[str, object]]) -> dict[str, float]:
    node_facts = {}
    for name, sources in NODE_FACTS.items():
        for source in sources:
            value = parse_number(fact(facts, source))
            if value is not None:
                node_facts[name] = value
                break
    return node_facts


def read_generator(generator: LoadGenerator) -> PlannedGenerator:
    facts = generator.machine.facts
    cores = parse_number(fact(facts, "cores_usable") or fact(facts, "cores")) or 0
    return PlannedGenerator(
        id=str(generator.pk),
        name=generator.name,
        slots=generator.slots,
        machine_id=str(generator.machine_id),
        bindings=generator.bindings,
        cores=int(cores),
        capacity=generator.capacity,
    )

"""The pure expansion: databases x modes x workloads x ladder x repeats, minus exclusions plus overrides, in order."""

import math
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from typing import Any

from benchsite.core.formatting import counted
from runs.catalog import load_catalog
from runs.models import Database
from runs.plans.operation_limit import Prediction, predict, split_processes
from runs.plans.plan import ASSUMED, Entry, Plan, PlannedGenerator, PlannedWorkload
from runs.plans.plan_spec import MIN_OPERATIONS, PlanColumns, PlanGroup
from runs.ycsb.command import TAIL_S
from runs.ycsb.properties import (
    Dataset,
    check_workload,
    dataset,
    inserts,
    move_to_data_set,
    warm_up_s,
)

# What the name of a bracket's run ends with.
BRACKET = " bracket"


@dataclass(frozen=True, slots=True)
class PlannedSweep:
    """One curve; a load sweep gathers the loads of one data set into one database and mode."""

    key: tuple[str, ...]
    phase: str
    entry: Entry
    workload: PlannedWorkload
    name: str


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """The clients of a group in one run, one on each of its generators."""

    group: PlanGroup
    workload: PlannedWorkload
    properties: dict[str, str]
    generators: tuple[PlannedGenerator, ...]


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run to be inserted. `needs` is the position of the load that must have succeeded before it."""

    sweep: PlannedSweep
    rung: int
    threads: int
    properties: dict[str, str]
    dataset: Dataset
    generators: tuple[PlannedGenerator, ...]
    min_operations: int
    measure_s: int  # at least
    predicted_s: int  # until its operations are done
    max_measure_s: int
    expected_s: float
    processes: int  # clients on each generator
    position: int = 0
    target_ops_s: int | None = None
    repeat: int = 1
    needs: int | None = None
    prediction: Prediction | None = None  # None: a load
    is_bracket: bool = False
    groups: tuple[PlannedGroup, ...] = ()
    priming_s: int = 0

    @property
    def clients(self) -> int:
        """Those of the ladder."""
        return len(self.generators) * self.processes

    @property
    def all_generators(self) -> tuple[PlannedGenerator, ...]:
        """With those of its groups, each once."""
        groups = chain.from_iterable(group.generators for group in self.groups)
        return tuple({generator.id: generator for generator in (*self.generators, *groups)}.values())

    @property
    def phase(self) -> str:
        return self.sweep.phase

    @property
    def name(self) -> str:
        if self.phase == "load":
            return f"{self.sweep.name} r{self.repeat}"
        name = run_name(self.sweep.name, self.threads, self.target_ops_s, self.repeat)
        if self.is_bracket:
            return f"{name}{BRACKET}"
        return name


def run_name(sweep: str, threads: int, target_ops_s: int | None, repeat: int) -> str:
    """ "redis always A 16t @40000 r1"."""
    target = ""
    if target_ops_s:
        target = f" @{target_ops_s}"
    return f"{sweep} {threads}t{target} r{repeat}"


@dataclass(frozen=True, slots=True)
class ExcludedCell:
    """A rung that is not run, and why."""

    sweep: PlannedSweep
    rung: int
    reason: str


@dataclass(frozen=True, slots=True)
class Expansion:
    sweeps: tuple[PlannedSweep, ...]
    runs: tuple[PlannedRun, ...]  # by position; loads stand before what needs them
    excluded: tuple[ExcludedCell, ...]


def expand(plan: Plan) -> Expansion:
    """All sweeps and runs of a plan, in the order in which they are to run.

    Raises PropertyError for workload properties that YCSB would not take.
    """
    cells: list[PlannedRun] = []
    excluded: list[ExcludedCell] = []
    counts: list[int | None] = [*plan.generator_counts] or [None]
    for entry, workload, count in product(plan.entries, plan.workloads, counts):
        sweep = _build_sweep(plan, entry, workload, count)
        for axes in _list_cells(plan, sweep):
            reasons = [rule.reason for rule in plan.exclusions if rule.applies(**axes)]
            if reasons:
                excluded.append(ExcludedCell(sweep, axes["rung"], reasons[0]))
            else:
                cells.append(_plan_cell(plan, sweep, axes, plan.ladder_generators[:count]))

    ordered = _in_order(plan, cells)
    runs = tuple(_with_loads(plan, [*ordered, *_bracket(plan, ordered)]))
    sweeps = {run.sweep.key: run.sweep for run in runs}
    return Expansion(tuple(sweeps.values()), runs, tuple(excluded))


def _build_sweep(plan: Plan, entry: Entry, workload: PlannedWorkload, generator_count: int | None) -> PlannedSweep:
    """With the first so many of the ladder's load generators; None: with all."""
    suffix = ""
    if generator_count:
        generators = plan.ladder_generators[:generator_count]
        suffix = f" {counted(len(generators), 'generator')}"
    key = ("measure", entry.database.id, entry.mode, workload.id, entry.build_name, suffix)
    name = _name_sweep(plan, entry, f"{workload.short_name}{_name_groups(plan)}{suffix}")
    return PlannedSweep(key, "measure", entry, workload, name)


def _name_sweep(plan: Plan, entry: Entry, what: str) -> str:
    """The short name: "redis always A"; the database's own name where the plan has two of one system."""
    databases = {other.database.id for other in plan.entries if other.database.system == entry.database.system}
    subject = entry.database.system if len(databases) == 1 else entry.database.name
    if entry.build_name:
        subject = f"{subject} {entry.build_name}"
    return f"{subject} {entry.mode} {what}"


def _list_cells(plan: Plan, sweep: PlannedSweep) -> Iterator[dict[str, Any]]:
    """The axes of each rung and repeat of a sweep."""
    axes = {"database": sweep.entry.database.id, "mode": sweep.entry.mode, "workload": sweep.workload.id}
    ladder, repeats = _merge_overrides(plan, axes).get("rungs", plan.rungs), plan.repeats
    if plan.search is not None:  # Only its first trial is known.
        ladder, repeats = [min(plan.rungs, default=1)], 1
        if plan.ladder == "target":
            ladder = [plan.threads or 1]
    for rung, repeat in product(ladder, range(1, repeats + 1)):
        yield {**axes, "rung": int(rung), "repeat": repeat}


def _name_groups(plan: Plan) -> str:
    """ " + scans", or " + 3 groups"."""
    if not plan.groups:
        return ""
    name = f"{len(plan.groups)} groups"
    if len(plan.groups) == 1:
        name = plan.groups[0].name
    return f" + {name}"


def _merge_overrides(plan: Plan, axes: Mapping[str, object]) -> dict[str, Any]:
    """What the overrides set for a cell; a later rule wins."""
    merged: dict[str, Any] = {}
    for rule in plan.overrides:
        if rule.applies(**axes):
            merged.update(rule.set or {})
    return merged


def _plan_cell(
    plan: Plan, sweep: PlannedSweep, axes: Mapping[str, Any], generators: tuple[PlannedGenerator, ...]
) -> PlannedRun:
    """A measured run before it has its place in the queue."""
    changes = _merge_overrides(plan, axes)
    names = changes.pop("generators", None)
    threads = axes["rung"] if plan.ladder == "threads" else plan.threads or 1
    threads = int(changes.pop("threads", 0)) or threads
    min_operations = int(changes.pop(MIN_OPERATIONS, plan.min_operations))
    changes.pop("rungs", None)
    # What is left are workload properties: record count, distribution.
    overridden = {name: str(value) for name, value in changes.items()}
    properties = check_workload({**sweep.workload.properties, **overridden})
    if names is not None:
        generators = tuple(generator for generator in plan.ladder_generators if generator.name in names)
    target_ops_s, measure_s = None, plan.min_measure_s
    max_measure_s = measure_s
    if plan.ladder == "target" and plan.search is None:
        target_ops_s = axes["rung"]
    if min_operations and plan.max_measure_s > measure_s:
        max_measure_s = plan.max_measure_s
    elif target_ops_s:
        measure_s = max_measure_s = max(measure_s, math.ceil(min_operations / target_ops_s))

    prediction = predict(plan, sweep.key[1:4], threads=threads, target_ops_s=target_ops_s, generators=len(generators))
    predicted_s = measure_s
    if max_measure_s > measure_s:
        needed_s = math.ceil(min_operations / prediction.ops_s)
        predicted_s = min(max(measure_s, needed_s), max_measure_s)
    seconds = duration_s(plan, predicted_s)
    processes = split_processes(
        plan,
        prediction,
        seconds=seconds,
        threads=threads,
        generators=generators,
        inserts_same_keys=bool(sweep.entry.database.client) and inserts(properties),
    )
    return PlannedRun(
        sweep=sweep,
        rung=axes["rung"],
        threads=threads,
        target_ops_s=target_ops_s,
        repeat=axes["repeat"],
        properties=properties,
        dataset=dataset(properties),
        generators=generators,
        min_operations=min_operations,
        measure_s=measure_s,
        predicted_s=predicted_s,
        max_measure_s=max_measure_s,
        expected_s=seconds + plan.overhead(sweep.entry).run_s,
        processes=processes,
        prediction=prediction,
        groups=tuple(_plan_groups(plan, properties, generators)),
    )


def _in_order(plan: Plan, cells: list[PlannedRun]) -> list[PlannedRun]:
    """As listed: sweep by sweep. Interleaved: repeat by repeat, rung by rung over all sweeps. Randomised: by seed.

    Both stay within a data set: a server holds one at a time, and runs that alternate load before each of them. They
    stay within a workload, too, where something is reset between workloads.
    """
    if plan.order == "as_listed":
        return cells
    identify = partial(_identify_data, plan, resets=("reload", "restart"))
    positions = {data: position for position, data in enumerate(dict.fromkeys(map(identify, cells)))}
    by_rung = sorted(cells, key=lambda run: (positions[identify(run)], run.repeat, run.rung))
    if plan.order == "interleaved":
        return by_rung
    # Shuffled within each repeat, so that a drift of the machine meets every sweep alike.
    dice = random.Random(plan.seed)
    return sorted(by_rung, key=lambda run: (positions[identify(run)], run.repeat, dice.random()))


def _identify_data(plan: Plan, run: PlannedRun, resets: Collection[str] = ("reload",)) -> tuple[str, str]:
    """The data set, of each workload its own where one of `resets` stands between them."""
    owner = ""
    if plan.resets.get("workload") in resets:
        owner = run.sweep.workload.id
    return run.dataset.fingerprint, owner


def _bracket(plan: Plan, ordered: list[PlannedRun]) -> list[PlannedRun]:
    """The first measured cell once more, to see how far the machines drifted meanwhile.

    Its repeat number follows on those of the plan and its looks, since a rung has each number once.
    """
    if not plan.bracket or not ordered:
        return []
    return [replace(ordered[0], repeat=max(plan.repeats, *plan.looks, 0) + 1, is_bracket=True)]


def _with_loads(plan: Plan, cells: list[PlannedRun]) -> Iterator[PlannedRun]:
    """The measured runs with a load before each one that would otherwise find another data set, or a changed one."""
    # Both by (database, mode, build): the data that are there, and the position of their load.
    loaded: dict[tuple[str, str, str], tuple[str, str] | None] = {}
    load_positions: dict[tuple[str, str, str], int] = {}
    load_counts: Counter[tuple[str, ...]] = Counter()
    # cluster -> what its server is, and its workload where the server is restarted between workloads
    servers: dict[str, tuple[str, ...]] = {}
    is_restarted = plan.resets.get("workload") == "restart"
    begun: set[tuple[str, ...]] = set()  # ladders
    position = 0
    for run in cells:
        entry, identity = run.sweep.entry, _identify_data(plan, run)
        station = (entry.database.id, entry.mode, entry.build_name)
        start_s = 0.0
        is_primed = run.sweep.key not in begun or plan.resets.get("rung") == "restart"
        begun.add(run.sweep.key)
        server = (*station, run.sweep.workload.id) if is_restarted else station
        if servers.get(entry.database.cluster_id) != server:
            start_s = _start_s(plan, entry)
            is_primed = is_primed or entry.database.provisioner != "external"
        servers[entry.database.cluster_id] = server
        if plan.load_policy != "existing" and loaded.get(station) != identity:
            is_primed = True
            load = _plan_load(plan, run)
            load_counts[load.sweep.key] += 1
            expected_s = load.expected_s + start_s
            yield replace(load, position=position, repeat=load_counts[load.sweep.key], expected_s=expected_s)
            # The next run waits for the background work that a load leaves, at most as long as its settling.
            start_s = float(plan.settle_s)
            loaded[station], load_positions[station] = identity, position
            position += 1
        priming_s = 0
        if is_primed:
            priming_s = max(plan.priming_s, _compile_s(plan, entry))
        yield replace(
            run,
            position=position,
            needs=load_positions.get(station),
            priming_s=priming_s,
            expected_s=max(warm_up_s(run.properties), priming_s) + run.expected_s + start_s,
        )
        position += 1
        # Inserts of a run begin at recordcount: a second run over the same data would meet its predecessor's rows.
        if plan.groups_insert or inserts(run.properties) or plan.resets.get("rung") == "reload":
            loaded[station] = None


def _compile_s(plan: Plan, entry: Entry) -> int:
    """How long the server compiles what a workload needs, where the plan waits for a steady throughput."""
    database = entry.database
    if not plan.settle_s or database.flavour != Database.Flavour.BENCHSITE:
        return 0
    process = load_catalog().system(database.system).process
    return process.compile_s if process else 0


def _start_s(plan: Plan, entry: Entry) -> float:
    """What starting the servers takes beyond the usual overhead, where Benchsite starts them as processes."""
    database = entry.database
    if database.provisioner != "process" or plan.overhead(entry) is not ASSUMED:
        return 0.0
    process = load_catalog().system(database.system, database.flavour).process
    if not process:
        return 0.0
    return process.start_s * float(database.settings.get("nodes", 1))


def duration_s(plan: PlanColumns, measure_s: int) -> int:
    """How long each client works of a run that is measured for so long."""
    return plan.warmup_s + plan.settle_s + measure_s + TAIL_S


def _plan_groups(
    plan: Plan, properties: dict[str, str], generators: tuple[PlannedGenerator, ...]
) -> Iterator[PlannedGroup]:
    """Over the records of the run, whatever an override makes of them."""
    for group in plan.groups:
        workload = plan.group_workloads[group.workload]
        own_properties = move_to_data_set(check_workload(workload.properties), properties)
        yield PlannedGroup(group, workload, own_properties, plan.own_generators(group) or generators)


def _plan_load(plan: Plan, run: PlannedRun) -> PlannedRun:
    """The load of the data set of a run."""
    entry, data = run.sweep.entry, run.dataset
    key = ("load", entry.database.id, entry.mode, data.fingerprint, entry.build_name)
    threads = max(plan.load_threads, len(run.generators) * plan.processes_per_generator)
    overhead = plan.overhead(entry)
    return PlannedRun(
        sweep=PlannedSweep(key, "load", entry, run.sweep.workload, _name_sweep(plan, entry, "load")),
        rung=threads,
        threads=threads,
        properties=run.properties,
        dataset=data,
        generators=run.generators,
        min_operations=plan.min_operations,
        measure_s=plan.min_measure_s,
        predicted_s=plan.min_measure_s,
        max_measure_s=plan.min_measure_s,
        expected_s=overhead.load_s + data.records / overhead.load_records_s,
        processes=plan.processes_per_generator,
    )

"""The pure expansion: databases x modes x workloads x ladder x repeats, minus exclusions plus overrides, in order."""

import math
import random
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
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
    position: int
    rung: int
    threads: int
    target_ops_s: int | None
    repeat: int
    properties: dict[str, str]
    dataset: Dataset
    generators: tuple[PlannedGenerator, ...]
    min_operations: int
    measure_s: int  # at least
    predicted_s: int  # until its operations are done
    max_measure_s: int
    needs: int | None
    expected_s: float
    processes: int  # clients on each generator
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

    entry: Entry
    workload: PlannedWorkload
    rung: int
    repeat: int
    reason: str


@dataclass(frozen=True, slots=True)
class Expansion:
    sweeps: tuple[PlannedSweep, ...]
    runs: tuple[PlannedRun, ...]  # by position; loads stand before what needs them
    excluded: tuple[ExcludedCell, ...]


@dataclass(frozen=True, slots=True)
class _Draft:
    """One measured cell before it has its place in the queue."""

    sweep: PlannedSweep
    rung: int
    repeat: int
    threads: int
    target_ops_s: int | None
    properties: dict[str, str]
    generators: tuple[PlannedGenerator, ...]
    min_operations: int
    measure_s: int
    max_measure_s: int
    is_bracket: bool = False
    priming_s: int = 0


def expand(plan: Plan) -> Expansion:
    """All sweeps and runs of a plan, in the order in which they are to run.

    Raises PropertyError for workload properties that YCSB would not take.
    """
    drafts: list[_Draft] = []
    excluded: list[ExcludedCell] = []
    for entry in plan.entries:
        for workload in plan.workloads:
            counts: list[int | None] = [*plan.generator_counts] or [None]
            cells = chain.from_iterable(_cells(plan, entry, workload, count) for count in counts)
            for cell in cells:
                if isinstance(cell, _Draft):
                    drafts.append(cell)
                else:
                    excluded.append(cell)
    ordered = _in_order(plan, drafts)
    runs = tuple(_with_loads(plan, [*ordered, *_bracket(plan, ordered)]))
    sweeps = {run.sweep.key: run.sweep for run in runs}
    return Expansion(tuple(sweeps.values()), runs, tuple(excluded))


def sweep_name(plan: Plan, entry: Entry, what: str) -> str:
    """The short name: "redis always A"; the database's own name where the plan has two of one system."""
    databases = {e.database.id for e in plan.entries if e.database.system == entry.database.system}
    subject = entry.database.system if len(databases) == 1 else entry.database.name
    if entry.build_name:
        subject = f"{subject} {entry.build_name}"
    return f"{subject} {entry.mode} {what}"


def _cells(
    plan: Plan, entry: Entry, workload: PlannedWorkload, generator_count: int | None
) -> Iterator[_Draft | ExcludedCell]:
    """Those of one sweep, with the first so many of the ladder's load generators; None: with all."""
    generators = plan.ladder_generators[:generator_count]
    suffix = ""
    if generator_count:
        suffix = f" {counted(len(generators), 'generator')}"
    key = ("measure", entry.database.id, entry.mode, workload.id, entry.build_name, suffix)
    name = sweep_name(plan, entry, f"{workload.short_name}{_name_groups(plan)}{suffix}")
    sweep = PlannedSweep(key, "measure", entry, workload, name)
    axes: dict[str, object] = {"database": entry.database.id, "mode": entry.mode, "workload": workload.id}
    ladder, repeats = _merge_overrides(plan, axes).get("rungs", plan.rungs), plan.repeats
    if plan.search is not None:  # Only its first trial is known.
        ladder, repeats = [min(plan.rungs, default=1)], 1
        if plan.ladder == "target":
            ladder = [plan.threads or 1]
    for rung in map(int, ladder):
        for repeat in range(1, repeats + 1):
            cell = {**axes, "rung": rung, "repeat": repeat}
            reasons = [rule.reason for rule in plan.exclusions if rule.applies(**cell)]
            if reasons:
                yield ExcludedCell(entry, workload, rung, repeat, reasons[0])
            else:
                yield _build_draft(plan, sweep, cell, rung, repeat, generators)


def _name_groups(plan: Plan) -> str:
    """ " + scans", or " + 3 groups"."""
    if not plan.groups:
        return ""
    name = f"{len(plan.groups)} groups"
    if len(plan.groups) == 1:
        name = plan.groups[0].name
    return f" + {name}"


def _merge_overrides(plan: Plan, cell: dict[str, object]) -> dict[str, Any]:
    """What the overrides set for a cell; a later rule wins."""
    merged: dict[str, Any] = {}
    for rule in plan.overrides:
        if rule.applies(**cell):
            merged.update(rule.set or {})
    return merged


def _build_draft(
    plan: Plan,
    sweep: PlannedSweep,
    cell: dict[str, object],
    rung: int,
    repeat: int,
    generators: tuple[PlannedGenerator, ...],
) -> _Draft:
    changes = _merge_overrides(plan, cell)
    names = changes.pop("generators", None)
    threads = rung if plan.ladder == "threads" else plan.threads or 1
    threads = int(changes.pop("threads", 0)) or threads
    min_operations = int(changes.pop(MIN_OPERATIONS, plan.min_operations))
    changes.pop("rungs", None)
    # What is left are workload properties: record count, distribution.
    overridden = {name: str(value) for name, value in changes.items()}
    if names is not None:
        generators = tuple(generator for generator in plan.ladder_generators if generator.name in names)
    target_ops_s, measure_s = None, plan.min_measure_s
    max_measure_s = measure_s
    if plan.ladder == "target" and plan.search is None:
        target_ops_s = rung
    if min_operations and plan.max_measure_s > measure_s:
        max_measure_s = plan.max_measure_s
    elif target_ops_s:
        measure_s = max_measure_s = max(measure_s, math.ceil(min_operations / target_ops_s))
    return _Draft(
        sweep=sweep,
        rung=rung,
        repeat=repeat,
        threads=threads,
        target_ops_s=target_ops_s,
        properties=check_workload({**sweep.workload.properties, **overridden}),
        generators=generators,
        min_operations=min_operations,
        measure_s=measure_s,
        max_measure_s=max_measure_s,
    )


def _in_order(plan: Plan, drafts: list[_Draft]) -> list[_Draft]:
    """As listed: sweep by sweep. Interleaved: repeat by repeat, rung by rung over all sweeps. Randomised: by seed.

    Both stay within a data set: a server holds one at a time, and runs that alternate load before each of them. They
    stay within a workload, too, where something is reset between workloads.
    """
    if plan.order == "as_listed":
        return drafts
    identify = partial(_identify_data, plan, resets=("reload", "restart"))
    positions = {data: position for position, data in enumerate(dict.fromkeys(map(identify, drafts)))}
    by_rung = sorted(drafts, key=lambda draft: (positions[identify(draft)], draft.repeat, draft.rung))
    if plan.order == "interleaved":
        return by_rung
    # Shuffled within each repeat, so that a drift of the machine meets every sweep alike.
    dice = random.Random(plan.seed)
    return sorted(by_rung, key=lambda draft: (positions[identify(draft)], draft.repeat, dice.random()))


def _identify_data(plan: Plan, draft: _Draft, resets: Collection[str] = ("reload",)) -> tuple[str, str]:
    """The data set, of each workload its own where one of `resets` stands between them."""
    owner = ""
    if plan.resets.get("workload") in resets:
        owner = draft.sweep.workload.id
    return dataset(draft.properties).fingerprint, owner


def _bracket(plan: Plan, ordered: list[_Draft]) -> list[_Draft]:
    """The first measured cell once more, to see how far the machines drifted meanwhile.

    Its repeat number follows on those of the plan and its looks, since a rung has each number once.
    """
    if not plan.bracket or not ordered:
        return []
    return [replace(ordered[0], repeat=max(plan.repeats, *plan.looks, 0) + 1, is_bracket=True)]


def _with_loads(plan: Plan, drafts: list[_Draft]) -> Iterator[PlannedRun]:
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
    for draft in drafts:
        entry, data, identity = draft.sweep.entry, dataset(draft.properties), _identify_data(plan, draft)
        station = (entry.database.id, entry.mode, entry.build_name)
        start_s = 0.0
        is_primed = draft.sweep.key not in begun or plan.resets.get("rung") == "restart"
        begun.add(draft.sweep.key)
        server = (*station, draft.sweep.workload.id) if is_restarted else station
        if servers.get(entry.database.cluster_id) != server:
            start_s = _start_s(plan, entry)
            is_primed = is_primed or entry.database.provisioner != "external"
        servers[entry.database.cluster_id] = server
        if plan.load_policy != "existing" and loaded.get(station) != identity:
            is_primed = True
            load = _plan_load(plan, draft, data, position)
            load_counts[load.sweep.key] += 1
            yield replace(load, repeat=load_counts[load.sweep.key], expected_s=load.expected_s + start_s)
            # The next run waits for the background work that a load leaves, at most as long as its settling.
            start_s = float(plan.settle_s)
            loaded[station], load_positions[station] = identity, position
            position += 1
        if is_primed:
            draft = replace(draft, priming_s=_find_priming_s(plan, entry))
        measured = _plan_measured(plan, draft, data, position, load_positions.get(station))
        yield replace(measured, expected_s=measured.expected_s + start_s)
        position += 1
        # Inserts of a run begin at recordcount: a second run over the same data would meet its predecessor's rows.
        if plan.groups_insert or inserts(draft.properties) or plan.resets.get("rung") == "reload":
            loaded[station] = None


def _find_priming_s(plan: Plan, entry: Entry) -> int:
    """How long clients work before the first measured run behind a start or a load."""
    return max(plan.priming_s, _compile_s(plan, entry))


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


def _plan_measured(plan: Plan, draft: _Draft, data: Dataset, position: int, needs: int | None) -> PlannedRun:
    generators = draft.generators
    prediction = predict(
        plan, draft.sweep.key[1:4], threads=draft.threads, target_ops_s=draft.target_ops_s, generators=len(generators)
    )
    predicted_s = draft.measure_s
    if draft.max_measure_s > draft.measure_s:
        needed_s = math.ceil(draft.min_operations / prediction.ops_s)
        predicted_s = min(max(draft.measure_s, needed_s), draft.max_measure_s)
    seconds = duration_s(plan, predicted_s)
    processes = split_processes(
        plan,
        prediction,
        seconds=seconds,
        threads=draft.threads,
        generators=generators,
        inserts_same_keys=bool(draft.sweep.entry.database.client) and inserts(draft.properties),
    )
    return PlannedRun(
        sweep=draft.sweep,
        position=position,
        rung=draft.rung,
        threads=draft.threads,
        target_ops_s=draft.target_ops_s,
        repeat=draft.repeat,
        properties=draft.properties,
        dataset=data,
        generators=generators,
        min_operations=draft.min_operations,
        measure_s=draft.measure_s,
        predicted_s=predicted_s,
        max_measure_s=draft.max_measure_s,
        needs=needs,
        expected_s=max(warm_up_s(draft.properties), draft.priming_s) + seconds + plan.overhead(draft.sweep.entry).run_s,
        processes=processes,
        prediction=prediction,
        is_bracket=draft.is_bracket,
        groups=tuple(_plan_groups(plan, draft)),
        priming_s=draft.priming_s,
    )


def _plan_groups(plan: Plan, draft: _Draft) -> Iterator[PlannedGroup]:
    """Over the records of the run, whatever an override makes of them."""
    for group in plan.groups:
        workload = plan.group_workloads[group.workload]
        properties = move_to_data_set(check_workload(workload.properties), draft.properties)
        yield PlannedGroup(group, workload, properties, plan.own_generators(group) or draft.generators)


def _plan_load(plan: Plan, draft: _Draft, data: Dataset, position: int) -> PlannedRun:
    entry, workload = draft.sweep.entry, draft.sweep.workload
    key = ("load", entry.database.id, entry.mode, data.fingerprint, entry.build_name)
    sweep = PlannedSweep(key, "load", entry, workload, sweep_name(plan, entry, "load"))
    threads = max(plan.load_threads, len(draft.generators) * plan.processes_per_generator)
    overhead = plan.overhead(entry)
    seconds = overhead.load_s + data.records / overhead.load_records_s
    return PlannedRun(
        sweep=sweep,
        position=position,
        rung=threads,
        threads=threads,
        target_ops_s=None,
        repeat=1,
        properties=draft.properties,
        dataset=data,
        generators=draft.generators,
        min_operations=plan.min_operations,
        measure_s=plan.min_measure_s,
        predicted_s=plan.min_measure_s,
        max_measure_s=plan.min_measure_s,
        needs=None,
        expected_s=seconds,
        processes=plan.processes_per_generator,
    )

"""What a plan would cost, and what keeps it from being run: computed while a person is still typing."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

from benchsite.core.formatting import counted, duration, throughput
from runs import builds
from runs.catalog import (
    GO_FLAVOUR,
    BadTag,
    Mode,
    PropertyError,
    System,
    UnknownMode,
    UnknownSystem,
    copies_problem,
    load_catalog,
    node_count,
    ports_problem,
    refuse_fixed_settings,
    scans,
    start_problem,
)
from runs.models import Database, Matrix
from runs.plans.capacity import capacity_messages, capacity_warnings, disk_by_cluster
from runs.plans.expansion import ExcludedCell, Expansion, PlannedRun, duration_s, expand
from runs.plans.faults import database_problems, fault_sentence, plan_problems
from runs.plans.groups import describe_plan_group, list_group_problems
from runs.plans.messages import (
    ARRIVALS_NEED_TARGETS,
    CATCH_UP_WITH_ARRIVALS,
    CLIENT_WAITS,
    COPIES_ABSENT,
    FITS_INTO_CACHE,
    GO_WITHOUT_HISTOGRAMS,
    LOADED_AGAIN,
    LOOKS_WITHOUT_PROFILE,
    MACHINES_SHARED,
    MODE_STATED,
    MODES_DIFFER,
    MODES_ON_ONE_SERVER,
    NO_BLOCKS,
    NO_KNEE,
    NODES_NEED_MACHINES,
    NOT_ON_OTHER_MACHINES,
    ONE_REPEAT,
    OPERATIONS_OF_SEARCH,
    PEAK_TOO_HIGH,
    PERCENTILES_ARE_RANGES,
    PROFILE_LONGER,
    PROFILE_NEEDS_ARRIVALS,
    RUNG_NOT_SPLIT,
    RUNS_SPLIT,
    RUNS_WITH_FAULTS,
    SEARCH_WITHOUT_PROFILE,
    TARGET_TAKES_LONGER,
    TIME_UNBOUNDED,
    TOO_FEW_COPIES,
    WINDOW_TOO_SHORT,
)
from runs.plans.operation_limit import limit_message
from runs.plans.plan import (
    Entry,
    Plan,
    PlannedDatabase,
    Problem,
    generator_counts_problem,
    looks_problem,
    rungs_problem,
)
from runs.plans.plan_spec import MAX_SECONDS, MIN_OPERATIONS, RESETS, WORKLOAD_RESETS
from runs.plans.profiles import find_peak_percent
from runs.plans.sizes import sentences
from runs.queue.bindings import how_to_align
from runs.ycsb.command import FASTEST_CLIENT_OPS_S
from runs.ycsb.properties import CATCH_UP, inserts, list_own_properties

# An HDR log holds about this many bytes per second, operation and client, before compression.
LOG_BYTES_PER_INTERVAL = 700
MIN_REPEATS_TO_COMPARE = 3
MAX_RUNS = 5_000
# Longer plans are offered a trial run.
TRIAL_OFFERED_ABOVE_S = 3600.0


@dataclass(frozen=True, slots=True)
class Cell:
    """One sweep of the grid: a database in a mode under a workload. `excluded` is the reason, if all of it is."""

    database_id: str
    database_name: str
    mode: str
    workload_id: str
    workload_name: str
    rungs: int
    runs: int
    excluded: str


@dataclass(frozen=True, slots=True)
class Preview:
    problems: tuple[Problem, ...]
    rejections: tuple[Problem, ...]
    warnings: tuple[str, ...]
    cells: tuple[Cell, ...]
    runs: int  # measured runs, without the bracket
    loads: int
    brackets: int
    seconds: float
    may_last_s: float  # longer, where rungs last until their operations are done
    disk_bytes_per_node: int
    result_bytes: int
    settling_s: int = 0  # of them at most, until throughput and servers are steady
    sizes: tuple[str, ...] = ()  # of a scaling set: which records on how many nodes
    orders: str = ""  # what another order would cost
    profile: str = ""  # of an open load: the corners of its line, in a box of 100 by 100
    profile_peak: float = 100.0  # % of a rung
    groups: tuple[str, ...] = ()  # beside every measured run
    is_bound: bool = False  # of a search: the most runs, loads, time and results that it may need

    @property
    def offers_trial(self) -> bool:
        """Whether the plan is so long that it is better tried first."""
        return not self.problems and self.seconds > TRIAL_OFFERED_ABOVE_S


def preview(plan: Plan) -> Preview:
    """Runs, time, disk and result volume of a plan, with everything that is wrong with it. Never raises."""
    problems = list(dict.fromkeys(_list_problems(plan)))  # Modes of one database have some in common.
    expansion = Expansion((), (), ())
    if not problems:
        try:
            expansion = expand(plan)
        except PropertyError as error:
            problems.append(Problem("workloads", str(error)))
    problems += _thread_problems(expansion)
    problems += _workload_problems(plan, expansion)
    problems += _embedded_problems(expansion)
    problems += [Problem("min_measure_s", message) for message in _limit_messages(plan, expansion, assumed=False)]
    # Data that is there already needs no more room.
    node_warnings = []
    if plan.load_policy == "load":
        for is_refused, message in capacity_messages(expansion.runs):
            if is_refused:
                problems.append(Problem("entries", message))
            else:
                node_warnings.append(message)
    measured = [run for run in expansion.runs if run.phase == "measure" and not run.is_bracket]
    trials = max_trials(plan)
    # Each further trial costs what the first does, with a load of its own where it changes the data.
    repeated = [run for run in expansion.runs if run in measured or _reloads(plan, run)]
    all_runs = [*expansion.runs, *repeated * (trials - 1)]
    loads = sum(run.phase == "load" for run in all_runs)
    priming_s = sum(run.priming_s for run in measured)  # of the first trials only
    if not problems and not measured:
        problems.append(Problem("exclusions", "Everything is excluded: leave at least one cell to run."))
    orders = ""
    if measured and plan.search is None:
        orders = _other_orders(plan, expansion)
    return Preview(
        problems=tuple(problems),
        rejections=tuple(_find_rejections(plan, measured)),
        warnings=(
            *_warnings(plan, measured),
            *_profile_warnings(plan),
            *_split_warnings(plan, expansion),
            *capacity_warnings(measured),
            *node_warnings,
        ),
        cells=tuple(_grid(plan, measured, expansion.excluded)),
        runs=len(measured) * trials,
        loads=loads,
        brackets=sum(run.is_bracket for run in expansion.runs),
        seconds=sum(run.expected_s for run in all_runs) - priming_s * (trials - 1),
        may_last_s=sum(run.max_measure_s - run.predicted_s for run in all_runs),
        settling_s=plan.settle_s * len(all_runs) + priming_s,
        disk_bytes_per_node=int(max(disk_by_cluster(expansion.runs).values(), default=0)),
        result_bytes=sum(_result_bytes(run) for run in all_runs),
        sizes=sentences(measured),
        orders=orders,
        profile=_draw_profile(plan),
        profile_peak=find_peak_percent(plan.profile),
        groups=tuple(describe_plan_group(plan, group) for group in plan.groups),
        is_bound=plan.search is not None,
    )


def _draw_profile(plan: Plan) -> str:
    if not plan.profile:
        return ""
    (_, first_percent), (last_s, last_percent) = plan.profile[0], plan.profile[-1]
    end_s = max(plan.min_measure_s, last_s)
    peak = max(find_peak_percent(plan.profile), 1.0)
    corners = []
    for second, percent in [[0.0, first_percent], *plan.profile, [end_s, last_percent]]:
        x, y = 100 * second / end_s, 100 - 100 * percent / peak
        corners.append(f"{round(x, 2)},{round(y, 2)}")
    return " ".join(corners)


def max_trials(plan: Plan) -> int:
    """Of a search of one cell, with the rungs that are measured below its ceiling and the runs that decide them.

    1 for fixed rungs, where each run is planned.
    """
    if plan.search is None:
        return 1
    trials = int(plan.search["max_trials"])
    curve = []
    if plan.ladder == "target":
        curve = plan.search.get("curve_percent", [])
    if curve:
        return trials + (len(curve) + 1) * plan.repeats
    return trials


def _reloads(plan: Plan, run: PlannedRun) -> bool:
    """Whether this is a load that each run of its data set needs anew."""
    reloads = plan.groups_insert or inserts(run.properties) or plan.resets.get("rung") == "reload"
    return run.phase == "load" and reloads


def _other_orders(plan: Plan, expansion: Expansion) -> str:
    """ "Another order: as listed 2 loads, 1 h 5 min; randomised 4 loads, 1 h 20 min." """
    planned_cost = _describe_cost(expansion)
    costs = {}
    for order in Matrix.Order:
        if order != plan.order:
            costs[order.label] = _describe_cost(expand(plan.model_copy(update={"order": order.value})))
    if set(costs.values()) == {planned_cost}:
        return f"Every order takes the same: {planned_cost}."
    return f"Another order: {'; '.join(f'{label} {cost}' for label, cost in costs.items())}."


def _describe_cost(expansion: Expansion) -> str:
    loads = sum(run.phase == "load" for run in expansion.runs)
    seconds = sum(run.expected_s for run in expansion.runs)
    return f"{counted(loads, 'load')}, {duration(seconds)}"


def _list_problems(plan: Plan) -> Iterator[Problem]:
    if not plan.entries:
        yield Problem("entries", "Choose at least one database and durability mode.")
    if not plan.workloads:
        yield Problem("workloads", "Choose at least one workload.")
    if not plan.generators:
        yield Problem("load_generators", "Choose at least one load generator.")
    if plan.search is not None:
        yield from _search_problems(plan, plan.search)
    problem = rungs_problem(plan.rungs, plan.ladder, searches=plan.search is not None)
    if problem:
        yield Problem("rungs", problem)
    if plan.min_measure_s < 1:
        yield Problem("min_measure_s", "A rung must be measured for at least 1 second.")
    problem = looks_problem(plan.looks, plan.repeats)
    if plan.looks and plan.search is not None:
        yield Problem("looks", "The trials of a search are no repeats, so it takes no looks: leave them empty.")
    elif problem:
        yield Problem("looks", problem)
    yield from (Problem("faults", message) for message in plan_problems(plan))
    yield from (Problem("builds", message) for message in builds.list_problems(plan.builds, plan.looks))
    yield from (Problem(field, message) for field, message in _arrival_problems(plan))
    yield from (Problem("groups", message) for message in list_group_problems(plan))
    if plan.ladder == "target" and not plan.threads:
        yield Problem("threads", "A ladder of targets needs the number of threads that serve them.")
    yield from _duration_problems(plan)
    for level, policy in plan.resets.items():
        allowed = {"rung": RESETS, "workload": WORKLOAD_RESETS}.get(level, ("keep",))
        if policy not in allowed:
            yield Problem("resets", f"Between {level}s this release can {' or '.join(allowed)}, not {policy}.")
    if plan.load_policy == "reuse":
        yield Problem(
            "load_policy", "Data of another matrix cannot be reused in this release: load it, or use existing."
        )
    per_cell = max_trials(plan) if plan.search is not None else len(plan.rungs) * plan.repeats
    cells = len(plan.entries) * len(plan.workloads) * max(len(plan.generator_counts), 1) * per_cell
    if cells > MAX_RUNS:
        yield Problem("repeats", f"This makes {cells:,} runs: a matrix may have {MAX_RUNS:,}. Split it.")
    for entry in plan.entries:
        yield from _entry_problems(plan, entry)
    for server, modes, settings, administered in _mode_conflicts(plan):
        if not administered:
            yield Problem(
                "entries",
                f"The modes {modes} want different values of {settings} on {server}, and Benchsite cannot see which "
                "is in force there: plan a matrix for each mode, and change the server's settings between them.",
            )
    problem = generator_counts_problem(plan.generator_counts, len(plan.ladder_generators))
    if problem:
        yield Problem("generator_counts", problem)
    smallest = min(plan.generators, key=lambda generator: generator.slots, default=None)
    if smallest is not None and plan.processes_per_generator > smallest.slots:
        yield Problem(
            "processes_per_generator",
            f"{plan.processes_per_generator} clients per generator are too many: {smallest.name} runs "
            f"{smallest.slots} at a time. Use fewer, or restart it with a higher BENCHSITE_GENERATOR_SLOTS.",
        )


def _duration_problems(plan: Plan) -> Iterator[Problem]:
    timed = {"profile": plan.profile, "faults": plan.faults}
    names = [name for name, value in timed.items() if value]
    if plan.settle_s and names:
        yield Problem(
            "settle_s",
            f"The {' and the '.join(names)} of a run begin with its window, which has to begin at a stated second: "
            "set the settling to 0, and warm up longer.",
        )
    overridden = [int((rule.set or {}).get(MIN_OPERATIONS, 0)) for rule in plan.overrides]
    min_operations = max(plan.min_operations, *overridden, 0)
    if not min_operations:
        return
    has_longest = plan.max_measure_s > plan.min_measure_s
    limit_s = plan.max_measure_s if has_longest else MAX_SECONDS
    if plan.search is not None:
        yield Problem("min_operations", OPERATIONS_OF_SEARCH)
    elif plan.ladder != "target" and not has_longest:
        yield Problem("max_measure_s", TIME_UNBOUNDED)
    elif plan.ladder == "target" and plan.rungs and min_operations / min(plan.rungs) > limit_s:
        needed = duration(min_operations / min(plan.rungs))
        yield Problem("min_operations", TARGET_TAKES_LONGER.format(needed=needed, limit=duration(limit_s)))


def _arrival_problems(plan: Plan) -> Iterator[tuple[str, str]]:
    if not plan.arrivals:
        if plan.profile:
            yield "profile", PROFILE_NEEDS_ARRIVALS
        return
    if plan.ladder != "target":
        yield "arrivals", ARRIVALS_NEED_TARGETS
    if plan.search is not None and plan.profile:
        yield "profile", SEARCH_WITHOUT_PROFILE
    if plan.looks and plan.profile:
        yield "looks", LOOKS_WITHOUT_PROFILE
    others = [entry.database.name for entry in plan.entries if entry.database.flavour != Database.Flavour.BENCHSITE]
    if others:
        yield "arrivals", CLIENT_WAITS.format(database=others[0])
    peak_ops_s = max(plan.rungs, default=0) * find_peak_percent(plan.profile) / 100
    if plan.clients and peak_ops_s > plan.clients * FASTEST_CLIENT_OPS_S:
        message = PEAK_TOO_HIGH.format(
            peak=throughput(peak_ops_s),
            clients=counted(plan.clients, "client"),
            each=throughput(FASTEST_CLIENT_OPS_S),
        )
        yield "rungs", message
    if any(CATCH_UP in workload.properties for workload in plan.workloads):
        yield "workloads", CATCH_UP_WITH_ARRIVALS.format(name=CATCH_UP)


def _search_problems(plan: Plan, search: Mapping[str, Any]) -> Iterator[Problem]:
    slo = search["slo"]
    if slo is None:
        return
    if slo["kind"] == "response" and plan.ladder == "threads":
        yield Problem("slo_kind", "Without a target there is no response time: limit service time, or search targets.")
    proportion = f"{slo['operation'].replace('-', '').lower()}proportion"
    for workload in plan.workloads:
        if float(workload.properties.get(proportion, "0") or 0) <= 0:
            yield Problem(
                "slo_operation",
                f"{workload.name} has no {slo['operation']}: limit the latency of an operation of every workload.",
            )


def _entry_problems(plan: Plan, entry: Entry) -> Iterator[Problem]:
    database = entry.database
    try:
        system: System = load_catalog().system(database.system, database.flavour, database.own_modes)
        mode: Mode = system.mode(entry.mode)
    except (UnknownSystem, UnknownMode) as error:
        yield Problem("entries", str(error))
        return
    external = database.provisioner == "external"
    problem = system.client_problem(database.flavour, database.client, external=external) or mode.no_client
    if problem:
        yield Problem("entries", f"{database.name} {mode.slug}: {problem}")
        return
    if database.flavour == GO_FLAVOUR and plan.ladder == "target" and plan.warmup_s:
        yield Problem(
            "warmup_s",
            f"{database.name}: after a warm-up go-ycsb makes up for the operations that its target missed meanwhile. "
            "Set the warm-up to 0, or plan a ladder of threads.",
        )
    if database.flavour == GO_FLAVOUR and plan.settle_s:
        yield Problem(
            "settle_s",
            f"{database.name}: go-ycsb leaves out a warm-up of the length that it is told. Set the settling to 0.",
        )
    nodes = 1
    try:
        nodes = node_count(system, mode, database.settings)
        system.check_binding_properties(database.binding_properties)
    except PropertyError as error:
        yield Problem("entries", f"{database.name}: {error}")
    problem = ports_problem(system.binding.endpoint, database.ports)
    if problem:
        yield Problem("entries", f"{database.name}: {problem}")
    if database.is_spread:
        yield from _spread_problems(database, system, nodes)
        nodes = len(database.machine_ids)
    if plan.faults:
        for message in database_problems(plan.faults, database, system, mode, nodes):
            yield Problem("faults", message)
    yield from _build_problems(entry, system)
    if database.provisioner == "docker":
        yield from _container_problems(database, system)
    if database.provisioner != "external":
        if "restart" in plan.resets.values() and system.process is not None and not system.process.keeps_data:
            yield Problem(
                "resets", f"{database.name}: {system.name} loses its data at a restart. Keep it running, or load again."
            )
        for message in refuse_fixed_settings(system.process, database.settings).values():
            yield Problem("entries", f"{database.name}: {message}")
        yield from _node_problems(database, system, mode, nodes)
    copies, servers = database.replication_factor, database.servers
    problem = copies_problem(mode, copies, servers)
    if copies > servers > 0 and problem:
        yield Problem("entries", f"{database.name} {mode.slug}: {problem}. Choose another mode, or more nodes.")
    if not database.machine_ids:
        yield Problem("entries", f"{database.name}: its cluster {database.cluster_name} has no node. Add one.")
    binding = database.binding
    digests = {generator.bindings.get(binding, "") for generator in plan.generators}
    if "" in digests and plan.generators:
        lacking = [generator.name for generator in plan.generators if not generator.bindings.get(binding)]
        yield Problem("load_generators", f"{', '.join(lacking)} has no {binding} binding: {how_to_align(binding)}")
    elif len(digests) > 1:
        yield Problem(
            "load_generators",
            f"The load generators hold different builds of the {binding} binding: {how_to_align(binding)}",
        )


def _spread_problems(database: PlannedDatabase, system: System, nodes: int) -> Iterator[Problem]:
    machines = len(database.machine_ids)
    if system.process is None or not system.process.is_networked:
        yield Problem("entries", NOT_ON_OTHER_MACHINES.format(name=database.name, system=system.name))
    if nodes > machines:
        needed = counted(nodes, "node")
        yield Problem("entries", NODES_NEED_MACHINES.format(name=database.name, nodes=needed, machines=machines))


def _node_problems(database: PlannedDatabase, system: System, mode: Mode, nodes: int) -> Iterator[Problem]:
    problem = start_problem(system, mode, nodes)
    if not problem and database.stored_copies <= mode.replicas_needed:
        replicas = counted(mode.replicas_needed, "replica")
        problem = TOO_FEW_COPIES.format(replicas=replicas, copies=database.replication_factor)
    if problem:
        remedy = "Choose"
        if "nodes" in system.settings and not database.is_spread:
            remedy = f"Raise its replication factor to {mode.replicas_needed + 1}, choose"
        yield Problem(
            "entries",
            f"{database.name} {mode.slug}: on a {database.provisioner} cluster the mode cannot be had: {problem}. "
            f"{remedy} another mode, or an external cluster.",
        )


def _build_problems(entry: Entry, system: System) -> Iterator[Problem]:
    database, build = entry.database, entry.build
    if not build:
        return
    source = builds.get_source(build)
    problem = builds.source_problem(build, database.provisioner)
    if not problem and source:
        problem = database.refused_builds.get(source, "")
    if not problem and source and system.is_embedded:
        problem = f"{system.name} runs inside the client, and Benchsite starts no server of it."
    if problem:
        yield Problem("builds", f"{database.name}, build “{build['name']}”: {problem}")


def _container_problems(database: PlannedDatabase, system: System) -> Iterator[Problem]:
    if system.image is None:
        kind = "an external cluster"
        if system.is_embedded:
            kind = "a cluster of kind process"
        yield Problem("entries", f"{database.name}: no image of {system.name} is known; use {kind}.")
        return
    try:
        system.image.reference(database.version)
    except BadTag as error:
        yield Problem("entries", f"{database.name}: {error}")


def _thread_problems(expansion: Expansion) -> list[Problem]:
    short: dict[int, int] = {}
    for run in expansion.runs:
        if not run.generators:
            return [Problem("overrides", f"{run.name}: an override leaves it no load generator.")]
        if run.threads < run.clients:
            short[run.threads] = run.clients
    for run in expansion.runs:
        database = run.sweep.entry.database
        if run.phase == "measure" and run.clients > 1 and database.client and inserts(run.properties):
            # They all begin to insert at recordcount, whatever insertstart says.
            message = (
                f"{run.name}: {run.clients} clients of {database.client} would insert the same keys. Use one client, "
                "or Benchsite's own."
            )
            return [Problem("load_generators", message)]
    return [
        Problem("rungs", RUNG_NOT_SPLIT.format(threads=counted(threads, "thread"), clients=clients))
        for threads, clients in sorted(short.items())
    ]


def _workload_problems(plan: Plan, expansion: Expansion) -> list[Problem]:
    """Workloads that ask what the client of a database cannot do, or what the ladder has not."""
    scanning, owning, catching_up = {}, {}, []
    for run in expansion.runs:
        database, workload = run.sweep.entry.database, run.sweep.workload.name
        cell = database.name, workload
        if scans(run.properties) and not load_catalog().system(database.system, database.flavour).binding.scans:
            scanning[cell] = (
                f"{workload} scans, and the {database.binding} client of {database.name} cannot: exclude this cell."
            )
        own_properties = list_own_properties(run.properties)
        if database.client and own_properties:
            owning[cell] = (
                f"{workload} has {own_properties[0]}, which only Benchsite's own client takes: leave it out, or "
                f"exclude {database.name}."
            )
    if plan.ladder != "target":
        catching_up = [
            f"{workload.name} has {CATCH_UP}, which needs a ladder of targets: leave it out."
            for workload in plan.workloads
            if CATCH_UP in workload.properties
        ]
    return [Problem("workloads", message) for message in (*scanning.values(), *owning.values(), *catching_up)]


def _embedded_problems(expansion: Expansion) -> list[Problem]:
    """Several clients, or one on another machine, of a system that is a library inside the client."""
    problems = {}
    for run in expansion.runs:
        database = run.sweep.entry.database
        system = load_catalog().system(database.system, database.flavour)
        machines = {generator.machine_id for generator in run.generators}
        if system.is_embedded and (run.clients > 1 or not machines <= set(database.machine_ids)):
            problems[database.name] = (
                f"{database.name}: {system.name} is a library inside the client, and one process at a time has its "
                f"data: use one load generator on the machine of {database.cluster_name}, with one client."
            )
    return [Problem("load_generators", problem) for problem in problems.values()]


def _limit_messages(plan: Plan, expansion: Expansion, *, assumed: bool) -> list[str]:
    """The run that comes furthest over YCSB's count of operations, if any does: by assumption, or by what is known."""
    messages: dict[float, str] = {}  # by operations per second of a client
    for run in expansion.runs:
        prediction = run.prediction
        if prediction is None or not run.clients or (prediction.source == "assumed") is not assumed:
            continue
        seconds = duration_s(plan, run.predicted_s)
        message = limit_message(run.name, prediction, seconds=seconds, clients=run.clients)
        if message:
            messages[prediction.ops_s / run.clients] = message
    return [messages[max(messages)]] if messages else []


def _split_warnings(plan: Plan, expansion: Expansion) -> Iterator[str]:
    split = [
        run for run in expansion.runs if run.prediction is not None and run.processes > plan.processes_per_generator
    ]
    if split:
        largest = max(split, key=lambda run: run.processes)
        yield RUNS_SPLIT.format(
            runs=len(split), run=largest.name, clients=largest.processes, prediction=largest.prediction
        )
    yield from _limit_messages(plan, expansion, assumed=True)


def _profile_warnings(plan: Plan) -> Iterator[str]:
    if not plan.profile:
        return
    end_s, _ = plan.profile[-1]
    if end_s > plan.min_measure_s:
        yield PROFILE_LONGER.format(
            length=duration(end_s), measured=duration(plan.min_measure_s), seconds=math.ceil(end_s)
        )


def _find_rejections(plan: Plan, runs: list[PlannedRun]) -> Iterator[Problem]:
    short = [run for run in runs if run.predicted_s < plan.min_window_s]
    if not short:
        return
    which = "every run"
    if len(short) < len(runs):
        which = f"{len(short)} of {counted(len(runs), 'run')}"
    least, measured = duration(plan.min_window_s), duration(plan.min_measure_s)
    message = WINDOW_TOO_SHORT.format(which=which, measured=measured, least=least)
    yield Problem("min_measure_s", message, "V05", plan.min_window_s)


def _warnings(plan: Plan, runs: list[PlannedRun]) -> Iterator[str]:
    if runs and plan.faults:
        faults = "; ".join(fault_sentence(fault) for fault in plan.faults)
        yield RUNS_WITH_FAULTS.format(faults=faults)
    confirms = plan.search is None or plan.ladder == "threads"
    if confirms and plan.purpose in ("measured", "soak") and plan.repeats < MIN_REPEATS_TO_COMPARE:
        yield ONE_REPEAT.format(repeats=plan.repeats)
    if plan.order == "as_listed" and plan.repeats > 1 and len(plan.entries) > 1 and plan.search is None:
        yield NO_BLOCKS
    servers = set(chain.from_iterable(entry.database.machine_ids for entry in plan.entries))
    if not servers.isdisjoint(generator.machine_id for generator in plan.generators):
        yield MACHINES_SHARED
    if runs:
        yield from _result_warnings(plan, runs)


def _result_warnings(plan: Plan, runs: list[PlannedRun]) -> Iterator[str]:
    """What the results of the measured runs will not show, or not alike."""
    if len(plan.rungs) < 4 and plan.search is None:
        yield NO_KNEE.format(rungs=counted(len(plan.rungs), "rung"))
    for server, modes, settings, administered in _mode_conflicts(plan):
        if administered:
            yield MODES_ON_ONE_SERVER.format(server=server, modes=modes, settings=settings)
    for database in {entry.database.id: entry.database for entry in plan.entries}.values():
        if database.replication_factor > database.servers > 0:
            nodes = counted(database.servers, "node")
            yield COPIES_ABSENT.format(database=database.name, copies=database.replication_factor, nodes=nodes)
    stated = {
        entry.database.name
        for entry in plan.entries
        if not load_catalog().system(entry.database.system, entry.database.flavour).administered
    }
    if stated:
        yield MODE_STATED.format(systems=", ".join(sorted(stated)))
    go_databases = sorted({entry.database.name for entry in plan.entries if entry.database.flavour == GO_FLAVOUR})
    if go_databases:
        several = ""
        if plan.clients > 1:
            several = PERCENTILES_ARE_RANGES
        yield GO_WITHOUT_HISTOGRAMS.format(databases=", ".join(go_databases), ranges=several)
    needs = {(run.sweep.entry.database.name, run.needs) for run in runs if run.needs is not None}
    loads = Counter(name for name, _ in needs)
    loaded_again = sorted(name for name in stated if loads[name] > 1)
    if loaded_again:
        yield LOADED_AGAIN.format(databases=", ".join(loaded_again))
    if len(set(map(_get_acknowledgement, plan.entries))) > 1:
        yield MODES_DIFFER
    for dataset in {run.dataset for run in runs}:
        if dataset.records < 1000:
            yield FITS_INTO_CACHE.format(records=dataset.records)


def _get_acknowledgement(entry: Entry) -> str:
    database = entry.database
    system = load_catalog().system(database.system, own_modes=database.own_modes)
    return system.mode(entry.mode).durability.ack


def _mode_conflicts(plan: Plan) -> Iterator[tuple[str, str, str, bool]]:
    """An external server has the settings that its owner gave it: of modes that want different ones, one at most.

    Answers server, modes, settings, and whether Benchsite can read them there.
    """
    modes: defaultdict[tuple[str, str], dict[str, Mode]] = defaultdict(dict)  # by server and system
    administered: dict[tuple[str, str], bool] = {}
    for entry in plan.entries:
        database = entry.database
        if database.provisioner != "external":
            continue
        try:
            system = load_catalog().system(database.system, database.flavour, database.own_modes)
            mode = system.mode(entry.mode)
        except (UnknownSystem, UnknownMode):
            continue
        key = database.address or f"of {database.cluster_name}", system.slug
        modes[key][mode.slug] = mode
        administered[key] = system.administered
    for key, modes_of_server in modes.items():
        expected: defaultdict[str, set[str]] = defaultdict(set)
        for mode in modes_of_server.values():
            for name, value in mode.expected_settings.items():
                expected[name].add(value)
        differing = [setting for setting, values in expected.items() if len(values) > 1]
        if differing:
            server, _ = key
            yield server, ", ".join(modes_of_server), ", ".join(differing), administered[key]


def _grid(plan: Plan, measured: Iterable[PlannedRun], excluded: Sequence[ExcludedCell]) -> Iterator[Cell]:
    """Of each entry a cell for each workload."""
    runs: defaultdict[tuple[str, ...], list[PlannedRun]] = defaultdict(list)
    for run in measured:
        runs[run.sweep.key[1:4]].append(run)
    # The first reason of each sweep.
    reasons = {cell.sweep.key[1:4]: cell.reason for cell in reversed(excluded)}
    entries = {(entry.database.id, entry.mode): entry for entry in plan.entries}
    for entry, workload in product(entries.values(), plan.workloads):
        key = (entry.database.id, entry.mode, workload.id)
        yield Cell(
            database_id=entry.database.id,
            database_name=entry.database.name,
            mode=entry.mode,
            workload_id=workload.id,
            workload_name=workload.name,
            rungs=len({run.rung for run in runs[key]}),
            runs=len(runs[key]),
            excluded="" if runs[key] else reasons.get(key, ""),
        )


def _result_bytes(run: PlannedRun) -> int:
    # A read and an update; with a target both service and response times.
    kinds = 4 if run.target_ops_s else 2
    clients = run.clients + sum(len(group.generators) for group in run.groups)
    return int(clients * kinds * run.expected_s * LOG_BYTES_PER_INTERVAL)

"""What keeps a plan from having its client groups: clients that stand beside those of the ladder. Pure."""

from collections import Counter
from collections.abc import Iterator

from benchsite.core.formatting import counted, duration, exact, throughput
from runs.catalog import GO_FLAVOUR, load_catalog, scans
from runs.models import Database
from runs.plans.plan import Plan, PlannedDatabase, PlannedGenerator, PlannedWorkload
from runs.plans.plan_spec import MAX_GROUPS, PlanGroup
from runs.ycsb.command import FASTEST_CLIENT_OPS_S
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import CATCH_UP, check_workload, dataset, inserts, list_own_properties


def describe_plan_group(plan: Plan, group: PlanGroup) -> str:
    """ "scans: Scans, 4 threads, 5 ops/s, one client on each of 2 load generators"."""
    parts = [group.workload, counted(group.threads, "thread")]
    if group.target_ops_s:
        parts.append(throughput(group.target_ops_s))
    if group.start_s is not None:
        parts.append(f"from second {group.start_s}")
    generators = plan.own_generators(group) or plan.ladder_generators
    parts.append(f"one client on each of {counted(len(generators), 'load generator')}")
    return f"{group.name}: {', '.join(parts)}"


def list_group_problems(plan: Plan) -> Iterator[str]:
    if not plan.groups:
        return
    if len(plan.groups) >= MAX_GROUPS:
        yield f"A plan has at most {MAX_GROUPS - 1} groups beside its ladder, this one has {len(plan.groups)}."
    names = Counter(group.name for group in plan.groups)
    if repeated := [name for name, number in names.items() if number > 1]:
        yield f"Two groups are named {repeated[0]}: give each a name of its own."
    yield from _generator_problems(plan)
    for group in plan.groups:
        for message in _problems(plan, group):
            yield f"Group {group.name}: {message}"


def _generator_problems(plan: Plan) -> Iterator[str]:
    own = sum(group.generators or 0 for group in plan.groups)
    if plan.generators and own >= len(plan.generators):
        yield (
            f"The groups have {counted(own, 'load generator')} for themselves, the plan has {len(plan.generators)}, "
            "and the ladder needs one: choose more, or let groups share those of the ladder."
        )
        return
    sharing = sum(group.generators is None for group in plan.groups)
    clients = plan.processes_per_generator + sharing
    smallest = min(plan.ladder_generators, key=lambda generator: generator.slots, default=None)
    if smallest is not None and sharing and clients > smallest.slots:
        yield (
            f"With {counted(sharing, 'group')} on the load generators of the ladder each runs {clients} clients, and "
            f"{smallest.name} runs {smallest.slots} at a time: restart it with BENCHSITE_GENERATOR_SLOTS={clients}, or "
            "give groups load generators of their own."
        )


def _problems(plan: Plan, group: PlanGroup) -> Iterator[str]:
    generators = plan.own_generators(group) or plan.ladder_generators
    workload = plan.group_workloads.get(group.workload)
    if workload is None:
        yield f"there is no workload “{group.workload}”: choose one of those that are described."
    else:
        yield from _workload_problems(plan, group, workload)
    yield from _load_problems(group, generators)
    yield from _time_problems(plan, group)
    for database in {entry.database.id: entry.database for entry in plan.entries}.values():
        if problem := _database_problem(group, workload, database):
            yield f"{database.name} {problem}"


def _workload_problems(plan: Plan, group: PlanGroup, workload: PlannedWorkload) -> Iterator[str]:
    if inserts(workload.properties):
        yield f"{workload.name} inserts records, which only the ladder may: choose a workload that inserts nothing."
    if CATCH_UP in workload.properties and not group.target_ops_s:
        yield f"{workload.name} has {CATCH_UP}, which needs a target: give one, or leave it out."
    try:
        own = dataset(check_workload(workload.properties))
        others = [other.name for other in plan.workloads if dataset(check_workload(other.properties)) != own]
    except PropertyError as error:
        yield str(error)
        return
    if others:
        yield (
            f"{workload.name} is over other records than {others[0]}: choose a workload with the same recordcount, "
            "fields, key order and table."
        )


def _load_problems(group: PlanGroup, generators: tuple[PlannedGenerator, ...]) -> Iterator[str]:
    clients = len(generators)
    if group.threads < clients:
        yield f"{counted(group.threads, 'thread')} cannot be split over {clients} clients: use at least {clients}."
    target_ops_s = group.target_ops_s
    if target_ops_s is None:
        if group.arrivals:
            yield "operations that do not wait need a rate: give its target, or let them wait."
        return
    if target_ops_s < clients:
        yield f"its target cannot be split over {clients} clients: use at least {clients} ops/s."
    if clients and target_ops_s > clients * FASTEST_CLIENT_OPS_S:
        yield (
            f"{throughput(target_ops_s)} is more than {counted(clients, 'client')} can offer, "
            f"{throughput(FASTEST_CLIENT_OPS_S)} each. Use more load generators, or a lower target."
        )


def _time_problems(plan: Plan, group: PlanGroup) -> Iterator[str]:
    window_s = plan.min_measure_s
    if group.start_s is None:
        if group.length_s is not None:
            yield "give its start with its length, or leave both empty: it then works as long as the ladder."
        return
    end_s = group.start_s + (group.length_s or 1)
    if end_s > window_s:
        yield (
            f"it ends at second {exact(end_s)}, after the window of {duration(window_s)}: start it earlier, or measure "
            "longer."
        )


def _database_problem(group: PlanGroup, workload: PlannedWorkload | None, database: PlannedDatabase) -> str:
    """The end of a sentence that begins with the database; empty where it can serve the group."""
    system = load_catalog().get(database.system, database.flavour, database.own_modes)
    if system is None:
        return ""
    if system.is_embedded:
        return f"is {system.name}, a library inside the client, and one process at a time has its data: leave it out."
    if database.flavour == GO_FLAVOUR:
        return "is driven by go-ycsb, whose output cannot be merged for a part of a run: choose another client for it."
    if group.arrivals and database.flavour != Database.Flavour.BENCHSITE:
        return "is driven by a client that waits for its answers: choose Benchsite's for it, or let operations wait."
    if workload is None:
        return ""
    if database.client and (names := list_own_properties(workload.properties)):
        return f"has a stock client, which does not take {names[0]} of {workload.name}: choose Benchsite's for it."
    if scans(workload.properties) and not system.binding.scans:
        return f"has a client that cannot scan, as {workload.name} does: choose another workload."
    return ""

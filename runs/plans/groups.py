"""What keeps a plan from having its client groups: clients that stand beside those of the ladder. Pure."""

from collections import Counter
from collections.abc import Iterator

from benchsite.core.formatting import counted, duration, exact, throughput
from runs.catalog import GO_FLAVOUR, load_catalog, scans
from runs.models import Database
from runs.plans.messages import (
    ALONG_PROFILE,
    CATCH_UP_NEEDS_TARGET,
    CLIENT_ON_EACH,
    GROUP_CANNOT_SCAN,
    GROUP_CLIENT_WAITS,
    GROUP_EMBEDDED,
    GROUP_ENDS_LATE,
    GROUP_GO_CLIENT,
    GROUP_INSERTS,
    GROUP_NAMED_TWICE,
    GROUP_NEEDS_RATE,
    GROUP_PROFILE_WAITS,
    GROUP_START_AND_LENGTH,
    GROUP_STOCK_CLIENT,
    GROUP_TARGET_TOO_HIGH,
    NO_WORKLOAD,
    OTHER_RECORDS,
    TARGET_NOT_SPLIT,
    THREADS_NOT_SPLIT,
    TOO_FEW_GENERATORS,
    TOO_FEW_SLOTS,
    TOO_MANY_GROUPS,
)
from runs.plans.plan import Plan, PlannedDatabase, PlannedGenerator, PlannedWorkload
from runs.plans.plan_spec import MAX_GROUPS, PlanGroup
from runs.plans.profiles import find_peak_percent
from runs.ycsb.command import FASTEST_CLIENT_OPS_S
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import CATCH_UP, check_workload, dataset, inserts, list_own_properties


def describe_plan_group(plan: Plan, group: PlanGroup) -> str:
    """ "scans: Scans, 4 threads, 5 ops/s, one client on each of 2 load generators"."""
    parts = [group.workload, counted(group.threads, "thread")]
    if group.target_ops_s:
        parts.append(throughput(group.target_ops_s))
    if group.profile:
        parts.append(ALONG_PROFILE)
    if group.start_s is not None:
        parts.append(f"from second {group.start_s}")
    generators = plan.own_generators(group) or plan.ladder_generators
    parts.append(CLIENT_ON_EACH.format(generators=counted(len(generators), "load generator")))
    return f"{group.name}: {', '.join(parts)}"


def list_group_problems(plan: Plan) -> Iterator[str]:
    if not plan.groups:
        return
    if len(plan.groups) >= MAX_GROUPS:
        yield TOO_MANY_GROUPS.format(limit=MAX_GROUPS - 1, count=len(plan.groups))
    names = Counter(group.name for group in plan.groups)
    if repeated := [name for name, number in names.items() if number > 1]:
        yield GROUP_NAMED_TWICE.format(name=repeated[0])
    yield from _generator_problems(plan)
    for group in plan.groups:
        for message in _problems(plan, group):
            yield f"Group {group.name}: {message}"


def _generator_problems(plan: Plan) -> Iterator[str]:
    own = sum(group.generators or 0 for group in plan.groups)
    if plan.generators and own >= len(plan.generators):
        yield TOO_FEW_GENERATORS.format(own=counted(own, "load generator"), generators=len(plan.generators))
        return
    sharing = sum(group.generators is None for group in plan.groups)
    clients = plan.processes_per_generator + sharing
    smallest = min(plan.ladder_generators, key=lambda generator: generator.slots, default=None)
    if smallest is not None and sharing and clients > smallest.slots:
        yield TOO_FEW_SLOTS.format(
            groups=counted(sharing, "group"), clients=clients, generator=smallest.name, slots=smallest.slots
        )


def _problems(plan: Plan, group: PlanGroup) -> Iterator[str]:
    generators = plan.own_generators(group) or plan.ladder_generators
    workload = plan.group_workloads.get(group.workload)
    if workload is None:
        yield NO_WORKLOAD.format(name=group.workload)
    else:
        yield from _workload_problems(plan, group, workload)
    yield from _load_problems(group, generators)
    yield from _time_problems(plan, group)
    for database in {entry.database.id: entry.database for entry in plan.entries}.values():
        if problem := _database_problem(group, workload, database):
            yield f"{database.name} {problem}"


def _workload_problems(plan: Plan, group: PlanGroup, workload: PlannedWorkload) -> Iterator[str]:
    if CATCH_UP in workload.properties and not group.target_ops_s:
        yield CATCH_UP_NEEDS_TARGET.format(workload=workload.name, name=CATCH_UP)
    try:
        own = dataset(check_workload(workload.properties))
        others = [other.name for other in plan.workloads if dataset(check_workload(other.properties)) != own]
    except PropertyError as error:
        yield str(error)
        return
    if others:
        yield OTHER_RECORDS.format(workload=workload.name, other=others[0])


def _load_problems(group: PlanGroup, generators: tuple[PlannedGenerator, ...]) -> Iterator[str]:
    clients = len(generators)
    if group.threads < clients:
        yield THREADS_NOT_SPLIT.format(threads=counted(group.threads, "thread"), clients=clients)
    target_ops_s = group.target_ops_s
    if target_ops_s is None:
        if group.arrivals:
            yield GROUP_NEEDS_RATE
        return

    if group.profile and not group.arrivals:
        yield GROUP_PROFILE_WAITS
    if target_ops_s < clients:
        yield TARGET_NOT_SPLIT.format(clients=clients)
    peak_ops_s = target_ops_s * find_peak_percent(group.profile) / 100
    if clients and peak_ops_s > clients * FASTEST_CLIENT_OPS_S:
        yield GROUP_TARGET_TOO_HIGH.format(
            target=throughput(peak_ops_s),
            clients=counted(clients, "client"),
            each=throughput(FASTEST_CLIENT_OPS_S),
        )


def _time_problems(plan: Plan, group: PlanGroup) -> Iterator[str]:
    window_s = plan.min_measure_s
    if group.start_s is None:
        if group.length_s is not None:
            yield GROUP_START_AND_LENGTH
        return
    end_s = group.start_s + (group.length_s or 1)
    if end_s > window_s:
        yield GROUP_ENDS_LATE.format(ends_s=exact(end_s), window=duration(window_s))


def _database_problem(group: PlanGroup, workload: PlannedWorkload | None, database: PlannedDatabase) -> str:
    """The end of a sentence that begins with the database; empty where it can serve the group."""
    system = load_catalog().get(database.system, database.flavour, database.own_modes)
    if system is None:
        return ""
    if system.is_embedded:
        return GROUP_EMBEDDED.format(system=system.name)
    if database.flavour == GO_FLAVOUR:
        return GROUP_GO_CLIENT
    if group.arrivals and database.flavour != Database.Flavour.BENCHSITE:
        return GROUP_CLIENT_WAITS
    if workload is None:
        return ""
    if database.client and inserts(workload.properties):
        return GROUP_INSERTS.format(workload=workload.name)
    if database.client and (names := list_own_properties(workload.properties)):
        return GROUP_STOCK_CLIENT.format(name=names[0], workload=workload.name)
    if scans(workload.properties) and not system.binding.scans:
        return GROUP_CANNOT_SCAN.format(workload=workload.name)

    return ""

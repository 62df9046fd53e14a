"""Planned faults of a run: their kinds, their sentences, and what keeps a plan from having them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from benchsite.core.formatting import counted, exact
from runs.catalog import Mode, System
from runs.plans.messages import (
    FAULT,
    FAULT_TOO_EARLY,
    FAULT_TOO_LATE,
    FAULTS_AND_FEATURES,
    FAULTS_NEED_OWN_SERVERS,
    FAULTS_OVERLAP,
    GIVE_FAULT_VALUE,
    NO_FAULT_KIND,
    NO_FAULT_VALUE,
    NO_SUCH_FAULT_IN_CONTAINERS,
    NO_SUCH_NODE,
    NODES_FROM_ONE,
    REPLICAS_COPIED_ANEW,
    SLOW_DISK_OF_ONE_NODE,
    TOO_MANY_FAULTS,
)
from runs.queue.spec import FaultSpec

if TYPE_CHECKING:
    from runs.plans.plan import Plan, PlannedDatabase

MAX_FAULTS: Final = 20
# Seconds of the window before the first fault: their median is the level before.
MIN_LEVEL_S: Final = 3.0
# Between the end of a fault and the begin of the next.
MIN_GAP_S: Final = 1.0
NOT_IN_CONTAINERS: Final = ("cpu_throttle", "slow_disk")
EXCLUDED_REASON: Final = "Run with faults: not part of ceilings, comparisons and histories."


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault. `value` is what its value says, empty for a kind without one; `note` explains a recovery."""

    name: str
    min_duration_s: float
    stops_server: bool = False  # its processes end, and start again
    value: str = ""
    min_value: float = 0.0
    max_value: float = 0.0
    note: str = ""


KINDS: Final[Mapping[str, Kind]] = {
    "pause": Kind("pause", 0.1),
    "crash": Kind("process crash", 0.0, stops_server=True),
    "restart": Kind("restart", 0.0, stops_server=True),
    "cpu_throttle": Kind("CPU throttle", 0.1, value="% of a core", min_value=5, max_value=10_000),
    "slow_disk": Kind("slow disk", 0.1, value="ms for each fsync", min_value=1, max_value=60_000),
    "network_cut": Kind(
        "network cut",
        0.1,
        note="TCP repeats lost packets at growing intervals: connections may stay silent for as long again as the cut.",
    ),
}


def fault_sentence(fault: FaultSpec) -> str:
    """ "pause of node 2 at second 5 for 2 s", seconds counted from the begin of the window."""
    kind = KINDS[fault["kind"]]
    nodes = "all nodes"
    if fault["node"] is not None:
        nodes = f"node {fault['node']}"
    value = ""
    if fault["value"] is not None:
        value = f", {exact(fault['value'])} {kind.value}"
    return FAULT.format(
        kind=kind.name, nodes=nodes, at_s=exact(fault["at_s"]), duration_s=exact(fault["duration_s"]), value=value
    )


def list_problems(faults: Sequence[FaultSpec], window_s: float) -> Iterator[str]:
    """The problems with the faults of a window of that length, whatever they are applied to."""
    if len(faults) > MAX_FAULTS:
        yield TOO_MANY_FAULTS.format(limit=MAX_FAULTS, count=len(faults))
    for number, fault in enumerate(faults, 1):
        if problem := _problem(fault, window_s):
            yield f"Fault {number}: {problem}"
    ordered = sorted(faults, key=lambda fault: fault["at_s"])
    for before, after in pairwise(ordered):
        least = before["at_s"] + before["duration_s"] + MIN_GAP_S
        if after["at_s"] < least:
            yield FAULTS_OVERLAP.format(first=fault_sentence(before), at_s=exact(after["at_s"]), least_s=exact(least))


def _problem(fault: FaultSpec, window_s: float) -> str:
    kind, value = KINDS.get(fault["kind"]), fault["value"]
    if kind is None:
        return NO_FAULT_KIND.format(kind=fault["kind"][:40], kinds=", ".join(KINDS))
    if fault["at_s"] < MIN_LEVEL_S:
        return FAULT_TOO_EARLY.format(at_s=exact(fault["at_s"]), least_s=exact(MIN_LEVEL_S))
    if fault["duration_s"] < kind.min_duration_s:
        return f"a {kind.name} lasts at least {exact(kind.min_duration_s)} s."
    if fault["at_s"] + fault["duration_s"] > window_s:
        return FAULT_TOO_LATE.format(ends_s=exact(fault["at_s"] + fault["duration_s"]), window_s=exact(window_s))
    if fault["node"] is not None and fault["node"] < 1:
        return NODES_FROM_ONE
    if kind.value and (value is None or not kind.min_value <= value <= kind.max_value):
        return GIVE_FAULT_VALUE.format(least=exact(kind.min_value), most=exact(kind.max_value), unit=kind.value)
    if not kind.value and value is not None:
        return NO_FAULT_VALUE.format(kind=kind.name)

    return ""


def plan_problems(plan: "Plan") -> Iterator[str]:
    """The problems with a plan's faults, apart from its databases."""
    if not plan.faults:
        return
    yield from list_problems(plan.faults, plan.min_measure_s)
    features = {"search": plan.search is not None, "looks": bool(plan.looks), "bracket": plan.bracket}
    if names := [name for name, is_used in features.items() if is_used]:
        yield FAULTS_AND_FEATURES.format(features=" and no ".join(names))


def database_problems(
    faults: Sequence[FaultSpec], database: "PlannedDatabase", system: System, mode: Mode, nodes: int
) -> Iterator[str]:
    """The problems with applying the faults to one database."""
    name = f"{database.name} {mode.slug}"
    if database.provisioner not in ("process", "docker"):
        yield FAULTS_NEED_OWN_SERVERS.format(name=name, cluster=database.cluster_name, provisioner=database.provisioner)
        return
    for fault in faults:
        kind = KINDS.get(fault["kind"])
        if kind is not None and (problem := _database_problem(fault, kind, database, system, nodes)):
            yield f"{name}: {fault_sentence(fault)}: {problem}"


def _database_problem(fault: FaultSpec, kind: Kind, database: "PlannedDatabase", system: System, nodes: int) -> str:
    if reason := database.refused_faults.get(fault["kind"]):
        return reason
    if database.provisioner == "docker" and fault["kind"] in NOT_IN_CONTAINERS:
        return NO_SUCH_FAULT_IN_CONTAINERS
    if fault["node"] is not None and fault["node"] > nodes:
        return NO_SUCH_NODE.format(nodes=counted(nodes, "node"))
    if fault["kind"] == "slow_disk" and nodes > 1:
        return SLOW_DISK_OF_ONE_NODE

    has_replicas = system.process is not None and system.process.replica is not None
    is_primary = has_replicas and fault["node"] == 1
    if kind.stops_server and nodes > 1 and is_primary:
        return REPLICAS_COPIED_ANEW

    return ""

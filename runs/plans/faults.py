"""Planned faults of a run: their kinds, their sentences, and what keeps a plan from having them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from benchsite.core.formatting import counted, exact
from runs.catalog import Mode, System
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
    return f"{kind.name} of {nodes} at second {exact(fault['at_s'])} for {exact(fault['duration_s'])} s{value}"


def list_problems(faults: Sequence[FaultSpec], window_s: float) -> Iterator[str]:
    """What is wrong with the faults of a window of that length, whatever they are applied to."""
    if len(faults) > MAX_FAULTS:
        yield f"A run has at most {MAX_FAULTS} faults, this plan has {len(faults)}: plan several matrices."
    for number, fault in enumerate(faults, 1):
        if problem := _problem(fault, window_s):
            yield f"Fault {number}: {problem}"
    ordered = sorted(faults, key=lambda fault: fault["at_s"])
    for before, after in pairwise(ordered):
        least = before["at_s"] + before["duration_s"] + MIN_GAP_S
        if after["at_s"] < least:
            yield (
                f"The {fault_sentence(before)} and the one at second {exact(after['at_s'])} overlap: begin the second "
                f"at second {exact(least)} or later."
            )


def _problem(fault: FaultSpec, window_s: float) -> str:
    kind, value = KINDS.get(fault["kind"]), fault["value"]
    if kind is None:
        return f"there is no kind “{fault['kind'][:40]}”; the kinds are {', '.join(KINDS)}."
    if fault["at_s"] < MIN_LEVEL_S:
        return (
            f"it begins at second {exact(fault['at_s'])}, and the seconds before the first fault are the level that a "
            f"recovery is measured by: begin at second {exact(MIN_LEVEL_S)} or later."
        )
    if fault["duration_s"] < kind.min_duration_s:
        return f"a {kind.name} lasts at least {exact(kind.min_duration_s)} s."
    if fault["at_s"] + fault["duration_s"] > window_s:
        return (
            f"it ends at second {exact(fault['at_s'] + fault['duration_s'])}, after the window of {exact(window_s)} s: "
            "begin it earlier, or measure longer."
        )
    if fault["node"] is not None and fault["node"] < 1:
        return "nodes are numbered from 1; leave the node empty for all."
    if kind.value and (value is None or not kind.min_value <= value <= kind.max_value):
        return f"give its value, {exact(kind.min_value)} to {exact(kind.max_value)} {kind.value}."
    if not kind.value and value is not None:
        return f"a {kind.name} has no value: leave it empty."
    return ""


def plan_problems(plan: "Plan") -> Iterator[str]:
    """What keeps a plan from having its faults, apart from its databases."""
    if not plan.faults:
        return
    yield from list_problems(plan.faults, plan.min_measure_s)
    features = {"search": plan.search is not None, "looks": bool(plan.looks), "bracket": plan.bracket}
    if names := [name for name, is_used in features.items() if is_used]:
        yield (
            f"Runs with faults are no measurement of throughput, so their plan has no {' and no '.join(names)}: leave "
            "out either."
        )


def database_problems(
    faults: Sequence[FaultSpec], database: "PlannedDatabase", system: System, mode: Mode, nodes: int
) -> Iterator[str]:
    """What keeps the faults from being applied to one database."""
    name = f"{database.name} {mode.slug}"
    if database.provisioner not in ("process", "docker"):
        yield (
            f"{name}: its cluster {database.cluster_name} is {database.provisioner}, and faults are applied to servers "
            "that Benchsite starts. Choose a database on a process or docker cluster, or leave the faults out."
        )
        return
    for fault in faults:
        kind = KINDS.get(fault["kind"])
        if kind is not None and (problem := _database_problem(fault, kind, database, system, nodes)):
            yield f"{name}: {fault_sentence(fault)}: {problem}"


def _database_problem(fault: FaultSpec, kind: Kind, database: "PlannedDatabase", system: System, nodes: int) -> str:
    if reason := database.refused_faults.get(fault["kind"]):
        return reason
    if database.provisioner == "docker" and fault["kind"] in NOT_IN_CONTAINERS:
        return "containers have no such fault. Choose a database on a process cluster, or another kind."
    if fault["node"] is not None and fault["node"] > nodes:
        return f"it has {counted(nodes, 'node')}. Choose one of them, or all."
    if fault["kind"] == "slow_disk" and nodes > 1:
        return "disks are slowed down on databases of one node only."
    has_replicas = system.process is not None and system.process.replica is not None
    is_primary = has_replicas and fault["node"] == 1
    if kind.stops_server and nodes > 1 and is_primary:
        return "its replicas are copied anew after an end of their primary. Choose all nodes, or a replica."
    return ""

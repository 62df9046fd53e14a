"""What clusters still did with one node stopped and while it returned, from runs with faults."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from benchsite.teams.models import Team
from reports.curves import Curve
from runs.models import Run
from runs.models.run import Status
from runs.pages.recovery import faults_of_runs
from runs.planning.faults import EXCLUDED_REASON, KINDS

# Runs looked at, the newest first: each brings its seconds.
MAX_RUNS: Final = 60
STOPPED: Final = "with one node stopped"
RETURNING: Final = "while a node returned"

Key = tuple[str, str, str, str, int | None]


@dataclass(frozen=True, slots=True)
class ReducedLoad:
    """What a database did under a condition that its ceiling does not know."""

    throughput_ops_s: float
    condition: str  # "with one node stopped"


def key_of(curve: Curve) -> Key:
    """What a sweep shares with the runs with faults of the same database."""
    return curve.database_name, curve.setup.version, curve.mode, curve.workload, curve.setup.server_nodes


def loads_at_faults(team: Team, workload: str = "") -> dict[Key, list[ReducedLoad]]:
    """The highest of each condition over the rungs of a database under a workload. Three queries."""
    runs = Run.objects.filter(team=team, excluded_reason=EXCLUDED_REASON, status=Status.SUCCEEDED)
    if workload:
        runs = runs.filter(workload_name=workload)
    newest = list(runs.order_by("-finished_at")[:MAX_RUNS])
    highest: dict[tuple[Key, str], float] = defaultdict(float)
    for run, faults in zip(newest, faults_of_runs(newest).values(), strict=True):
        database = run.spec["database"]
        nodes = int(database["settings"].get("nodes") or 0) or len(run.spec["cluster"]["machines"])
        key: Key = database["name"], database["version"], run.mode, run.workload_name, nodes
        for fault in faults if nodes > 1 else ():
            if fault.fault["node"] is None or not KINDS[fault.fault["kind"]].stops_server or fault.recovery is None:
                continue
            measured = {STOPPED: fault.recovery.during_ops_s, RETURNING: fault.recovery.returning_ops_s}
            for condition, rate_ops_s in measured.items():
                if rate_ops_s is not None:
                    highest[key, condition] = max(highest[key, condition], rate_ops_s)
    loads: dict[Key, list[ReducedLoad]] = defaultdict(list)
    for (key, condition), rate_ops_s in highest.items():
        loads[key].append(ReducedLoad(rate_ops_s, condition))
    return loads

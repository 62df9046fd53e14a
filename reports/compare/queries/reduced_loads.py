"""What clusters still did with one node stopped and while it returned, from runs with faults."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from django.db.models import Q

from benchsite.accounts.models import Team
from reports.compare.curves import PUBLISHABLE, Curve, Setup
from reports.compare.queries.curves import build_setup
from runs.models import Run, Status, Verdict
from runs.plans.faults import EXCLUDED_REASON, KINDS
from runs.results.pages.recovery import applied_faults_by_run

# Runs looked at, the newest first: each brings its seconds.
MAX_RUNS: Final = 60
STOPPED: Final = "with one node stopped"
RETURNING: Final = "while a node returned"

Conditions = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ReducedLoad:
    """What a database did under a condition that its ceiling does not know."""

    throughput_ops_s: float
    condition: str  # "with one node stopped"
    level_ops_s: float  # of the same run before it


def get_conditions(curve: Curve, *, with_records: bool = True) -> Conditions:
    """Equal for sweeps, and runs with faults, of one database under one workload."""
    records = None
    if with_records:
        records = curve.setup.records
    return _conditions(curve.database_name, curve.mode, curve.workload, curve.setup, records)


def _conditions(database: str, mode: str, workload: str, setup: Setup, records: int | None) -> Conditions:
    settings = tuple(sorted(setup.server_settings.items()))
    where = setup.cluster_name, setup.nodes, setup.replication_factor
    return database, setup.version, mode, workload, *where, settings, records


def read_reduced_loads(
    team: Team, curves: Iterable[Curve], *, every_purpose: bool
) -> Mapping[Conditions, Sequence[ReducedLoad]]:
    """By `get_conditions` a curve: the highest rung of each condition, and of each rung the median repeat. At most
    three queries.
    """
    clustered = {get_conditions(curve) for curve in curves if (curve.setup.nodes or 1) > 1}
    runs = Run.objects.filter(team=team, status=Status.SUCCEEDED, excluded_reason=EXCLUDED_REASON)
    runs = runs.filter(~Q(verdict=Verdict.REJECT) | ~Q(verdict_override=""))
    if not every_purpose:
        runs = runs.filter(purpose__in=PUBLISHABLE)
    rungs: dict[tuple[Conditions, str, int, int | None], list[tuple[float, float]]] = defaultdict(list)
    faulted = []
    if clustered:
        faulted = list(runs.order_by("-created_at")[:MAX_RUNS])
    for run, faults in applied_faults_by_run(faulted).items():
        setup = build_setup(run.spec)
        key = _conditions(run.spec["database"]["name"], run.mode, run.workload_name, setup, setup.records)
        for fault in faults if key in clustered else ():
            planned, recovery = fault["fault"], fault["recovery"]
            is_of_one_node = planned["node"] is not None and KINDS[planned["kind"]].stops_server
            if not is_of_one_node or fault["error"] or fault["ended_at"] is None or recovery is None:
                continue
            measured = {STOPPED: recovery.during_ops_s, RETURNING: recovery.returning_ops_s}
            for condition, rate_ops_s in measured.items():
                if rate_ops_s is not None:
                    rung = key, condition, run.threads, run.target_ops_s
                    rungs[rung].append((rate_ops_s, recovery.level_ops_s))

    highest: dict[Conditions, dict[str, ReducedLoad]] = defaultdict(dict)
    for (key, condition, *_), repeats in rungs.items():
        load = ReducedLoad(median(rate for rate, _ in repeats), condition, median(level for _, level in repeats))
        highest_load = highest[key].setdefault(condition, load)
        if load.throughput_ops_s > highest_load.throughput_ops_s:
            highest[key][condition] = load

    return {key: list(loads.values()) for key, loads in highest.items()}

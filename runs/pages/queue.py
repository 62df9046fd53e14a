"""The queue as it stands: every unfinished run of the site in order, the machines it needs, and when it may start."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from runs.forecast import Forecast, Queued, predict_starts
from runs.models import Machine, Node, Run
from runs.models.run import Status

# A run that its conductor has not begun with holds its machines already.
HOLDING = (Status.DISPATCHED, Status.RUNNING)
# A long queue is read on every poll of some pages, so only what they show of it.
SHOWN = (
    "name", "team", "cluster", "matrix__name", "phase", "status", "stage", "reason", "needs", "priority", "position",
    "expected_s", "created_at", "dispatched_at", "started_at", "cancel_requested_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One unfinished run with its place: 0 for those that hold their machines, then 1, 2, ..."""

    run: Run
    machines: tuple[Machine, ...]
    position: int
    forecast: Forecast

    @property
    def holds(self) -> bool:
        return self.run.status in HOLDING


def queue(now: datetime | None = None) -> list[QueueRow]:
    """All teams' unfinished runs; who may read which of them is the page's business. Four queries.

    Runs by hand wait for people, and for no machine of this site.
    """
    now = now or timezone.now()
    runs = list(
        Run.objects.filter(status__in=[*HOLDING, Status.QUEUED])
        .exclude(source=Run.Source.BY_HAND)
        .select_related("matrix")
        .only(*SHOWN)
        .order_by("-priority", "created_at", "position")
    )
    runs.sort(key=lambda run: run.status not in HOLDING)
    machines = _machines(runs)
    forecasts = predict_starts([_queued(run, machines[run.pk]) for run in runs], now)
    rows, position = [], 0
    for run in runs:
        position += run.status not in HOLDING
        needed = tuple(sorted(machines[run.pk].values(), key=lambda machine: machine.name))
        rows.append(QueueRow(run, needed, 0 if run.status in HOLDING else position, forecasts[run.pk]))
    return rows


def _queued(run: Run, machines: dict[UUID, Machine]) -> Queued:
    return Queued(
        id=run.pk,
        machines=frozenset(machines),
        expected_s=run.expected_s,
        started_at=(run.started_at or run.dispatched_at) if run.status in HOLDING else None,
        needs=run.needs_id,
    )


def _machines(runs: list[Run]) -> dict[UUID, dict[UUID, Machine]]:
    """Run -> the machines of its cluster and of its load generators: what the scheduler leases for it."""
    if not runs:
        return {}
    of_cluster: dict[UUID, set[UUID]] = defaultdict(set)
    clusters = {run.cluster_id for run in runs if run.cluster_id}
    for cluster, machine in Node.objects.filter(cluster__in=clusters).values_list("cluster_id", "machine_id"):
        of_cluster[cluster].add(machine)
    needed = {run.pk: set(of_cluster[run.cluster_id]) if run.cluster_id else set() for run in runs}
    links = Run.load_generators.through.objects.filter(run__in=list(needed))
    for key, machine in links.values_list("run_id", "loadgenerator__machine_id"):
        needed[key].add(machine)
    known = Machine.objects.in_bulk(set().union(*needed.values()))
    return {key: {machine: known[machine] for machine in machines} for key, machines in needed.items()}

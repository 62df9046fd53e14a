"""Which run may start now: a pure choice over a locked query, leases on machines, and the message to the conductor."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max, Q
from django.db.models.functions import Now

from runs import client_lifecycle, generators, lifecycle
from runs.models import Deployment, LoadGenerator, Run
from runs.models.run import Reason, Status
from workers.models import Lease

GENERATOR_SILENT_AFTER = generators.SILENT_AFTER
# How far down the queue one look goes; whatever stands behind waits for the next second.
QUEUE_LOOK = 200


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued run as the choice sees it."""

    run_id: uuid.UUID
    team_id: uuid.UUID
    priority: int
    created_at: datetime
    position: int
    machines: frozenset[uuid.UUID]  # of its cluster and of its load generators


def choose(
    waiting: Iterable[Waiting], busy: Iterable[uuid.UUID], last_served: Mapping[uuid.UUID, datetime]
) -> list[Waiting]:
    """The runs to start now: none shares a machine with another or with a busy one.

    Fair between teams (the one served longest ago first), then priority, then age, then the place in the matrix.
    """
    taken = set(busy)
    never = datetime.min
    chosen = []

    def rank(run: Waiting) -> tuple[bool, datetime, int, datetime, int]:
        served = last_served.get(run.team_id)
        naive = served.replace(tzinfo=None) if served else never
        return served is not None, naive, -run.priority, run.created_at, run.position

    for run in sorted(waiting, key=rank):
        if not run.machines & taken:
            taken |= run.machines
            chosen.append(run)
    return chosen


def tick() -> list[uuid.UUID]:
    """One look at the queue: choose, take the leases, dispatch. Answers the dispatched runs."""
    with transaction.atomic():
        startable = _startable()
        if not startable:
            return []
        chosen = choose(startable, Lease.objects.values_list("machine_id", flat=True), _last_served())
        for waiting in chosen:
            lifecycle.dispatch(waiting.run_id)
            Lease.objects.bulk_create(Lease(machine_id=machine, run_id=waiting.run_id) for machine in waiting.machines)
    return [waiting.run_id for waiting in chosen]


def reap() -> None:
    """End what lost its worker and free its machines. Rows only: processes are ended on their own host."""
    for run_id in lifecycle.reap():
        client_lifecycle.abandon(run_id, Reason.WORKER_LOST, "The run's conductor was lost.")
        client_lifecycle.forget_secrets(run_id)
    release(Lease.objects.exclude(run__status__in=[Status.DISPATCHED, Status.RUNNING]).values_list("run_id", flat=True))


def release(run_ids: Iterable[uuid.UUID]) -> None:
    """Give back the machines of these runs."""
    Lease.objects.filter(run_id__in=list(run_ids)).delete()


def _startable() -> list[Waiting]:
    """Queued runs whose load has succeeded and whose generators are alive; locked, so that two ticks never meet."""
    silent = LoadGenerator.objects.filter(
        Q(enabled=False) | Q(last_seen_at__isnull=True) | Q(last_seen_at__lt=Now() - GENERATOR_SILENT_AFTER)
    )
    rows: Sequence[Run] = list(
        Run.objects.filter(status=Status.QUEUED, source=Run.Source.SCHEDULED)
        .filter(Q(needs__isnull=True) | Q(needs__status=Status.SUCCEEDED))
        .exclude(load_generators__in=silent)
        # While a machine measures, looking at the runs that wait for it would only disturb it.
        .exclude(load_generators__machine__lease__isnull=False)
        .exclude(cluster__nodes__machine__lease__isnull=False)
        .order_by("-priority", "created_at", "position")
        .select_for_update(skip_locked=True, of=("self",))
        .select_related("needs")
        .prefetch_related("load_generators", "cluster__nodes")[:QUEUE_LOOK]
    )
    lost = _without_data(rows)
    for run in lost:
        lifecycle.load_anew(run)
    return [
        Waiting(run.pk, run.team_id, run.priority, run.created_at, run.position, _machines(run))
        for run in rows
        if run.cluster is not None and run not in lost
    ]


def _without_data(rows: Sequence[Run]) -> list[Run]:
    """Measured runs whose load has succeeded, but whose data set stands nowhere any more: a server was killed, say."""
    standing = {
        (deployment.matrix_id, str(deployment.database_id), deployment.mode): deployment.fingerprint
        for deployment in Deployment.objects.exclude(state=Deployment.State.GONE)
    }
    return [
        run
        for run in rows
        if run.needs_id is not None
        and standing.get((run.matrix_id, run.spec["database"]["id"], run.mode)) != run.spec["dataset"]["fingerprint"]
    ]


def _machines(run: Run) -> frozenset[uuid.UUID]:
    assert run.cluster is not None  # The query leaves uploads out: they are never queued.
    nodes = {node.machine_id for node in run.cluster.nodes.all()}
    return frozenset(nodes | {generator.machine_id for generator in run.load_generators.all()})


def _last_served() -> dict[uuid.UUID, datetime]:
    served = Run.objects.filter(dispatched_at__gt=Now() - timedelta(hours=1)).values("team_id")
    return {row["team_id"]: row["last"] for row in served.annotate(last=Max("dispatched_at"))}


def tidy_deployments() -> list[uuid.UUID]:
    """Deployments that nobody will need again: their matrix has no unfinished run."""
    unfinished = Run.objects.exclude(status__in=Status.terminal()).values("matrix_id")
    left = Deployment.objects.exclude(state=Deployment.State.GONE).exclude(matrix__in=unfinished)
    # Stopping a server and removing its data would disturb whoever measures on that machine.
    left = left.exclude(cluster__nodes__machine__lease__isnull=False)
    return list(left.values_list("pk", flat=True))

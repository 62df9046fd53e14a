"""The queue as it stands: which runs hold machines, which wait in which place, and when each may start.

A page reads the runs that it shows. All others count as sums per lane (a cluster with a set of load generators), which
PostgreSQL adds up from an index.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from operator import attrgetter
from typing import Any, cast
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from benchsite.accounts.tenancy import all_teams
from runs.catalog.generators import waited_for_in_vain
from runs.models import Machine, Matrix, Node, Run, Status
from runs.queue.conductor_slots import find_conductors
from runs.queue.messages import CONDUCTOR_OF_CLUSTER


@dataclass(frozen=True, slots=True)
class Queued:
    """One run that waits or runs, as far as the forecast needs it."""

    id: Hashable
    machines: frozenset[Hashable]
    expected_s: float
    started_at: datetime | None = None  # it holds its machines since then; None: it waits
    needs: Hashable | None = None  # the run that must have ended before


def predict_starts(runs: Sequence[Queued], now: datetime) -> dict[Hashable, tuple[datetime, datetime]]:
    """Predicted start and end of every run, given in the order of the queue.

    Running ones end when their expected seconds are over, at the earliest now. Each waiting run starts when the last of
    its machines is free and the run it needs has ended. An estimate: a run behind it may be taken first when its own
    machines are free earlier, and a change of priority moves everything.
    """
    free: dict[Hashable, datetime] = {}
    forecasts: dict[Hashable, tuple[datetime, datetime]] = {}
    for run in sorted(runs, key=lambda run: run.started_at is None):
        if run.started_at is not None:
            starts = run.started_at
            ends = max(now, starts + timedelta(seconds=run.expected_s))
        else:
            waits_for = [free[machine] for machine in run.machines if machine in free]
            if run.needs in forecasts:
                waits_for.append(forecasts[run.needs][1])
            starts = max([now, *waits_for])
            ends = starts + timedelta(seconds=run.expected_s)
        forecasts[run.id] = starts, ends
        for machine in run.machines:
            free[machine] = max(ends, free.get(machine, ends))

    return forecasts


# A run that its conductor has not begun with holds its machines already.
HOLDING = (Status.DISPATCHED, Status.RUNNING)
SHOWN = (
    "name", "team", "cluster", "generator_key", "matrix__name", "phase", "status", "stage", "reason", "needs",
    "priority", "position", "expected_s", "created_at", "dispatched_at", "started_at", "cancel_requested_at",
)  # fmt: skip
ORDER = ("-priority", "created_at", "position")
WAITING = """
    SELECT id, cluster_id, generator_key, matrix_id, expected_s,
           row_number() OVER (ORDER BY priority DESC, created_at, position) AS place
    FROM runs_run WHERE status = 'queued' AND source = 'scheduled'
"""
PLACES = f"SELECT place, id FROM ({WAITING}) waiting WHERE id = ANY(%s) ORDER BY place"
# Per lane: how long the runs from each shown place up to the next one take, how many they are, and one of them.
WORK = f"""
    SELECT width_bucket(place, %s::bigint[]) AS after, cluster_id, generator_key,
           sum(expected_s * coalesce(pace, 1)), count(*), (array_agg(id))[1]
    FROM ({WAITING}) waiting LEFT JOIN unnest(%s::uuid[], %s::float8[]) AS paces (matrix_id, pace) USING (matrix_id)
    GROUP BY after, cluster_id, generator_key ORDER BY after
"""
# Per matrix of the queue: how many times as long as planned its measured runs took, from dispatch to end; the median.
PACES = """
    SELECT matrix_id, percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM finished_at - coalesce(dispatched_at, started_at))::float8 / expected_s)
    FROM runs_run
    WHERE status = 'succeeded' AND phase = 'measure' AND source = 'scheduled' AND expected_s > 0 AND matrix_id IN (
        SELECT matrix_id FROM runs_run
        WHERE status IN ('queued', 'dispatched', 'running') AND source = 'scheduled')
    GROUP BY matrix_id
"""
Lane = tuple[UUID, str]
Work = tuple[int, UUID, str, float, int, UUID]  # a row of WORK


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One unfinished run with its place: 0 for those that hold their machines, then 1, 2, ..."""

    run: Run
    machines: tuple[Machine, ...]
    position: int
    starts_at: datetime
    ends_at: datetime

    @property
    def holds(self) -> bool:
        return self.run.status in HOLDING


@dataclass(frozen=True, slots=True)
class Queue:
    """All runs that hold machines and some that wait, of all teams: who may read which is the page's business."""

    rows: tuple[QueueRow, ...]  # in the order of the queue
    waiting: int  # also those that are not shown
    free_at: dict[UUID, datetime]  # machine -> when the last run that needs it is predicted to end
    reserved: dict[UUID, Run]  # machine -> the waiting run for which the scheduler keeps it free

    def get_row(self, run: Run) -> QueueRow | None:
        return next((row for row in self.rows if row.run.pk == run.pk), None)


@all_teams()
def waiting_runs() -> QuerySet[Run]:
    """All runs that wait for machines, in order."""
    return Run.objects.filter(status=Status.QUEUED, source=Run.Source.SCHEDULED).order_by(*ORDER)


@all_teams()
def silent_parts(waiting: Collection[Run]) -> dict[UUID, list[str]]:
    """Run -> the parts of the site without which it cannot start and that give no sign of life, in words."""
    conductors = find_conductors({run.cluster_id for run in waiting if run.cluster_id})
    parts = waited_for_in_vain([run.pk for run in waiting])
    silent = {run: [f"load generator {name}" for name in names] for run, names in parts.items()}
    for run in waiting:
        if run.cluster_id not in conductors:
            silent.setdefault(run.pk, []).append(CONDUCTOR_OF_CLUSTER)
    return silent


def last_of_lanes(matrix: Matrix) -> QuerySet[Run]:
    """The waiting runs of a matrix after which none of it is left: the last one of each lane."""
    runs = waiting_runs().filter(matrix=matrix)
    lane = ("cluster_id", "generator_key")
    return runs.order_by(*lane, "priority", "-created_at", "-position").distinct(*lane)


@all_teams()
def queue(shown: QuerySet[Run], now: datetime | None = None) -> Queue:
    """The queue with these of the waiting runs, in a constant number of queries.

    Runs move on between the queries: one that was dispatched, cancelled or deleted meanwhile is not among those that
    wait, and `get_row` answers None for it until it holds its machines.
    """
    now = now or timezone.now()
    shown_ids = list(shown.values_list("pk", flat=True))
    placed: list[tuple[int, UUID]] = []
    if shown_ids:
        placed = _rows(PLACES, shown_ids)
    paces: dict[UUID | None, float] = dict(_rows(PACES))
    positions = [position for position, _ in placed]
    work: list[Work] = _rows(WORK, positions or [0], list(paces), list(paces.values()))
    active = Run.objects.filter(status__in=HOLDING)
    holding = list(active.select_related("matrix").only(*SHOWN).order_by(*ORDER))
    placed_ids = {pk for _, pk in placed} - {run.pk for run in holding}
    waiting = waiting_runs().select_related("matrix").only(*SHOWN).order_by().in_bulk(placed_ids)
    for run in [*holding, *waiting.values()]:
        run.expected_s *= paces.get(run.matrix_id, 1.0)

    reserved = list(waiting_runs().filter(reserved_at__isnull=False).only("name", "team", "cluster", "generator_key"))
    representatives = {(cluster, key): run_id for _, cluster, key, _, _, run_id in work}
    representatives |= {_lane(run): run.pk for run in [*holding, *reserved, *waiting.values()]}
    machines = _machines(representatives)
    # A run that is being cancelled ends within seconds, whatever it was expected to take.
    runs = [
        Queued(
            run.pk,
            machines[_lane(run)],
            0 if run.cancel_requested_at else run.expected_s,
            run.started_at or run.dispatched_at,
        )
        for run in holding
    ]
    runs += _in_order(placed, waiting, work, machines)
    forecasts = predict_starts(runs, now)
    rows = [(run, 0) for run in holding] + [(waiting[pk], position) for position, pk in placed if pk in waiting]
    free_at: dict[UUID, datetime] = {}
    for queued in runs:
        _, ends_at = forecasts[queued.id]
        for machine in cast(frozenset[UUID], queued.machines):
            free_at[machine] = max(ends_at, free_at.get(machine, ends_at))

    holders: dict[UUID, Run] = {}
    for run in reserved:
        holders |= dict.fromkeys(machines[_lane(run)], run)

    return Queue(
        rows=tuple(_build_rows(rows, machines, forecasts)),
        waiting=sum(count for *_, count, _ in work),
        free_at=free_at,
        reserved=holders,
    )


def _build_rows(
    rows: Sequence[tuple[Run, int]],
    machines: Mapping[Lane, Collection[UUID]],
    forecasts: Mapping[Hashable, tuple[datetime, datetime]],
) -> Iterator[QueueRow]:
    """Of runs with their positions; one query."""
    keys = set(chain.from_iterable(machines[_lane(run)] for run, _ in rows))
    by_name = sorted(Machine.objects.filter(pk__in=keys), key=attrgetter("name"))
    for run, position in rows:
        own = tuple(machine for machine in by_name if machine.pk in machines[_lane(run)])
        yield QueueRow(run, own, position, *forecasts[run.pk])


def _lane(run: Run) -> Lane:
    assert run.cluster_id is not None  # Every scheduled run has one.
    return run.cluster_id, run.generator_key


def _rows(sql: str, *parameters: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def _in_order(
    placed: list[tuple[int, UUID]],
    waiting: dict[UUID, Run],
    work: list[Work],
    machines: dict[Lane, frozenset[UUID]],
) -> list[Queued]:
    """The shown runs, and between them all other waiting runs: as one run per lane that takes as long as they do."""
    after: dict[int, dict[Lane, float]] = defaultdict(dict)
    for number, cluster, key, seconds, *_ in work:
        after[number if placed else 0][cluster, key] = seconds

    runs = []
    for number, (_, pk) in enumerate([(0, None), *placed]):
        run = None
        if pk:
            run = waiting.get(pk)
        if run is not None:
            runs.append(Queued(run.pk, machines[_lane(run)], run.expected_s, needs=run.needs_id))
            if _lane(run) in after[number]:  # The sums are from another query: they may not include this run.
                after[number][_lane(run)] -= run.expected_s
        runs += [Queued((number, lane), machines[lane], s) for lane, s in after[number].items() if s > 0]

    return runs


def _machines(representatives: dict[Lane, UUID]) -> dict[Lane, frozenset[UUID]]:
    """Lane -> the machines of its cluster and of its load generators: what the scheduler leases for its runs."""
    of_cluster: dict[UUID, set[UUID]] = defaultdict(set)
    of_run: dict[UUID, set[UUID]] = defaultdict(set)
    nodes = Node.objects.filter(cluster__in={cluster for cluster, _ in representatives})
    for cluster, machine in nodes.values_list("cluster_id", "machine_id"):
        of_cluster[cluster].add(machine)
    links = Run.load_generators.through.objects.filter(run__in=representatives.values())
    for run_id, machine in links.values_list("run_id", "loadgenerator__machine_id"):
        of_run[run_id].add(machine)
    return {lane: frozenset(of_cluster[lane[0]] | of_run[run_id]) for lane, run_id in representatives.items()}

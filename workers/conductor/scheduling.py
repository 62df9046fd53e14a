"""Which run may start now: candidates from rows, the pure choice between them, leases on machines.

Calibrations of load generators take their machine's lease before any run does.
"""

import logging
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, Subquery
from django.db.models.functions import Now

from benchsite.accounts.models import Team
from runs.catalog import generators
from runs.models import Deployment, Ending, LoadGenerator, Node, Run, Status
from runs.queue import client_lifecycle, lifecycle
from runs.queue.bindings import Capacity
from runs.queue.conductor_slots import find_conductors, free_times
from runs.queue.database_retries import DATABASE_ERRORS
from runs.queue.reasons import Reason
from runs.timeouts import CALIBRATION_TIMEOUT
from workers.conductor.run_selection import Candidate, choose, take_slot
from workers.models import Lease

log = logging.getLogger(__name__)
CALIBRATION_S: Final = 20  # that a calibration is expected to take
# Runs that need the same machines form a lane: one cluster with one set of load generators. Of each lane whose cluster
# is idle the first run counts, passing over those whose load has not succeeded. Both steps read only the index
# `run_lane`: the cost follows the number of lanes, not the length of the queue.
HEADS_OF_LANES = """
    WITH RECURSIVE lane AS (
        (SELECT cluster_id, generator_key FROM runs_run WHERE status = 'queued' AND source = 'scheduled'
         ORDER BY cluster_id, generator_key LIMIT 1)
        UNION ALL
        SELECT following.* FROM lane, LATERAL (
            SELECT cluster_id, generator_key FROM runs_run
            WHERE status = 'queued' AND source = 'scheduled'
              AND (cluster_id, generator_key) > (lane.cluster_id, lane.generator_key)
            ORDER BY cluster_id, generator_key LIMIT 1
        ) following
    )
    SELECT head.*, now() FROM lane, LATERAL (
        SELECT waiting.id, waiting.cluster_id, waiting.team_id, waiting.priority, waiting.created_at, waiting.position,
               waiting.expected_s, waiting.reserved_at
        FROM runs_run waiting LEFT JOIN runs_run load ON load.id = waiting.needs_id
        WHERE waiting.status = 'queued' AND waiting.source = 'scheduled'
          AND waiting.cluster_id = lane.cluster_id AND waiting.generator_key = lane.generator_key
          AND (waiting.needs_id IS NULL OR load.status = 'succeeded')
        ORDER BY waiting.priority DESC, waiting.created_at, waiting.position LIMIT 1
    ) head
    WHERE NOT EXISTS (
        SELECT FROM runs_run active
        WHERE active.cluster_id = lane.cluster_id AND active.status IN ('dispatched', 'running')
          AND (active.stage NOT IN ('collecting', 'judging')
               -- The runs behind a load need it to have succeeded: another server would take its place meanwhile.
               OR active.phase = 'load'
               -- A search decides by this run which one is next, and that one needs the data that stands there.
               OR EXISTS (SELECT FROM runs_matrix searching
                          WHERE searching.id = active.matrix_id AND searching.search IS NOT NULL))
    )
"""


def tick() -> list[uuid.UUID]:
    """One look at the queue: choose, take the leases, dispatch. Answers the dispatched runs."""
    with transaction.atomic():
        _start_calibrations()
        candidates, now = _find_candidates()
        if not candidates:
            return []
        last_served = _read_last_served({run.team_id for run in candidates})
        choice = choose(candidates, _read_busy_machines(), _read_free_times(now), last_served, now)
        if choice.reserved:
            Run.objects.filter(pk__in=[run.run_id for run in choice.reserved]).update(reserved_at=now)
        without_data = _load_anew({run.run_id for run in choice.started})
        return _dispatch_all([run for run in choice.started if run.run_id not in without_data])


def _start_calibrations() -> None:
    """Lease the free machines of load generators that are to be calibrated."""
    requested = LoadGenerator.objects.filter(calibration_requested_at__isnull=False, machine__lease__isnull=True)
    requested = requested.exclude(pk__in=generators.unusable()).order_by("machine_id", "calibration_requested_at")
    Lease.objects.bulk_create(
        Lease(machine_id=generator.machine_id, load_generator=generator)
        for generator in requested.distinct("machine_id")
    )


def _find_candidates() -> tuple[list[Candidate], datetime]:
    """The first run of each lane whose cluster is idle, whose load generators are alive and for which a conductor is,
    and PostgreSQL's time.
    """
    with connection.cursor() as cursor:
        cursor.execute(HEADS_OF_LANES)
        heads = cursor.fetchall()

    if not heads:
        return [], datetime.min

    *_, now = heads[0]
    run_ids = [run_id for run_id, *_ in heads]
    cluster_ids = {cluster_id for _, cluster_id, *_ in heads}
    machines: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)  # of clusters and of runs
    nodes = Node.objects.filter(cluster__in=cluster_ids)
    for cluster_id, machine_id in nodes.values_list("cluster_id", "machine_id"):
        machines[cluster_id].add(machine_id)

    conductors = find_conductors(cluster_ids)
    waiting_in_vain = generators.waited_for_in_vain(run_ids)
    links = Run.load_generators.through.objects.filter(run__in=run_ids)
    for run_id, machine_id in links.values_list("run", "loadgenerator__machine"):
        machines[run_id].add(machine_id)

    candidates = []
    for run_id, cluster_id, team_id, priority, created_at, position, expected_s, reserved_at, _ in heads:
        if run_id in waiting_in_vain or cluster_id not in conductors:
            continue
        candidates.append(
            Candidate(
                run_id=run_id,
                team_id=team_id,
                priority=priority,
                created_at=created_at,
                position=position,
                machines=frozenset(machines[cluster_id] | machines[run_id]),
                conductors=conductors[cluster_id],
                expected_s=expected_s,
                reserved_at=reserved_at,
            )
        )
    return candidates, now


def _read_busy_machines() -> dict[uuid.UUID, datetime]:
    """Each leased machine with the predicted end of its run or calibration."""
    ends = {}
    for machine_id, taken_at, expected_s in Lease.objects.values_list("machine_id", "taken_at", "run__expected_s"):
        duration_s = CALIBRATION_S if expected_s is None else expected_s
        ends[machine_id] = taken_at + timedelta(seconds=duration_s)
    return ends


def _read_free_times(now: datetime) -> dict[uuid.UUID, list[datetime]]:
    """When the slots of each living conductor are free. A dispatched run takes one until its conductor has it."""
    times = free_times(now)
    dispatched = Run.objects.filter(status=Status.DISPATCHED).order_by("dispatched_at")
    waiting = list(dispatched.values_list("cluster", "expected_s"))
    conductors = find_conductors({cluster for cluster, _ in waiting})
    for cluster, expected_s in waiting:
        take_slot(times, conductors.get(cluster, ()), now, now + timedelta(seconds=expected_s))
    return times


def _read_last_served(team_ids: set[uuid.UUID]) -> dict[uuid.UUID, datetime]:
    """When a run of each team last started."""
    starts = Run.objects.filter(team=OuterRef("pk"), dispatched_at__isnull=False).order_by("-dispatched_at")
    teams = Team.objects.filter(pk__in=team_ids).annotate(last=Subquery(starts.values("dispatched_at")[:1]))
    return dict(teams.filter(last__isnull=False).order_by().values_list("pk", "last"))


def _load_anew(run_ids: set[uuid.UUID]) -> set[uuid.UUID]:
    """Give those runs a new load whose data set is gone, because its server was killed; answers which."""
    deployments = Deployment.objects.exclude(state=Deployment.State.GONE).filter(matrix__runs__in=run_ids)
    fingerprints = {
        (deployment.matrix_id, str(deployment.database_id), deployment.mode, deployment.build): deployment.fingerprint
        for deployment in deployments
    }
    waiting = Run.objects.filter(pk__in=run_ids, needs__isnull=False)
    fields = ("pk", "matrix_id", "spec__database__id", "mode", "spec__build__name", "spec__dataset__fingerprint")
    without_data = set()
    # Three values of each spec, not all of it. A spec that lacks them has no data set that could stand.
    for run_id, matrix_id, database_id, mode, build, fingerprint in waiting.values_list(*fields):
        loaded = fingerprints.get((matrix_id, database_id, mode, build or ""))
        if not fingerprint or loaded != fingerprint:
            without_data.add(run_id)
    for run in Run.objects.filter(pk__in=without_data).select_related("needs"):
        _contained(run.pk, partial(lifecycle.load_anew, run))

    return without_data


def _dispatch_all(chosen: list[Candidate]) -> list[uuid.UUID]:
    """Dispatch together; where PostgreSQL refuses that, each run alone, so that only the one at fault fails."""
    try:
        with transaction.atomic():
            return _dispatch(chosen)
    except DATABASE_ERRORS:
        raise
    except Exception:
        log.exception("%d runs cannot be started together; trying each alone.", len(chosen))
    return [run.run_id for run in chosen if _contained(run.run_id, partial(_dispatch, [run]))]


def _dispatch(chosen: list[Candidate]) -> list[uuid.UUID]:
    dispatched = set(lifecycle.dispatch([run.run_id for run in chosen]))
    started = [run for run in chosen if run.run_id in dispatched]
    leases = []
    for run in started:
        leases += [Lease(machine_id=machine, run_id=run.run_id) for machine in run.machines]
    Lease.objects.bulk_create(leases)
    return [run.run_id for run in started]


def _contained(run_id: uuid.UUID, step: Callable[[], object]) -> bool:
    """Take one step for one run; whatever it raises fails that run alone. Answers whether it succeeded."""
    try:
        with transaction.atomic():
            step()
    except DATABASE_ERRORS:
        raise  # The connection is lost: for all runs, and not for long.
    except Exception as error:
        log.exception("Run %s cannot be started.", run_id)
        detail = f"The scheduler could not start it ({type(error).__name__}: {error}). Its log has the details."
        lifecycle.transition(
            run_id, Status.FAILED, actor="scheduler", reason=Reason.INTERNAL_ERROR, reason_detail=detail
        )
        return False
    return True


def reap() -> None:
    """End what lost its worker and free its machines. Rows only: processes are ended on their own host."""
    _end_clients(lifecycle.reap())
    leases = Lease.objects.filter(run__isnull=False)
    release(leases.exclude(run__status__in=[Status.DISPATCHED, Status.RUNNING]).values_list("run_id", flat=True))
    _end_lost_calibrations()


def _end_lost_calibrations() -> None:
    late = Q(taken_at__lt=Now() - CALIBRATION_TIMEOUT) | Q(load_generator__in=generators.unusable())
    for lease in Lease.objects.filter(late, load_generator__isnull=False).select_related("load_generator"):
        assert lease.load_generator is not None
        end_calibration(lease.load_generator, {}, "The load generator did not finish its calibration: see its log.")


def end_conductor_claims(conductor_id: uuid.UUID) -> list[uuid.UUID]:
    """End the runs of a conductor whose process is gone, and free their machines; answers which runs."""
    run_ids = lifecycle.end_conductor_claims(conductor_id)
    _end_clients(run_ids)
    release(run_ids)
    return run_ids


def _end_clients(run_ids: Iterable[uuid.UUID]) -> None:
    for run_id in run_ids:
        client_lifecycle.abandon(run_id, Reason.WORKER_LOST, "The run's conductor was lost.")
        client_lifecycle.forget_secrets(run_id)


def end_calibration(generator: LoadGenerator, capacities: Mapping[str, Capacity], error: str = "") -> None:
    """Store what a load generator measured, or why it did not, and give back its machine."""
    with transaction.atomic():
        generators.end_calibration(generator.pk, capacities, error)
        Lease.objects.filter(load_generator=generator).delete()


def release(run_ids: Iterable[uuid.UUID]) -> None:
    """Give back the machines of these runs."""
    Lease.objects.filter(run_id__in=list(run_ids)).delete()


def tidy_deployments() -> list[uuid.UUID]:
    """Deployments that nobody will need again: their matrix has no unfinished run, and no search that may order one."""
    unfinished = Run.objects.filter(matrix=OuterRef("matrix"), status__in=Status.unfinished())
    undecided = Ending.objects.filter(matrix=OuterRef("matrix"), matrix__search__isnull=False)
    left = Deployment.objects.exclude(Exists(unfinished) | Exists(undecided) | Q(state=Deployment.State.GONE))
    # Stopping a server and removing its data would disturb whoever measures on that machine.
    left = left.exclude(cluster__nodes__machine__lease__isnull=False)
    return list(left.values_list("pk", flat=True))

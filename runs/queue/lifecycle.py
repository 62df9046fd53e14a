"""The life of a run. The only writer of `Run.status`.

    QUEUED -> DISPATCHED -> RUNNING -> SUCCEEDED | FAILED | CANCELLED
    FAILED -> SUCCEEDED, where infrastructure broke a run whose output turns out complete (`complete`)

A queued run that the scheduler cannot start, because its rows are inconsistent, becomes FAILED.

Every transition is a compare-and-swap together with its RunEvent in one transaction. A conductor that has claimed a
run holds a random claim id, on which each of its writes is fenced: one that was reaped meanwhile matches no row, is
told so by ClaimLost, and stops. Time is PostgreSQL's own `now()`, never a machine's clock.

An uploaded run begins where it ended before Benchsite heard of it: at SUCCEEDED.
"""

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from random import Random
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from benchsite.accounts.models import User
from runs.checks.short_windows import select_too_short
from runs.models import (
    ClientRun,
    Conductor,
    Ending,
    Matrix,
    Phase,
    Run,
    RunEvent,
    SearchDecision,
    Stage,
    Status,
    Sweep,
)
from runs.plans import next_look
from runs.plans.expansion import BRACKET, run_name
from runs.plans.faults import EXCLUDED_REASON
from runs.plans.submission import CONDUCTOR_CHANNEL, wake_scheduler
from runs.queue.database_retries import retry
from runs.queue.reasons import Reason
from runs.queue.reruns import CALLED_OFF, is_rejection_open
from runs.queue.spec import RunSpec
from runs.queue.spec_corrections import correct_names, correct_sign_in, rename, rename_sweep
from runs.queue.team_usage import refuse_more_queued_runs
from runs.results.denormalised_columns import config_key
from runs.results.measures.search import Rule, State
from runs.timeouts import RUN_SILENT_AFTER, RUN_UNCLAIMED_AFTER

# to -> from
ALLOWED: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.DISPATCHED}),  # its message was not claimed in time
    Status.DISPATCHED: frozenset({Status.QUEUED}),
    Status.RUNNING: frozenset({Status.DISPATCHED}),
    Status.SUCCEEDED: frozenset({Status.RUNNING}),
    Status.FAILED: frozenset({Status.QUEUED, Status.RUNNING}),  # from the queue: the scheduler cannot start it
    Status.CANCELLED: frozenset({Status.QUEUED, Status.DISPATCHED, Status.RUNNING}),
}
# What breaks a run from outside: such a run is repeated once without anybody's doing.
INFRASTRUCTURE = frozenset(
    {
        Reason.WORKER_LOST,
        Reason.LOAD_GENERATOR_SILENT,
        Reason.CLIENT_NOT_STARTED,
        Reason.GENERATOR_UNFIT,
        Reason.CLOCK_STEPPED,
        Reason.INTERNAL_ERROR,
        Reason.INTERRUPTED,
        Reason.OUTPUT_NOT_STORED,
        Reason.DATASET_MISSING,  # Its server was killed between two runs: the scheduler puts a load before the retry.
        Reason.OUTPUT_NOT_MERGED,  # Clients that the site could not reach begin apart.
    }
)


class TransitionRefused(Exception):
    """The run was not in a state that allows this, or somebody else moved it first."""


class ClaimLost(Exception):
    """This conductor no longer owns the run: it was reaped, or claimed by another."""


def transition(run_id: uuid.UUID, to: Status, *, actor: str, fence: uuid.UUID | None = None, **fields: Any) -> None:
    """Move a run to `to`, with `fields` set in the same update; `fence` is the claim that must still hold.

    Raises TransitionRefused where no row matched.
    """
    rows = Run.objects.filter(pk=run_id)
    if fence is not None:
        rows = rows.filter(claim=fence)
    if not transition_all(rows, to, actor=actor, **fields):
        raise TransitionRefused(f"Run {run_id} cannot become {to}: it has moved on.")


def transition_all(runs: QuerySet[Run], to: Status, *, actor: str, **fields: Any) -> list[uuid.UUID]:
    """Move those of `runs` that may become `to`, and answer which; the number of statements is constant."""
    with transaction.atomic():
        rows = list(
            runs.filter(status__in=ALLOWED[to])
            .order_by("pk")
            .select_for_update(of=("self",), no_key=True)
            .values_list("pk", "status", "matrix_id")
        )
        run_ids = [pk for pk, _, _ in rows]
        if not run_ids:
            return []

        if to in Status.terminal():
            fields |= {"finished_at": Now(), "stage": Stage.DONE}
        Run.objects.filter(pk__in=run_ids).update(status=to, **fields)
        text = str(fields.get("reason_detail", ""))
        RunEvent.objects.bulk_create(
            RunEvent(run_id=pk, kind="status", old=old, new=to, actor=actor, text=text) for pk, old, _ in rows
        )
        if to in Status.terminal():
            _after_the_end(run_ids, {matrix_id for _, _, matrix_id in rows if matrix_id}, to)
    return run_ids


def _after_the_end(run_ids: list[uuid.UUID], matrix_ids: set[uuid.UUID], to: Status) -> None:
    """Runs that infrastructure broke are repeated. A load that did not succeed takes with it the runs that need its
    data, unless it is repeated; the scheduler looks again.
    """
    if to == Status.FAILED:
        for run_id in run_ids:
            _retry_broken(run_id)

    if to != Status.SUCCEEDED:
        reason = Reason.LOAD_FAILED
        if to == Status.CANCELLED:
            reason = Reason.CANCELLED_BY_USER
        transition_all(
            Run.objects.filter(needs__in=run_ids, status=Status.QUEUED),
            Status.CANCELLED,
            actor="lifecycle",
            reason=reason,
            reason_detail="The load it needs did not succeed.",
        )

    # For `runs.queue.run_completion`, which looks whether these were the last runs of their matrices.
    Ending.objects.bulk_create(Ending(matrix_id=matrix_id) for matrix_id in matrix_ids)
    wake_scheduler()


def _retry_broken(run_id: uuid.UUID) -> None:
    """A run that infrastructure broke is retried, unless all its clients ended well: then it may still be completed."""
    run = Run.objects.get(pk=run_id)
    if run.reason not in INFRASTRUCTURE or run.started_at is None:
        return  # A run that never started is broken by its own rows.
    Run.objects.filter(pk=run_id).update(late_output_at=Now())
    clients = run.client_runs.all()
    finished = clients.exists() and not clients.exclude(state=ClientRun.State.FINISHED).exists()
    if not finished or run.phase == Phase.LOAD:
        queue_retry(run)


def queue_retry(run: Run) -> None:
    """Queue the run once more, in the same place, unless it is a retry, was retried, was cancelled, or has succeeded
    since it was read.

    What waits for its data waits for those of the retry.
    """
    with transaction.atomic():
        # Locked before the sweep, as transitions do. `complete` comes before or after this, never in between.
        broken = Run.objects.filter(pk=run.pk, status=Status.FAILED, reason__in=INFRASTRUCTURE)
        locked = broken.select_for_update(no_key=True).first()
        if locked is None:
            return

        run = locked
        _lock_sweep(run)
        if run.is_retry or run.cancel_requested_at or run.reruns.filter(is_retry=True).exists():
            return

        text = f"Retry of {run.name}: {run.get_reason_display()}."
        again = _copy(run, _load_for(run, run.created_at), text=text, is_retry=True, queued_at=run.created_at)
        RunEvent.objects.create(run=run, kind="retry", actor="lifecycle", text=f"Queued again as {again.name}.")
        Run.objects.filter(needs=run, status=Status.QUEUED).update(needs=again)
        wake_scheduler()


def _lock_sweep(run: Run) -> None:
    """One copy at a time per sweep, so that two copies get two repeats and do not collide."""
    Sweep.objects.select_for_update(no_key=True, of=("self",)).filter(runs=run).first()


def ended(runs: Sequence[tuple[Run, datetime | None]], *, actor: str) -> list[RunEvent]:
    """Uploaded runs that are not stored yet, each with its end: they have results and so have succeeded; whether they
    can be trusted their verdicts say. The caller inserts them with these events.

    A run ended when its files say so, but never after now; where they say nothing, it is as old as its upload.
    """
    now = timezone.now()
    for run, ended_at in runs:
        assert run.source == Run.Source.UPLOADED
        run.status, run.stage = Status.SUCCEEDED, Stage.DONE
        run.finished_at = min(ended_at or now, now)
    return [RunEvent(run=run, kind="status", new=run.status, actor=actor, text="Uploaded.") for run, _ in runs]


def dispatch(run_ids: Sequence[uuid.UUID]) -> list[uuid.UUID]:
    """QUEUED -> DISPATCHED; answers which. The caller takes the leases in the same transaction. Conductors hear of its
    commit.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"NOTIFY {CONDUCTOR_CHANNEL}")
    return transition_all(Run.objects.filter(pk__in=run_ids), Status.DISPATCHED, actor="scheduler", dispatched_at=Now())


def claim_first(
    runs: QuerySet[Run], actor: str, conductor: Conductor | None = None
) -> tuple[uuid.UUID, uuid.UUID] | None:
    """DISPATCHED -> RUNNING for the first of `runs` that no other conductor is claiming: its id and a fresh claim id,
    or None.
    """
    mine = uuid.uuid4()
    run_id = retry(lambda: _claim_first(runs, mine, actor, conductor))
    if run_id:
        return (run_id, mine)
    return None


@transaction.atomic
def _claim_first(runs: QuerySet[Run], mine: uuid.UUID, actor: str, conductor: Conductor | None) -> uuid.UUID | None:
    # An earlier attempt may have been committed although its answer was lost.
    if earlier := Run.objects.filter(claim=mine, status=Status.RUNNING).values_list("pk", flat=True).first():
        return earlier

    dispatched = runs.filter(status=Status.DISPATCHED).order_by("dispatched_at")
    run_id = (
        dispatched.select_for_update(of=("self",), no_key=True, skip_locked=True).values_list("pk", flat=True).first()
    )
    if run_id is not None:
        transition(
            run_id, Status.RUNNING, actor=actor,
            started_at=Now(), heartbeat_at=Now(), claim=mine, conductor=conductor,
        )  # fmt: skip

    return run_id


def beat(run_id: uuid.UUID, claim: uuid.UUID) -> bool:
    """The conductor's sign of life. Answers whether cancelling was asked for; raises ClaimLost."""
    rows = Run.objects.filter(pk=run_id, claim=claim, status=Status.RUNNING)
    if not rows.update(heartbeat_at=Now()):
        raise ClaimLost(f"Run {run_id} is no longer this conductor's.")
    return rows.filter(cancel_requested_at__isnull=False).exists()


def note(run_id: uuid.UUID, claim: uuid.UUID, *, stage: Stage | None = None, text: str = "", **fields: Any) -> None:
    """Progress of a running run: its stage, an event, other fields; fenced like every write.

    A stage or a text that is noted again, because the first answer was lost, makes no second event.
    """
    with transaction.atomic():
        rows = Run.objects.filter(pk=run_id, claim=claim, status=Status.RUNNING)
        before = rows.select_for_update(no_key=True).values_list("stage", flat=True).first()
        if before is None:
            raise ClaimLost(f"Run {run_id} is no longer this conductor's.")
        if stage is not None:
            fields["stage"] = stage
        rows.update(heartbeat_at=Now(), **fields)
        if stage is not None and stage != before:
            RunEvent.objects.create(run_id=run_id, kind="stage", new=stage, text=text)
        elif text and not RunEvent.objects.filter(run=run_id, kind="note", text=text).exists():
            RunEvent.objects.create(run_id=run_id, kind="note", text=text)


def note_stand_in(run_id: uuid.UUID, claim: uuid.UUID, stand_in: str) -> None:
    """The server is not the product: the run is left out of figures and comparisons, and belongs to no history."""
    reason = f"The server is a {stand_in} and not the product. Numbers of stand-ins never count."
    note(run_id, claim, stand_in=stand_in, config_key="", excluded_reason=reason, excluded_at=Now())


def finish(run_id: uuid.UUID, claim: uuid.UUID, to: Status, *, reason: Reason = Reason.NONE, detail: str = "") -> None:
    """The conductor's own end of a run; repeating it changes nothing.

    Raises ClaimLost where it was ended by somebody else meanwhile.
    """
    try:
        transition(run_id, to, actor="conductor", fence=claim, reason=reason, reason_detail=detail)
    except TransitionRefused:
        if not Run.objects.filter(pk=run_id, claim=claim, status=to, reason=reason).exists():
            raise ClaimLost(f"Run {run_id} is no longer this conductor's.") from None


def complete(run_id: uuid.UUID, text: str, **fields: Any) -> None:
    """FAILED -> SUCCEEDED: a run that infrastructure broke turned out complete. Its end stays where it was.

    A retry that has not started is cancelled, unless it loads data that other runs wait for. The caller holds the
    transaction in which it writes what came out. Raises TransitionRefused where the run is no such run any more.
    """
    broken = Run.objects.filter(pk=run_id, status=Status.FAILED, reason__in=INFRASTRUCTURE)
    cleared = {"reason": Reason.NONE, "reason_detail": "", "late_output_at": None}
    if not broken.update(status=Status.SUCCEEDED, **cleared, **fields):
        raise TransitionRefused(f"Run {run_id} cannot be completed: it is not a run that infrastructure broke.")

    RunEvent.objects.create(
        run_id=run_id, kind="status", old=Status.FAILED, new=Status.SUCCEEDED, actor="lifecycle", text=text
    )
    waits_for_data = Run.objects.filter(needs=OuterRef("pk"), status=Status.QUEUED)
    transition_all(
        Run.objects.filter(~Exists(waits_for_data), rerun_of=run_id, is_retry=True, status=Status.QUEUED),
        Status.CANCELLED,
        actor="lifecycle",
        reason=Reason.NOT_NEEDED,
        reason_detail="The run that it was to repeat was completed from late output.",
    )
    matrix_id = Run.objects.values_list("matrix_id", flat=True).get(pk=run_id)
    if matrix_id:
        Ending.objects.create(matrix_id=matrix_id)
    wake_scheduler()


def reap() -> list[uuid.UUID]:
    """End running runs whose claim fell silent, and give back dispatched ones that no conductor claimed: to the queue,
    or cancelled where that was requested. Rows only.
    """
    silent = Run.objects.filter(status=Status.RUNNING, heartbeat_at__lt=Now() - RUN_SILENT_AFTER)
    lost = _end_claims(silent, "Its conductor gave no sign of life for a minute: see its log.")
    unclaimed = Run.objects.filter(status=Status.DISPATCHED, dispatched_at__lt=Now() - RUN_UNCLAIMED_AFTER)
    for run_id, cancel_requested_at in unclaimed.values_list("pk", "cancel_requested_at"):
        if cancel_requested_at is None:
            _try(run_id, Status.QUEUED, dispatched_at=None, reserved_at=None)
        else:
            _try(run_id, Status.CANCELLED, reason=Reason.CANCELLED_BY_USER, reason_detail="Cancelled unclaimed.")
    return lost


def end_conductor_claims(conductor_id: uuid.UUID) -> list[uuid.UUID]:
    """End the running runs of a conductor whose process is gone; answers which. Rows only."""
    claimed = Run.objects.filter(status=Status.RUNNING, conductor=conductor_id)
    return _end_claims(claimed, "The process of its conductor ended.")


def _end_claims(runs: QuerySet[Run], detail: str) -> list[uuid.UUID]:
    """CANCELLED where that was asked for, else FAILED."""
    lost = list(runs.values_list("pk", "claim", "cancel_requested_at"))
    for run_id, claim_id, cancel_requested_at in lost:
        if cancel_requested_at is None:
            _try(run_id, Status.FAILED, fence=claim_id, reason=Reason.WORKER_LOST, reason_detail=detail)
        else:
            _try(run_id, Status.CANCELLED, fence=claim_id, reason=Reason.CANCELLED_BY_USER, reason_detail=detail)
    return [run_id for run_id, *_ in lost]


def _try(run_id: uuid.UUID, to: Status, **fields: Any) -> None:
    """A reaper's transition: somebody else having been first is fine."""
    try:
        transition(run_id, to, actor="reaper", **fields)
    except TransitionRefused:
        return


def request_cancel(run: Run, user: User) -> None:
    """Cancel at once what has not started; ask the conductor to stop what has. Ended runs stay as they are."""
    _request_cancel(Run.objects.filter(pk=run.pk), user)


def request_cancel_matrix(matrix: Matrix, user: User) -> int:
    """Ask every unfinished run of the matrix to stop, and end its searches; answers how many runs there were."""
    runs = Run.objects.filter(matrix=matrix)
    with transaction.atomic():
        # Runs are locked before sweeps, as `queue_retry` does.
        count = _request_cancel(runs, user)
        searches = list(Sweep.objects.filter(matrix=matrix, decisions__isnull=False).distinct())
        for sweep in searches:
            # The scheduler orders the next trial under this lock.
            Sweep.objects.select_for_update(no_key=True).get(pk=sweep.pk)
            last = sweep.decisions.last()
            if last is not None and last.state == State.SEARCHING:
                SearchDecision.objects.create(
                    sweep=sweep, number=last.number + 1, rule=Rule.END, state=State.FAILED,
                    sentence=f"Cancelled by {user.get_username()}.", low=last.low, high=last.high,
                )  # fmt: skip

        if searches:  # Trials that were ordered before their sweep was locked.
            count += _request_cancel(runs.filter(cancel_requested_at=None), user)

    return count


@transaction.atomic
def _request_cancel(runs: QuerySet[Run], user: User) -> int:
    username = user.get_username()
    # While they are locked, the scheduler and the conductors move none of them.
    unfinished = list(
        runs.exclude(status__in=Status.terminal())
        .order_by("pk")
        .select_for_update(of=("self",), no_key=True)
        .values_list("pk", "status", "cancel_requested_at")
    )
    transition_all(
        Run.objects.filter(pk__in=[pk for pk, status, _ in unfinished if status == Status.QUEUED]),
        Status.CANCELLED,
        actor=username,
        reason=Reason.CANCELLED_BY_USER,
        reason_detail=f"Cancelled by {username} before it started.",
    )
    active = [pk for pk, status, requested_at in unfinished if status != Status.QUEUED and requested_at is None]
    Run.objects.filter(pk__in=active).update(cancel_requested_at=Now())
    RunEvent.objects.bulk_create(
        RunEvent(run_id=pk, kind="cancel", actor=username, text="Cancelling was asked for.") for pk in active
    )
    return len(unfinished)


def run_again(run: Run, user: User) -> Run:
    """Add a repeat of an ended run, with the same spec; its data set is loaded again where it is gone.

    Raises LimitReached.
    """
    with transaction.atomic():
        again = _run_again(run, user)
        refuse_more_queued_runs(run.team)
    return again


def run_all_again(runs: Iterable[Run], user: User) -> list[Run]:
    """Queue several runs again, all or none; the new runs. Raises LimitReached."""
    with transaction.atomic():
        return [run_again(run, user) for run in runs]


def _run_again(run: Run, user: User) -> Run:
    with transaction.atomic():
        _lock_sweep(run)
        again = _copy(run, _load_for(run), actor=user.get_username(), text="Run again.")
        wake_scheduler()
    return again


def run_at(
    run: Run, threads: int, target_ops_s: int | None, text: str, *, queued_at: datetime | None, repeats: bool = False
) -> Run:
    """Another rung of the sweep of an ended run, under otherwise the same spec. The caller holds the transaction.

    `queued_at`: as of when it waits, in the run's place of the plan; None: at the queue's end. `repeats`: it replaces
    the run, which has no result.
    """
    _lock_sweep(run)
    rung = _copy(run, _load_for(run, queued_at), text=text, queued_at=queued_at, load=(threads, target_ops_s))
    if repeats:
        Run.objects.filter(pk=rung.pk).update(rerun_of=run)
    wake_scheduler()
    return rung


@transaction.atomic
def resume(matrix: Matrix, user: User, *, skipped: bool = False, rejected: bool = False) -> int:
    """Run again what has not succeeded and has not been run again since; answers how many runs that makes.

    `skipped`: those beyond the ceiling, all the same. `rejected`: instead those that a check rejects, but none whose
    window is too short for V05, which would reject it again.
    """
    Matrix.objects.select_for_update(no_key=True).get(pk=matrix.pk)  # Of two requests at once one finds nothing.
    reasons = Q(reason=Reason.BEYOND_CEILING) if skipped else ~Q(reason__in=Reason.skipped())
    missing = Run.objects.filter(
        matrix=matrix, phase=Phase.MEASURE, status__in=[Status.FAILED, Status.CANCELLED], reruns__isnull=True,
        source=Run.Source.SCHEDULED,
    ).filter(reasons).exclude(CALLED_OFF)  # fmt: skip
    if rejected:
        missing = rejected_runs(matrix)
        missing = missing.exclude(pk__in=select_too_short(missing, matrix.team_id).values("pk"))
    runs = [_run_again(run, user) for run in missing.order_by("position")]
    refuse_more_queued_runs(matrix.team)
    return len(runs)


def rejected_runs(matrix: Matrix) -> QuerySet[Run]:
    """The measured runs that count nowhere, as a check rejects them, and that were not run again."""
    return Run.objects.filter(is_rejection_open(), matrix=matrix, phase=Phase.MEASURE, source=Run.Source.SCHEDULED)


def repeats_of_plan(matrix: Matrix) -> QuerySet[Run]:
    """The measured runs whose repeat has a number of the plan with looks; copies and brackets have higher ones."""
    return Run.objects.filter(
        matrix=matrix, phase=Phase.MEASURE, is_bracket=False, source=Run.Source.SCHEDULED,
        repeat__lte=max(matrix.looks, default=0),
    )  # fmt: skip


@transaction.atomic
def add_repeats(matrix: Matrix, look: int, user: User) -> int:
    """Queue the repeats up to the plan's next look, in the plan's order; answers how many runs that makes.

    0 where `look` is not the next one: of two requests at once one adds them.
    """
    matrix = Matrix.objects.select_for_update().get(pk=matrix.pk)
    measured = repeats_of_plan(matrix)
    repeats = [*measured.values_list("repeat", flat=True)]
    if not repeats or next_look(matrix.looks, repeats) != look:
        return 0

    cells = measured.exclude(reason__in=Reason.skipped()).order_by("sweep_id", "threads", "target_ops_s", "repeat")
    cells = cells.distinct("sweep_id", "threads", "target_ops_s")
    highest: dict[tuple[object, ...], int] = {}
    for *cell, repeat in measured.values_list("sweep_id", "threads", "target_ops_s", "repeat"):
        highest[*cell] = max(repeat, highest.get((*cell,), 0))

    added = 0
    for _, group in groupby(sorted(cells, key=lambda run: run.position), key=partial(_stretch, matrix)):
        stretch = list(group)
        for repeat in range(min(highest.values()) + 1, look + 1):
            if matrix.order == Matrix.Order.RANDOMISED:
                Random(f"{matrix.seed} {repeat}").shuffle(stretch)
            for run in stretch:
                if repeat <= highest[run.sweep_id, run.threads, run.target_ops_s]:
                    continue
                text = f"Added up to the look after {look} repeats."
                _copy(run, _load_for(run), actor=user.get_username(), text=text, repeat=repeat)
                added += 1

    refuse_more_queued_runs(matrix.team)
    wake_scheduler()
    return added


def _stretch(matrix: Matrix, run: Run) -> object:
    """The runs that stay together in the order of the plan: a sweep, or all runs on one data set."""
    if matrix.order == Matrix.Order.AS_LISTED:
        return run.sweep_id
    return run.spec["dataset"].get("fingerprint")


def load_anew(run: Run) -> Run:
    """Another load for a queued run whose data set is gone, in the run's place, shared by all that wait for it.

    Raises ValueError where the run names no data set.
    """
    assert run.needs is not None  # Only such runs have a data set to lose.
    if not run.spec["dataset"].get("fingerprint") or not run.spec["database"].get("id"):
        raise ValueError("its spec names no data set, or no database")
    with transaction.atomic():
        load = _waiting_load(run.needs, run.created_at)
        Run.objects.filter(needs=run.needs, status=Status.QUEUED).update(needs=load)
    return load


def _load_for(run: Run, queued_at: datetime | None = None) -> Run | None:
    """The load that a repeated run needs; whether its data still stands is looked at when the run's turn comes.

    `queued_at`: where in the queue the repeated run is; None: at its end.
    """
    if run.needs is None:
        return None
    if changes_its_data(run.spec):
        # Its predecessor's rows are in the data set: a load of its own, shared with nobody.
        return _copy(run.needs, None, queued_at=queued_at)
    if run.needs.status == Status.SUCCEEDED:
        return run.needs
    return _waiting_load(run.needs, queued_at)


def changes_its_data(spec: RunSpec) -> bool:
    """Whether every run of this kind is to begin with a data set that was loaded just for it."""
    inserts = float(spec["workload"]["properties"].get("insertproportion", "0")) > 0
    return inserts or spec["resets"].get("rung") == Matrix.Reset.RELOAD


def _waiting_load(load: Run, queued_at: datetime | None) -> Run:
    """A repetition of this very load that has not ended, or a new one; other runs' loads are theirs alone.

    It is queued no later than at `queued_at`: behind newer runs it would be late by as long as the queue is.
    """
    waiting = Run.objects.filter(rerun_of=load).exclude(status__in=Status.terminal()).first()
    if waiting is not None and queued_at is not None:
        Run.objects.filter(pk=waiting.pk, created_at__gt=queued_at).update(created_at=queued_at, position=load.position)
    if waiting is None:
        waiting = _copy(load, None, text="Load again.", queued_at=queued_at)
    return waiting


def _copy(
    run: Run,
    needs: Run | None,
    *,
    text: str = "",
    actor: str = "lifecycle",
    is_retry: bool = False,
    queued_at: datetime | None = None,
    load: tuple[int, int | None] | None = None,
    repeat: int | None = None,
) -> Run:
    """Another repeat of the run: at the end of the queue, or where the run was among those of `queued_at`.

    `text` is what its timeline says of it; empty: nothing.
    `load`: another rung of its sweep, as threads and target in ops/s. `repeat` is the number of a repeat that the
    plan's looks foresee; the numbers of other copies of a run are beyond them all.
    """
    threads, target_ops_s = load or (run.threads, run.target_ops_s)
    rerun_of = None
    if load is None and repeat is None:
        rerun_of = run
    if repeat is None:
        rung = Run.objects.filter(sweep=run.sweep_id, threads=threads, target_ops_s=target_ops_s)
        last_repeat = rung.aggregate(last=Max("repeat"))["last"] or 0
        if run.matrix and run.phase == Phase.MEASURE and load is None:
            last_repeat = max(last_repeat, *run.matrix.looks, 0)
        repeat = last_repeat + 1

    assert run.sweep is not None
    spec = correct_names(run, correct_sign_in(run))
    if spec != run.spec:
        rename_sweep(run.sweep, run.spec, spec)
    if load is None:
        name = _rename_repeat(run, spec, repeat)
    else:
        spec = {**spec, "load": {**spec["load"], "threads": threads, "target_ops_s": target_ops_s}}
        spec.pop("primed", None)  # It runs behind the run that was.
        name = run_name(run.sweep.name, threads, target_ops_s, repeat)
    key = run.config_key  # Empty: trial runs count in no history.
    if key and (load is not None or spec != run.spec):
        key = config_key(spec)

    position = run.position
    if queued_at is None:
        position = (Run.objects.filter(matrix=run.matrix_id).aggregate(last=Max("position"))["last"] or 0) + 1
    again = Run.objects.create(
        team_id=run.team_id, sweep_id=run.sweep_id, matrix_id=run.matrix_id, cluster_id=run.cluster_id,
        phase=run.phase, name=name, spec=spec, system=run.system, mode=run.mode, is_bracket=run.is_bracket,
        config_key=key, commit=run.commit, branch=run.branch, committed_at=run.committed_at,
        workload_name=run.workload_name, purpose=run.purpose, threads=threads, target_ops_s=target_ops_s,
        repeat=repeat, position=position, priority=run.priority, needs=needs,
        excluded_reason=EXCLUDED_REASON if spec.get("faults") else "",
        rerun_of=rerun_of, expected_s=run.expected_s, generator_key=run.generator_key, tags=run.tags, is_retry=is_retry,
    )  # fmt: skip
    if queued_at is not None:
        Run.objects.filter(pk=again.pk).update(created_at=queued_at)
    again.load_generators.set(run.load_generators.all())
    if text:
        RunEvent.objects.create(run=again, kind="status", new=again.status, actor=actor, text=text)
    return again


def _rename_repeat(run: Run, spec: RunSpec, repeat: int) -> str:
    """The run's name with the names of `spec` and the number of the repeat."""
    suffix = BRACKET if run.is_bracket else ""
    name = rename(run.name.removesuffix(suffix), run.spec, spec)
    base, *_ = name.rsplit(" r", 1)
    return f"{base} r{repeat}{suffix}"

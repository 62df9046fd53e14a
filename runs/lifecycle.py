"""The life of a run. The only writer of `Run.status`.

    QUEUED -> DISPATCHED -> RUNNING -> SUCCEEDED | FAILED | CANCELLED

Every transition is a compare-and-swap together with its RunEvent in one transaction. A conductor that has claimed a
run holds a random claim id, on which each of its writes is fenced: one that was reaped meanwhile matches no row, is
told so by ClaimLost, and stops. Time is PostgreSQL's own `now()`, never a machine's clock.

An uploaded run begins where it ended before Benchsite heard of it: at SUCCEEDED. A run by hand waits as QUEUED, which
the scheduler passes over, until its outputs come: QUEUED -> SUCCEEDED.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils import timezone

from benchsite.teams.models import User
from runs.models import Ending, Matrix, Run, RunEvent
from runs.models.run import Phase, Reason, Stage, Status
from runs.planning.expansion import BRACKET
from runs.planning.submission import wake_scheduler
from runs.spec import RunSpec

# to -> from
ALLOWED: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.DISPATCHED}),  # its message was not claimed in time
    Status.DISPATCHED: frozenset({Status.QUEUED}),
    Status.RUNNING: frozenset({Status.DISPATCHED}),
    Status.SUCCEEDED: frozenset({Status.RUNNING}),
    Status.FAILED: frozenset({Status.RUNNING}),
    Status.CANCELLED: frozenset({Status.QUEUED, Status.DISPATCHED, Status.RUNNING}),
}
# A claim that was silent for so long is taken for dead.
CLAIM_SILENT_AFTER = timedelta(seconds=60)
# A dispatched run that nobody claimed goes back to the queue.
UNCLAIMED_AFTER = timedelta(seconds=30)


class TransitionRefused(Exception):
    """The run was not in a state that allows this, or somebody else moved it first."""


class ClaimLost(Exception):
    """This conductor no longer owns the run: it was reaped, or claimed by another."""


def transition(run_id: uuid.UUID, to: Status, *, actor: str, fence: uuid.UUID | None = None, **fields: Any) -> None:
    """Move a run to `to`, with `fields` set in the same update; `fence` is the claim that must still hold.

    Raises TransitionRefused where no row matched.
    """
    with transaction.atomic():
        rows = Run.objects.filter(pk=run_id, status__in=ALLOWED[to])
        if fence is not None:
            rows = rows.filter(claim=fence)
        old = rows.select_for_update().values_list("status", flat=True).first()
        if old is None:
            raise TransitionRefused(f"Run {run_id} cannot become {to}: it has moved on.")
        if to in Status.terminal():
            fields |= {"finished_at": Now(), "stage": Stage.DONE}
        Run.objects.filter(pk=run_id).update(status=to, **fields)
        RunEvent.objects.create(
            run_id=run_id, kind="status", old=old, new=to, actor=actor, text=str(fields.get("reason_detail", ""))
        )
        if to in Status.terminal():
            _after_the_end(run_id, to)


def _after_the_end(run_id: uuid.UUID, to: Status) -> None:
    """A load that did not succeed takes with it the runs that need its data; the scheduler looks again."""
    if to != Status.SUCCEEDED:
        for needy in Run.objects.filter(needs_id=run_id, status=Status.QUEUED):
            reason = Reason.CANCELLED_BY_USER if to == Status.CANCELLED else Reason.LOAD_FAILED
            transition(
                needy.pk,
                Status.CANCELLED,
                actor="lifecycle",
                reason=reason,
                reason_detail="The load it needs did not succeed.",
            )
    _leave_word(run_id)
    wake_scheduler()


def _leave_word(run_id: uuid.UUID) -> None:
    """For `runs.finishing`, which looks whether it was the last run of its matrix."""
    if matrix_id := Run.objects.values_list("matrix_id", flat=True).get(pk=run_id):
        Ending.objects.create(matrix_id=matrix_id)


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


def fill(run: Run, *, began_at: datetime | None, ended_at: datetime | None, actor: str, **fields: Any) -> None:
    """A run by hand has its outputs: QUEUED -> SUCCEEDED, at the times that its files say, but never after now.

    The caller holds the transaction in which it writes what came out. Raises TransitionRefused where the cell is filled
    already, or was cancelled.
    """
    assert run.source == Run.Source.BY_HAND
    now = timezone.now()
    waiting = Run.objects.filter(pk=run.pk, source=Run.Source.BY_HAND, status=Status.QUEUED)
    began = min(began_at, now) if began_at else None
    ended = {"stage": Stage.DONE, "started_at": began, "starts_at": began, "finished_at": min(ended_at or now, now)}
    if not waiting.update(status=Status.SUCCEEDED, **ended, **fields):
        raise TransitionRefused(f"{run.name} does not wait for outputs any more.")
    RunEvent.objects.create(
        run_id=run.pk, kind="status", old=Status.QUEUED, new=Status.SUCCEEDED, actor=actor, text="Run by hand."
    )
    _leave_word(run.pk)


def dispatch(run_id: uuid.UUID) -> None:
    """QUEUED -> DISPATCHED; the caller holds the leases in the same transaction."""
    transition(run_id, Status.DISPATCHED, actor="scheduler", dispatched_at=Now())


def claim(run_id: uuid.UUID, actor: str) -> uuid.UUID | None:
    """DISPATCHED -> RUNNING with a fresh claim id; None where another conductor was first (a second delivery)."""
    mine = uuid.uuid4()
    try:
        transition(run_id, Status.RUNNING, actor=actor, started_at=Now(), heartbeat_at=Now(), claim=mine)
    except TransitionRefused:
        return None
    return mine


def beat(run_id: uuid.UUID, claim: uuid.UUID) -> bool:
    """The conductor's sign of life. Answers whether cancelling was asked for; raises ClaimLost."""
    rows = Run.objects.filter(pk=run_id, claim=claim, status=Status.RUNNING)
    if not rows.update(heartbeat_at=Now()):
        raise ClaimLost(f"Run {run_id} is no longer this conductor's.")
    return rows.filter(cancel_requested_at__isnull=False).exists()


def note(run_id: uuid.UUID, claim: uuid.UUID, *, stage: Stage | None = None, text: str = "", **fields: Any) -> None:
    """Progress of a running run: its stage, an event, other fields; fenced like every write."""
    with transaction.atomic():
        if stage is not None:
            fields["stage"] = stage
        rows = Run.objects.filter(pk=run_id, claim=claim, status=Status.RUNNING)
        if not rows.update(heartbeat_at=Now(), **fields):
            raise ClaimLost(f"Run {run_id} is no longer this conductor's.")
        if stage is not None or text:
            RunEvent.objects.create(run_id=run_id, kind="stage" if stage else "note", new=stage or "", text=text)


def finish(run_id: uuid.UUID, claim: uuid.UUID, to: Status, *, reason: Reason = Reason.NONE, detail: str = "") -> None:
    """The conductor's own end of a run. Raises ClaimLost where it was ended by somebody else meanwhile."""
    try:
        transition(run_id, to, actor="conductor", fence=claim, reason=reason, reason_detail=detail)
    except TransitionRefused:
        raise ClaimLost(f"Run {run_id} is no longer this conductor's.") from None


def reap() -> list[uuid.UUID]:
    """End running runs whose claim fell silent, and give back dispatched ones that nobody claimed. Rows only."""
    lost = list(
        Run.objects.filter(status=Status.RUNNING, heartbeat_at__lt=Now() - CLAIM_SILENT_AFTER).values_list(
            "pk", "claim"
        )
    )
    for run_id, claim_id in lost:
        _try(
            run_id, Status.FAILED, fence=claim_id, reason=Reason.WORKER_LOST,
            reason_detail="Its conductor gave no sign of life for a minute: see its log, then run it again.",
        )  # fmt: skip
    for run_id in Run.objects.filter(status=Status.DISPATCHED, dispatched_at__lt=Now() - UNCLAIMED_AFTER).values_list(
        "pk", flat=True
    ):
        _try(run_id, Status.QUEUED, dispatched_at=None)
    return [run_id for run_id, _ in lost]


def _try(run_id: uuid.UUID, to: Status, **fields: Any) -> None:
    """A reaper's transition: somebody else having been first is fine."""
    try:
        transition(run_id, to, actor="reaper", **fields)
    except TransitionRefused:
        return


def request_cancel(run: Run, user: User) -> None:
    """Cancel at once what has not started; ask the conductor to stop what has. Ended runs stay as they are."""
    who = user.get_username()
    try:
        with transaction.atomic():
            waiting = Run.objects.filter(pk=run.pk, status=Status.QUEUED).exists()
            if waiting:
                transition(
                    run.pk, Status.CANCELLED, actor=who, reason=Reason.CANCELLED_BY_USER,
                    reason_detail=f"Cancelled by {who} before it started.",
                )  # fmt: skip
                return
    except TransitionRefused:
        pass  # It was dispatched between the look and the swap: ask its conductor instead.
    asked = Run.objects.filter(
        pk=run.pk, status__in=[Status.DISPATCHED, Status.RUNNING], cancel_requested_at__isnull=True
    ).update(cancel_requested_at=Now())
    if asked:
        RunEvent.objects.create(run=run, kind="cancel", actor=who, text="Cancelling was asked for.")


def request_cancel_matrix(matrix: Matrix, user: User) -> int:
    """Ask every unfinished run of the matrix to stop; answers how many there were."""
    unfinished = list(Run.objects.filter(matrix=matrix).exclude(status__in=Status.terminal()).order_by("-position"))
    for run in unfinished:
        request_cancel(run, user)
    return len(unfinished)


def run_again(run: Run, user: User) -> Run:
    """Add a repeat of an ended run, with the same spec; its data set is loaded again where it is gone."""
    with transaction.atomic():
        # One at a time per sweep, so that two people get two repeats and not one collision.
        Run.objects.select_for_update().filter(sweep=run.sweep_id).first()
        needs = _load_for(run)
        again = _copy(run, needs)
        RunEvent.objects.create(
            run=again, kind="status", new=again.status, actor=user.get_username(), text="Run again."
        )
        wake_scheduler()
    return again


def resume(matrix: Matrix, user: User) -> int:
    """Run again what has not succeeded and has not been run again since; answers how many runs that makes."""
    missing = Run.objects.filter(
        matrix=matrix, phase=Phase.MEASURE, status__in=[Status.FAILED, Status.CANCELLED], reruns__isnull=True,
        source=Run.Source.SCHEDULED,
    )  # fmt: skip
    return len([run_again(run, user) for run in missing.order_by("position")])


def load_anew(run: Run) -> Run:
    """Another load for a queued run whose data set is gone, shared by all that wait for the same one."""
    assert run.needs is not None  # Only such runs have a data set to lose.
    with transaction.atomic():
        load = _waiting_load(run.needs)
        Run.objects.filter(needs=run.needs, status=Status.QUEUED).update(needs=load)
    return load


def _load_for(run: Run) -> Run | None:
    """The load that a repeated run needs; whether its data still stands is looked at when the run's turn comes."""
    if run.needs is None:
        return None
    if changes_its_data(run.spec):
        # Its predecessor's rows are in the data set: a load of its own, shared with nobody.
        return _copy(run.needs, None)
    return run.needs if run.needs.status == Status.SUCCEEDED else _waiting_load(run.needs)


def changes_its_data(spec: RunSpec) -> bool:
    """Whether every run of this kind is to begin with a data set that was loaded just for it."""
    inserts = float(spec["workload"]["properties"].get("insertproportion", "0")) > 0
    return inserts or spec["resets"].get("rung") == Matrix.Reset.RELOAD


def _waiting_load(load: Run) -> Run:
    """A repetition of this very load that has not ended, or a new one; other runs' loads are theirs alone."""
    waiting = Run.objects.filter(rerun_of=load).exclude(status__in=Status.terminal()).first()
    if waiting is None:
        waiting = _copy(load, None)
        RunEvent.objects.create(run=waiting, kind="status", new=waiting.status, actor="lifecycle", text="Load again.")
    return waiting


def _copy(run: Run, needs: Run | None) -> Run:
    rung = Run.objects.filter(sweep=run.sweep_id, threads=run.threads, target_ops_s=run.target_ops_s)
    repeat = (rung.aggregate(most=Max("repeat"))["most"] or 0) + 1
    bare = run.name.removesuffix(BRACKET) if run.is_bracket else run.name
    name = f"{bare.rsplit(' r', 1)[0]} r{repeat}{BRACKET if run.is_bracket else ''}"
    last = Run.objects.filter(matrix=run.matrix_id).aggregate(most=Max("position"))["most"] or 0
    again = Run.objects.create(
        team_id=run.team_id, sweep_id=run.sweep_id, matrix_id=run.matrix_id, cluster_id=run.cluster_id,
        phase=run.phase, name=name, spec=run.spec, system=run.system, mode=run.mode, is_bracket=run.is_bracket,
        config_key=run.config_key,
        workload_name=run.workload_name, purpose=run.purpose, threads=run.threads, target_ops_s=run.target_ops_s,
        repeat=repeat, position=last + 1, priority=run.priority, needs=needs, rerun_of=run, expected_s=run.expected_s,
        tags=run.tags,
    )  # fmt: skip
    again.load_generators.set(run.load_generators.all())
    return again

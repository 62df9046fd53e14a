"""What happens when the time of a schedule has come: its matrix is cloned and submitted, or the page says why not."""

import logging
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from django.urls import reverse

from benchsite.accounts import audit
from benchsite.accounts.limits import LimitReached
from benchsite.accounts.models import User
from benchsite.core.database_clock import database_now
from benchsite.notifications import notices
from runs.models import Matrix, Occasion, Run, Schedule, Status
from runs.plans import PlanError, submit
from runs.plans.messages import BENCHSITE_FAILED, NOT_FINISHED
from runs.plans.schedules import schedule_changes
from runs.plans.schedules.schedule_changes import ScheduleRefused
from runs.plans.schedules.times import next_times
from runs.plans.submission import clone

log = logging.getLogger(__name__)
# So many failures in a row switch a schedule off.
MAX_FAILURES: Final = 5
# From so late on the page says that it was late.
LATE: Final = timedelta(minutes=5)
OUTCOME = Occasion.Outcome


def tick(now: datetime | None = None) -> list[Occasion]:
    """Carry out every schedule that is due, each in a transaction of its own; the scheduler calls it."""
    now = now or database_now()
    due = Schedule.objects.filter(is_active=True, next_at__lte=now).order_by("next_at").values_list("pk", flat=True)
    return [occasion for pk in due if (occasion := _carry_out(pk, now)) is not None]


@transaction.atomic
def _carry_out(pk: UUID, now: datetime) -> Occasion | None:
    """One time of one schedule; None where somebody else was first. Times missed meanwhile are not made up for."""
    rows = Schedule.objects.select_related("team", "matrix", "created_by")
    schedule = rows.select_for_update(skip_locked=True, of=("self",)).filter(pk=pk, next_at__lte=now).first()
    if schedule is None or schedule.next_at is None:
        return None

    due_at = schedule.next_at
    Schedule.objects.filter(pk=schedule.pk).update(next_at=next_times(schedule_changes.get_rule(schedule), now, 1)[0])
    outcome, reason, matrix = _outcome(schedule, due_at)
    if now - due_at >= LATE and not reason:
        reason = "Late: no scheduler ran when it was due. Missed times are not made up."
    occasion = Occasion.objects.create(schedule=schedule, due_at=due_at, outcome=outcome, reason=reason, matrix=matrix)
    if outcome == OUTCOME.FAILED:
        _after_a_failure(schedule, occasion)
    elif outcome == OUTCOME.SUBMITTED:
        Schedule.objects.filter(pk=schedule.pk).update(failures=0)

    return occasion


@transaction.atomic
def run_now(schedule: Schedule, by: User) -> Occasion:
    """Submit its matrix at once, beside its times, which stay as they are. Raises ScheduleRefused and PlanError."""
    rows = Schedule.objects.select_related("team", "matrix")
    locked = rows.select_for_update(of=("self",)).get(pk=schedule.pk)
    before = _still_running(locked)
    if before is not None:
        raise ScheduleRefused(
            f"“{before.name}”, which it submitted before, has not finished. Wait for it, or cancel it."
        )

    now = database_now()
    matrix = _submit(locked, now, by)
    audit.note("schedule_run", team=locked.team, actor=by, subject=locked.name, text=matrix.name)
    message = f"Asked for by {by.get_username()}."

    return Occasion.objects.create(
        schedule=locked, due_at=now, outcome=OUTCOME.SUBMITTED, reason=message, matrix=matrix
    )


def _outcome(schedule: Schedule, due_at: datetime) -> tuple[Occasion.Outcome, str, Matrix | None]:
    before = _still_running(schedule)
    if before is not None:
        return OUTCOME.SKIPPED, NOT_FINISHED.format(matrix=before.name), None

    try:
        with transaction.atomic():
            return OUTCOME.SUBMITTED, "", _submit(schedule, due_at, schedule.created_by)
    except (PlanError, LimitReached) as error:
        return OUTCOME.FAILED, str(error), None
    except (OperationalError, InterfaceError):
        raise  # PostgreSQL is away: the time stays due.
    except Exception:
        # One schedule must not keep the others, and the queue, from going on.
        log.exception("Schedule %s could not submit its matrix.", schedule.pk)
        return OUTCOME.FAILED, BENCHSITE_FAILED, None


def _submit(schedule: Schedule, due_at: datetime, by: User | None) -> Matrix:
    matrix = clone(schedule.matrix, name=f"{schedule.name} {due_at:%Y-%m-%d %H:%M}", by=by)
    submit(matrix, by)
    return matrix


def _still_running(schedule: Schedule) -> Matrix | None:
    last = schedule.occasions.filter(outcome=OUTCOME.SUBMITTED).select_related("matrix").first()
    if last is None or last.matrix is None:
        return None
    unfinished = Run.objects.filter(matrix=last.matrix).exclude(status__in=Status.terminal())
    if not unfinished.exists():
        return None
    return last.matrix


def _after_a_failure(schedule: Schedule, occasion: Occasion) -> None:
    failures = schedule.failures + 1
    Schedule.objects.filter(pk=schedule.pk).update(failures=failures)
    ends = failures >= MAX_FAILURES
    if ends:
        schedule_changes.pause(schedule, None, f"It failed {failures} times in a row: {occasion.reason}")
    notices.note(
        "schedule_failed",
        schedule.team,
        subject=f"{schedule.name} could not be submitted" + (" and is switched off" if ends else ""),
        text=occasion.reason,
        path=reverse("schedule", args=[schedule.pk]),
        data={
            "schedule": {"id": str(schedule.pk), "name": schedule.name},
            "due_at": occasion.due_at.isoformat().replace("+00:00", "Z"),
            "reason": occasion.reason,
            "failures": failures,
            "is_active": not ends,
        },
        key=f"schedule_failed:{schedule.pk}:{occasion.due_at.isoformat()}",
    )

"""Matrices that are repeated at times: when they are due, how they are kept, and what happens when a time has come.

In UTC, which has no summer time: no hour is missing, none comes twice.
"""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from itertools import count, islice
from typing import Final
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from django.urls import reverse

from benchsite.accounts import audit
from benchsite.accounts.limits import LimitReached
from benchsite.accounts.models import User
from benchsite.core.database_clock import database_now
from benchsite.core.formatting import enumerated
from benchsite.notifications import notices
from runs.models import Matrix, Occasion, Run, Schedule, Status
from runs.plans import PlanError, submit
from runs.plans.messages import BENCHSITE_FAILED, EVERY_DAY, EVERY_HOUR, NOT_FINISHED
from runs.plans.submission import clone

log = logging.getLogger(__name__)
# Those that divide a day, so that every day has the same times.
EVERY_HOURS: Final = (1, 2, 3, 4, 6, 8, 12)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MAX_SCHEDULES: Final = 50
CHANGED: Final = ("name", "every", "at", "hours", "days", "next_at")
# So many failures in a row switch a schedule off.
MAX_FAILURES: Final = 5
# From so late on the page says that it was late.
LATE: Final = timedelta(minutes=5)
OUTCOME = Occasion.Outcome


class ScheduleRefused(Exception):
    """The schedule cannot be made, or cannot run now. The message says why and what to do."""


def next_times(schedule: Schedule, after: datetime, most: int) -> list[datetime]:
    """Its next times after a moment, whether it is paused or not."""
    return list(islice(_list_times(schedule, after), most))


def _list_times(schedule: Schedule, after: datetime) -> Iterator[datetime]:
    """Without end."""
    first = after.astimezone(UTC).date()
    times = _list_times_of_day(schedule)
    for number in count():
        day = first + timedelta(days=number)
        if schedule.every == Schedule.Every.WEEK and day.weekday() not in schedule.days:
            continue
        for at in times:
            due = datetime.combine(day, at, UTC)
            if due > after:
                yield due


def in_words(schedule: Schedule) -> str:
    """When it is due: “every day at 03:00 UTC”."""
    if schedule.every == Schedule.Every.HOURS:
        every = "every hour"
        if schedule.hours != 1:
            every = f"every {schedule.hours} hours"
        times = _list_times_of_day(schedule)
        if len(times) > 6:
            return EVERY_HOUR.format(hours=every, minute=schedule.at.minute)
        return f"{every}, at {enumerated([f'{at:%H:%M}' for at in times])} UTC"
    if schedule.every == Schedule.Every.WEEK:
        days = enumerated([f"{DAYS[day]}s" for day in sorted(schedule.days)])
        return f"on {days} at {schedule.at:%H:%M} UTC"
    return EVERY_DAY.format(at=schedule.at)


def _list_times_of_day(schedule: Schedule) -> list[time]:
    """Those on each day that has any."""
    if schedule.every != Schedule.Every.HOURS:
        return [schedule.at]
    return [time(hour, schedule.at.minute) for hour in range(schedule.at.hour % schedule.hours, 24, schedule.hours)]


@transaction.atomic
def make(schedule: Schedule, by: User) -> None:
    """Store a new schedule. Raises ScheduleRefused."""
    if Schedule.objects.filter(team=schedule.team).count() >= MAX_SCHEDULES:
        raise ScheduleRefused(f"A team has at most {MAX_SCHEDULES} schedules: delete one that is not needed.")
    schedule.created_by = by
    schedule.next_at = _find_next(schedule)
    schedule.save()
    audit.note("schedule_made", team=schedule.team, actor=by, subject=schedule.name, text=in_words(schedule))


@transaction.atomic
def change(schedule: Schedule, by: User) -> None:
    """Store another name or other times; a paused one stays paused."""
    locked = Schedule.objects.select_for_update().get(pk=schedule.pk)
    schedule.next_at = None
    if locked.is_active:
        schedule.next_at = _find_next(schedule)
    schedule.save(update_fields=CHANGED)
    audit.note("schedule_changed", team=schedule.team, actor=by, subject=schedule.name, text=in_words(schedule))


@transaction.atomic
def pause(schedule: Schedule, by: User | None, because: str = "") -> None:
    """It submits nothing until it is resumed. Without a person: it was switched off, for a reason."""
    rows = Schedule.objects.filter(pk=schedule.pk, is_active=True)
    if rows.update(is_active=False, next_at=None, off_because=because[:300]):
        audit.note("schedule_off", team=schedule.team, actor=by, subject=schedule.name, text=because)


@transaction.atomic
def resume(schedule: Schedule, by: User) -> None:
    """It goes on with its next time; those in between are not made up for."""
    rows = Schedule.objects.filter(pk=schedule.pk, is_active=False)
    if rows.update(is_active=True, next_at=_find_next(schedule), off_because="", failures=0):
        audit.note("schedule_on", team=schedule.team, actor=by, subject=schedule.name)


@transaction.atomic
def delete(schedule: Schedule, by: User) -> None:
    """It goes; the matrices that it submitted stay."""
    audit.note("schedule_deleted", team=schedule.team, actor=by, subject=schedule.name)
    schedule.delete()


def _find_next(schedule: Schedule) -> datetime:
    return next_times(schedule, database_now(), 1)[0]


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
    Schedule.objects.filter(pk=schedule.pk).update(next_at=next_times(schedule, now, 1)[0])
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
        pause(schedule, None, f"It failed {failures} times in a row: {occasion.reason}")
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

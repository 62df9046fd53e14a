"""Making, changing, pausing and deleting schedules."""

from datetime import datetime
from typing import Final

from django.db import transaction

from benchsite.accounts import audit
from benchsite.accounts.models import User
from benchsite.core.database_clock import database_now
from runs.models import Matrix, Schedule
from runs.plans.schedules.times import Rule, in_words, next_times

MAX_SCHEDULES: Final = 50


class ScheduleRefused(Exception):
    """The schedule cannot be made, or cannot run now. The message says why and what to do."""


def get_rule(schedule: Schedule) -> Rule:
    return Rule(schedule.every, schedule.at, schedule.hours, tuple(schedule.days))


def upcoming(schedule: Schedule, most: int = 5) -> list[datetime]:
    """Its next times; none while it is paused."""
    if schedule.is_active:
        return next_times(get_rule(schedule), database_now(), most)
    return []


@transaction.atomic
def make(matrix: Matrix, by: User, *, name: str, rule: Rule) -> Schedule:
    """A schedule that repeats the matrix. Raises ScheduleRefused."""
    if Schedule.objects.filter(team=matrix.team).count() >= MAX_SCHEDULES:
        raise ScheduleRefused(f"A team has at most {MAX_SCHEDULES} schedules: delete one that is not needed.")
    schedule = Schedule.objects.create(
        team=matrix.team, matrix=matrix, name=name, created_by=by, **_columns(rule), next_at=_next(rule)
    )
    audit.note("schedule_made", team=schedule.team, actor=by, subject=name, text=in_words(rule))
    return schedule


@transaction.atomic
def change(schedule: Schedule, by: User, *, name: str, rule: Rule) -> None:
    """Another name or other times; a paused one stays paused."""
    locked = Schedule.objects.select_for_update().get(pk=schedule.pk)
    next_at = None
    if locked.is_active:
        next_at = _next(rule)
    Schedule.objects.filter(pk=schedule.pk).update(name=name, **_columns(rule), next_at=next_at)
    audit.note("schedule_changed", team=schedule.team, actor=by, subject=name, text=in_words(rule))


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
    if rows.update(is_active=True, next_at=_next(get_rule(schedule)), off_because="", failures=0):
        audit.note("schedule_on", team=schedule.team, actor=by, subject=schedule.name)


@transaction.atomic
def delete(schedule: Schedule, by: User) -> None:
    """It goes; the matrices that it submitted stay."""
    audit.note("schedule_deleted", team=schedule.team, actor=by, subject=schedule.name)
    schedule.delete()


def _next(rule: Rule) -> datetime:
    return next_times(rule, database_now(), 1)[0]


def _columns(rule: Rule) -> dict[str, object]:
    return {"every": rule.every, "at": rule.at, "hours": rule.hours, "days": sorted(set(rule.days))}

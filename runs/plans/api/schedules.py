"""Schedules: matrices that are repeated at times, made, changed, paused, run now, and what came of each time."""

import datetime as dt
from typing import Annotated, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema, Status
from pydantic import Field

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, bearer_in
from benchsite.rest.paging import PageAnswer, PageQuery, Slice, get_page
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import Name, RequestSchema, Username, owned, refusals
from runs.api.routers import schedules
from runs.api.schemas import ROOT, OnPage
from runs.models import Matrix, Occasion, Schedule
from runs.plans import schedules as plan_schedules
from runs.plans.api.plans import require_build_scope
from runs.plans.messages import CHOOSE_DAY
from runs.plans.schedules import DAYS, in_words

READ = Needs(Scope.SCHEDULES_WRITE, Scope.RUNS_READ)
WRITE = Needs(Scope.SCHEDULES_WRITE)
Every = Annotated[
    Literal["hours", "day", "week"],
    Field(description="`hours`: some hours apart, counted from `at`; `day`: daily; `week`: on `days`."),
]
At = Annotated[
    str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", description="UTC.", json_schema_extra={"example": "03:00"})
]
Hours = Annotated[Literal[1, 2, 3, 4, 6, 8, 12], Field(description="Only for `hours`.")]
Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
Days = Annotated[list[Day], Field(max_length=7, description="Only for `week`.")]
DAY_NAMES: list[Day] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
assert [name.lower() for name in DAYS] == DAY_NAMES


class SchedulePlan(RequestSchema):
    matrix: UUID = Field(description="The matrix that is repeated, as it stands at each time.")
    name: Name | None = Field(None, description="Left out: that of the matrix.")
    every: Every = "day"
    at: At = "03:00"
    hours: Hours = 6
    days: Days = []


class ScheduleChange(RequestSchema):
    """What is left out stays."""

    name: Name | None = None
    every: Every | None = None
    at: At | None = None
    hours: Hours | None = None
    days: Days | None = None
    is_active: bool | None = Field(None, description="false: it submits nothing until it is switched on.")


class ScheduleAnswer(OnPage):
    """One schedule, and when it is due next."""

    id: UUID
    name: str
    permalink: str
    matrix: UUID = Field(validation_alias="matrix_id")
    every: str
    at: str
    hours: int
    days: list[Day]
    when: str = Field(description="In words.")
    is_active: bool
    off_because: str = Field(description="Why the site switched it off; empty where a person paused it.")
    failures: int = Field(description="In a row; five switch it off.")
    next_at: dt.datetime | None
    created_by: Username
    created_at: dt.datetime

    @staticmethod
    def resolve_at(schedule: Schedule) -> str:
        return f"{schedule.at:%H:%M}"

    @staticmethod
    def resolve_days(schedule: Schedule) -> list[Day]:
        return [DAY_NAMES[day] for day in schedule.days]

    @staticmethod
    def resolve_when(schedule: Schedule) -> str:
        return in_words(schedule)


class SchedulePage(PageAnswer):
    """Schedules, the newest first."""

    items: list[ScheduleAnswer]


class OccasionAnswer(Schema):
    """One time of a schedule, and what came of it."""

    due_at: dt.datetime
    at: dt.datetime
    outcome: str = Field(description="`submitted`, `skipped` or `failed`.")
    reason: str
    matrix: UUID | None = Field(
        validation_alias="matrix_id", description="What was submitted; null where nothing was, or it was deleted."
    )


class OccasionPage(PageAnswer):
    """The times of a schedule, the newest first."""

    items: list[OccasionAnswer]


@schedules.get("/schedules", response={200: SchedulePage}, auth=READ, summary="List schedules")
def list_schedules(request: HttpRequest, page: Query[PageQuery]) -> Slice[Schedule]:
    return get_page(request, _rows(), ("-created_at", "-pk"), page)


@schedules.post(
    "/schedules", response={201: ScheduleAnswer, **refusals(404, 409)}, auth=WRITE, summary="Repeat a matrix at times"
)
def make_schedule(request: HttpRequest, plan: SchedulePlan, response: HttpResponse) -> Status[Schedule]:
    """`conflict`: the team has as many schedules as it may."""
    matrix = owned(Matrix.objects.select_related("team"), plan.matrix)
    require_build_scope(bearer_in(request), matrix.builds)
    schedule = Schedule(team=matrix.team, matrix=matrix, name=plan.name or matrix.name[:80])
    _set_times(schedule, plan)
    plan_schedules.make(schedule, bearer_in(request).user)
    response["Location"] = f"{ROOT}/schedules/{schedule.pk}"
    return Status(201, schedule)


@schedules.get("/schedules/{uuid:schedule_id}", response={200: ScheduleAnswer}, auth=READ, summary="Read one schedule")
def get_schedule(request: HttpRequest, schedule_id: UUID) -> Schedule:
    return _schedule(schedule_id)


@schedules.patch(
    "/schedules/{uuid:schedule_id}",
    response={200: ScheduleAnswer},
    auth=WRITE,
    summary="Change a schedule, pause it or switch it on",
)
def change_schedule(request: HttpRequest, schedule_id: UUID, change: ScheduleChange) -> Schedule:
    schedule = _schedule(schedule_id)
    me = bearer_in(request).user
    with transaction.atomic():
        if change.model_dump(exclude={"is_active"}, exclude_none=True):
            schedule.name = change.name or schedule.name
            _set_times(schedule, change)
            plan_schedules.change(schedule, me)
        if change.is_active is not None:
            (plan_schedules.resume if change.is_active else plan_schedules.pause)(_schedule(schedule_id), me)

    return _schedule(schedule_id)


@schedules.delete(
    "/schedules/{uuid:schedule_id}",
    response={204: None},
    auth=WRITE,
    summary="Delete a schedule; what it submitted stays",
)
def delete_schedule(request: HttpRequest, schedule_id: UUID) -> Status[None]:
    plan_schedules.delete(_schedule(schedule_id), bearer_in(request).user)
    return Status(204, None)


@schedules.post(
    "/schedules/{uuid:schedule_id}/run",
    response={200: OccasionAnswer, **refusals(409, 422)},
    auth=Needs(Scope.SCHEDULES_WRITE, Scope.MATRICES_RUN),
    operation_id="run_schedule_now",
    summary="Submit the matrix of a schedule now",
)
def run_now(request: HttpRequest, schedule_id: UUID) -> Occasion:
    """Beside its times, which stay as they are, and whether it is paused or not. `conflict`: what it submitted before
    has not finished. `plan-refused` says what keeps the matrix from being run.
    """
    schedule = _schedule(schedule_id)
    require_build_scope(bearer_in(request), schedule.matrix.builds)
    return plan_schedules.run_now(schedule, bearer_in(request).user)


@schedules.get(
    "/schedules/{uuid:schedule_id}/occasions",
    response={200: OccasionPage},
    auth=READ,
    operation_id="list_schedule_occasions",
    summary="List what came of each time of a schedule",
)
def list_occasions(request: HttpRequest, schedule_id: UUID, page: Query[PageQuery]) -> Slice[Occasion]:
    return get_page(request, _schedule(schedule_id).occasions.all(), ("-due_at", "-pk"), page)


def _rows() -> QuerySet[Schedule]:
    return Schedule.objects.select_related("team", "matrix", "created_by")


def _schedule(pk: UUID) -> Schedule:
    return owned(_rows(), pk)


def _set_times(schedule: Schedule, sent: SchedulePlan | ScheduleChange) -> None:
    """What is left out stays. Raises Problem for a week without days."""
    schedule.every = sent.every or schedule.every
    schedule.hours = sent.hours or schedule.hours
    if sent.at is not None:
        schedule.at = dt.time.fromisoformat(sent.at)
    if sent.days is not None:
        schedule.days = sorted({DAY_NAMES.index(day) for day in sent.days})
    if schedule.every == Schedule.Every.WEEK and not schedule.days:
        raise Problem.of_faults([{"pointer": "#/days", "detail": CHOOSE_DAY, "code": "refused"}])

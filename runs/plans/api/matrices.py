"""Matrices: a plan previewed, kept, submitted, followed and cancelled."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema, Status
from pydantic import Field, create_model

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, bearer_in, team_in
from benchsite.rest.paging import PageAnswer, PageQuery, Slice, get_page
from benchsite.rest.problems import Fault, Problem
from benchsite.rest.schemas import FaultEntry, NamesOfRows, RequestSchema, Username, owned, refusals
from runs.api.routers import matrices
from runs.api.schemas import ROOT, OnPage, page_address
from runs.models import Matrix
from runs.plans import PlanError, Preview, preview, start_trial, submit
from runs.plans.api.plans import NAMES, MatrixPlan, list_faults, read_draft, require_build_scope
from runs.plans.drafts import Draft
from runs.plans.messages import NO_TRIAL
from runs.plans.pages.trial import get_newest_trial
from runs.plans.plan_spec import PlanSpec
from runs.queue import lifecycle
from runs.queue.pages.progress import with_progress
from runs.results import deletion

READ = Needs(Scope.MATRICES_RUN, Scope.RUNS_READ)
RUN = Needs(Scope.MATRICES_RUN)


class DryRun(Schema):
    dry_run: bool = Field(False, description="1: only say what it would make and cost.")


class CellAnswer(Schema):
    """One sweep of the plan."""

    database: str = Field(validation_alias="database_name")
    mode: str
    workload: str = Field(validation_alias="workload_name")
    rungs: int
    runs: int
    excluded: str = Field(description="The reason, where all of it is left out.")


class PreviewAnswer(Schema):
    """What a plan would make and cost. Nothing is stored."""

    can_be_submitted: bool
    problems: list[FaultEntry]
    rejections: list[FaultEntry] = Field(
        [], description="What makes a check, `code`, reject runs of the plan, whatever they measure."
    )
    warnings: list[str]
    cells: list[CellAnswer]
    runs: int = Field(description="Measured ones, without the bracket; of a search the most that it may need.")
    loads: int
    brackets: int
    hours: float
    disk_bytes_per_node: int
    result_bytes: int
    sizes: list[str] = Field(description="Of a scaling set: which records on how many nodes.")
    offers_trial: bool = Field(False, description="The plan is so long that a trial run of it is worth its time.")


class EntryAnswer(Schema):
    database: str = Field(validation_alias="database.name")
    database_id: UUID
    mode: str


class RunCounts(Schema):
    """How many of its runs are where. Runs that failed or were cancelled count until they are run again."""

    total: int
    succeeded: int
    failed: int
    cancelled: int
    active: int
    queued: int
    skipped: int = Field(description="Beyond the ceiling, so not measured; no part of the total.")


class MatrixLinks(Schema):
    self: str
    page: str
    submit: str
    runs: str
    sweeps: str


class PlanAnswer(OnPage):
    """One plan, and how far it is."""

    id: UUID
    name: str
    permalink: str
    state: str = Field(
        validation_alias="progress.status_word",
        description="not submitted, queued, running, cancelling, failed, cancelled, succeeded or no runs. "
        "failed: at least one of its runs has failed and was not run again.",
    )
    runs: RunCounts = Field(validation_alias="progress.counts")
    entries: list[EntryAnswer]
    workloads: NamesOfRows
    load_generators: NamesOfRows
    search: dict[str, Any] | None = Field(description="As in the plan; null: the rungs are fixed.")
    faults: list[dict[str, Any]] = Field(description="As in the plan.")
    builds: list[dict[str, Any]] = Field(description="As in the plan.")
    groups: list[dict[str, Any]] = Field(description="As in the plan.")
    priority: int
    notes: str
    created_by: Username
    created_at: datetime
    submitted_at: datetime | None
    trial_of: UUID | None = Field(validation_alias="trial_of_id", description="Of a trial run: the plan that it tries.")
    links: MatrixLinks

    @staticmethod
    def resolve_links(matrix: Matrix) -> MatrixLinks:
        own = f"{ROOT}/matrices/{matrix.pk}"
        return MatrixLinks(
            self=own,
            page=page_address(matrix),
            submit=f"{own}/submit",
            runs=f"{ROOT}/runs?matrix={matrix.pk}&phase=any",
            sweeps=f"{ROOT}/sweeps?matrix={matrix.pk}",
        )


def _build_answer_fields() -> dict[str, Any]:
    """The answer's part about the plan: PlanSpec's fields by their names in a request, whatever was stored once."""
    names = {name: NAMES.get(name, name) for name in PlanSpec.model_fields if name not in PlanAnswer.model_fields}
    return {
        sent: (PlanSpec.model_fields[name].annotation, Field(validation_alias=name, title=None))
        for name, sent in names.items()
    }


MatrixAnswer = create_model("MatrixAnswer", __base__=PlanAnswer, __doc__=PlanAnswer.__doc__, **_build_answer_fields())


class TrialCellAnswer(Schema):
    """One sweep of the plan, by its first and its last rung."""

    sweep: str = Field(validation_alias="name")
    state: str = Field(description="passed, failed, cancelled or waits.")
    run: UUID = Field(description="The run that says so.")
    problem: str
    remedy: str

    @staticmethod
    def resolve_run(cell: dict[str, Any]) -> UUID:
        return cell["run"].pk  # type: ignore[no-any-return]


class TrialAnswer(Schema):
    """What the newest trial run of a plan says."""

    matrix: UUID = Field(description="The trial run's own matrix.")
    unfinished: int
    failed: int
    passed: int
    cells: list[TrialCellAnswer]
    not_tried: list[str] = Field(validation_alias="exclusions", description="Why cells were left out.")

    @staticmethod
    def resolve_matrix(trial: dict[str, Any]) -> UUID:
        return trial["matrix"].pk  # type: ignore[no-any-return]


class MatrixPage(PageAnswer):
    """Matrices, the newest first."""

    items: list[MatrixAnswer]  # type: ignore[valid-type]


def team_matrices() -> QuerySet[Matrix]:
    """With what answers say of each, in a constant number of queries."""
    rows = Matrix.objects.select_related("created_by")
    return rows.prefetch_related("entries__database", "workloads", "load_generators")


@matrices.get("/matrices", response={200: MatrixPage}, auth=READ, summary="List matrices")
def list_matrices(request: HttpRequest, query: Query[PageQuery]) -> Slice[Matrix]:
    page = get_page(request, team_matrices(), ("-created_at", "-pk"), query)
    with_progress(page.items)
    return page


@matrices.get("/matrices/{uuid:matrix_id}", response={200: MatrixAnswer}, auth=READ, summary="Follow one matrix")
def get_matrix(request: HttpRequest, matrix_id: UUID) -> Matrix:
    return _follow(owned(team_matrices(), matrix_id))


@matrices.post(
    "/matrices",
    response={200: PreviewAnswer, 201: MatrixAnswer},
    auth=RUN,
    summary="Keep a plan, or only see what it would make",
)
def make_matrix(
    request: HttpRequest, plan: MatrixPlan, options: Query[DryRun], response: HttpResponse
) -> Status[dict[str, object]] | Status[Matrix]:
    """The plan is kept and waits to be submitted. With `dry_run=1` nothing is kept, and the answer says which cells
    and runs it would make, how many hours they would take, and what keeps it from being submitted.
    """
    draft, faults = read_draft(plan, team_in(request))
    if options.dry_run:
        return Status(200, preview_draft(draft) if draft else _impossible(faults))
    if draft is None:
        raise Problem.of_faults(faults)
    require_build_scope(bearer_in(request), draft.matrix.builds)
    matrix = draft.store(bearer_in(request).user)
    response["Location"] = f"{ROOT}/matrices/{matrix.pk}"
    return Status(201, _follow(owned(team_matrices(), matrix.pk)))


@matrices.post(
    "/matrices/{uuid:matrix_id}/submit",
    response={200: MatrixAnswer, **refusals(409, 422)},
    auth=RUN,
    summary="Start a matrix",
)
def submit_matrix(request: HttpRequest, matrix_id: UUID) -> Matrix:
    """Its runs are in the queue afterwards. 422 `plan-refused` says what keeps it from being run."""
    matrix = owned(team_matrices(), matrix_id)
    require_build_scope(bearer_in(request), matrix.builds)
    try:
        submit(matrix, bearer_in(request).user)
    except PlanError as refused:
        if Matrix.objects.filter(pk=matrix.pk, submitted_at__isnull=False).exists():
            raise Problem("conflict", "This matrix is submitted already: make another to run it again.") from refused
        raise
    return _follow(owned(team_matrices(), matrix_id))


@matrices.post(
    "/matrices/{uuid:matrix_id}/trial",
    response={201: TrialAnswer, **refusals(422)},
    auth=RUN,
    operation_id="start_trial",
    summary="Try a plan before it is submitted",
)
def try_matrix(request: HttpRequest, matrix_id: UUID) -> Status[dict[str, Any]]:
    """Measures the first and the last rung of every sweep for 10 s over 1,000 records of their own. 422 `plan-refused`
    says what keeps the plan from being tried.
    """
    matrix = owned(team_matrices(), matrix_id)
    require_build_scope(bearer_in(request), matrix.builds)
    start_trial(matrix, bearer_in(request).user)
    return Status(201, _trial(matrix))


@matrices.get(
    "/matrices/{uuid:matrix_id}/trial",
    response={200: TrialAnswer},
    auth=READ,
    summary="Read what the trial run of a plan says",
)
def get_trial(request: HttpRequest, matrix_id: UUID) -> dict[str, Any]:
    """404 where the plan has no trial run."""
    return _trial(owned(team_matrices(), matrix_id))


def _trial(matrix: Matrix) -> dict[str, Any]:
    trial = get_newest_trial(matrix)
    if trial is None:
        raise Problem("not-found", NO_TRIAL)
    return trial


@matrices.post(
    "/matrices/{uuid:matrix_id}/cancel",
    response={200: MatrixAnswer},
    auth=RUN,
    summary="Cancel what of a matrix has not ended",
)
def cancel_matrix(request: HttpRequest, matrix_id: UUID) -> Matrix:
    """What waits is cancelled at once, what runs is asked to stop. What has ended stays as it is."""
    matrix = owned(team_matrices(), matrix_id)
    lifecycle.request_cancel_matrix(matrix, bearer_in(request).user)
    return _follow(matrix)


class NextLook(RequestSchema):
    look: int = Field(description="The number of repeats of the look that comes next: 5 of 3, 5, 9.")


@matrices.post(
    "/matrices/{uuid:matrix_id}/repeats",
    response={200: MatrixAnswer, **refusals(409)},
    auth=RUN,
    summary="Queue the repeats up to the next look",
)
def add_repeats(request: HttpRequest, matrix_id: UUID, look: NextLook) -> Matrix:
    """Once only: where the look is not the next one, nothing is queued and the answer is 409 `conflict`."""
    matrix = owned(team_matrices(), matrix_id)
    if not lifecycle.add_repeats(matrix, look.look, bearer_in(request).user):
        raise Problem("conflict", "No repeats are left to queue for this look: it is not the plan's next one.")
    return _follow(matrix)


def _follow(matrix: Matrix) -> Matrix:
    return with_progress([matrix])[0]


def preview_draft(draft: Draft) -> dict[str, object]:
    """A `PreviewAnswer`."""
    planned: Preview = preview(draft.build_plan())
    same = ("runs", "loads", "brackets", "disk_bytes_per_node", "result_bytes", "offers_trial")
    return {
        "can_be_submitted": not planned.problems,
        "problems": list_faults(planned.problems),
        "rejections": list_faults(planned.rejections),
        "warnings": planned.warnings,
        "cells": planned.cells,
        "hours": round(planned.seconds / 3600, 4),
        "sizes": planned.sizes,
        **{name: getattr(planned, name) for name in same},
    }


def _impossible(faults: list[Fault]) -> dict[str, object]:
    """Of a plan that says something that is not there."""
    nothing = dict.fromkeys(("runs", "loads", "brackets", "hours", "disk_bytes_per_node", "result_bytes"), 0)
    return {"can_be_submitted": False, "problems": faults, "warnings": [], "cells": [], "sizes": [], **nothing}


@matrices.delete(
    "/matrices/{uuid:matrix_id}",
    response={204: None, **refusals(409)},
    auth=Needs(Scope.RUNS_DELETE),
    summary="Delete a matrix with its runs",
)
def delete_matrix(request: HttpRequest, matrix_id: UUID) -> Status[None]:
    """An admin can restore it for 30 days. It stays where a run has not ended, or something else needs one."""
    matrix = owned(team_matrices(), matrix_id)
    deletion.delete(deletion.select_matrix(matrix), bearer_in(request).user, matrix.team)
    return Status(204, None)

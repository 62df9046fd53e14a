"""Matrices: a plan previewed, kept, submitted, followed and cancelled."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Query, Schema, Status
from pydantic import Field

from benchsite.rest.authentication import Needs, bearer_in, team_in
from benchsite.rest.owned import owned
from benchsite.rest.pages import PageAnswer, PageQuery, page_of
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import FaultEntry, RequestSchema, refusals
from benchsite.teams.models import Scope
from runs import lifecycle
from runs.api.plans import MatrixPlan, faults_of, form_of
from runs.api.routers import matrices
from runs.api.schemas import ROOT
from runs.forms.matrices import MatrixForm
from runs.models import Matrix
from runs.pages.progress import Progress, progress_of
from runs.pages.trial import trial_of
from runs.planning import PlanError, Preview, preview, start_trial, submit

READ = Needs(Scope.MATRICES_RUN, Scope.RUNS_READ)
RUN = Needs(Scope.MATRICES_RUN)


class DryRun(Schema):
    dry_run: bool = Field(False, description="1: only say what it would make and cost.")


class CellAnswer(Schema):
    """One sweep of the plan."""

    database: str
    mode: str
    workload: str
    rungs: int
    runs: int
    excluded: str = Field(description="The reason, where all of it is left out.")


class PreviewAnswer(Schema):
    """What a plan would make and cost. Nothing is stored."""

    can_be_submitted: bool
    problems: list[FaultEntry]
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
    database: str
    database_id: UUID
    mode: str


class RunCounts(Schema):
    """How many of its runs are where."""

    total: int
    succeeded: int
    failed: int
    cancelled: int
    active: int
    queued: int
    skipped: int = Field(description="Beyond the ceiling, so that nobody measures them; no part of the total.")


class MatrixLinks(Schema):
    self: str
    page: str
    submit: str
    runs: str
    sweeps: str


class MatrixAnswer(Schema):
    """One plan, and how far it is."""

    id: UUID
    name: str
    permalink: str
    state: str = Field(
        description="not submitted, queued, running, cancelling, failed, cancelled, succeeded, waits for outputs or "
        "no runs. failed: at least one of its runs has failed."
    )
    runs: RunCounts
    purpose: str
    entries: list[EntryAnswer]
    workloads: list[str]
    load_generators: list[str]
    ladder: str
    rungs: list[int]
    threads: int | None
    search: dict[str, Any] | None = Field(description="As in the plan; null: the rungs are fixed.")
    stops_early: bool
    repeats: int
    looks: list[int]
    order: str
    seed: int
    bracket: bool
    warmup_s: int
    measure_s: int
    labels: list[str]
    notes: str
    created_by: str | None
    created_at: datetime
    submitted_at: datetime | None
    trial_of: UUID | None = Field(description="Of a trial run: the plan that it tries.")
    links: MatrixLinks


class TrialCellAnswer(Schema):
    """One sweep of the plan, by its first and its last rung."""

    sweep: str
    state: str = Field(description="passed, failed, cancelled or waits.")
    run: UUID = Field(description="The run that says so.")
    problem: str
    remedy: str


class TrialAnswer(Schema):
    """What the newest trial run of a plan says."""

    matrix: UUID = Field(description="The trial run's own matrix.")
    unfinished: int
    failed: int
    passed: int
    cells: list[TrialCellAnswer]
    not_tried: list[str] = Field(description="Why cells were left out.")


class MatrixPage(PageAnswer):
    """Matrices, the newest first."""

    items: list[MatrixAnswer]


def team_matrices(request: HttpRequest) -> QuerySet[Matrix]:
    """With what answers say of each, in a constant number of queries."""
    rows = Matrix.objects.filter(team=team_in(request)).select_related("created_by")
    return rows.prefetch_related("entries__database", "workloads", "load_generators")


@matrices.get("/matrices", response={200: MatrixPage}, auth=READ, operation_id="list_matrices", summary="List matrices")
def list_matrices(request: HttpRequest, asked: Query[PageQuery]) -> MatrixPage:
    page = page_of(request, team_matrices(request), ("-created_at", "-pk"), asked)
    progress = progress_of(page.rows)
    items = [_matrix_answer(row, progress[row.pk], request) for row in page.rows]
    return MatrixPage(items=items, next_cursor=page.next_cursor, next=page.next)


@matrices.get(
    "/matrices/{uuid:matrix_id}",
    response={200: MatrixAnswer, **refusals(404)},
    auth=READ,
    operation_id="get_matrix",
    summary="Follow one matrix",
)
def get_matrix(request: HttpRequest, matrix_id: UUID) -> MatrixAnswer:
    return _answer(request, owned(team_matrices(request), request, matrix_id))


@matrices.post(
    "/matrices",
    response={200: PreviewAnswer, 201: MatrixAnswer},
    auth=RUN,
    operation_id="make_matrix",
    summary="Keep a plan, or only see what it would make",
)
def make_matrix(
    request: HttpRequest, plan: MatrixPlan, asked: Query[DryRun], response: HttpResponse
) -> Status[PreviewAnswer] | Status[MatrixAnswer]:
    """The plan is kept and waits to be submitted. With `dry_run=1` nothing is kept, and the answer says which cells
    and runs it would make, how many hours they would take, and what keeps it from being submitted.
    """
    form, faults = form_of(plan, team_in(request))
    if form is None and not asked.dry_run:
        raise Problem.of_faults(faults)
    if asked.dry_run:
        return Status(200, _preview(form) if form else _impossible([FaultEntry(**fault) for fault in faults]))
    assert form is not None
    kept = form.store(bearer_in(request).user)
    response["Location"] = f"{ROOT}/matrices/{kept.pk}"
    return Status(201, _answer(request, owned(team_matrices(request), request, kept.pk)))


@matrices.post(
    "/matrices/{uuid:matrix_id}/submit",
    response={200: MatrixAnswer, **refusals(404, 409, 422)},
    auth=RUN,
    operation_id="submit_matrix",
    summary="Start a matrix",
)
def submit_matrix(request: HttpRequest, matrix_id: UUID) -> MatrixAnswer:
    """Its runs are in the queue afterwards. 422 `plan-refused` says what keeps it from being run."""
    found = owned(team_matrices(request), request, matrix_id)
    try:
        submit(found, bearer_in(request).user)
    except PlanError as refused:
        if Matrix.objects.filter(pk=found.pk, submitted_at__isnull=False).exists():
            raise Problem("conflict", "This matrix is submitted already: make another to run it again.") from refused
        raise Problem("plan-refused", str(refused), errors=faults_of(refused.problems)) from refused
    return _answer(request, owned(team_matrices(request), request, matrix_id))


@matrices.post(
    "/matrices/{uuid:matrix_id}/trial",
    response={201: TrialAnswer, **refusals(404, 422)},
    auth=RUN,
    operation_id="start_trial",
    summary="Try a plan before it is submitted",
)
def try_matrix(request: HttpRequest, matrix_id: UUID) -> Status[TrialAnswer]:
    """Measures the first and the last rung of every sweep for 10 s over 1,000 records of their own. 422 `plan-refused`
    says what keeps the plan from being tried.
    """
    found = owned(team_matrices(request), request, matrix_id)
    try:
        start_trial(found, bearer_in(request).user)
    except PlanError as refused:
        raise Problem("plan-refused", str(refused), errors=faults_of(refused.problems)) from refused
    return Status(201, _trial(found))


@matrices.get(
    "/matrices/{uuid:matrix_id}/trial",
    response={200: TrialAnswer, **refusals(404)},
    auth=READ,
    operation_id="get_trial",
    summary="Read what the trial run of a plan says",
)
def get_trial(request: HttpRequest, matrix_id: UUID) -> TrialAnswer:
    """404 where the plan has no trial run."""
    return _trial(owned(team_matrices(request), request, matrix_id))


def _trial(matrix: Matrix) -> TrialAnswer:
    trial = trial_of(matrix)
    if trial is None:
        raise Problem("not-found", "This plan has no trial run: start one with POST.")
    cells = [
        TrialCellAnswer(sweep=cell.name, state=cell.state, run=cell.run.pk, problem=cell.problem, remedy=cell.remedy)
        for cell in trial.cells
    ]
    counts = {name: getattr(trial, name) for name in ("unfinished", "failed", "passed")}
    return TrialAnswer(matrix=trial.matrix.pk, cells=cells, not_tried=trial.exclusions, **counts)


@matrices.post(
    "/matrices/{uuid:matrix_id}/cancel",
    response={200: MatrixAnswer, **refusals(404)},
    auth=RUN,
    operation_id="cancel_matrix",
    summary="Cancel what of a matrix has not ended",
)
def cancel_matrix(request: HttpRequest, matrix_id: UUID) -> MatrixAnswer:
    """What waits is cancelled at once, what runs is asked to stop. What has ended stays as it is."""
    found = owned(team_matrices(request), request, matrix_id)
    lifecycle.request_cancel_matrix(found, bearer_in(request).user)
    return _answer(request, found)


class NextLook(RequestSchema):
    look: int = Field(description="The number of repeats of the look that comes next: 5 of 3, 5, 9.")


@matrices.post(
    "/matrices/{uuid:matrix_id}/repeats",
    response={200: MatrixAnswer, **refusals(404, 409)},
    auth=RUN,
    operation_id="add_repeats",
    summary="Queue the repeats up to the next look",
)
def add_repeats(request: HttpRequest, matrix_id: UUID, asked: NextLook) -> MatrixAnswer:
    """Once only: where the look is not the next one, nothing is queued and the answer is 409 `conflict`."""
    found = owned(team_matrices(request), request, matrix_id)
    if not lifecycle.add_repeats(found, asked.look, bearer_in(request).user):
        raise Problem("conflict", "No repeats are left to queue for this look: it is not the plan's next one.")
    return _answer(request, found)


def _preview(form: MatrixForm) -> PreviewAnswer:
    found: Preview = preview(form.plan())
    same = ("runs", "loads", "brackets", "disk_bytes_per_node", "result_bytes", "offers_trial")
    return PreviewAnswer(
        can_be_submitted=not found.problems,
        problems=[FaultEntry(**fault) for fault in faults_of(found.problems)],
        warnings=list(found.warnings),
        cells=[
            CellAnswer(
                database=cell.database_name, mode=cell.mode, workload=cell.workload_name, rungs=cell.rungs,
                runs=cell.runs, excluded=cell.excluded,
            )
            for cell in found.cells
        ],
        hours=round(found.seconds / 3600, 4),
        sizes=list(found.sizes),
        **{name: getattr(found, name) for name in same},
    )  # fmt: skip


def _impossible(problems: list[FaultEntry]) -> PreviewAnswer:
    """Of a plan that says something that is not there."""
    nothing: dict[str, Any] = dict.fromkeys(("runs", "loads", "brackets", "hours", "disk_bytes_per_node"), 0)
    return PreviewAnswer(
        can_be_submitted=False, problems=problems, warnings=[], cells=[], sizes=[], result_bytes=0, **nothing
    )


def _answer(request: HttpRequest, row: Matrix) -> MatrixAnswer:
    return _matrix_answer(row, progress_of([row])[row.pk], request)


def _matrix_answer(row: Matrix, progress: Progress, request: HttpRequest) -> MatrixAnswer:
    own, page = f"{ROOT}/matrices/{row.pk}", reverse("matrix", args=[row.pk])
    same = (
        "name", "purpose", "ladder", "rungs", "search", "stops_early", "threads", "repeats", "looks", "order", "seed",
        "bracket", "warmup_s", "notes",
    )  # fmt: skip
    return MatrixAnswer(
        id=row.pk,
        permalink=request.build_absolute_uri(page),
        state=progress.status_word,
        runs=RunCounts(**progress.counts),
        entries=[
            EntryAnswer(database=entry.database.name, database_id=entry.database_id, mode=entry.mode)
            for entry in row.entries.all()
        ],
        workloads=[workload.name for workload in row.workloads.all()],
        load_generators=[generator.name for generator in row.load_generators.all()],
        measure_s=row.min_measure_s,
        labels=row.tags,
        created_by=row.created_by.get_username() if row.created_by else None,
        created_at=row.created_at,
        submitted_at=row.submitted_at,
        trial_of=row.trial_of_id,
        links=MatrixLinks(
            self=own, page=page, submit=f"{own}/submit", runs=f"{ROOT}/runs?matrix={row.pk}&phase=any",
            sweeps=f"{ROOT}/sweeps?matrix={row.pk}",
        ),
        **{name: getattr(row, name) for name in same},
    )  # fmt: skip

"""Runs: found, annotated, cancelled, deleted. What was measured in them is in `runs.results.api.results`."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Query, Schema, Status
from pydantic import ConfigDict, Field

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, bearer_in
from benchsite.rest.paging import PageAnswer, PageQuery, Slice, get_page
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import RequestSchema, Text, Word, owned, refusals
from runs.api.routers import runs
from runs.api.schemas import RowSelection, RunAnswer
from runs.models import Run, Status as RunStatus
from runs.queue import lifecycle
from runs.results import annotations, deletion
from runs.results.pages.run_list import HEAVY, with_rejections
from runs.results.run_export import CONTENT_TYPES, Form, stream_runs

# In the order of the list's index.
ORDER = ("-created_at", "-pk")
EXPORT_TYPES = {content_type.partition(";")[0] for content_type in CONTENT_TYPES.values()}


class RunSelection(RowSelection):
    """Which runs; what is left out restricts nothing."""

    commit: Word | None = Field(None, description="Its first characters are enough.", min_length=4)
    branch: Word | None = None
    status: Literal["queued", "dispatched", "running", "succeeded", "failed", "cancelled"] | None = None
    verdict: Literal["pass", "warn", "reject"] | None = None
    source: Literal["scheduled", "uploaded"] | None = None
    sweep: UUID | None = None

    def restricted(self, rows: QuerySet[Run]) -> QuerySet[Run]:
        """The rows that this query lets through."""
        return self.narrow(
            rows,
            branch=self.branch,
            status=self.status,
            verdict=self.verdict,
            source=self.source,
            sweep_id=self.sweep,
            sweep__database_name=self.database,
            commit__startswith=self.commit,
            commit__gt="" if self.commit else None,  # the condition of the index
        )


class RunQuery(RunSelection, PageQuery):
    """A page of the selected runs."""


class ExportQuery(RunSelection):
    form: Form = Field(
        "csv",
        description="`csv`: as in the lists of the pages, no cell is a formula to a spreadsheet; `raw`: CSV with every "
        "text as it is; `jsonl`: a JSON object in each line.",
    )


class RunPage(PageAnswer):
    """Runs, the newest first."""

    items: list[RunAnswer]


class RunChange(RequestSchema):
    """What people say about a run. What is left out, or null, stays; numbers never change."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"labels": ["nightly"], "excluded_reason": "another job ran on the host"}]},
    )

    labels: list[Word] | None = Field(None, description="All labels, in the place of those before.", max_length=200)
    notes: Text | None = None
    excluded_reason: Word | None = Field(
        None, description="Why it is excluded from comparisons; empty: it counts again."
    )


class CancelAnswer(Schema):
    """A run that is cancelled, or asked to stop."""

    run: RunAnswer
    cancel_requested_at: datetime | None = Field(description="Null: it had not started, and is cancelled.")


def team_runs() -> QuerySet[Run]:
    """The team's runs, as answers need them: without what only their pages show."""
    return with_rejections(Run.objects.select_related("sweep").defer(*HEAVY))


@runs.get("/runs", response={200: RunPage}, auth=Needs(Scope.RUNS_READ), summary="List runs")
def list_runs(request: HttpRequest, query: Query[RunQuery]) -> Slice[Run]:
    return get_page(request, query.restricted(team_runs()), ORDER, query)


@runs.get(
    "/runs/export",
    response={200: None},
    auth=Needs(Scope.RUNS_READ),
    summary="All selected runs in one answer",
    openapi_extra={"responses": {200: {"content": {kind: {"schema": {}} for kind in sorted(EXPORT_TYPES)}}}},
)
def export_runs(request: HttpRequest, query: Query[ExportQuery]) -> StreamingHttpResponse:
    """The oldest first, without pages. Latencies are columns such as `READ_p99_us`."""
    lines = stream_runs(query.restricted(Run.objects.all()), query.form)
    return StreamingHttpResponse(lines, content_type=CONTENT_TYPES[query.form])


@runs.get("/runs/{uuid:run_id}", response={200: RunAnswer}, auth=Needs(Scope.RUNS_READ), summary="Read one run")
def get_run(request: HttpRequest, run_id: UUID) -> Run:
    return owned(team_runs(), run_id)


@runs.patch(
    "/runs/{uuid:run_id}",
    response={200: RunAnswer},
    auth=Needs(Scope.RUNS_WRITE),
    summary="Change a run's labels and notes, or leave it out with a reason",
)
def annotate_run(request: HttpRequest, run_id: UUID, change: RunChange) -> Run:
    run = owned(team_runs(), run_id)
    user = bearer_in(request).user
    with transaction.atomic():
        if change.labels is not None:
            annotations.set_tags(run, user, annotations.parse_tags(",".join(change.labels)))
        if change.notes is not None:
            annotations.set_notes(run, user, change.notes)
        if change.excluded_reason:
            annotations.exclude([run], user, change.excluded_reason)
        elif change.excluded_reason is not None:
            annotations.include([run], user)

    return owned(team_runs(), run_id)


@runs.delete(
    "/runs/{uuid:run_id}",
    response={204: None, **refusals(409)},
    auth=Needs(Scope.RUNS_DELETE),
    summary="Delete a run",
)
def delete_run(request: HttpRequest, run_id: UUID) -> Status[None]:
    """With everything measured in it; an admin can restore it for 30 days. One that a baseline pins stays
    (`run-pinned`), and so does one that has not ended or whose data another run needs (`conflict`).
    """
    deletion.delete_run(owned(team_runs(), run_id), bearer_in(request).user)
    return Status(204, None)


@runs.post(
    "/runs/{uuid:run_id}/cancel",
    response={200: CancelAnswer, **refusals(409)},
    auth=Needs(Scope.MATRICES_RUN),
    summary="Cancel a run",
)
def cancel_run(request: HttpRequest, run_id: UUID) -> dict[str, object]:
    """What has not started is cancelled at once; what has is asked to stop. Asking twice changes nothing."""
    run = owned(team_runs(), run_id)
    if run.status in RunStatus.terminal():
        raise Problem("conflict", f"“{run.name}” had ended before it could be cancelled.")
    lifecycle.request_cancel(run, bearer_in(request).user)
    changed = owned(team_runs(), run_id)
    return {"run": changed, "cancel_requested_at": changed.cancel_requested_at}

"""A run's files, and what happened to it."""

from datetime import datetime
from uuid import UUID

from django.core.exceptions import SuspiciousFileOperation
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.text import get_valid_filename
from ninja import P, PathEx, Query, Schema
from pydantic import Field

from benchsite.rest.authentication import Needs, team_in
from benchsite.rest.owned import owned
from benchsite.rest.pages import PageAnswer, PageQuery, page_of
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import refusals
from benchsite.teams.models import Scope
from runs.api.routers import runs
from runs.api.runs import team_runs
from runs.api.schemas import ROOT
from runs.artifacts import chunks
from runs.models import Artifact, RunEvent


class ArtifactAnswer(Schema):
    """One file of a run, redacted before it was stored."""

    kind: str = Field(
        description="hdr, summary, stdout, stderr, properties, server_config, server_log, host, intervals."
    )
    name: str
    client: int | None = Field(description="Which client left it; null: the run itself.")
    sha256: str
    size_bytes: int
    created_at: datetime
    download: str


class ArtifactPage(PageAnswer):
    """A run's files."""

    items: list[ArtifactAnswer]


class EventAnswer(Schema):
    """One thing that happened to a run."""

    at: datetime
    kind: str
    old: str
    new: str
    actor: str
    text: str


class EventPage(PageAnswer):
    """What happened to a run, the first first."""

    items: list[EventAnswer]


@runs.get(
    "/runs/{uuid:run_id}/artifacts",
    response={200: ArtifactPage, **refusals(404)},
    auth=Needs(Scope.RUNS_READ),
    operation_id="list_artifacts",
    summary="A run's files",
)
def list_artifacts(request: HttpRequest, run_id: UUID, asked: Query[PageQuery]) -> ArtifactPage:
    run = owned(team_runs(request), request, run_id)
    page = page_of(request, Artifact.objects.filter(run=run).select_related("client_run"), ("pk",), asked)
    items = [
        ArtifactAnswer(
            kind=row.kind,
            name=row.name,
            client=row.client_run.number if row.client_run else None,
            sha256=row.sha256,
            size_bytes=row.size,
            created_at=row.created_at,
            download=f"{ROOT}/runs/{run.pk}/artifacts/{row.sha256}",
        )
        for row in page.rows
    ]
    return ArtifactPage(items=items, next_cursor=page.next_cursor, next=page.next)


@runs.get(
    "/runs/{uuid:run_id}/artifacts/{sha256}",
    response={200: None, **refusals(404)},
    auth=Needs(Scope.RUNS_READ),
    operation_id="download_artifact",
    summary="The content of one file",
    openapi_extra={"responses": {200: {"content": {"application/octet-stream": {"schema": {}}}}}},
)
def download_artifact(
    request: HttpRequest, run_id: UUID, sha256: PathEx[str, P(pattern="^[0-9a-f]{64}$")]
) -> StreamingHttpResponse:
    found = Artifact.objects.filter(run=run_id, team=team_in(request), sha256=sha256).first()
    if found is None:
        raise Problem("not-found", "This run has no such file.")
    try:
        content = chunks(found.sha256)
    except OSError:
        raise Problem("not-found", f"The content of {found.name} is not in the storage any more.") from None
    response = StreamingHttpResponse(content, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{_harmless(found)}"'
    response["Content-Length"] = str(found.size)
    return response


def _harmless(artifact: Artifact) -> str:
    """A name for a folder of the asker's, whatever the uploaded file was called."""
    try:
        return get_valid_filename(artifact.name).encode("ascii", "replace").decode()
    except SuspiciousFileOperation:
        return artifact.sha256


@runs.get(
    "/runs/{uuid:run_id}/events",
    response={200: EventPage, **refusals(404)},
    auth=Needs(Scope.RUNS_READ),
    operation_id="list_events",
    summary="What happened to a run",
)
def list_events(request: HttpRequest, run_id: UUID, asked: Query[PageQuery]) -> EventPage:
    run = owned(team_runs(request), request, run_id)
    page = page_of(request, RunEvent.objects.filter(run=run), ("pk",), asked)
    return EventPage(
        items=[EventAnswer.from_orm(row) for row in page.rows], next_cursor=page.next_cursor, next=page.next
    )

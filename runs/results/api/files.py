"""A run's files, and what happened to it."""

from datetime import datetime
from uuid import UUID

from django.core.exceptions import SuspiciousFileOperation
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.text import get_valid_filename
from ninja import P, PathEx, Query, Schema
from pydantic import Field

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs
from benchsite.rest.paging import PageAnswer, PageQuery, Slice, get_page
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import owned
from runs.api.routers import runs
from runs.api.schemas import ROOT
from runs.models import Artifact, RunEvent
from runs.results.api.runs import team_runs
from runs.results.artifacts import chunks


class ArtifactAnswer(Schema):
    """One file of a run, redacted before it was stored."""

    kind: str = Field(
        description="hdr, summary, stdout, stderr, properties, server_config, server_log, host, intervals."
    )
    name: str
    client: int | None = Field(description="Which client left it; null: the run itself.")
    sha256: str
    size_bytes: int = Field(validation_alias="size")
    created_at: datetime
    download: str

    @staticmethod
    def resolve_client(artifact: Artifact) -> int | None:
        if artifact.client_run:
            return artifact.client_run.number
        return None

    @staticmethod
    def resolve_download(artifact: Artifact) -> str:
        return f"{ROOT}/runs/{artifact.run_id}/artifacts/{artifact.sha256}"


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
    "/runs/{uuid:run_id}/artifacts", response={200: ArtifactPage}, auth=Needs(Scope.RUNS_READ), summary="A run's files"
)
def list_artifacts(request: HttpRequest, run_id: UUID, page: Query[PageQuery]) -> Slice[Artifact]:
    run = owned(team_runs(), run_id)
    return get_page(request, Artifact.objects.filter(run=run).select_related("client_run"), ("pk",), page)


@runs.get(
    "/runs/{uuid:run_id}/artifacts/{sha256}",
    response={200: None},
    auth=Needs(Scope.RUNS_READ),
    summary="The content of one file",
    openapi_extra={"responses": {200: {"content": {"application/octet-stream": {"schema": {}}}}}},
)
def download_artifact(
    request: HttpRequest, run_id: UUID, sha256: PathEx[str, P(pattern="^[0-9a-f]{64}$")]
) -> StreamingHttpResponse:
    artifact = Artifact.objects.filter(run=run_id, sha256=sha256).first()
    if artifact is None:
        raise Problem("not-found", "This run has no such file.")
    try:
        content = chunks(artifact.sha256)
    except OSError:
        raise Problem("not-found", f"The content of {artifact.name} is not in the storage any more.") from None
    response = StreamingHttpResponse(content, content_type="application/octet-stream")
    response["Content-Disposition"] = f'attachment; filename="{_harmless(artifact)}"'
    response["Content-Length"] = str(artifact.size)
    return response


def _harmless(artifact: Artifact) -> str:
    """A name for a folder of the asker's, whatever the uploaded file was called."""
    try:
        return get_valid_filename(artifact.name).encode("ascii", "replace").decode()
    except SuspiciousFileOperation:
        return artifact.sha256


@runs.get(
    "/runs/{uuid:run_id}/events",
    response={200: EventPage},
    auth=Needs(Scope.RUNS_READ),
    summary="What happened to a run",
)
def list_events(request: HttpRequest, run_id: UUID, page: Query[PageQuery]) -> Slice[RunEvent]:
    run = owned(team_runs(), run_id)
    return get_page(request, RunEvent.objects.filter(run=run), ("pk",), page)

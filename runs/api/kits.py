"""Run this again: plans as files, as kits, imported onto other machines or by hand, and the outputs of a kit."""

from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from ninja import Query, Schema, Status
from pydantic import Field

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, bearer_in, team_in
from benchsite.rest.problems import Fault, Problem
from benchsite.rest.schemas import RequestSchema, Text, Word, owned, refusals
from runs.api.routers import matrices
from runs.api.schemas import ROOT, OnPage
from runs.forms.matrices import generators_for
from runs.kits import kit_name, zipped
from runs.kits.by_hand import Place, plan_by_hand
from runs.kits.plan import PlanFile
from runs.kits.plan_export import export_plan
from runs.kits.plan_file import MAX_LENGTH, read_plan
from runs.kits.plan_fit import Chosen, misfits
from runs.kits.plan_import import import_plan
from runs.models import Cluster, Matrix, Upload
from runs.uploading import upload_lifecycle
from runs.uploading.processing import receive_files, work_at_once
from runs.uploading.upload_handlers import ImportedFiles

READ: Final = Needs(Scope.MATRICES_RUN, Scope.RUNS_READ)
RUN: Final = Needs(Scope.MATRICES_RUN)
PLAN: Final = {"responses": {200: {"content": {"application/toml": {"schema": {"type": "string"}}}}}}
KIT: Final = {"responses": {200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}}}
FILES: Final = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            }
        },
    }
}


class PlaceGiven(RequestSchema):
    """Where the plan is run by hand, as far as it is to be stated."""

    name: Word = Field("by hand", max_length=80)
    hardware: Text = Field("", max_length=2000)
    cores: int | None = Field(None, ge=1, le=4096, description="Of each server.")
    memory_gib: float | None = Field(None, gt=0, le=1e6, description="Of each server.")
    client_on_database_host: bool | None = None


class PlanGiven(RequestSchema):
    """A plan file with what takes the place of its machines: either `clusters` and `generators`, or `by_hand`."""

    plan: str = Field(description="The text of the plan file (TOML).", max_length=MAX_LENGTH)
    clusters: dict[str, UUID] = Field({}, description="Role to a cluster of your team: `cluster-1`.")
    generators: dict[str, UUID] = Field({}, description="Role to a load generator: `generator-1`.")
    secrets: dict[str, dict[str, str]] = Field({}, description="Database role to property to secret.")
    by_hand: PlaceGiven | None = Field(None, description="Plan its runs for a person with the kit instead.")
    submit: bool = Field(False, description="Put its runs in the queue.")


class Check(Schema):
    dry_run: bool = Field(False, description="1: only say what no longer fits.")


class MisfitAnswer(Schema):
    weight: str = Field(
        validation_alias="tone", description="`stop` keeps the plan from being run, `note` is to be known."
    )
    role: str = Field(validation_alias="about")
    detail: str = Field(validation_alias="text")


class FitAnswer(Schema):
    fits: bool
    misfits: list[MisfitAnswer]


class ImportedAnswer(OnPage):
    """The matrix that was made."""

    id: UUID
    name: str
    permalink: str
    by_hand: bool
    submitted: bool
    kit: str = Field(description="Where its kit is.")

    @staticmethod
    def resolve_submitted(matrix: Matrix) -> bool:
        return matrix.submitted_at is not None

    @staticmethod
    def resolve_kit(matrix: Matrix) -> str:
        return f"{ROOT}/matrices/{matrix.pk}/kit"


class OutputsAnswer(Schema):
    """How far some outputs are. `cells` are runs by their names."""

    id: UUID
    state: str
    detail: str
    cells: list[str]
    problems: list[str]
    remarks: list[str]
    left_out: list[str] = Field(description="Files that are no outputs.")


def _matrix(matrix_id: UUID) -> Matrix:
    return owned(Matrix.objects.select_related("team"), matrix_id)


@matrices.get(
    "/matrices/{uuid:matrix_id}/plan",
    response={200: None, **refusals(422)},
    auth=READ,
    summary="A matrix as a plan file without host names",
    openapi_extra=PLAN,
)
def get_plan(request: HttpRequest, matrix_id: UUID) -> HttpResponse:
    return HttpResponse(export_plan(_matrix(matrix_id)), content_type="application/toml")


@matrices.get(
    "/matrices/{uuid:matrix_id}/kit",
    response={200: None, **refusals(422)},
    auth=READ,
    summary="The kit by which a matrix is run by hand, without Benchsite",
    openapi_extra=KIT,
)
def get_kit(request: HttpRequest, matrix_id: UUID) -> HttpResponse:
    text = export_plan(_matrix(matrix_id))
    response = HttpResponse(zipped(text), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{kit_name(text)}.zip"'
    return response


@matrices.post(
    "/matrices/import",
    response={200: FitAnswer, 201: ImportedAnswer, **refusals(422)},
    auth=RUN,
    operation_id="import_plan",
    summary="A plan file as a matrix of your team",
)
def import_matrix(
    request: HttpRequest, sent: PlanGiven, options: Query[Check], response: HttpResponse
) -> Status[dict[str, object]] | Status[Matrix]:
    """With `dry_run=1` nothing is stored, and the answer says what no longer fits the chosen machines."""
    plan = read_plan(sent.plan)
    if options.dry_run:
        differences = misfits(plan, _chosen(request, plan, sent))
        return Status(200, {"fits": not any(misfit.tone == "stop" for misfit in differences), "misfits": differences})
    made = _made(request, plan, sent)
    response["Location"] = f"{ROOT}/matrices/{made.pk}"
    return Status(201, made)


def _made(request: HttpRequest, plan: PlanFile, sent: PlanGiven) -> Matrix:
    team, user = team_in(request), bearer_in(request).user
    if sent.by_hand is not None:
        return plan_by_hand(team, plan, Place(**sent.by_hand.dict()), user)
    return import_plan(team, plan, _chosen(request, plan, sent), user, submits=sent.submit)


def _chosen(request: HttpRequest, plan: PlanFile, sent: PlanGiven) -> Chosen:
    """The team's own rows; another team's is no more there than one that does not exist."""
    team = team_in(request)
    clusters = Cluster.objects.prefetch_related("nodes__machine").in_bulk(sent.clusters.values())
    generators = generators_for(team).select_related("machine").in_bulk(list(sent.generators.values()))
    faults: list[Fault] = [
        {"pointer": f"#/{kind}/{role}", "detail": detail}
        for kind, known, roles, chosen in (
            ("clusters", clusters, plan.clusters, sent.clusters),
            ("generators", generators, plan.generators, sent.generators),
        )
        for role, key in chosen.items()
        for detail in [
            "The plan has no such role." if role not in roles else "" if key in known else "Your team has no such row."
        ]
        if detail
    ]
    if faults:
        raise Problem("plan-refused", "The machines cannot take these roles.", errors=faults)
    return Chosen(
        {role: clusters[key] for role, key in sent.clusters.items()},
        {role: generators[key] for role, key in sent.generators.items()},
        {(role, name): value for role, held in sent.secrets.items() for name, value in held.items()
         if role in plan.databases and name in plan.databases[role].secrets},
    )  # fmt: skip


@matrices.post(
    "/matrices/{uuid:matrix_id}/outputs",
    response={201: OutputsAnswer, 202: OutputsAnswer, **refusals(400, 404, 409, 413, 422)},
    auth=Needs(Scope.RUNS_WRITE, uploads=True),
    summary="Outputs of a kit into their planned cells",
    openapi_extra=FILES,
)
def bring_outputs(request: HttpRequest, matrix_id: UUID, response: HttpResponse) -> Status[OutputsAnswer]:
    """The folder `outputs` of the kit, or an archive of it. Up to 1 MiB is judged at once (201): all of its cells are
    filled, or none (422). More waits for a worker (202): ask the address in `Location`, and send it POST to fill.
    """
    matrix = _by_hand(matrix_id)
    upload = receive_files(matrix.team, bearer_in(request).user, _files(request), matrix)
    if upload.state == Upload.State.RECOGNISED:
        return Status(201, _fill(upload))
    if upload.state == Upload.State.FAILED:
        raise Problem("malformed-result", upload.error)
    response["Location"] = f"{ROOT}/matrices/{matrix_id}/outputs/{upload.pk}"
    return Status(202, _outputs(upload))


@matrices.get(
    "/matrices/{uuid:matrix_id}/outputs/{uuid:upload_id}",
    response={200: OutputsAnswer},
    auth=Needs(Scope.RUNS_WRITE),
    summary="How far some outputs are",
)
def read_outputs(request: HttpRequest, matrix_id: UUID, upload_id: UUID) -> OutputsAnswer:
    return _outputs(owned(_by_hand(matrix_id).uploads.all(), upload_id))


@matrices.post(
    "/matrices/{uuid:matrix_id}/outputs/{uuid:upload_id}",
    response={201: OutputsAnswer, **refusals(409, 422)},
    auth=Needs(Scope.RUNS_WRITE),
    summary="Fill the cells that some outputs are of",
)
def fill_cells(request: HttpRequest, matrix_id: UUID, upload_id: UUID) -> Status[OutputsAnswer]:
    """All of them or none. 409 while a worker reads them, or once they are stored."""
    upload = owned(_by_hand(matrix_id).uploads.all(), upload_id)
    if upload.state != Upload.State.RECOGNISED:
        raise Problem("conflict", f"These outputs are {upload.get_state_display()}: nothing is to be filled now.")
    return Status(201, _fill(upload))


def _by_hand(matrix_id: UUID) -> Matrix:
    matrix = _matrix(matrix_id)
    if not matrix.by_hand:
        raise Problem("not-found", "This matrix is not run by hand: import its plan with “by_hand”.")
    return matrix


def _files(request: HttpRequest) -> list[tuple[str, Any]]:
    handler = ImportedFiles(request)
    request.upload_handlers = [handler]
    try:
        files = [(file.name or "", file) for file in request.FILES.getlist("files")]
    except MultiPartParserError as error:
        raise Problem("validation-error", f"The form cannot be read: {error}.") from error
    if handler.refused:
        raise Problem("payload-too-large", handler.refused)
    if not files:
        raise Problem("validation-error", "Send the outputs as “files” of a multipart/form-data request.")
    return files


def _fill(upload: Upload) -> OutputsAnswer:
    problems = upload.recognised["outputs"]["problems"]
    if not problems and upload_lifecycle.complete(upload, {}):
        work_at_once(upload)
        upload.refresh_from_db()
        problems = [upload.error] if upload.error else []
    if problems:
        errors: list[Fault] = [{"pointer": "#/files", "detail": detail} for detail in problems]
        upload_lifecycle.discard(upload)
        raise Problem("malformed-result", "These outputs do not fit their cells; nothing was stored.", errors=errors)
    return _outputs(upload)


def _outputs(upload: Upload) -> OutputsAnswer:
    placed = upload.recognised.get("outputs") or {}
    return OutputsAnswer(
        id=upload.pk,
        state=upload.state,
        detail=upload.error,
        cells=[cell["run"] for cell in placed.get("cells", [])],
        **{name: placed.get(name, []) for name in ("problems", "remarks", "left_out")},
    )

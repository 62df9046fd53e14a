"""Run this again: matrices as plan files, and plan files imported onto other machines."""

from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema, Status
from pydantic import Field

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, bearer_in, team_in
from benchsite.rest.problems import Fault, Problem
from benchsite.rest.schemas import RequestSchema, owned, refusals
from runs.api.routers import matrices
from runs.api.schemas import ROOT, OnPage
from runs.definitions.definition_file import export_definitions
from runs.models import Cluster, Matrix
from runs.plans.files.plan import PlanFile
from runs.plans.files.plan_export import export_plan
from runs.plans.files.plan_file import MAX_LENGTH, read_plan
from runs.plans.files.plan_fit import Chosen, misfits
from runs.plans.files.plan_import import import_plan
from runs.plans.forms.matrices import generators_for

READ: Final = Needs(Scope.MATRICES_RUN, Scope.RUNS_READ)
RUN: Final = Needs(Scope.MATRICES_RUN)
PLAN: Final = {"responses": {200: {"content": {"application/toml": {"schema": {"type": "string"}}}}}}


class PlanGiven(RequestSchema):
    """A plan file with what takes the place of its machines."""

    plan: str = Field(description="The text of the plan file (TOML).", max_length=MAX_LENGTH)
    clusters: dict[str, UUID] = Field({}, description="Role to a cluster of your team: `cluster-1`.")
    generators: dict[str, UUID] = Field({}, description="Role to a load generator: `generator-1`.")
    secrets: dict[str, dict[str, str]] = Field({}, description="Database role to property to secret.")
    submit: bool = Field(False, description="Put its runs in the queue.")


class Check(Schema):
    dry_run: bool = Field(False, description="1: only say what no longer fits.")


class PlanOptions(Schema):
    names: bool = Field(False, description="1: with all that the matrix names, by its names.")


class MisfitAnswer(Schema):
    weight: str = Field(
        validation_alias="tone", description="`stop` keeps the plan from being run, `note` is to be known."
    )
    role: str = Field(validation_alias="about")
    detail: str = Field(validation_alias="text")
    code: str = Field("", description="Of a note: the check that will reject runs of the plan, such as V05.")


class FitAnswer(Schema):
    fits: bool
    misfits: list[MisfitAnswer]


class ImportedAnswer(OnPage):
    """The matrix that was made."""

    id: UUID
    name: str
    permalink: str
    submitted: bool

    @staticmethod
    def resolve_submitted(matrix: Matrix) -> bool:
        return matrix.submitted_at is not None


def _matrix(matrix_id: UUID) -> Matrix:
    return owned(Matrix.objects.select_related("team"), matrix_id)


@matrices.get(
    "/matrices/{uuid:matrix_id}/plan",
    response={200: None, **refusals(422)},
    auth=READ,
    summary="A matrix as a plan file",
    openapi_extra=PLAN,
)
def get_plan(request: HttpRequest, matrix_id: UUID, options: Query[PlanOptions]) -> HttpResponse:
    """Without host names, for readers elsewhere; with `names=1` as a file that is applied here."""
    matrix = _matrix(matrix_id)
    text = export_definitions(matrix) if options.names else export_plan(matrix)
    return HttpResponse(text, content_type="application/toml")


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
    result = import_plan(
        team_in(request), plan, _chosen(request, plan, sent), bearer_in(request).user, submits=sent.submit
    )
    response["Location"] = f"{ROOT}/matrices/{result.pk}"
    return Status(201, result)


def _chosen(request: HttpRequest, plan: PlanFile, sent: PlanGiven) -> Chosen:
    """The team's own rows; another team's is no more there than one that does not exist."""
    team = team_in(request)
    clusters = Cluster.objects.prefetch_related("nodes__machine").in_bulk(sent.clusters.values())
    generators = generators_for(team).select_related("machine").in_bulk(list(sent.generators.values()))
    faults: list[Fault] = []
    for kind, rows, roles, keys in (
        ("clusters", clusters, plan.clusters, sent.clusters),
        ("generators", generators, plan.generators, sent.generators),
    ):
        for role, key in keys.items():
            if role not in roles:
                faults.append({"pointer": f"#/{kind}/{role}", "detail": "The plan has no such role."})
            elif key not in rows:
                faults.append({"pointer": f"#/{kind}/{role}", "detail": "Your team has no such row."})

    if faults:
        raise Problem("plan-refused", "The machines cannot take these roles.", errors=faults)

    secrets = {}
    for role, database in plan.databases.items():
        stated = sent.secrets.get(role, {})
        secrets[role] = {name: value for name, value in stated.items() if value and name in database.secrets}
    return Chosen(
        {role: clusters[key] for role, key in sent.clusters.items()},
        {role: generators[key] for role, key in sent.generators.items()},
        secrets,
    )

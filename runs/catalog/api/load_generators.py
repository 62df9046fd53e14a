"""Load generators, the external data that their clients may write, and metrics that machines push."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Schema, Status
from pydantic import Field

from benchsite.accounts import audit
from benchsite.accounts.models import Membership, Role, Scope
from benchsite.core.database_clock import database_now
from benchsite.rest.authentication import Needs, bearer_in
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import RequestSchema, Username, Word, owned, refusals
from runs.api.routers import matrices
from runs.catalog import generators
from runs.catalog.data_confirmations import confirm, target_rows
from runs.models import Cluster, DataConfirmation, LoadGenerator, Provisioner
from runs.results import pushed_metrics
from runs.results.pushed_metrics import MAX_TEXT_LENGTH

RUN = Needs(Scope.MATRICES_RUN)


class LoadGeneratorAnswer(Schema):
    """One worker that runs YCSB clients."""

    name: str
    slots: int = Field(description="Clients at a time.")
    bindings: dict[str, str] = Field(description="Binding: digest of its build.")
    last_seen_at: datetime | None
    quarantined_at: datetime | None
    quarantine_reason: str
    capacity: dict[str, Any] = Field(
        description="Binding: what was measured of the build `digest`. `client_ops_s` by one client and `ops_s` by "
        "`clients` of them without a database on `cores` cores, at `measured_at`; `core_ops_s` per second of the "
        "clients' CPU time in the run `run`."
    )
    calibration_requested_at: datetime | None = Field(description="null: no calibration is under way.")
    calibration_error: str


class ConfirmationRequest(RequestSchema):
    """The owner of an external server lets Benchsite write and delete in one target."""

    target: Word = Field(description="As the cluster's page and failed runs name it: 10.1.2.3:6379, database 3.")


class ConfirmationAnswer(Schema):
    """A target in which Benchsite may write and delete."""

    cluster: str = Field(validation_alias="cluster.name")
    target: str
    confirmed_by: Username
    confirmed_at: datetime


@matrices.post(
    "/load-generators/{slug:name}/calibration",
    response={202: LoadGeneratorAnswer, **refusals(409)},
    auth=RUN,
    summary="Have a load generator measure what it can generate",
)
def calibrate_load_generator(request: HttpRequest, name: str) -> Status[LoadGenerator]:
    """For operators. It begins when no run holds the machine, and takes half a minute; asking again changes nothing
    until it has ended.
    """
    generator = _generator(request, name)
    generators.request_calibration(name)
    generator.refresh_from_db()
    return Status(202, generator)


@matrices.delete(
    "/load-generators/{slug:name}/quarantine",
    response={200: LoadGeneratorAnswer},
    auth=RUN,
    summary="End the quarantine of a load generator",
)
def release_load_generator(request: HttpRequest, name: str) -> LoadGenerator:
    """For operators. Where it is in none, nothing changes."""
    generator = _generator(request, name)
    if generators.release(name):
        audit.note("generator_released", team=None, actor=bearer_in(request).user, subject=name)
    generator.refresh_from_db()
    return generator


@matrices.post(
    "/clusters/{uuid:cluster_id}/data-confirmations",
    response={200: ConfirmationAnswer},
    auth=RUN,
    summary="Let Benchsite write and delete in a target of an external cluster",
)
def confirm_data(request: HttpRequest, cluster_id: UUID, confirmation: ConfirmationRequest) -> DataConfirmation:
    """For admins of the team, and operators. Confirming twice changes nothing."""
    user = bearer_in(request).user
    cluster = Cluster.objects.filter(pk=cluster_id, provisioner=Provisioner.EXTERNAL).first()
    if cluster is None:
        raise Problem("not-found", f"Your team has no external cluster {cluster_id}.")
    if not (user.is_staff or Membership.objects.filter(team=cluster.team, user=user, role=Role.ADMIN).exists()):
        raise Problem("insufficient-scope", "Only admins of the team and operators confirm what may be deleted.")
    targets = [row.target for row in target_rows(cluster) if row.system is not None]
    if confirmation.target not in targets:
        names = "; ".join(targets) or "none: describe its database first"
        raise Problem("not-found", f"{cluster.name} has no such target. Its targets: {names}.")
    confirm(cluster, confirmation.target, user)
    return cluster.data_confirmations.select_related("confirmed_by").get(target=confirmation.target)


class PushRequest(RequestSchema):
    """What `benchsite-probe.py --watch` sends."""

    machine: Word = Field(description="The name of a node's machine.")
    text: str = Field(max_length=MAX_TEXT_LENGTH, description="Metrics in the text format of Prometheus.")


@matrices.put(
    "/clusters/{uuid:cluster_id}/metrics",
    response={204: None},
    auth=Needs(Scope.RUNS_WRITE, counted=["pushes"]),
    summary="Push the metrics of a machine of a cluster",
)
def push_metrics(request: HttpRequest, cluster_id: UUID, pushed: PushRequest) -> Status[None]:
    """The latest is read every two to five seconds while a run measures there, as those of exporters are."""
    cluster = owned(Cluster.objects.all(), cluster_id)
    node = cluster.nodes.filter(machine__name=pushed.machine).first()
    if node is None:
        raise Problem("not-found", f"{cluster.name} has no node on a machine “{pushed.machine[:80]}”.")
    pushed_metrics.store(cluster.pk, node.machine_id, pushed.text, database_now().timestamp())
    return Status(204, None)


def _generator(request: HttpRequest, name: str) -> LoadGenerator:
    """For operators alone. Raises Problem."""
    if not bearer_in(request).user.is_staff:
        raise Problem("insufficient-scope", "Load generators belong to the operators of this site.")
    generator = LoadGenerator.objects.filter(name=name).first()
    if generator is None:
        raise Problem("not-found", f"There is no load generator {name}.")
    return generator

"""A plan file with definitions, applied by programs."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db import IntegrityError
from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, bearer_in
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import RequestSchema, Text, Word, refusals
from runs.api.routers import definitions
from runs.api.schemas import page_address
from runs.definitions.api.resources import changed_meanwhile
from runs.definitions.apply import Application
from runs.definitions.definition_file import add_line, read_definition_file
from runs.definitions.kinds import DefinitionRefused
from runs.plans.api.matrices import PreviewAnswer
from runs.plans.files.plan_file import MAX_LENGTH

MAX_SECRETS = 200


class ApplyRequest(RequestSchema):
    """A plan file of version 3."""

    file: str = Field(description="Its text (TOML).", max_length=MAX_LENGTH)
    secrets: Annotated[dict[Word, dict[Word, Text]], Field(max_length=MAX_SECRETS)] = Field(
        {}, description="Database to property to secret, which files do not hold."
    )
    overwrite: bool = Field(False, description="Replace what others changed since the last apply, too.")
    run: Literal["no", "new", "again"] = Field(
        "no", description="Queue the matrix: `new`: unless it was queued before; `again`: a copy if it was."
    )


class ApplyOptions(Schema):
    dry_run: bool = Field(False, description="1: only say what would change.")


class FieldChangeAnswer(Schema):
    """A field that differs. Secrets are answered as `(kept)`."""

    field: str = Field(validation_alias="path", description="`settings/io-threads`; `~1` is a slash in a name.")
    from_: Any = Field(validation_alias="before", alias="from", description="null: not there.")
    to: Any = Field(validation_alias="after")
    changed_elsewhere: bool = Field(
        validation_alias="is_changed_elsewhere", description="It is not what the last apply left."
    )
    applied: Any = Field(description="What the last apply left; null: nothing.")


class ChangeAnswer(Schema):
    """What becomes of one table of the file."""

    kind: str = Field(description="machine, cluster, database, workload or matrix.")
    name: str
    action: str = Field(description="create, change or none. A submitted matrix that differs gets a successor.")
    changed_elsewhere: bool = Field(
        validation_alias="is_changed_elsewhere", description="Somebody changed or deleted it since the last apply."
    )
    fields: list[FieldChangeAnswer]


class AppliedMatrix(Schema):
    id: UUID | None = Field(description="null: a dry run would make it.")
    name: str
    permalink: str | None
    is_queued: bool = Field(description="Its runs are in the queue, running or ended.")
    preview: PreviewAnswer | None = Field(description="In a dry run, of what would be made or queued.")


class ApplyAnswer(Schema):
    """What an apply changed, or a dry run would change."""

    dry_run: bool
    needs_overwrite: bool = Field(description="The file would replace what others changed.")
    changes: list[ChangeAnswer]
    matrix: AppliedMatrix | None


@definitions.post(
    "/apply",
    response={200: ApplyAnswer, **refusals(403, 409, 422)},
    auth=Needs(Scope.MACHINES_WRITE, Scope.DATABASES_WRITE, Scope.MATRICES_RUN),
    operation_id="apply_file",
    summary="Apply a plan file with all that it names",
    by_alias=True,
)
def apply_file(request: HttpRequest, sent: ApplyRequest, options: Query[ApplyOptions]) -> Mapping[str, Any]:
    """Creates and changes what differs from the file, in one transaction, and deletes nothing. Each kind needs its
    scope where one of it is created or changed. `changed-elsewhere`: others changed what the file would replace;
    `conflict`: a run uses it now.
    """
    file = read_definition_file(sent.file)
    application = Application(
        bearer_in(request),
        file,
        sent.secrets,
        run=sent.run,
        overwrites=sent.overwrite,
        is_dry_run=options.dry_run,
    )
    try:
        application.apply()
    except DefinitionRefused as refused:
        raise DefinitionRefused(add_line(fault, sent.file) for fault in refused.faults).as_problem() from None
    except IntegrityError:
        raise changed_meanwhile() from None
    except Problem as problem:
        problem.errors = [add_line(fault, sent.file) for fault in problem.errors]
        raise

    matrix: dict[str, Any] | None = None
    if file.matrix:
        matrix = {
            "id": None, "permalink": None, "name": file.matrix.name,
            "is_queued": application.is_queued, "preview": application.preview,
        }  # fmt: skip
        if application.matrix:
            page = request.build_absolute_uri(page_address(application.matrix))
            matrix |= {"id": application.matrix.pk, "permalink": page}

    return {
        "dry_run": options.dry_run,
        "needs_overwrite": application.needs_overwrite,
        "changes": application.changes,
        "matrix": matrix,
    }

"""Machines, clusters, databases and workloads by their names: read, written whole, deleted where nothing needs them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.urls import register_converter
from django.urls.converters import PathConverter
from ninja import Query, Schema, Status
from pydantic import Field, create_model

from benchsite.accounts.models import Scope
from benchsite.accounts.tokens import Bearer
from benchsite.rest.authentication import Needs, bearer_in
from benchsite.rest.paging import PageAnswer, PageQuery, Slice, get_page
from benchsite.rest.problems import Problem
from benchsite.rest.schemas import refusals
from runs.api.routers import definitions
from runs.api.schemas import ROOT, page_address
from runs.definitions.kinds import KINDS, Definition, DefinitionRefused, Kind, write
from runs.results import deletion


class NameConverter(PathConverter):
    """A name may have slashes, but not at its end; what hangs on a cluster has an address of its own."""

    regex = r".+(?<!/data-confirmations)(?<!/metrics)(?<!/)"


register_converter(NameConverter, "definition")


class DefinitionAnswer(Schema):
    """`definition` is what PUT takes."""

    id: UUID
    name: str
    permalink: str
    created_at: datetime


def _add_endpoints(kind: Kind) -> None:
    """The same four for each kind."""
    path, title = f"/{kind.plural}/{{definition:name}}", kind.name.capitalize()
    spec: Any = kind.spec
    fields: Any = {"definition": (spec, ...)}
    if kind.name == "machine":
        fields["observed"] = (dict[str, Any], Field(description="Facts that a worker there observed."))
    answer: Any = create_model(f"{title}Answer", __base__=DefinitionAnswer, __doc__=DefinitionAnswer.__doc__, **fields)
    page: Any = create_model(
        f"{title}Page", __base__=PageAnswer, __doc__="The newest first.", items=(list[answer], ...)
    )
    read, changed = Needs(kind.scope, Scope.RUNS_READ), Needs(kind.scope)

    @definitions.get(
        f"/{kind.plural}", response={200: page}, auth=read, operation_id=f"list_{kind.plural}",
        summary=f"List {kind.plural}",
    )  # fmt: skip
    def list_rows(request: HttpRequest, query: Query[PageQuery]) -> Mapping[str, Any]:
        rows: Slice[Any] = get_page(request, kind.rows(bearer_in(request)), ("-created_at", "-pk"), query)
        items = [_describe(request, kind, row) for row in rows.items]
        return {"items": items, "next_cursor": rows.next_cursor, "next": rows.next}

    @definitions.get(
        path, response={200: answer}, auth=read, operation_id=f"get_{kind.name}", summary=f"Read one {kind.name}"
    )
    def get_row(request: HttpRequest, name: str) -> Mapping[str, Any]:
        return _describe(request, kind, _find(bearer_in(request), kind, name))

    @definitions.put(
        path, response={200: answer, 201: answer, **refusals(409)}, auth=changed, operation_id=f"put_{kind.name}",
        summary=f"Create a {kind.name} of this name, or change it",
        description="The whole definition: what is left out has its default. The second time nothing changes. "
        "`conflict`: a run uses it now.",
    )  # fmt: skip
    def put_row(request: HttpRequest, name: str, definition: spec, response: HttpResponse) -> Status[Any]:
        try:
            row, before, _ = write(kind, bearer_in(request), name, definition.model_dump())
        except DefinitionRefused as refused:
            raise refused.as_problem() from None
        except IntegrityError:
            raise changed_meanwhile() from None
        status = 200
        if before is None:
            status = 201
            response["Location"] = f"{ROOT}/{kind.plural}/{row.name}"
        return Status(status, _describe(request, kind, row))

    @definitions.delete(
        path, response={204: None, **refusals(409)}, auth=changed, operation_id=f"delete_{kind.name}",
        summary=f"Delete a {kind.name} that nothing needs",
        description="`conflict` names what needs it. An admin can restore it for 30 days.",
    )  # fmt: skip
    def delete_row(request: HttpRequest, name: str) -> Status[None]:
        bearer = bearer_in(request)
        row = _find(bearer, kind, name)
        if refusal := kind.find_refusal(bearer, kind.read(row)):
            raise Problem("insufficient-scope", refusal)
        deletion.delete(deletion.Selection([row]), bearer.user, bearer.team)
        return Status(204, None)


def changed_meanwhile() -> Problem:
    return Problem("conflict", "Somebody changed the same at the same time: look at it, and send it again.")


def _find(bearer: Bearer, kind: Kind, name: str) -> Any:
    row = kind.find(bearer, name)
    if row is None:
        raise Problem("not-found", f"Your team has no {kind.name} “{name[:80]}”.")
    return row


def _describe(request: HttpRequest, kind: Kind, row: Any) -> Definition:
    answer = {
        "id": row.pk,
        "name": row.name,
        "permalink": request.build_absolute_uri(page_address(row)),
        "created_at": row.created_at,
        "definition": kind.hide_secrets(kind.read(row)),
    }
    if kind.name == "machine":
        answer["observed"] = {
            name: fact["value"] for name, fact in sorted(row.facts.items()) if fact.get("how") != "stated"
        }
        if not bearer_in(request).user.is_staff:
            answer["definition"]["teams"] = []
    return answer


for described in KINDS:
    _add_endpoints(described)

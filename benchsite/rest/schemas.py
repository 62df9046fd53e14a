"""What endpoints share: rows of the team that asks, what requests take, refusals as the API describes them, and pages.

Long lists are read by cursor: pages that neither skip nor repeat a row while others are added. A cursor names the last
row of a page by the columns of the list's order. It is opaque to whoever uses it, and signed for this list, so that
what it holds fits the columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Generic, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.core import signing
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from ninja import Schema
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints

from benchsite.rest.problems import KINDS, Problem

M = TypeVar("M", bound=Model)
STATUSES: Final = frozenset(status for status, _ in KINDS.values())


def plain(text: str) -> str:
    """Text that the database can hold."""
    if "\0" in text:
        raise ValueError("text without NUL characters, please")
    return text


def _moment(moment: datetime) -> datetime:
    """In UTC; a moment without a zone is taken for UTC."""
    if not 1 < moment.year < 9999:
        raise ValueError("a year between 2 and 9998, please")
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


Word = Annotated[str, StringConstraints(max_length=200), AfterValidator(plain)]
Text = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(plain)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80), AfterValidator(plain)]
Moment = Annotated[
    datetime, AfterValidator(_moment), Field(description="RFC 3339, such as 2026-03-01T12:00:00Z; without a zone: UTC.")
]


# What answers say of other rows, made from the rows themselves.
Username = Annotated[str | None, BeforeValidator(lambda user: user.get_username() if user else None)]
NamesOfRows = Annotated[list[str], BeforeValidator(lambda rows: [row.name for row in rows])]


def owned(rows: QuerySet[M], pk: UUID) -> M:
    """The team's row of this key. Raises Problem("not-found")."""
    row = rows.filter(pk=pk).first()
    if row is None:
        kind = rows.model._meta.verbose_name
        raise Problem("not-found", f"Your team has no {kind} {pk}.")
    return row


class RequestSchema(Schema):
    """What a request says in its body. A field that nobody knows is refused: it was meant to change something."""

    model_config = ConfigDict(extra="forbid")


class FaultEntry(Schema):
    """One fault of a request that has several."""

    pointer: str = Field("", description="Into the body, `#/manifest/threads`, or `query.since`.")
    detail: str = Field("", description="What is wrong, and what to do.")
    code: str = ""


class ProblemDocument(Schema):
    """A refusal (RFC 9457). Programs tell problems apart by `type`, which never changes."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/not-found",
                    "title": "There is nothing here",
                    "status": 404,
                    "detail": "There is no such thing in your team.",
                    "instance": "/api/v1/runs/0197f9d4-0000-7000-8000-000000000000",
                }
            ]
        },
    )

    type: str = Field(description="`/problems/` and the kind: " + ", ".join(sorted(KINDS)) + ".")
    title: str
    status: int
    detail: str = Field(description="What to do, as a sentence.")
    instance: str | None = None
    errors: list[FaultEntry] | None = None


def refusals(*statuses: int) -> dict[int, Any]:
    """What else an endpoint may answer: `response={200: RunAnswer, **refusals(409, 422)}`.

    Not to be listed, because the description adds them by itself (`benchsite.rest.description`): 401, 403 and 429
    where a token is needed, 404 where the path names a row, 400 where there is something to send, 413 where that is a
    body.
    """
    if unknown := set(statuses) - STATUSES:
        raise ValueError(f"No kind of problem has the status {sorted(unknown)}: add one to KINDS.")
    return dict.fromkeys(statuses, ProblemDocument)


MOST: Final = 200
USUAL: Final = 50


class PageQuery(Schema):
    """What every list by pages takes."""

    limit: int = Field(USUAL, ge=1, le=MOST, description="How many at most.")
    cursor: str | None = Field(None, max_length=400, description="`next_cursor` of the page before.")


class PageAnswer(Schema):
    """What every list by pages says, beside its `items`."""

    next_cursor: str | None = Field(description="For the next page; null: this is the last.")
    next: str | None = Field(description="The address of the next page, with the same filter.")


@dataclass(frozen=True, slots=True)
class Slice(Generic[M]):
    """The rows of one page, from which django-ninja makes the answer of the endpoint."""

    items: list[M]
    next_cursor: str | None
    next: str | None


def get_page(request: HttpRequest, rows: QuerySet[M], order: Sequence[str], asked: PageQuery) -> Slice[M]:
    """One page of the rows in `order`: columns, all ascending or all descending (“-created_at”), the last one unique.

    Raises Problem for a cursor that is none.
    """
    columns = [name.removeprefix("-") for name in order]
    salt = f"benchsite.rest.pages:{rows.model._meta.label}:{','.join(order)}"
    if asked.cursor is not None:
        try:
            after = signing.loads(asked.cursor, salt=salt)
        except (signing.BadSignature, ValueError):
            raise Problem(
                "validation-error",
                "The cursor is none of this list's: take `next_cursor` of the page before, or begin without.",
                errors=[{"pointer": "query.cursor", "detail": "not a cursor of this list", "code": "cursor"}],
            ) from None
        rows = rows.filter(_beyond(columns, after, "lt" if order[0].startswith("-") else "gt"))
    items = list(rows.order_by(*order)[: asked.limit + 1])
    if len(items) <= asked.limit:
        return Slice(items, None, None)
    items = items[: asked.limit]
    values = (getattr(items[-1], name) for name in columns)
    cursor = signing.dumps(
        [value.isoformat() if isinstance(value, datetime) else str(value) for value in values], salt=salt
    )
    query = request.GET.copy()
    query["cursor"] = cursor
    return Slice(items, cursor, f"{request.path}?{urlencode(list(query.lists()), doseq=True)}")


def _beyond(columns: Sequence[str], after: Sequence[Any], way: str) -> Q:
    """Behind the row, in the order of all columns; the first condition alone is what an index serves."""
    first, *rest = columns
    if not rest:
        return Q((f"{first}__{way}", after[0]))
    tie = Q((first, after[0])) & _beyond(rest, after[1:], way)
    return Q((f"{first}__{way}e", after[0])) & (Q((f"{first}__{way}", after[0])) | tie)

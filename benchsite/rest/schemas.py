"""What endpoints share: rows of the team that asks, what requests take, and refusals as the API describes them."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet
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
    """The refusals that an endpoint may answer: `response={200: RunAnswer, **refusals(409, 422)}`.

    Not to be listed, because the description adds them by itself (`benchsite.rest.description`): 401, 403 and 429
    where a token is needed, 404 where the path names a row, 400 where there is something to send, 413 where that is a
    body.
    """
    if unknown := set(statuses) - STATUSES:
        raise ValueError(f"No kind of problem has the status {sorted(unknown)}: add one to KINDS.")
    return dict.fromkeys(statuses, ProblemDocument)

"""What all endpoints have in common: the base of what they take, and refusals as the API's description says them."""

from typing import Any, Final

from ninja import Schema
from pydantic import ConfigDict, Field

from benchsite.rest.problems import KINDS


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


STATUSES: Final = frozenset(status for status, _ in KINDS.values())


def refusals(*statuses: int) -> dict[int, Any]:
    """What else an endpoint may answer: `response={200: RunAnswer, **refusals(409, 422)}`.

    Not to be listed, because the description adds them by itself (`benchsite.rest.description`): 401, 403 and 429
    where a token is needed, 404 where the path names a row, 400 where there is something to send, 413 where that is a
    body.
    """
    if unknown := set(statuses) - STATUSES:
        raise ValueError(f"No kind of problem has the status {sorted(unknown)}: add one to KINDS.")
    return dict.fromkeys(statuses, ProblemDocument)

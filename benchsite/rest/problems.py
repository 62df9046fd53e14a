"""Refusals, as `application/problem+json` (RFC 9457): one slug for each kind, the same status for the same slug."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

from django.http import HttpRequest, HttpResponse

from benchsite.accounts.limits import LimitReached

CONTENT_TYPE: Final = "application/problem+json"
# slug -> (status, title). The slug is what programs tell problems apart by, and never changes.
KINDS: Final[Mapping[str, tuple[int, str]]] = {
    "validation-error": (400, "The request is not valid"),
    "unauthenticated": (401, "A valid token is needed"),
    "insufficient-scope": (403, "The token may not do this"),
    "limit-reached": (403, "A limit of the team is reached"),
    "not-found": (404, "There is nothing here"),
    "method-not-allowed": (405, "This address does not take this method"),
    "run-pinned": (409, "A baseline pins this run"),
    "conflict": (409, "This is not possible in the present state"),
    "changed-elsewhere": (409, "Others changed this since the last apply"),
    "in-flight": (409, "The same request is being worked on"),
    "link-revoked": (410, "This link was revoked"),
    "gone": (410, "This address was removed"),
    "payload-too-large": (413, "The request is too large"),
    "unsupported-format": (415, "No reader knows this format"),
    "malformed-result": (422, "The result cannot be read"),
    "key-reused": (422, "The idempotency key was used for another request"),
    "incomparable": (422, "The sides may not be compared"),
    "report-refused": (422, "The report cannot be published as it is"),
    "plan-refused": (422, "The plan cannot be run as it stands"),
    "quota-exceeded": (429, "Too many requests"),
    "internal-error": (500, "Benchsite itself failed"),
    "overloaded": (503, "The site is busy"),
}


class Fault(TypedDict, total=False):
    """One entry of `errors`."""

    pointer: str  # into the body ("#/manifest/threads"), or "query.since", "header.Idempotency-Key"
    detail: str
    code: str


class Problem(Exception):
    """A refusal, raised anywhere below an endpoint. `detail` says what to do, as a sentence."""

    def __init__(
        self,
        slug: str,
        detail: str,
        *,
        errors: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        self.slug, self.detail, self.errors, self.more = slug, detail, errors, more
        self.headers = dict(headers or {})
        self.status, self.title = KINDS[slug]
        super().__init__(detail)

    @classmethod
    def of_faults(cls, faults: Sequence[Fault]) -> "Problem":
        """A request with these faults; the first of them are said in one sentence too."""
        message = "; ".join(f"{fault['pointer']}: {fault['detail'].rstrip('.')}" for fault in faults[:3])
        more = ""
        if len(faults) > 3:
            more = f"; and {len(faults) - 3} more"
        return cls("validation-error", f"{message}{more}.", errors=faults)

    @classmethod
    def of_limit(cls, error: LimitReached) -> "Problem":
        """A limit of the team; `limit` is its name."""
        return cls("limit-reached", str(error), limit=error.limit)

    def document(self, instance: str = "") -> dict[str, Any]:
        """The problem as JSON. `type` is an address that need not be there, as the RFC allows."""
        body: dict[str, Any] = {
            "type": f"/problems/{self.slug}", "title": self.title, "status": self.status, "detail": self.detail
        }  # fmt: skip
        if instance:
            body["instance"] = instance
        if self.errors:
            body["errors"] = list(self.errors)
        return body | self.more


def answer(request: HttpRequest, problem: Problem) -> HttpResponse:
    """The problem as a response."""
    document = problem.document(instance=request.path)
    # What was sent may be quoted in it, and need not be text that can be written.
    content = json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")
    response = HttpResponse(content, status=problem.status, content_type=CONTENT_TYPE)
    for name, value in problem.headers.items():
        response[name] = value
    return response

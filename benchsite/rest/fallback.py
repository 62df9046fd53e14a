"""Below /api/ every refusal is a problem document, also those of which no endpoint knows: 404, 405, 413, 500.

And every answer to a token says what is left of its quota.
"""

import logging

from django.http import HttpRequest, HttpResponse

from benchsite.core.middleware import Middleware
from benchsite.rest import limits
from benchsite.rest.problems import CONTENT_TYPE, KINDS, Problem, answer

log = logging.getLogger(__name__)
PREFIX = "/api/"
_SLUGS = {404: "not-found", 405: "method-not-allowed", 413: "payload-too-large", 500: "internal-error"}
_DETAILS = {
    "not-found": "No endpoint, or none of your rows, has this address. The API is described at /api/v1/docs.",
    "method-not-allowed": "See the header “Allow” for the methods that it takes.",
    "payload-too-large": "Send less at a time.",
    "internal-error": "Nothing was stored. Tell an operator of this site when it happened.",
    "validation-error": "The request cannot be read.",
}


class ProblemsBelowApi(Middleware):
    """Turns what is left of Django's own error pages into problem documents, with their headers."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code >= 400 and request.path.startswith(PREFIX):
            response = self._as_problem(request, response)
        limits.tell(request, response)
        return response

    @staticmethod
    def _as_problem(request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if response.headers.get("Content-Type", "").split(";")[0] in (CONTENT_TYPE, "application/json"):
            return response
        slug = _SLUGS.get(response.status_code, "validation-error")
        problem = Problem(slug, _DETAILS[slug])
        if slug not in KINDS or KINDS[slug][0] != response.status_code:
            problem.status = response.status_code
        for name in ("Allow", "Retry-After"):
            if name in response.headers:
                problem.headers[name] = response.headers[name]
        return answer(request, problem)

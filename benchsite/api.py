"""The REST API, version 1: the routers of `runs` and `reports` under one roof, with one way of refusing.

Endpoints are functions that call the same verbs as the HTML views.
"""

import logging
from collections.abc import Mapping

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from ninja.errors import HttpError, ValidationError
from ninja.openapi.docs import Swagger

from benchsite.accounts.limits import LimitReached
from benchsite.rest import webhooks
from benchsite.rest.description import DescribedApi
from benchsite.rest.problems import Fault, Problem, answer
from reports.api import badges, baselines, reports, verdicts
from reports.api import routers as meaning
from runs.api import catalog, files, kits, load_generators, matrices, results, runs, schedules, sweeps, uploads
from runs.api import routers as measuring

log = logging.getLogger(__name__)
# Each of these has added its endpoints to a router by being imported.
ENDPOINTS = (
    uploads, runs, results, files, matrices, schedules, kits, load_generators, sweeps, catalog, verdicts, baselines,
    reports, badges,
)  # fmt: skip


class Docs(Swagger):
    """django-ninja takes its own page, with files of a CDN, unless it is an app."""

    template_cdn = str(settings.BASE_DIR / "templates" / Swagger.template)


api = DescribedApi(
    title="Benchsite",
    version="1",
    urls_namespace="api-v1",
    description="Upload YCSB results, follow runs, and ask for verdicts against a baseline.",
    # Drawing every endpoint and schema at once takes a browser twice as long.
    docs=Docs(settings={"docExpansion": "none", "defaultModelsExpandDepth": -1}),
)

api.add_router("", measuring.runs)
api.add_router("", measuring.matrices)
api.add_router("", measuring.schedules)
api.add_router("", measuring.catalog)
api.add_router("", meaning.verdicts)
api.add_router("", meaning.baselines)
api.add_router("", meaning.reports)
api.add_router("", meaning.badges)
api.add_router("", webhooks.router)


@api.exception_handler(Problem)
def refused(request: HttpRequest, problem: Problem) -> HttpResponse:
    return answer(request, problem)


@api.exception_handler(LimitReached)
def limited(request: HttpRequest, error: LimitReached) -> HttpResponse:
    return answer(request, Problem.of_limit(error))


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Every fault of the request at once, each with the place it is at."""
    faults: list[Fault] = [
        {"pointer": _place(error.get("loc", ())), "detail": _said(error), "code": str(error.get("type", ""))}
        for error in error.errors
    ]
    return answer(request, Problem.of_faults(faults))


def _said(fault: Mapping[str, object]) -> str:
    return str(fault.get("msg", "")).removeprefix("Value error, ")


def _place(loc: tuple[object, ...]) -> str:
    """Pydantic's path: into a body as a JSON pointer, into anything else as “query.since”."""
    first, *rest = [str(part) for part in loc] or [""]
    if first not in ("body", "form"):
        return ".".join([first, *rest])
    # A body is one document; what comes first is our own name of it, which nobody sent.
    return "#" + "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in rest[1:])


@api.exception_handler(Http404)
def missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return answer(request, Problem("not-found", "There is no such thing in your team."))


@api.exception_handler(RequestDataTooBig)
def too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return answer(request, Problem("payload-too-large", f"The body has more than {most:,} bytes: send less at a time."))


@api.exception_handler(HttpError)
def failed(request: HttpRequest, error: HttpError) -> HttpResponse:
    """What django-ninja itself refuses: a body that is no JSON."""
    problem = Problem("validation-error", str(error) or "The request cannot be read.")
    problem.status = error.status_code
    return answer(request, problem)

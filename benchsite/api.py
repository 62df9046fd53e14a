"""The REST API, version 1: the routers of `runs` and `reports` under one roof, with one way of refusing.

Endpoints are functions that call the same verbs as the HTML views.
"""

import logging
from collections.abc import Mapping
from functools import partial

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from ninja.errors import HttpError, ValidationError
from ninja.openapi.docs import Swagger

from benchsite.accounts.limits import LimitReached
from benchsite.notifications.webhooks import WebhookRefused
from benchsite.rest import webhooks
from benchsite.rest.description import DescribedApi
from benchsite.rest.problems import Fault, Problem, answer
from reports.api import routers as meaning
from reports.published.api import reports
from reports.published.links import LinkRevoked, LinkUnknown
from reports.published.publication import ContentRefused, PublishRefused
from reports.published.rights import NotAllowed
from reports.trends.api import badges, baselines, openmetrics, verdicts
from reports.trends.verdicts.sides import Ambiguous, NothingNamed, TooManyTests
from runs.api import routers as measuring
from runs.catalog.api import load_generators, systems as catalog
from runs.catalog.generators import CalibrationRefused
from runs.definitions.api import apply, resources
from runs.plans import PlanError
from runs.plans.api import matrices, plan_files, schedules
from runs.plans.api.plans import list_faults
from runs.plans.extension import ExtensionRefused
from runs.plans.files.plan import PlanRefused
from runs.plans.schedules import ScheduleRefused
from runs.results.annotations import AnnotationRefused
from runs.results.api import files, results, runs, sweeps
from runs.results.deletion import DeletionRefused, RunPinned
from runs.uploads.api import uploads

log = logging.getLogger(__name__)
# Each of these has added its endpoints to a router by being imported.
ENDPOINTS = (
    uploads, runs, results, files, matrices, schedules, plan_files, load_generators, sweeps, catalog,
    resources, apply, verdicts, baselines, reports, badges, openmetrics,
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
api.add_router("", measuring.definitions)
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


@api.exception_handler(PlanError)
def plan_refused(request: HttpRequest, error: PlanError) -> HttpResponse:
    return answer(request, Problem("plan-refused", str(error), errors=list_faults(error.problems)))


@api.exception_handler(WebhookRefused)
def webhook_refused(request: HttpRequest, error: WebhookRefused) -> HttpResponse:
    if not error.field:
        return answer(request, Problem("conflict", str(error)))
    fault: Fault = {"pointer": f"#/{error.field}", "detail": str(error), "code": "refused"}
    return answer(request, Problem.of_faults([fault]))


# The kind of problem for each refusal of a verb; its detail is the refusal's message.
SLUGS: Mapping[type[Exception], str] = {
    Ambiguous: "validation-error",
    AnnotationRefused: "validation-error",
    CalibrationRefused: "conflict",
    ContentRefused: "report-refused",
    DeletionRefused: "conflict",
    ExtensionRefused: "conflict",
    LinkRevoked: "link-revoked",
    LinkUnknown: "not-found",
    NotAllowed: "insufficient-scope",
    NothingNamed: "not-found",
    PlanRefused: "plan-refused",
    PublishRefused: "report-refused",
    RunPinned: "run-pinned",
    ScheduleRefused: "conflict",
    TooManyTests: "validation-error",
}


def _answer_refusal(slug: str, request: HttpRequest, error: Exception) -> HttpResponse:
    return answer(request, Problem(slug, str(error)))


for refusal, kind in SLUGS.items():
    api.add_exception_handler(refusal, partial(_answer_refusal, kind))


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Every fault of the request at once, each with the place it is at."""
    faults: list[Fault] = []
    for fault in error.errors:
        # A validator of a whole model adds to Pydantic's path.
        path = (*fault.get("loc", ()), *fault.get("ctx", {}).get("path", ()))
        detail = str(fault.get("msg", "")).removeprefix("Value error, ")
        faults.append({"pointer": _build_pointer(path), "detail": detail, "code": str(fault.get("type", ""))})
    return answer(request, Problem.of_faults(faults))


def _build_pointer(path: tuple[object, ...]) -> str:
    """Pydantic's path: into a body as a JSON pointer, into anything else as “query.since”."""
    first, *rest = [str(part) for part in path] or [""]
    if first not in ("body", "form"):
        return ".".join([first, *rest])
    # A body is one document; what comes first is our own name of it, which nobody sent.
    parts = [part.replace("~", "~0").replace("/", "~1") for part in rest[1:]]
    return "".join(["#", *(f"/{part}" for part in parts)])


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

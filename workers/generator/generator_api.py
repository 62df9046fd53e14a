"""What load generators ask of the site: one internal HTTP API, with a credential for each load generator.

A load generator needs neither PostgreSQL nor the artifact store. Its credential reaches its own client runs alone.
Every request can be repeated, for the answer to the first one may be lost. Errors are problem documents (RFC 9457) with
a `detail`. A request that cannot be read is 400. The site that cannot answer says 503, 507 where its artifact store is
full, 500 where it has a fault; load generators then try again. A client run that exists nowhere is 410 with the `code`
"run_deleted": only then does a load generator remove what it measured.
"""

import errno
import hashlib
import logging
import threading
import uuid
from collections.abc import Callable
from functools import wraps
from pathlib import PurePath
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.db.models import QuerySet
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods
from pydantic import BaseModel, ValidationError

from benchsite.accounts import tenancy
from benchsite.core.database_clock import database_now
from benchsite.core.formatting import size as in_words
from benchsite.core.generator_access import AccessRefused
from benchsite.rest.problems import CONTENT_TYPE
from runs.catalog import generators
from runs.models import ClientRun, LoadGenerator, RunEvent
from runs.queue import client_lifecycle, live
from runs.queue.database_retries import DATABASE_ERRORS
from runs.results import artifacts
from workers.conductor import scheduling
from workers.generator import enrolment, generator_requests as requests, node_processes, registration
from workers.generator.messages import NO_SUCH_FILE, OTHER_CREDENTIAL, RUN_CLAIMED, TOO_MANY_FILES
from workers.generator.site_client import MAX_TEXT_BYTES, RUN_DELETED
from workers.probe import check_orders

log = logging.getLogger(__name__)
MAX_FILE_BYTES: Final = 16 * 1024**3
MAX_LINES: Final = 200  # of the live view in one request
KINDS: Final = artifacts.TEXT_KINDS | {"hdr"}
REPORTED: Final = {"clock_offset_s", "facts", "command", "operations"}  # columns that a report may set
# At once in one web process: an artifact store that is slow must leave threads for heartbeats.
MAX_UPLOADS: Final = 3
_upload_slots = threading.BoundedSemaphore(MAX_UPLOADS)
# By the error of the artifact store.
STORAGE_STATUSES: Final[dict[int | None, int]] = {errno.ENOSPC: 507, errno.EDQUOT: 507}
Handler = Callable[..., dict[str, Any]]


class Refused(Exception):
    """The request cannot be answered: a status, a sentence, and a code where programs act on it."""

    def __init__(self, status: int, detail: str, code: str = "") -> None:
        super().__init__(detail)
        self.status, self.detail, self.code = status, detail, code


def endpoint(method: str, schema: type[BaseModel] | None = None) -> Callable[[Handler], Callable[..., JsonResponse]]:
    """A view for the load generator whose credential the request shows. The handler gets its name, and the body as the
    `schema` describes it.
    """

    def decorate(handler: Handler) -> Callable[..., JsonResponse]:
        def respond(request: HttpRequest, **arguments: Any) -> JsonResponse:
            name = enrolment.find_generator(_bearer(request))
            if name is None:
                raise Refused(401, "This credential is unknown or was revoked. An operator makes another one.")
            tenancy.enter(tenancy.Scope.ALL_TEAMS)
            if schema:
                arguments["body"] = schema.model_validate_json(request.body)
            return JsonResponse(handler(request, name, **arguments))

        return csrf_exempt(require_http_methods([method])(wraps(handler)(_with_problems(respond))))

    return decorate


def _with_problems(view: Callable[..., JsonResponse]) -> Callable[..., JsonResponse]:
    """The view with a problem document for each error. Nothing but the request itself is answered with 4xx: load
    generators repeat no such request.
    """

    def with_problems(request: HttpRequest, **arguments: Any) -> JsonResponse:
        try:
            return view(request, **arguments)
        except Refused as refusal:
            return _problem(refusal.status, refusal.detail, refusal.code)
        except ValidationError as error:
            return _problem(400, requests.first_fault(error))
        except SuspiciousOperation as error:
            return _problem(400, str(error))
        except artifacts.UploadDamaged as error:
            return _problem(422, str(error))
        except DATABASE_ERRORS:
            return _problem(503, "The site's database does not answer.")
        except AccessRefused as error:
            log.error("%s", error)
            return _problem(503, str(error))
        except OSError as error:
            return _problem(STORAGE_STATUSES.get(error.errno, 503), str(error))
        except Exception as error:
            log.exception("%s %s failed.", request.method, request.path)
            return _problem(500, f"The site has a fault ({type(error).__name__}): its log has the details.")

    return with_problems


def _bearer(request: HttpRequest) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ").strip()


def _problem(status: int, detail: str, code: str = "") -> JsonResponse:
    document: dict[str, object] = {"status": status, "detail": detail}
    if code:
        document["code"] = code
    return JsonResponse(document, status=status, content_type=CONTENT_TYPE)


@csrf_exempt
@require_http_methods(["POST"])
@_with_problems
def enrol(request: HttpRequest) -> JsonResponse:
    """The credential for the enrolment code of the header, and the address of Redis; every code is accepted once.

    Whoever asks has no credential yet, so no body is read.
    """
    code = _bearer(request)
    if not code:
        raise Refused(
            401,
            "The header “Authorization: Bearer CODE” is missing. Load generators of earlier releases send the code in "
            "the body: update this one.",
        )

    credential = enrolment.enrol(code)
    if credential is None:
        raise Refused(401, "This enrolment code is unknown, was used, or has expired. An operator makes another one.")

    response = JsonResponse({"credential": credential, "redis_url": settings.GENERATOR_REDIS_URL})
    response["Cache-Control"] = "no-store"
    return response


@endpoint("POST", requests.Registration)
def register(request: HttpRequest, name: str, body: requests.Registration) -> dict[str, Any]:
    """The load generator has started; `name` in the query is the name that it was started with."""
    stated = request.GET.get("name", name)
    if stated != name:
        raise Refused(
            409,
            OTHER_CREDENTIAL.format(stated=stated, name=name),
        )
    try:
        generator = registration.register_generator(name, **body.model_dump())
    except registration.NameTaken as error:
        raise Refused(409, str(error)) from error
    return {"machine": generator.machine.name}


@endpoint("POST", requests.Presence)
def presence(request: HttpRequest, name: str, body: requests.Presence) -> dict[str, Any]:
    """A sign of life; `probed` says that its pool processes have just answered and can start clients, which ends a
    quarantine. The answer says what it was and what it is, whether the load generator is to be calibrated now, and
    after how many seconds the next sign of life is due.
    """
    quarantined, calibrate, beat_s = registration.note_presence(name)
    released = body.probed and quarantined and generators.release(name)
    return {
        "released": released, "quarantined": quarantined and not released, "calibrate": calibrate, "beat_s": beat_s
    }  # fmt: skip


@endpoint("POST", requests.Calibration)
def calibration(request: HttpRequest, name: str, body: requests.Calibration) -> dict[str, Any]:
    """The rates that the load generator can generate, by binding, or the `error` for which it measured none."""
    generator = LoadGenerator.objects.filter(name=name).first()
    if generator is None:
        raise Refused(409, f"{name} has not registered.")
    capacities = {
        binding: capacity
        for binding, capacity in body.model_dump()["capacities"].items()
        if generator.bindings.get(binding) == capacity["digest"]
    }
    scheduling.end_calibration(generator, capacities, body.error)
    return {}


@endpoint("POST", requests.NodeReports)
def nodes(request: HttpRequest, name: str, body: requests.NodeReports) -> dict[str, Any]:
    """Which nodes of servers the load generator is to run, for its report on those that it runs."""
    node_processes.note_reports(name, [report.model_dump(exclude_none=True) for report in body.nodes])
    return {"nodes": node_processes.list_orders(name)}


@endpoint("GET")
def clock(request: HttpRequest, name: str) -> dict[str, Any]:
    """PostgreSQL's clock, in seconds since 1970."""
    return {"now": database_now().timestamp()}


@endpoint("POST", requests.Claim)
def claim(request: HttpRequest, name: str, body: requests.Claim, pk: uuid.UUID) -> dict[str, Any]:
    """The client run's order and the run's window, for the first claim alone: others get `claimed` false."""
    client_run = _own(name, pk)
    if not client_lifecycle.claim(pk, body.claim):
        return {"claimed": False}
    window = client_run.run.spec["window"]
    return {"claimed": True, "order": client_run.order, "window": window, "label": str(client_run)}


@endpoint("POST", requests.Claim)
def claim_check(request: HttpRequest, name: str, body: requests.Claim, pk: uuid.UUID) -> dict[str, Any]:
    """The order of the client that checks a server, for the first claim of this load generator."""
    return {"order": check_orders.claim(name, pk)}


@endpoint("POST", requests.CheckResult)
def complete_check(request: HttpRequest, name: str, body: requests.CheckResult, pk: uuid.UUID) -> dict[str, Any]:
    check_orders.complete(name, pk, body.outcome, body.detail)
    return {}


@endpoint("POST", requests.Report)
def report(request: HttpRequest, name: str, body: requests.Report, pk: uuid.UUID) -> dict[str, Any]:
    """A heartbeat: whether the run goes on, and the instants at which its clients begin and end, once they are known.
    One that ends when its time is up has no such end.

    With it come the client's progress (`state`, and columns in REPORTED) and its status lines for the live view.
    """
    # The most frequent request: it reads five columns and builds no models.
    row = _rows(name, pk).values_list("run_id", "number", "group", "run__starts_at", "run__ends_at").first()
    if row is None:
        raise _not_there(name, pk)

    run_id, number, group, *instants = row
    fields = body.model_dump(include=REPORTED, exclude_unset=True)
    if body.state:
        goes_on = client_lifecycle.advance(pk, body.claim, ClientRun.State(body.state), **fields)
    else:
        goes_on = client_lifecycle.beat(pk, body.claim, **fields)

    # The live view is that of the ladder.
    if goes_on and not group:
        for line in body.lines[:MAX_LINES]:
            live.publish(run_id, live.StatusLine(number, **line.model_dump()))

    starts_at, ends_at = (instant.timestamp() if instant else None for instant in instants)
    return {"goes_on": goes_on, "starts_at": starts_at, "ends_at": ends_at}


@endpoint("POST", requests.Claim)
def stopped(request: HttpRequest, name: str, body: requests.Claim, pk: uuid.UUID) -> dict[str, Any]:
    """The client's process group is gone."""
    _own(name, pk)
    client_lifecycle.begin_storing(pk, body.claim)
    return {}


@endpoint("PUT")
def file(request: HttpRequest, name: str, pk: uuid.UUID, kind: str, file_name: str) -> dict[str, Any]:
    """One file; `sha256` and `size` in the query are those of its content."""
    client_run = _own(name, pk)
    stated = requests.StoredFile.model_validate(request.GET.dict())
    if client_run.claim != stated.claim:
        raise Refused(409, RUN_CLAIMED)
    if kind not in KINDS or PurePath(file_name).name != file_name:
        raise Refused(400, NO_SUCH_FILE.format(kind=kind, name=file_name))

    is_text = kind in artifacts.TEXT_KINDS
    if stated.size > MAX_FILE_BYTES or (is_text and stated.size > MAX_TEXT_BYTES):
        raise Refused(413, f"{file_name}, {in_words(stated.size)}, above the limit")
    if client_run.output_stored_at is not None:
        return {}  # An earlier request stored every file.
    if not _upload_slots.acquire(blocking=False):
        raise Refused(503, TOO_MANY_FILES.format(limit=MAX_UPLOADS))

    try:
        _store_file(request, client_run, kind, file_name, stated.sha256, stated.size)
    finally:
        _upload_slots.release()

    return {}


def _store_file(request: HttpRequest, client_run: ClientRun, kind: str, file_name: str, digest: str, size: int) -> None:
    """Read the request's body into the artifact store."""
    if kind not in artifacts.TEXT_KINDS:
        run = client_run.run
        artifacts.store_pieces(run, kind, file_name, request.read, client_run, size=size, digest=digest)
        return
    text = request.read(size + 1)
    if len(text) != size or hashlib.sha256(text).hexdigest() != digest:
        raise artifacts.UploadDamaged(f"{file_name} was damaged on the way: its size or its hash differs.")
    artifacts.store(client_run.run, kind, file_name, text, client_run)  # Redacts it, whoever sent it.


@endpoint("POST", requests.Result)
def complete(request: HttpRequest, name: str, body: requests.Result, pk: uuid.UUID) -> dict[str, Any]:
    """How the client ended; all its files are stored, but for those that are `missing`: sentences about them."""
    client_run = _own(name, pk)
    if body.missing:
        text = f"Client {client_run.number} on {name}: missing: {'; '.join(body.missing)}."
        RunEvent.objects.get_or_create(run_id=client_run.run_id, kind="note", text=text)

    client_lifecycle.complete(
        pk,
        body.claim,
        body.reason,
        body.reason_detail,
        exit_code=body.exit_code,
        cpu_percent=body.cpu_percent,
        facts={**client_run.facts, **body.facts},
    )
    return {}


@endpoint("POST", requests.Failure)
def fail(request: HttpRequest, name: str, body: requests.Failure, pk: uuid.UUID) -> dict[str, Any]:
    """The client run has failed, although its output is not stored yet."""
    _own(name, pk)
    client_lifecycle.fail(pk, body.claim, body.reason, body.reason_detail)
    return {}


def _own(name: str, pk: uuid.UUID) -> ClientRun:
    """A client run of this load generator; another's is not there (404)."""
    rows = _rows(name, pk).select_related("run").defer("run__spec", "run__evidence", "command", "order")
    client_run = rows.first()
    if client_run is None:
        raise _not_there(name, pk)
    return client_run


def _rows(name: str, pk: uuid.UUID) -> QuerySet[ClientRun]:
    return ClientRun.objects.filter(pk=pk, load_generator__name=name).order_by()


def _not_there(name: str, pk: uuid.UUID) -> Refused:
    if ClientRun.objects.filter(pk=pk).exists():
        return Refused(404, f"{name} has no such client run.")
    return Refused(410, "The run of this client was deleted.", RUN_DELETED)

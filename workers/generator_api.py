"""What load generators ask of the site: one internal HTTP API, with a credential for each load generator.

A load generator needs neither PostgreSQL nor the artifact store. Its credential reaches its own client runs alone.
Every request can be repeated, for the answer to the first one may be lost. Errors are JSON: {"detail": why}. The site
that cannot answer now says 503, or 507 where its artifact store is full; load generators then try again. A client run
that exists nowhere is 410 with {"code": "run_deleted"}: only then does a load generator remove what it measured.
"""

import errno
import hashlib
import json
import threading
import uuid
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import PurePath
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import QuerySet
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from benchsite.formatting import size as in_words
from runs import artifacts, client_lifecycle, generators, live
from runs.models import ClientRun, LoadGenerator, RunEvent
from runs.models.run import Reason
from runs.retry import DATABASE_ERRORS
from workers import enrolment, registration, scheduling
from workers.site_client import MAX_TEXT_BYTES, RUN_DELETED

MAX_FILE_BYTES: Final = 16 * 1024**3
MAX_LINES: Final = 200  # of the live view in one request
KINDS: Final = artifacts.TEXT_KINDS | {"hdr"}
REPORTED: Final = ("clock_offset_s", "facts", "command")  # columns that a report may set
# At once in one web process: an artifact store that is slow must leave threads for heartbeats.
MAX_UPLOADS: Final = 3
_upload_slots = threading.BoundedSemaphore(MAX_UPLOADS)
Handler = Callable[..., dict[str, Any]]


class Refused(Exception):
    """The request cannot be answered: a status, a sentence, and a code where programs act on it."""

    def __init__(self, status: int, detail: str, code: str = "") -> None:
        super().__init__(detail)
        self.status, self.detail, self.code = status, detail, code


def endpoint(method: str) -> Callable[[Handler], Callable[..., JsonResponse]]:
    """A view for the load generator whose credential the request shows; the handler gets its name."""

    def decorate(handler: Handler) -> Callable[..., JsonResponse]:
        @csrf_exempt
        @require_http_methods([method])
        @wraps(handler)
        def view(request: HttpRequest, **arguments: Any) -> JsonResponse:
            try:
                name = enrolment.generator_of(request.headers.get("Authorization", "").removeprefix("Bearer "))
                if name is None:
                    raise Refused(401, "This credential is unknown or was revoked. An operator makes another one.")
                return JsonResponse(handler(request, name, **arguments))
            except Refused as refusal:
                return _problem(refusal.status, refusal.detail, refusal.code)
            except artifacts.UploadDamaged as error:
                return _problem(422, str(error))
            except (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                return _problem(400, f"The request is malformed: {type(error).__name__}: {error}.")
            except DATABASE_ERRORS:
                return _problem(503, "The site's database does not answer.")
            except DatabaseError:  # a value that fits no column, or of another type
                return _problem(400, "The request is malformed: the database stores no such value.")
            except OSError as error:
                return _problem(507 if error.errno in (errno.ENOSPC, errno.EDQUOT) else 503, str(error))

        return view

    return decorate


def _problem(status: int, detail: str, code: str = "") -> JsonResponse:
    return JsonResponse({"detail": detail, **({"code": code} if code else {})}, status=status)


@csrf_exempt
@require_http_methods(["POST"])
def enrol(request: HttpRequest) -> JsonResponse:
    """The credential for an enrolment code, and the address of Redis; every code is accepted once."""
    try:
        credential = enrolment.enrol(str(json.loads(request.body)["code"]))
    except (KeyError, ValueError, TypeError, RecursionError):
        return _problem(400, 'The request is malformed: send {"code": "bse_..."}.')
    except DATABASE_ERRORS:
        return _problem(503, "The site's database does not answer.")
    if credential is None:
        return _problem(401, "This enrolment code is unknown, was used, or has expired. An operator makes another one.")
    response = JsonResponse({"credential": credential, "redis_url": settings.GENERATOR_REDIS_URL})
    response["Cache-Control"] = "no-store"
    return response


@endpoint("POST")
def register(request: HttpRequest, name: str) -> dict[str, Any]:
    """The load generator has started; `name` in the query is the name that it was started with."""
    stated = request.GET.get("name", name)
    if stated != name:
        raise Refused(
            409,
            f"This load generator is called {stated} (BENCHSITE_GENERATOR), but its credential belongs to {name}. Set "
            f"the name to {name}, or enrol it as {stated} with a code of the page of load generators.",
        )
    try:
        generator = registration.register_generator(name, **json.loads(request.body))
    except registration.NameTaken as error:
        raise Refused(409, str(error)) from error
    return {"machine": generator.machine.name}


@endpoint("POST")
def presence(request: HttpRequest, name: str) -> dict[str, Any]:
    """A sign of life; `probed` says that its pool processes have just answered and can start clients, which ends a
    quarantine. The answer says what it was and what it is, whether the load generator is to be calibrated now, and
    after how many seconds the next sign of life is due.
    """
    probed = bool(json.loads(request.body)["probed"])
    quarantined, calibrate, beat_s = registration.note_presence(name)
    released = probed and quarantined and generators.release(name)
    return {
        "released": released, "quarantined": quarantined and not released, "calibrate": calibrate, "beat_s": beat_s
    }  # fmt: skip


@endpoint("POST")
def calibration(request: HttpRequest, name: str) -> dict[str, Any]:
    """What the load generator can generate, by binding, or the `error` for which it does not know."""
    body = json.loads(request.body)
    generator = LoadGenerator.objects.get(name=name)
    known = {b: c for b, c in body["capacities"].items() if generator.bindings.get(b) == c["digest"]}
    scheduling.end_calibration(generator, known, str(body["error"]))
    return {}


@endpoint("GET")
def clock(request: HttpRequest, name: str) -> dict[str, Any]:
    """PostgreSQL's clock, in seconds since 1970."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        row = cursor.fetchone()
    return {"now": float(row[0])}


@endpoint("POST")
def claim(request: HttpRequest, name: str, pk: uuid.UUID) -> dict[str, Any]:
    """The client run's order and the run's window, for the first claim alone: others get `claimed` false."""
    client_run = _own(name, pk)
    if not client_lifecycle.claim(pk, _claim(json.loads(request.body))):
        return {"claimed": False}
    window = client_run.run.spec["window"]
    return {"claimed": True, "order": client_run.order, "window": window, "label": str(client_run)}


@endpoint("POST")
def report(request: HttpRequest, name: str, pk: uuid.UUID) -> dict[str, Any]:
    """A heartbeat: whether the run goes on, and the instant at which its clients begin, once that is known.

    With it come the client's progress (`state`, and columns in REPORTED) and its status lines for the live view.
    """
    body = json.loads(request.body)
    # The most frequent request: it reads three columns and builds no models.
    row = _rows(name, pk).values_list("run_id", "number", "run__starts_at").first()
    if row is None:
        raise _not_there(name, pk)
    run_id, number, starts_at = row
    claim, state = _claim(body), body.get("state")
    fields = {column: body[column] for column in REPORTED if column in body}
    if state:
        goes_on = client_lifecycle.advance(pk, claim, ClientRun.State(state), **fields)
    else:
        goes_on = client_lifecycle.beat(pk, claim, **fields)
    for line in body.get("lines", [])[:MAX_LINES] if goes_on else ():
        live.publish(run_id, number, **line)
    return {"goes_on": goes_on, "starts_at": starts_at.timestamp() if starts_at else None}


@endpoint("POST")
def stopped(request: HttpRequest, name: str, pk: uuid.UUID) -> dict[str, Any]:
    """The client's process group is gone."""
    _own(name, pk)
    client_lifecycle.begin_storing(pk, _claim(json.loads(request.body)))
    return {}


@endpoint("PUT")
def file(request: HttpRequest, name: str, pk: uuid.UUID, kind: str, file_name: str) -> dict[str, Any]:
    """One file; `sha256` and `size` in the query are those of its content."""
    client_run = _own(name, pk)
    digest, size = request.GET["sha256"], int(request.GET["size"])
    if client_run.claim != _claim(request.GET):
        raise Refused(409, "Another process has claimed this client run.")
    if kind not in KINDS or PurePath(file_name).name != file_name:
        raise Refused(400, f"No file of a client is a {kind} {file_name}.")
    if size > (MAX_TEXT_BYTES if kind in artifacts.TEXT_KINDS else MAX_FILE_BYTES):
        raise Refused(413, f"{file_name}, {in_words(size)}, above the limit")
    if client_run.output_stored_at is not None:
        return {}  # An earlier request stored every file.
    if not _upload_slots.acquire(blocking=False):
        raise Refused(503, f"The site receives {MAX_UPLOADS} other files.")
    try:
        _store_file(request, client_run, kind, file_name, digest, size)
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


@endpoint("POST")
def complete(request: HttpRequest, name: str, pk: uuid.UUID) -> dict[str, Any]:
    """How the client ended; all its files are stored, but for those that are `missing`: sentences about them."""
    body = json.loads(request.body)
    client_run = _own(name, pk)
    facts = {**client_run.facts, **body["facts"]}
    if missing := [str(sentence) for sentence in body.get("missing", [])]:
        text = f"Client {client_run.number} on {name}: missing: {'; '.join(missing)}."
        RunEvent.objects.get_or_create(run_id=client_run.run_id, kind="note", text=text)
    client_lifecycle.complete(
        pk,
        _claim(body),
        Reason(body["reason"]),
        str(body["reason_detail"]),
        exit_code=body["exit_code"],
        cpu_percent=body["cpu_percent"],
        facts=facts,
    )
    return {}


@endpoint("POST")
def fail(request: HttpRequest, name: str, pk: uuid.UUID) -> dict[str, Any]:
    """The client run has failed, although its output is not stored yet."""
    body = json.loads(request.body)
    _own(name, pk)
    client_lifecycle.fail(pk, _claim(body), Reason(body["reason"]), str(body["reason_detail"]))
    return {}


def _claim(body: Mapping[str, Any]) -> uuid.UUID:
    return uuid.UUID(str(body["claim"]))


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

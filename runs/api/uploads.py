"""Runs that programs bring along: POST /runs, PUT /runs/by-key/{key}, POST /runs:batch, and how far a large one is."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.module_loading import import_string
from ninja import Header, Query, Schema

from benchsite.accounts.limits import LimitReached
from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, ask_again, bearer_in, team_in
from benchsite.rest.limits import spend
from benchsite.rest.problems import Fault, Problem
from benchsite.rest.schemas import refusals
from runs.api import batch, routers
from runs.api.upload_results import UploadAnswer, dry_answer, found_answer, stored_answer, upload_url
from runs.models import Upload, UploadKey
from runs.uploading import api_upload, keys, upload_lifecycle
from runs.uploading.api_upload import Asked, Stored
from runs.uploading.form_data import Body, BodyRefused, read_body
from runs.uploading.keys import KeyBusy, KeyReused
from runs.uploading.manifest import ManifestRefused, described, read_manifest
from runs.uploading.upload_errors import ResultRefused

T = TypeVar("T")
Kind = UploadKey.Kind
State = Upload.State
RETRY_AFTER_S: Final = "1"
# After a body took so long to come, its token is asked for once more: it may have been revoked meanwhile.
LONG_S: Final = 2.0
REFUSALS: Final = refusals(400, 409, 413, 415, 422)
BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["manifest", "files"],
                    "properties": {
                        "manifest": described(),
                        "files": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "description": "What the clients left: text, exporters' JSON, histogram logs, raw points; "
                            "plain, gzip, zstd, tar or zip. A number or a folder in the names tells whose each is.",
                        },
                    },
                },
                "encoding": {"manifest": {"contentType": "application/json"}},
            }
        },
    }
}


class DryRun(Schema):
    """What an upload may ask for in its address."""

    dry_run: bool = False


@routers.runs.post(
    "/runs",
    auth=Needs(Scope.RUNS_WRITE, uploads=True),
    response={200: UploadAnswer, 201: UploadAnswer, 202: UploadAnswer, **REFUSALS},
    summary="Upload what the clients of a run left",
    openapi_extra=BODY,
)
def upload_runs(
    request: HttpRequest,
    query: Annotated[DryRun, Query()],
    idempotency_key: Annotated[str, Header(alias="Idempotency-Key")] = "",
) -> HttpResponse:
    """One request is one run, the files of several clients merged; where the files hold several runs (a load and a
    run, several rungs), all of them are stored together or none.

    Repeating a request with its `Idempotency-Key` (kept 7 days) answers what was stored, and stores nothing again. Up
    to 1 MiB of files is judged at once (201); more is kept for a worker (202), and the address in `Location` says how
    far it is. `?dry_run=1` judges and stores nothing (200); it needs no key.
    """
    with _body(request) as body:
        if query.dry_run:
            return _judged(request, body)
        if not keys.fits(idempotency_key):
            raise Problem(
                "validation-error",
                "Send the header “Idempotency-Key”: 1 to 255 printable ASCII characters that name this result, such as "
                "the CI's build and the file's hash. Repeating the request with it stores nothing twice.",
                errors=[{"pointer": "header.Idempotency-Key", "detail": "Missing, or none that is allowed."}],
            )
        return _stored(request, Kind.REQUEST, idempotency_key, body)


@routers.runs.put(
    "/runs/by-key/{path:key}",
    auth=Needs(Scope.RUNS_WRITE, uploads=True),
    response={200: UploadAnswer, 201: UploadAnswer, 202: UploadAnswer, **REFUSALS},
    operation_id="put_runs_by_key",
    summary="Upload a result under a name of its own",
    openapi_extra=BODY,
)
def put_runs(request: HttpRequest, key: str, query: Annotated[DryRun, Query()]) -> HttpResponse:
    """As `POST /runs`, under a natural key such as `github:123456:workload-a:r3`: the same content again is 200, other
    content 409. The key is free again when its runs are deleted. `?dry_run=1` judges and stores nothing (200).
    """
    with _body(request) as body:
        if query.dry_run:
            return _judged(request, body)
        if not keys.fits(key):
            raise Problem("validation-error", "A key has 1 to 255 printable ASCII characters.")
        return _stored(request, Kind.NATURAL, key, body)


@routers.runs.get(
    "/uploads/{upload_id}", auth=Needs(Scope.RUNS_WRITE), response={200: UploadAnswer}, summary="How far an upload is"
)
def read_upload(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    """`state` is received, reading, completed or saving while a worker is with it; then saved, or failed, and `detail`
    says why.
    """
    return JsonResponse(found_answer(request, _upload(upload_id)))


@routers.runs.delete(
    "/uploads/{upload_id}",
    auth=Needs(Scope.RUNS_WRITE),
    response={204: None, **refusals(409)},
    summary="Forget an upload that failed",
)
def forget_upload(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    """The upload goes with its key, which is free then for other files. Only one that failed: of another its runs are
    stored, or a worker is with it.
    """
    upload = _upload(upload_id)
    if upload.state != State.FAILED:
        reason = "The runs are stored: delete those." if upload.state == State.SAVED else "It is being worked on: wait."
        raise Problem("conflict", f"Only an upload that failed can be forgotten; this one is {upload.state}. {reason}")
    upload_lifecycle.discard(upload)
    return HttpResponse(status=204)


@routers.runs.post(
    "/runs:batch",
    auth=Needs(Scope.RUNS_WRITE),
    response={200: batch.LineAnswer, **refusals(413, 415)},
    summary="Upload up to 200 small results",
    openapi_extra=batch.BODY,
)
def upload_batch(request: HttpRequest, query: Annotated[DryRun, Query()]) -> HttpResponse:
    """NDJSON: on each line a `key` (as in `PUT /runs/by-key/{key}`), a `manifest`, and `files` with `name` and either
    `text` or `base64`. Each line is stored by itself, and has one line in the answer, in the same order.

    Each line counts as an upload of the token's quota, and what the minute has not left is taken from those that
    follow; where it has none left, nothing is stored or counted (429). `?dry_run=1` judges and stores nothing.
    """

    def answer(line: batch.Line) -> tuple[int, Mapping[str, Any]]:
        body = Body(line.manifest, line.files)
        response = _judged(request, body) if query.dry_run else _stored(request, Kind.NATURAL, line.key, body)
        return response.status_code, response.body

    def count(lines: int) -> None:
        refusal = "Nothing of this batch was stored or counted. "
        spend(request, bearer_in(request).token, {"uploads": lines}, refusal)

    return batch.answered(request, answer, count)


@contextmanager
def _body(request: HttpRequest) -> Iterator[Body]:
    """The body of a request for as long as it is needed; what went to disk goes with it."""
    began = time.monotonic()
    try:
        body = read_body(request)
    except BodyRefused as error:
        raise Problem(error.slug, str(error)) from error
    with closing(body):
        if time.monotonic() - began > LONG_S:
            ask_again(request)
        yield body


def _upload(upload_id: UUID) -> Upload:
    upload = Upload.objects.filter(pk=upload_id).first()
    if upload is None:
        raise Problem("not-found", "Your team has no such upload, or it was dropped.")
    return upload


class BodyResponse(JsonResponse):
    """A response of which the content is still at hand."""

    def __init__(self, content: Mapping[str, Any], status: int) -> None:
        self.body = content
        super().__init__(content, status=status)


def _judged(request: HttpRequest, body: Body) -> BodyResponse:
    upload_request = _asked(request, Kind.REQUEST, "", body)
    return BodyResponse(dry_answer(_refusing(lambda: api_upload.judge_only(upload_request))), 200)


def _stored(request: HttpRequest, kind: str, key: str, body: Body) -> BodyResponse:
    upload_request = _asked(request, kind, key, body)
    try:
        stored = _refusing(lambda: api_upload.upload(upload_request, lambda *rows: stored_answer(request, *rows)))
    except KeyBusy:
        raise Problem(
            "in-flight",
            "Another request with this key is being worked on. Ask again in a second; nothing is stored twice.",
            headers={"Retry-After": RETRY_AFTER_S},
        ) from None
    except KeyReused as error:
        raise _reused(kind, error.known) from None
    return _answer(request, kind, stored)


def _asked(request: HttpRequest, kind: str, key: str, body: Body) -> Asked:
    manifest = _refusing(lambda: read_manifest(body.manifest))
    return Asked(team_in(request), bearer_in(request).user, kind, key, manifest, body.files)


def _refusing(work: Callable[[], T]) -> T:
    """What is wrong with manifest or files, as a problem document."""
    try:
        return work()
    except LimitReached as error:
        raise Problem.of_limit(error) from error
    except ManifestRefused as error:
        faults: list[Fault] = [{"pointer": pointer, "detail": message} for pointer, message in error.faults]
        raise Problem("validation-error", str(error), errors=faults) from error
    except ResultRefused as error:
        places = [
            {"pointer": "#/files", "detail": message, **asdict(place)} for place, message in error.faults
        ]  # fmt: skip
        first = asdict(error.faults[0][0]) if error.faults else {}
        raise Problem(error.slug, str(error), errors=places, **first) from error  # type: ignore[arg-type]


def _reused(kind: str, known: UploadKey) -> Problem:
    where = upload_url(known.upload) if known.upload is not None else None
    if kind == Kind.NATURAL:
        message = "This key names a result with other content. Delete its run first, or use another key."
        return Problem("run-conflict", message, upload=where)
    message = "This idempotency key was used for another manifest or other files: use a new one."
    if known.upload is not None and known.upload.state == State.FAILED:
        message += f" What it names has failed: DELETE {where} frees the key."
    return Problem("key-reused", message, upload=where)


def _answer(request: HttpRequest, kind: str, stored: Stored) -> BodyResponse:
    """Of what was stored now or before; a worker may be with it still."""
    key, status, body = stored.key, stored.key.status, stored.key.answer
    if status == 202:
        status, body = _state(request, key)
    elif key.upload is not None and body["runs"]:
        # What others say of the runs is asked each time: baselines move.
        runs = list(key.upload.runs.order_by("position")) if request.GET else []
        for addition in settings.UPLOAD_ADDITIONS if runs else ():
            body = {**body, **import_string(addition)(request, runs)}
    if stored.replayed and kind == Kind.NATURAL and status == 201:
        status = 200
    response = BodyResponse(body, status)
    response["Location"] = body["runs"][0]["url"] if len(body["runs"]) == 1 else body["url"]
    if stored.replayed:
        response["Idempotency-Replayed"] = "true"
    return response


def _state(request: HttpRequest, key: UploadKey) -> tuple[int, dict[str, Any]]:
    upload = key.upload
    if upload is None:
        raise Problem("not-found", "What was uploaded under this key was deleted. Use another key to upload it again.")
    if upload.state == State.FAILED:
        where = upload_url(upload)
        remedy = f"To send other files, use a new key, or DELETE {where} first, which frees this one."
        raise Problem("malformed-result", f"{upload.error} {remedy}", upload=where)
    body = found_answer(request, upload)
    return (201 if upload.state == State.SAVED else 202), body

"""Runs that programs bring along: POST /runs, and how far a large one is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.module_loading import import_string
from ninja import Header, Query, Schema

from benchsite.accounts.limits import LimitReached
from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs, ask_again, bearer_in, team_in
from benchsite.rest.problems import Fault, Problem
from benchsite.rest.schemas import refusals
from runs.api import routers
from runs.models import Upload, UploadKey
from runs.uploads import api_upload, keys, upload_lifecycle
from runs.uploads.api.upload_results import UploadAnswer, dry_answer, found_answer, stored_answer, upload_url
from runs.uploads.api_upload import UploadRequest
from runs.uploads.form_data import BodyRefused, read_body
from runs.uploads.keys import KeyBusy, KeyReused
from runs.uploads.manifest import ManifestRefused, described, read_manifest
from runs.uploads.messages import UPLOAD_DELETED, USE_NEW_KEY
from runs.uploads.upload_errors import ResultRefused
from runs.uploads.upload_handlers import ReceivedFile

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
    auth=Needs(Scope.RUNS_WRITE, counted=["requests", "uploads"]),
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
    with _body(request) as (manifest, files), _problems():
        if not (query.dry_run or keys.fits(idempotency_key)):
            raise Problem(
                "validation-error",
                "Send the header “Idempotency-Key”: 1 to 255 printable ASCII characters that name this result, such as "
                "the CI's build and the file's hash. Repeating the request with it stores nothing twice.",
                errors=[{"pointer": "header.Idempotency-Key", "detail": "Missing, or none that is allowed."}],
            )
        upload = UploadRequest(
            team_in(request), bearer_in(request).user, idempotency_key, read_manifest(manifest), files
        )
        if query.dry_run:
            return JsonResponse(dry_answer(*api_upload.judge_only(upload)))
        return _answer(request, *api_upload.upload(upload, partial(stored_answer, request)))


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
        reason = "It is being worked on: wait."
        if upload.state == State.SAVED:
            reason = "The runs are stored: delete those."
        raise Problem("conflict", f"Only an upload that failed can be forgotten; this one is {upload.state}. {reason}")
    upload_lifecycle.discard(upload)
    return HttpResponse(status=204)


@contextmanager
def _body(request: HttpRequest) -> Iterator[tuple[bytes, list[ReceivedFile]]]:
    """The manifest and the files of a request for as long as they are needed; what went to disk goes with them."""
    began = time.monotonic()
    try:
        manifest, files = read_body(request)
    except BodyRefused as error:
        raise Problem(error.slug, str(error)) from error
    try:
        if time.monotonic() - began > LONG_S:
            ask_again(request)
        yield manifest, files
    finally:
        for file in files:
            file.close()


def _upload(upload_id: UUID) -> Upload:
    upload = Upload.objects.filter(pk=upload_id).first()
    if upload is None:
        raise Problem("not-found", "Your team has no such upload, or it was dropped.")
    return upload


@contextmanager
def _problems() -> Iterator[None]:
    """Turns problems with key, manifest or files into problem documents."""
    try:
        yield
    except KeyBusy:
        raise Problem(
            "in-flight",
            "Another request with this key is being worked on. Ask again in a second; nothing is stored twice.",
            headers={"Retry-After": RETRY_AFTER_S},
        ) from None
    except KeyReused as error:
        raise _reused(error.earlier) from None
    except LimitReached as error:
        raise Problem.of_limit(error) from error
    except ManifestRefused as error:
        faults: list[Fault] = [{"pointer": pointer, "detail": message} for pointer, message in error.faults]
        raise Problem("validation-error", str(error), errors=faults) from error
    except ResultRefused as error:
        positions = [
            {"pointer": "#/files", "detail": message, **asdict(position)} for position, message in error.faults
        ]
        first = asdict(error.faults[0][0]) if error.faults else {}
        raise Problem(error.slug, str(error), errors=positions, **first) from error  # type: ignore[arg-type]


def _reused(earlier: UploadKey) -> Problem:
    message = "This idempotency key was used for another manifest or other files: use a new one."
    if earlier.upload is None:
        return Problem("key-reused", message, upload=None)
    where = upload_url(earlier.upload)
    if earlier.upload.state == State.FAILED:
        message += f" What it names has failed: DELETE {where} frees the key."
    return Problem("key-reused", message, upload=where)


def _answer(request: HttpRequest, key: UploadKey, is_replayed: bool) -> JsonResponse:
    """The answer for an upload that was stored now or before; a worker may still read it."""
    status, body = key.status, key.answer
    if status == 202:
        status, body = _state(request, key)
    elif key.upload is not None and body["runs"] and request.GET:
        # What others say of the runs is asked each time: baselines move.
        runs = list(key.upload.runs.order_by("position"))
        for addition in settings.UPLOAD_ADDITIONS if runs else ():
            body = {**body, **import_string(addition)(request, runs)}

    response = JsonResponse(body, status=status)
    response["Location"] = body["runs"][0]["url"] if len(body["runs"]) == 1 else body["url"]
    if is_replayed:
        response["Idempotency-Replayed"] = "true"
    return response


def _state(request: HttpRequest, key: UploadKey) -> tuple[int, dict[str, Any]]:
    upload = key.upload
    if upload is None:
        raise Problem("not-found", UPLOAD_DELETED)
    if upload.state == State.FAILED:
        where = upload_url(upload)
        remedy = USE_NEW_KEY.format(address=where)
        raise Problem("malformed-result", f"{upload.error} {remedy}", upload=where)
    body = found_answer(request, upload)
    return (201 if upload.state == State.SAVED else 202), body

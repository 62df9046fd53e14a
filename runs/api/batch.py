"""Many small results in one body, a line of JSON for each: NDJSON in, NDJSON out."""

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Schema
from pydantic import Field

from benchsite.rest.problems import Problem
from runs.uploading import keys
from runs.uploading.api_upload import brought
from runs.uploading.form_data import Arrived

MAX_LINES: Final = 200
CONTENT_TYPE: Final = "application/x-ndjson"
MAX_LINE_LENGTH: Final = 2 * 1024**2  # bytes
MAX_BYTES: Final = 16 * 1024**2  # of a whole body
BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {
            CONTENT_TYPE: {
                "schema": {"type": "string"},
                "example": '{"key": "c:1", "manifest": {"system": "redis"}, "files": [{"name": "a.txt", "text": "…"}]}',
            }
        },
    },
    "responses": {200: {"content": {CONTENT_TYPE: {}}}},
}


class LineAnswer(Schema):
    """One line of the answer."""

    line: int = Field(description="In the body, from 1.")
    key: str
    status: int = Field(description="201 stored, 200 there already, else as `PUT /runs/by-key/{key}` refuses.")
    upload: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Line:
    key: str
    manifest: bytes
    files: list[Arrived]


def answered(
    request: HttpRequest, store: Callable[[Line], tuple[int, Mapping[str, Any]]], count: Callable[[int], None]
) -> HttpResponse:
    """A line of answer for each line of the body; what is wrong with one is no other's harm.

    `count` is told the number of lines before anything is done with one, and may refuse them all.
    """
    lines, answers = _lines(request), []
    count(len(lines))
    for number, text in enumerate(lines, 1):
        key = ""
        try:
            line = _line(text)
            key = line.key
            status, upload = store(line)
            answers.append({"line": number, "key": key, "status": status, "upload": upload})
        except Problem as problem:
            answers.append({"line": number, "key": key, "status": problem.status, "problem": problem.document()})
    body = "".join(json.dumps(answer) + "\n" for answer in answers)
    return HttpResponse(body, content_type=CONTENT_TYPE)


def _lines(request: HttpRequest) -> list[bytes]:
    kind = request.META.get("CONTENT_TYPE", "").split(";")[0].strip()
    if kind not in (CONTENT_TYPE, "application/jsonl"):
        raise Problem("unsupported-format", f"Send {CONTENT_TYPE}: a JSON object on each line.")
    body = b"".join(_read(request))
    lines = [line for line in body.split(b"\n") if line.strip()]
    if not lines:
        raise Problem("validation-error", "The body has no line.")
    if len(lines) > MAX_LINES:
        raise Problem("payload-too-large", f"The body has {len(lines):,} lines; at most {MAX_LINES} are taken at once.")
    return lines


def _read(request: HttpRequest) -> Iterator[bytes]:
    claimed = int(request.META.get("CONTENT_LENGTH") or 0)
    taken = 0
    while taken < claimed and taken <= MAX_BYTES and (piece := request.read(64 * 1024)):
        taken += len(piece)
        yield piece
    if claimed > MAX_BYTES:
        raise Problem("payload-too-large", f"A batch has at most {MAX_BYTES:,} bytes: send fewer lines at a time.")
    if taken < claimed:
        raise Problem("validation-error", "The body broke off before its end. Nothing was stored: send it again.")


def _line(text: bytes) -> Line:
    if len(text) > MAX_LINE_LENGTH:
        raise Problem(
            "payload-too-large", f"A line has at most {MAX_LINE_LENGTH:,} bytes: send large results by themselves."
        )
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Problem("validation-error", f"The line is no JSON: {error}") from error
    if not isinstance(content, dict) or set(content) - {"key", "manifest", "files"}:
        raise Problem("validation-error", "A line is an object with key, manifest and files.")
    key = content.get("key")
    if not isinstance(key, str) or not keys.fits(key):
        raise _wrong("#/key", "The key must be a text of 1 to 255 printable ASCII characters.")
    files = content.get("files")
    if not isinstance(files, list) or not files:
        raise _wrong("#/files", "Files must be a list of objects with name and text or base64.")
    arrived = [_file(number, file) for number, file in enumerate(files)]
    if sum(other.size for other in arrived) > settings.UPLOAD_AT_ONCE_BYTES:
        raise Problem("payload-too-large", "Send this result by itself: it is too large for a batch.")
    return Line(key, json.dumps(content.get("manifest")).encode(), arrived)


def _file(number: int, content: object) -> Arrived:
    place = f"#/files/{number}"
    if (
        not isinstance(content, dict)
        or not isinstance(content.get("name"), str)
        or set(content) - {"name", "text", "base64"}
    ):
        raise _wrong(place, "A file is an object with name and text or base64.")
    text, packed = content.get("text"), content.get("base64")
    if isinstance(text, str) and packed is None:
        return brought(content["name"][:280], text.encode(errors="replace"))
    if isinstance(packed, str) and text is None:
        try:
            return brought(content["name"][:280], base64.b64decode(packed, validate=True))
        except (binascii.Error, ValueError):
            raise _wrong(f"{place}/base64", "This is no base64.") from None
    raise _wrong(place, "A file has either text or base64.")


def _wrong(pointer: str, message: str) -> Problem:
    return Problem("validation-error", f"{pointer}: {message}", errors=[{"pointer": pointer, "detail": message}])

"""The multipart body of an upload by a program, taken apart while it arrives.

Nothing is reserved by what a request claims of its length, and one that broke off is refused.
"""

from typing import Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, UnreadablePostError
from django.http.multipartparser import MultiPartParser, MultiPartParserError

from benchsite.core import formatting
from runs.uploads.manifest import MAX_MANIFEST
from runs.uploads.messages import TOO_MANY_FILES, UPLOAD_TOO_LARGE
from runs.uploads.upload_handlers import FILES, ReceivedFile, ReceivedFiles

MANIFEST: Final = "manifest"
MAX_NAME_LENGTH: Final = 280
# What separates the parts of a body, and says their names.
_ROOM: Final = 256 * 1024


class BodyRefused(Exception):
    """The body cannot be taken. `slug` is the kind of problem; the message says what to do."""

    def __init__(self, slug: str, message: str) -> None:
        self.slug = slug
        super().__init__(message)


def read_body(request: HttpRequest) -> tuple[bytes, list[ReceivedFile]]:
    """The manifest and the files that came with it. The caller closes the files. Raises BodyRefused."""
    handler = ReceivedFiles(request)
    try:
        return _parse(request, handler, _check_length(request))
    except BaseException:
        handler.close()
        raise


def _parse(request: HttpRequest, handler: ReceivedFiles, length: int) -> tuple[bytes, list[ReceivedFile]]:
    stream = _Counted(request)
    try:
        fields, files = FolderParser(request.META, stream, [handler], "utf-8").parse()  # type: ignore[arg-type]
        if handler.refused:
            raise BodyRefused("payload-too-large", handler.refused)
        if handler.interrupted or stream.bytes < length:
            raise BodyRefused(
                "validation-error", "The body broke off before its end. Nothing was stored: send it again."
            )

        manifests = [_read_text(part) for part in files.getlist(MANIFEST)]
        manifests += [text.encode(errors="replace") for text in fields.getlist(MANIFEST)]
        if unknown := sorted({*fields.keys(), *files.keys()} - {MANIFEST, FILES}):
            raise BodyRefused(
                "validation-error", f"The form has the field “{unknown[0][:60]}”: send “manifest” and “files”."
            )
        if len(manifests) != 1:
            raise BodyRefused("validation-error", "Send one field “manifest” with JSON, and the results as “files”.")

        return manifests[0], files.getlist(FILES)
    except TooManyFilesSent as error:
        raise BodyRefused("payload-too-large", TOO_MANY_FILES.format(limit=settings.MAX_UPLOAD_FILES)) from error
    except (TooManyFieldsSent, RequestDataTooBig) as error:
        raise BodyRefused(
            "payload-too-large", "The form has more than a manifest and files: send only these."
        ) from error
    except (MultiPartParserError, UnreadablePostError, OSError, UnicodeError) as error:
        raise BodyRefused("validation-error", f"The body cannot be read as multipart/form-data: {error}") from error


def _read_text(manifest: ReceivedFile) -> bytes:
    if manifest.size > MAX_MANIFEST:
        raise BodyRefused("payload-too-large", f"The manifest is longer than {MAX_MANIFEST:,} bytes.")
    return manifest.read()


def _check_length(request: HttpRequest) -> int:
    """The length of a body of the form that is read. Raises BodyRefused."""
    kind = request.META.get("CONTENT_TYPE", "")
    if not kind.startswith("multipart/form-data"):
        raise BodyRefused("unsupported-format", "Send multipart/form-data with a manifest and files, as curl -F does.")
    if request.META.get("HTTP_CONTENT_ENCODING", "identity") not in ("", "identity"):
        raise BodyRefused("unsupported-format", "Send the form as it is: compress its files, not the whole of it.")

    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        length = 0

    if length <= 0:
        raise BodyRefused("validation-error", "Send the body with its Content-Length: it is empty, or sent in chunks.")
    if length > settings.MAX_UPLOAD_BYTES + _ROOM + settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        too_large = UPLOAD_TOO_LARGE.format(limit=formatting.size(settings.MAX_UPLOAD_BYTES))
        raise BodyRefused("payload-too-large", too_large)

    return length


class FolderParser(MultiPartParser):
    def sanitize_file_name(self, file_name: str) -> str | None:
        """Names are labels, and the folder in one tells whose file it is: nothing is ever opened by it."""
        parts = [part for part in file_name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        return "/".join(parts)[-MAX_NAME_LENGTH:] or "unnamed"


class _Counted:
    """The body, its bytes counted: one that breaks off ends as one that is complete does."""

    def __init__(self, request: HttpRequest) -> None:
        self._request, self.bytes = request, 0

    def read(self, size: int) -> bytes:
        data = self._request.read(size)
        self.bytes += len(data)
        return data

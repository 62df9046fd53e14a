"""The multipart body of an upload by a program, taken apart while it arrives.

Small files stay in memory. Once all of them together are too many bytes for that, what still comes goes to disk, up to
a limit. Nothing is reserved by what a request claims of its length, and one that broke off is refused.
"""

import hashlib
import io
from dataclasses import dataclass, field
from typing import IO, Any, Final, NoReturn

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.core.files.base import File
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import HttpRequest, UnreadablePostError
from django.http.multipartparser import MultiPartParser, MultiPartParserError

from benchsite.core import formatting
from runs.uploads.manifest import MAX_MANIFEST
from runs.uploads.messages import TOO_MANY_FILES, UPLOAD_TOO_LARGE
from runs.uploads.upload_handlers import ArrivingFile

MANIFEST: Final = "manifest"
FILES: Final = "files"
MAX_NAME_LENGTH: Final = 280
# What separates the parts of a body, and says their names.
_ROOM: Final = 256 * 1024


class BodyRefused(Exception):
    """The body cannot be taken. `slug` is the kind of problem; the message says what to do."""

    def __init__(self, slug: str, message: str) -> None:
        self.slug = slug
        super().__init__(message)


@dataclass
class Arrived:
    """One file that has come, in memory or on disk."""

    name: str
    file: IO[bytes]
    size: int = 0
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def write(self, piece: bytes) -> None:
        self.file.write(piece)
        self.digest.update(piece)
        self.size += len(piece)

    def read(self) -> bytes:
        self.file.seek(0)
        return self.file.read()

    def content(self) -> "File[bytes]":
        """A file to be stored; one on disk is moved."""
        self.file.seek(0)
        if isinstance(self.file, File):
            return self.file
        return File(self.file, name=self.name)

    def close(self) -> None:
        self.file.close()


def read_body(request: HttpRequest) -> tuple[bytes, list[Arrived]]:
    """The manifest and the files that came with it. The caller closes the files. Raises BodyRefused."""
    keeping = _Keeping(request)
    try:
        return _parse(request, keeping, _length(request))
    except BaseException:
        keeping.close()
        raise


def _parse(request: HttpRequest, keeping: "_Keeping", length: int) -> tuple[bytes, list[Arrived]]:
    stream = _Counted(request)
    try:
        fields, files = FolderParser(request.META, stream, [keeping], "utf-8").parse()  # type: ignore[arg-type]
        if keeping.refused:
            raise BodyRefused("payload-too-large", keeping.refused)
        if keeping.interrupted or stream.bytes < length:
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
        raise BodyRefused("payload-too-large", _too_many()) from error
    except (TooManyFieldsSent, RequestDataTooBig) as error:
        raise BodyRefused(
            "payload-too-large", "The form has more than a manifest and files: send only these."
        ) from error
    except (MultiPartParserError, UnreadablePostError, OSError, UnicodeError) as error:
        raise BodyRefused("validation-error", f"The body cannot be read as multipart/form-data: {error}") from error


def _read_text(manifest: Arrived) -> bytes:
    if manifest.size > MAX_MANIFEST:
        raise BodyRefused("payload-too-large", f"The manifest is longer than {MAX_MANIFEST:,} bytes.")
    return manifest.read()


def _length(request: HttpRequest) -> int:
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
        raise BodyRefused("payload-too-large", _too_large())

    return length


def _too_large() -> str:
    return UPLOAD_TOO_LARGE.format(limit=formatting.size(settings.MAX_UPLOAD_BYTES))


def _too_many() -> str:
    return TOO_MANY_FILES.format(limit=settings.MAX_UPLOAD_FILES)


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


class _Keeping(FileUploadHandler):
    """In memory while that is little, then on disk. Beyond the limits it stops, and nothing is left."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.kept: list[Arrived] = []
        self.bytes = self.files = 0
        self.refused = ""
        self.interrupted = False

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        self.files += field_name == FILES  # The manifest may be one too.
        if self.files > settings.MAX_UPLOAD_FILES:
            self._refuse(_too_many())
        self.kept.append(Arrived(file_name, io.BytesIO()))

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.bytes += len(raw_data)
        if self.bytes > settings.MAX_UPLOAD_BYTES:
            self._refuse(_too_large())
        last = self.kept[-1]
        try:
            if self.bytes > settings.UPLOAD_AT_ONCE_BYTES and isinstance(last.file, io.BytesIO):
                on_disk = ArrivingFile(last.name, "", None)
                on_disk.write(last.file.getvalue())
                last.file = on_disk
            last.write(raw_data)
        except OSError as error:
            self._refuse(f"The files could not be kept ({error.strerror}): tell an operator of this site.")

    def file_complete(self, file_size: int) -> Any:
        return self.kept[-1]

    def upload_interrupted(self) -> None:
        self.interrupted = True

    def close(self) -> None:
        for file in self.kept:
            file.close()

    def _refuse(self, why: str) -> NoReturn:
        # The rest of the request is read and thrown away: a program that is cut off in the middle hears no reason.
        self.refused = why
        raise StopUpload(connection_reset=False)

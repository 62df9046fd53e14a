"""Where the files of a request go: in memory while they are little, then to disk, and no further than a limit."""

import hashlib
import io
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from django.conf import settings
from django.core.files.base import File
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload
from django.http import HttpRequest

from benchsite.core import formatting
from runs.uploads.messages import FILES_NOT_STORED, TOO_MANY_FILES, UPLOAD_TOO_LARGE


class NoFiles(FileUploadHandler):
    """For every page that takes no files: what is sent all the same is read past and kept nowhere."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        return None

    def file_complete(self, file_size: int) -> None:
        return None


def folder() -> Path:
    """Where files lie while they arrive: beside where they are kept, so that keeping one is a rename."""
    base = Path(settings.INCOMING_DIR)
    for private in (base, base / "arriving"):
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
    return base / "arriving"


def drop_strays(older_than_s: float) -> None:
    """Files that were still arriving when their server was killed."""
    for path in folder().glob("*.upload"):
        if time.time() - path.stat().st_mtime > older_than_s:
            path.unlink(missing_ok=True)


FILES: Final = "files"  # the field of results in forms


class TemporaryFile(TemporaryUploadedFile):
    """A file that is gone when its request ends, unless it was moved elsewhere."""

    def __init__(self, name: str) -> None:
        file = tempfile.NamedTemporaryFile(suffix=".upload", dir=folder())  # noqa: SIM115 - closed with the request
        UploadedFile.__init__(self, file, name)


@dataclass
class ReceivedFile:
    """One file of a request, in memory or on disk. Its name has the folders, which Django's own files have not."""

    name: str
    file: IO[bytes] = field(default_factory=io.BytesIO)
    size: int = 0
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def write(self, piece: bytes) -> None:
        self.file.write(piece)
        self.digest.update(piece)
        self.size += len(piece)

    def move_to_disk(self) -> None:
        on_disk = TemporaryFile(self.name)
        on_disk.write(self.read())
        self.file = on_disk

    def read(self) -> bytes:
        self.file.seek(0)
        return self.file.read()

    def content(self) -> "File[bytes]":
        """A file to be stored; one on disk is moved."""
        self.file.seek(0)
        if isinstance(self.file, TemporaryFile):
            self.file.size = self.size
            return self.file
        return File(self.file, name=self.name)

    def close(self) -> None:
        self.file.close()


class ReceivedFiles(FileUploadHandler):
    """Beyond the limits it stops, and nothing is left."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.received: list[ReceivedFile] = []
        self.bytes = self.files = 0
        self.refused = ""  # why, in a sentence
        self.interrupted = False

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        self.files += field_name == FILES  # A manifest may be one too.
        if self.files > settings.MAX_UPLOAD_FILES:
            self._refuse(TOO_MANY_FILES.format(limit=settings.MAX_UPLOAD_FILES))
        self.received.append(ReceivedFile(file_name))

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.bytes += len(raw_data)
        if self.bytes > settings.MAX_UPLOAD_BYTES:
            self._refuse(UPLOAD_TOO_LARGE.format(limit=formatting.size(settings.MAX_UPLOAD_BYTES)))
        last = self.received[-1]
        try:
            if self.bytes > settings.UPLOAD_AT_ONCE_BYTES and isinstance(last.file, io.BytesIO):
                last.move_to_disk()
            last.write(raw_data)
        except OSError as error:
            self._refuse(FILES_NOT_STORED.format(reason=error.strerror))

    def file_complete(self, file_size: int) -> Any:
        return self.received[-1]

    def upload_interrupted(self) -> None:
        self.interrupted = True

    def close(self) -> None:
        for file in self.received:
            file.close()

    def _refuse(self, why: str) -> NoReturn:
        # The rest of the request is read and thrown away: who is cut off in the middle hears no reason.
        self.close()
        self.refused = why
        raise StopUpload(connection_reset=False)

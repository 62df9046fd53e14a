"""Where the files of a request go: to disk as they come, and no further than a limit."""

import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload, TemporaryFileUploadHandler
from django.http import HttpRequest

from benchsite.core import formatting
from runs.uploads.messages import TOO_MANY_FILES, UPLOAD_TOO_LARGE


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


class ArrivingFile(TemporaryUploadedFile):
    """A file that is gone when its request ends, unless it was moved elsewhere."""

    def __init__(self, name: str, content_type: str, charset: str | None) -> None:
        file = tempfile.NamedTemporaryFile(suffix=".upload", dir=folder())  # noqa: SIM115 - closed with the request
        UploadedFile.__init__(self, file, name, content_type, 0, charset)
        self.path_name = name  # with its folders, which Django takes off `name`


class ImportedFiles(TemporaryFileUploadHandler):
    """Writes each file to a private folder while it arrives. Beyond the limit it stops, and nothing is left."""

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self.bytes = self.files = 0
        self.refused = ""  # why, in a sentence

    def new_file(self, field_name: str, file_name: str, content_type: str, *args: Any, **kwargs: Any) -> None:
        FileUploadHandler.new_file(self, field_name, file_name, content_type, *args, **kwargs)
        self.files += 1
        if self.files > settings.MAX_UPLOAD_FILES:
            self._refuse(TOO_MANY_FILES.format(limit=settings.MAX_UPLOAD_FILES))
        try:
            self.file = ArrivingFile(file_name, content_type, self.charset)
        except OSError as error:
            self._disk(error)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.bytes += len(raw_data)
        if self.bytes > settings.MAX_UPLOAD_BYTES:
            self._refuse(UPLOAD_TOO_LARGE.format(limit=formatting.size(settings.MAX_UPLOAD_BYTES)))
        try:
            super().receive_data_chunk(raw_data, start)
        except OSError as error:
            self._disk(error)

    def _disk(self, error: OSError) -> NoReturn:
        self._refuse(f"The files could not be kept ({error.strerror}): tell an operator of this site.")

    def _refuse(self, why: str) -> NoReturn:
        # The rest of the request is read and thrown away: a browser cut off in the middle shows no page.
        self.refused = why
        raise StopUpload(connection_reset=False)

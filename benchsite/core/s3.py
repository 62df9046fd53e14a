"""Artifacts in a bucket. What goes wrong on the way is an OSError, as it is with a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage


@contextmanager
def as_oserror(action: str) -> Iterator[None]:
    """Errors of the service and of the way to it, in the words that callers of any storage know."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise OSError(f"The artifact storage does not answer as it should ({action}): {error}") from error


class ArtifactsInS3(S3Storage):  # type: ignore[misc]
    """S3 behind Django's storage API: a file is there once it is written whole."""

    def _open(self, name: str, mode: str = "rb") -> Any:
        """The whole object, fetched now, so that a break of the connection is known before anything is answered."""
        with as_oserror("reading"):
            file = super()._open(name, mode)
            if "w" not in mode:
                _ = file.file
            return file

    def _save(self, name: str, content: Any) -> str:
        with as_oserror("writing"):
            return str(super()._save(name, content))

    def exists(self, name: str) -> bool:
        with as_oserror("looking"):
            return bool(super().exists(name))

    def delete(self, name: str) -> None:
        with as_oserror("removing"):
            super().delete(name)

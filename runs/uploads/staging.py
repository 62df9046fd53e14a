"""What lies in the private storage "incoming" while an import waits. Nothing of it outlives its upload's end.

Files that have just come hold secrets, so they go as soon as they are read; what was redacted stays until it is saved.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import zstandard
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage, storages

from runs.identifiers import parse_uuid
from runs.ycsb import READER_VERSION


def storage() -> Storage:
    return storages["incoming"]


def keep_original(upload_id: uuid.UUID, position: int, content: "File[bytes]") -> str:
    """A file as it came; answers where it lies."""
    return storage().save(f"{upload_id}/original-{position}", content)


def keep_redacted(upload_id: uuid.UUID, position: int, compressed: BinaryIO) -> str:
    """A redacted file, compressed with zstd; replaces what a reader that died had left there."""
    path = f"{upload_id}/redacted-{position}.zst"
    storage().delete(path)
    return storage().save(path, File(compressed))


def keep_sums(path: str, content: bytes) -> None:
    """Store how this release read the redacted file at this path."""
    storage().delete(_sums_path(path))
    storage().save(_sums_path(path), ContentFile(content))


def read_sums(path: str) -> bytes | None:
    try:
        with storage().open(_sums_path(path)) as stored:
            return cast(bytes, stored.read())
    except FileNotFoundError:
        return None


def _sums_path(path: str) -> str:
    return f"{path}.sums-{READER_VERSION}"


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The content: of an original as it came, of a redacted file decompressed."""
    with storage().open(path) as stored:
        if path.endswith(".zst"):
            with zstandard.ZstdDecompressor().stream_reader(cast(BinaryIO, stored), read_across_frames=True) as plain:
                yield cast(BinaryIO, plain)
        else:
            yield cast(BinaryIO, stored)


def compressed(path: str) -> "File[bytes]":
    """A redacted file as it is stored, opened: compressed with zstd."""
    return storage().open(path)


def drop(path: str) -> None:
    storage().delete(path)


def folders() -> set[str]:
    """The ids of the uploads of which something is kept."""
    try:
        return {name for name in storage().listdir("")[0] if parse_uuid(name)}
    except FileNotFoundError:
        return set()


def drop_folder(folder: str) -> None:
    """The folder of one upload with all its files; harmless where there is none."""
    try:
        names = storage().listdir(folder)[1]
    except FileNotFoundError:
        return
    for name in names:
        storage().delete(f"{folder}/{name}")
    storage().delete(folder)

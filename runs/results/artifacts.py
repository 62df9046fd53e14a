"""Artifacts: content-addressed, zstd-compressed files behind Django's storage API, redacted before they are hashed."""

import errno
import hashlib
import io
import os
import tempfile
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import zstandard
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.db import connection

from runs.models import Artifact, ClientRun, Run
from runs.ycsb.redact import redact

# A worker that does not find this file sees another folder than the site does.
MARKER = "benchsite-artifacts"
CHUNK = 256 * 1024  # bytes
_IN_MEMORY = 1 << 20  # bytes; more goes to disk
_AT_ONCE = 1 << 18  # bytes; more is compressed while it comes
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_OF_THREAD = threading.local()
TEXT_KINDS = frozenset({"summary", "stdout", "stderr", "properties", "server_config", "server_log", "host", "arrivals"})


def storage() -> Storage:
    return storages["artifacts"]


def mark_storage() -> None:
    """Written by the site when it starts. A folder of an earlier release is closed for other accounts."""
    if not storage().exists(MARKER):
        storage().save(MARKER, ContentFile(b"Artifacts of a Benchsite.\n"))
    folder = storage()
    if isinstance(folder, FileSystemStorage):
        with suppress(PermissionError):  # It belongs to another account, whose it is to close.
            Path(folder.location).chmod(0o700)


def storage_is_there() -> bool:
    """Whether the store answers and is the site's own: its marker file is there."""
    try:
        return storage().exists(MARKER)
    except OSError:
        return False


def check_storage() -> None:
    """Raises ImproperlyConfigured in a worker that cannot see the site's artifacts."""
    if not storage().exists(MARKER):
        raise ImproperlyConfigured(
            "The artifact storage is not the site's: its marker file is missing. On another machine than the web "
            "server's, share the folder (BENCHSITE_ARTIFACTS) or set STORAGES['artifacts'] to an S3-compatible backend."
        )


class UploadDamaged(Exception):
    """What arrived is not what was announced: its size or its hash differs."""


def store(run: Run, kind: str, name: str, content: bytes, client_run: ClientRun | None = None) -> Artifact:
    """Keep one file of a run; storing the same name again replaces the row, never the content of another run."""
    if kind in TEXT_KINDS:
        content = redact(content.decode("utf-8", errors="replace")).encode()
    digest = hashlib.sha256(content).hexdigest()
    keep(digest, content)
    return attach(run, kind, name, digest, len(content), client_run)


def store_pieces(
    run: Run,
    kind: str,
    name: str,
    read: Callable[[int], bytes],
    client_run: ClientRun | None = None,
    *,
    size: int,
    digest: str,
) -> Artifact:
    """Keep one file that is no text and may be large: `size` bytes with the SHA-256 `digest`, read piece by piece.

    Raises UploadDamaged where `read` answers something else; nothing is stored then.
    """
    content = Compressing()
    while piece := read(CHUNK):
        content.write(piece)
        if content.size > size:
            break
    content.close()
    if (content.size, content.digest) != (size, digest):
        raise UploadDamaged(f"{name} was damaged on the way: its size or its hash differs.")
    keep_compressed(digest, content.compressed())
    return attach(run, kind, name, digest, size, client_run)


class Compressing:
    """Content that is written piece by piece: hashed, and compressed; what is long lies in a temporary file meanwhile.
    Nothing is stored by it.

    Not for the kinds of `TEXT_KINDS`: what is written here is not redacted.
    """

    def __init__(self) -> None:
        self.size = 0
        self._waiting: list[bytes] = []  # what is short is compressed in one go
        self._file: IO[bytes] = io.BytesIO()
        self._writer: zstandard.ZstdCompressionWriter | None = None
        self._hash = hashlib.sha256()

    def write(self, piece: bytes) -> None:
        self.size += len(piece)
        self._hash.update(piece)
        if self._writer is not None:
            self._writer.write(piece)
            return

        self._waiting.append(piece)
        if self.size > _AT_ONCE:
            self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed with this object
            weakref.finalize(self, self._file.close)
            self._writer = zstandard.ZstdCompressor(level=3).stream_writer(self._file, closefd=False)
            self._writer.write(b"".join(self._waiting))
            self._waiting = []

    def close(self) -> None:
        """Everything is written."""
        if self._writer is not None:
            self._writer.flush(zstandard.FLUSH_FRAME)
            return
        self._file = io.BytesIO(_compress(b"".join(self._waiting)))
        self._waiting = []

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def compressed(self) -> "File[bytes]":
        self._file.seek(0)
        return File(self._file)

    def content(self) -> bytes:
        self._file.seek(0)
        return zstandard.ZstdDecompressor().stream_reader(self._file).read()


def keep_compressed(digest: str, compressed: "File[bytes]") -> None:
    """Keep content that is redacted, hashed and compressed already, unless it is there."""
    path = _get_path(digest)
    if not storage().exists(path):
        _save_whole(path, compressed)


def keep(digest: str, content: bytes) -> None:
    """Store content that is in memory and not compressed yet."""
    path = _get_path(digest)
    if not storage().exists(path):
        _save_whole(path, ContentFile(_compress(content)))


def _compress(content: bytes) -> bytes:
    """By a compressor of this thread: to make one costs more than to compress a small file."""
    compressor: zstandard.ZstdCompressor | None = getattr(_OF_THREAD, "compressor", None)
    if compressor is None:
        compressor = _OF_THREAD.compressor = zstandard.ZstdCompressor(level=3)
    return compressor.compress(content)


def _save_whole(path: str, content: "File[bytes]") -> None:
    """All of it or nothing: a server that is killed meanwhile must leave no half of a file under the name of a hash."""
    try:
        final = Path(storage().path(path))
    except NotImplementedError:  # No folder of this host: such a storage takes an object whole.
        storage().save(path, content)
        return

    part = final.with_name(f".{final.name}.{uuid.uuid4().hex}")
    try:
        try:
            descriptor = os.open(part, _NEW_FILE, 0o600)
        except FileNotFoundError:  # the first file of its folder
            final.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(part, _NEW_FILE, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(content.chunks())
        part.replace(final)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(error.errno, "The artifact store is full", str(final.parent)) from error
        raise


class ContentGone(OSError):
    """The last run that had the same content was deleted at this very moment."""


def lock(digest: str, *, shared: bool) -> None:
    """Until the end of this transaction the content of this hash is not removed; or, unshared, attached by nobody."""
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [_get_lock_number(digest)])


def hold(digests: Iterable[str]) -> None:
    """The shared lock of all of these at once: what is kept afterwards is there until the transaction ends."""
    numbers = [_get_lock_number(digest) for digest in sorted(set(digests))]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(number) FROM unnest(%s::bigint[]) AS number", [numbers])


def _get_lock_number(digest: str) -> int:
    return int(digest[:15], 16)  # 60 bits: PostgreSQL takes signed 64


def remove(digest: str) -> None:
    """Forget content. The caller holds its lock, and knows that nobody has it."""
    storage().delete(_get_path(digest))


def attach(run: Run, kind: str, name: str, digest: str, size: int, client_run: ClientRun | None = None) -> Artifact:
    """Make content that is kept an artifact of this run. Raises ContentGone where it was removed meanwhile."""
    if connection.in_atomic_block:
        lock(digest, shared=True)
    if not storage().exists(_get_path(digest)):
        raise ContentGone(f"the content of {name} was removed while it was attached: store it again")

    artifact, _ = Artifact.objects.update_or_create(
        run=run,
        client_run=client_run,
        kind=kind,
        name=name,
        defaults={"team_id": run.team_id, "sha256": digest, "size": size},
    )
    return artifact


def open_artifact(artifact: Artifact) -> bytes:
    """The content, decompressed."""
    with opened(artifact.sha256) as content:
        return content.read()


@contextmanager
def opened(digest: str) -> Iterator[BinaryIO]:
    """The content as a stream, for what may be large. Reading its end raises ArtifactDamaged where it was changed."""
    with storage().open(_get_path(digest)) as stored, _decompress(stored) as content:
        yield cast(BinaryIO, io.BufferedReader(_Checked(content, digest), CHUNK))


class ArtifactDamaged(OSError):
    """What is stored is not what was stored."""


class _Checked(io.RawIOBase):
    """The content of an artifact, hashed while it is read: a disk may lie, and numbers must not come of it."""

    def __init__(self, content: BinaryIO, digest: str) -> None:
        self._content, self._digest = content, digest
        self._hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def readall(self) -> bytes:
        whole = bytearray()
        while piece := self._read(CHUNK):
            whole += piece
        return bytes(whole)

    def _read(self, size: int) -> bytes:
        try:
            piece = self._content.read(size)
        except zstandard.ZstdError as error:
            raise ArtifactDamaged(f"artifact {self._digest[:12]} is damaged in the storage: {error}") from error
        self._hash.update(piece)
        if size and not piece and self._hash.hexdigest() != self._digest:
            raise ArtifactDamaged(f"artifact {self._digest[:12]} is damaged in the storage: its content has changed")
        return piece


def chunks(digest: str) -> Iterator[bytes]:
    """The content piece by piece, so that it may be large. Raises OSError at once where it is gone, and ArtifactDamaged
    at its end where it was changed.
    """
    stored = storage().open(_get_path(digest))

    def pieces() -> Iterator[bytes]:
        with stored, _decompress(stored) as content:
            checked = _Checked(content, digest)
            while piece := checked.read(CHUNK):
                yield piece

    return pieces()


def _decompress(stored: Any) -> BinaryIO:
    return cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True))


def _get_path(digest: str) -> str:
    return f"{digest[:2]}/{digest[2:]}.zst"

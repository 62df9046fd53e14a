"""The members of tar and zip archives, in the order in which they lie there. Their path names are labels only."""

import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Final, cast

from benchsite.core.formatting import printable
from runs.ycsb.errors import DamagedFile, LimitExceeded, UnreadableFile
from runs.ycsb.files.byte_sources import PIECE, Counted, Refused, Source, read_full
from runs.ycsb.messages import NEGATIVE_SIZE, NO_NEXT_MEMBER, NO_ZIP_DIRECTORY, OFFICE_DOCUMENT

_TAR_BLOCK: Final = 512
_MAX_HEADER_LENGTH: Final = 64 * 1024  # of a tar member's extended header; a path has at most 4 KiB
_PAX_RECORD: Final = b" path="
_ZIP_END: Final = struct.Struct("<4s4H2LH")
_ZIP64_END_LOCATOR: Final = struct.Struct("<4sLQL")
_ZIP64_END: Final = struct.Struct("<4sQ2H2L4Q")
_ZIP_COMMENT: Final = 65_535
# zipfile reads the whole directory at once, a few hundred bytes of memory for each of at least 46 bytes.
_MAX_DIRECTORY: Final = 4 * 1024 * 1024
_MAX_LABEL_LENGTH: Final = 300


def is_tar(head: bytes) -> bool:
    return len(head) >= _TAR_BLOCK and head[257:262] == b"ustar"


def is_zip(head: bytes) -> bool:
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def label(path: str) -> str:
    """A member's path as something to show and to compare; nothing is ever opened by it."""
    text = printable(path.replace("\\", "/"), "?")
    parts = [part for part in text.split("/") if part not in ("", ".", "..")]
    return "/".join(parts)[-_MAX_LABEL_LENGTH:] or "?"


def _is_left_by_a_desktop(path: str) -> bool:
    """What file managers put beside the files: not what anybody wanted to be read."""
    parts = path.replace("\\", "/").split("/")
    return "__MACOSX" in parts or parts[-1] in (".DS_Store", "Thumbs.db", "desktop.ini") or parts[-1].startswith("._")


# --- tar ---


class _Part:
    """The bytes of one member. Whatever is not read of them is skipped before the next."""

    def __init__(self, source: Source, size: int) -> None:
        self._source = source
        self._left = size
        self._padding = -size % _TAR_BLOCK

    def read(self, size: int, /) -> bytes:
        if not self._left:
            return b""
        data = self._source.read(min(size, self._left))
        if not data:
            raise DamagedFile("The archive is cut off in the middle of this member. Copy it again if you can.")
        self._left -= len(data)
        return data

    def skip(self) -> None:
        while self.read(PIECE):
            pass
        read_full(self._source, self._padding)
        self._padding = 0


def tar_members(source: Source) -> Iterator[tuple[str, Source]]:
    """The files in a tar archive; folders, links and devices hold no results."""
    path = None
    while (header := read_full(source, _TAR_BLOCK)).strip(b"\0"):
        try:
            info = tarfile.TarInfo.frombuf(header, "utf-8", "replace")
        except tarfile.HeaderError as error:
            raise DamagedFile(NO_NEXT_MEMBER.format(error=error)) from error

        if info.size < 0:
            raise DamagedFile(NEGATIVE_SIZE)

        part = _Part(source, info.size)
        if info.type == tarfile.XGLTYPE:
            pass
        elif info.type == tarfile.GNUTYPE_LONGNAME:
            path = read_full(part, _MAX_HEADER_LENGTH).rstrip(b"\0").decode(errors="replace")
        elif info.type == tarfile.XHDTYPE:
            path = _pax_path(read_full(part, _MAX_HEADER_LENGTH)) or path
        elif info.type != tarfile.GNUTYPE_LONGLINK:
            name, path = path or info.name, None
            if info.type in tarfile.REGULAR_TYPES and not name.endswith("/") and not _is_left_by_a_desktop(name):
                yield label(name), part if info.type != tarfile.GNUTYPE_SPARSE else _sparse()

        part.skip()


def _sparse() -> Refused:
    return Refused(UnreadableFile("The member is stored as a sparse file. Pack it again without tar's option -S."))


def _pax_path(records: bytes) -> str | None:
    """The path in an extended header, which holds records of the form `30 path=results/client-1.txt`."""
    start = records.find(_PAX_RECORD)
    if start < 0:
        return None
    end = records.find(b"\n", start)
    return records[start + len(_PAX_RECORD) : end if end >= 0 else None].decode(errors="replace")


# --- zip ---


class _ZipPart:
    """The bytes of one member of a zip archive."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
        self._archive = archive
        self._info = info
        self._stream: IO[bytes] | None = None
        self._left = info.file_size
        self._error: DamagedFile | None = None

    def read(self, size: int, /) -> bytes:
        if self._error is not None:
            raise self._error
        try:
            if self._stream is None:
                self._stream = self._archive.open(self._info)
            # With the last byte comes the check of the sum, and an error instead of all that is read with it.
            data = self._stream.read(min(size, self._left - 1) if self._left > 1 else size)
            self._left -= len(data)
            return data
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error, ValueError) as error:
            self._error = DamagedFile(
                f"The member is damaged in its archive ({error}). What came before may be wrong too.", is_doubtful=True
            )
            raise self._error from error


def zip_members(source: Source) -> Iterator[tuple[str, Source]]:
    """The files in a zip archive, by the directory at its end: a file that can be sought in, or what is copied."""
    if isinstance(source, Counted):
        yield from _zip_members(cast("IO[bytes]", source))
        return
    with tempfile.TemporaryFile() as copy:
        while piece := source.read(PIECE):
            copy.write(piece)
        yield from _zip_members(copy)


def _zip_members(stream: IO[bytes]) -> Iterator[tuple[str, Source]]:
    _check_directory(stream)
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, OSError, struct.error, ValueError, NotImplementedError) as error:
        raise UnreadableFile(NO_ZIP_DIRECTORY.format(error=error)) from error

    with archive:
        infos = archive.infolist()
        if any(info.filename == "[Content_Types].xml" for info in infos):
            raise UnreadableFile(OFFICE_DOCUMENT)
        for info in infos:
            if info.is_dir() or _is_left_by_a_desktop(info.filename):
                continue
            yield label(info.filename), _zip_part(archive, info)


def _zip_part(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Source:
    if info.flag_bits & 1:
        return Refused(UnreadableFile("The member is encrypted. Pack it again without a password."))
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return Refused(UnreadableFile("The member is packed in a way that is not read. Pack it with deflate or gzip."))
    return _ZipPart(archive, info)


def _check_directory(stream: IO[bytes]) -> None:
    """Raises LimitExceeded before a directory is read that would not fit."""
    end = stream.seek(0, 2)
    stream.seek(max(end - _ZIP_COMMENT - _ZIP_END.size - _ZIP64_END_LOCATOR.size, 0))
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    size = 0
    if 0 <= at <= len(tail) - _ZIP_END.size:
        size = _ZIP_END.unpack_from(tail, at)[5]
    locator = at - _ZIP64_END_LOCATOR.size
    if locator >= 0 and tail[locator : locator + 4] == b"PK\x06\x07":
        stream.seek(min(_ZIP64_END_LOCATOR.unpack_from(tail, locator)[2], end))
        record = stream.read(_ZIP64_END.size)
        if len(record) == _ZIP64_END.size:
            size = _ZIP64_END.unpack(record)[8]

    if size > _MAX_DIRECTORY:
        raise LimitExceeded("The zip archive has too many members. Pack only the outputs of the clients.")

    stream.seek(0)

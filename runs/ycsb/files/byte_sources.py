"""Bytes read in order: of a file, of what is packed in it, of a part of an archive."""

from collections.abc import Callable
from typing import BinaryIO, Final, Protocol

from runs.ycsb.errors import DamagedFile
from runs.ycsb.files.limits import Meter

PIECE: Final = 256 * 1024  # bytes asked for at once


class Source(Protocol):
    """At most `size` bytes, none only at the end. Raises UnreadableFile, and the same again when asked again."""

    def read(self, size: int, /) -> bytes: ...


def read_full(source: Source, size: int) -> bytes:
    """`size` bytes, fewer only at the end or before damage, which then shows as one reads on."""
    pieces: list[bytes] = []
    missing = size
    while missing:
        try:
            piece = source.read(missing)
        except DamagedFile:
            if not pieces:
                raise
            break
        if not piece:
            break
        pieces.append(piece)
        missing -= len(piece)

    if len(pieces) == 1:
        return pieces[0]

    return b"".join(pieces)


class Counted:
    """The file itself, its bytes counted as they are read."""

    def __init__(self, stream: BinaryIO, meter: Meter, progress: Callable[[int], None] | None) -> None:
        self.stream = stream
        self._meter = meter
        self._progress = progress

    def read(self, size: int = -1, /) -> bytes:
        data = self.stream.read(size)
        self._meter.read += len(data)
        if self._progress is not None:
            self._progress(self._meter.read)
        return data

    # What reading a zip archive needs beyond that.

    def seekable(self) -> bool:
        return self.stream.seekable()

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self.stream.seek(offset, whence)

    def tell(self) -> int:
        return self.stream.tell()


class Rewound:
    """A source whose first bytes were looked at and are read once more."""

    def __init__(self, head: bytes, source: Source) -> None:
        self._head = head
        self._source = source

    def read(self, size: int, /) -> bytes:
        if not self._head:
            return self._source.read(size)
        data, self._head = self._head[:size], self._head[size:]
        return data


class Metered:
    """A source of bytes that its archive unpacks by itself."""

    def __init__(self, source: Source, meter: Meter) -> None:
        self._source = source
        self._meter = meter

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        self._meter.unpack(len(data))
        return data


class Refused:
    """A member that cannot be opened: reading it says why."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def read(self, size: int, /) -> bytes:
        raise self._error

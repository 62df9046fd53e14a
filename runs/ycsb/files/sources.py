"""Bytes read in order: of a file, of what is packed in it, of a part of an archive."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol

from runs.ycsb.errors import DamagedFile, LimitExceeded

MIB = 1024 * 1024
GIB = 1024 * MIB
PIECE: Final = 256 * 1024  # bytes asked for at once


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a file may ask for: a stranger's file costs at most this much, whatever it claims of itself.

    The defaults let the output of a whole day of several clients through, and no bomb.

    A plain file is read to its end whatever its size, because reading it needs no more memory than a short one:
    whoever takes it in limits its bytes.
    """

    # Bytes that come out of all layers of packing for each byte of the file, once `unchecked_bytes` have come out.
    # Outputs of YCSB pack to a fifth or a tenth; gzip's best is a thousandth, zstd's far less.
    ratio: int = 100
    unchecked_bytes: int = MIB
    expanded_bytes: int = 32 * GIB  # that come out of all layers of packing together
    members: int = 10_000  # files in an archive and in the archives in it
    layers: int = 4  # of packing: an archive, compressed, in an archive, compressed
    # What is longer is passed on cut. The longest line that YCSB prints is a histogram of about 0.4 MiB; an exporter's
    # JSON may have been put on a single line.
    longest_line: int = 8 * MIB


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


class Meter:
    """What one file has cost so far: the bytes read of it, and those that came out of all layers of packing."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.read = 0
        self.unpacked = 0
        self.members = 0

    def unpack(self, size: int) -> None:
        self.unpacked += size
        allowed = self.limits.unchecked_bytes + self.limits.ratio * self.read
        if self.unpacked > min(allowed, self.limits.expanded_bytes):
            raise LimitExceeded(
                f"The file is packed too tightly to be an output of YCSB: {self.read:,} bytes of it became more than "
                f"{self.unpacked - size:,}. Unpack it yourself if it is one."
            )

    def enter(self) -> None:
        """One more member of an archive."""
        self.members += 1
        if self.members > self.limits.members:
            raise LimitExceeded(
                f"The archive has more than {self.limits.members:,} members. Pack only the outputs of the clients."
            )


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

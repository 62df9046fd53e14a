"""gzip and zstd undone as one reads, one bounded piece after the other."""

import zlib
from collections.abc import Iterator
from typing import Final, Literal

import zstandard

from runs.ycsb.errors import DamagedFile
from runs.ycsb.files.byte_sources import PIECE, Source
from runs.ycsb.files.limits import Meter

Packing = Literal["gzip", "zstd"]

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPED: Final = b"\x2a\x4d\x18"  # after one byte from 0x50 to 0x5f
# What zstd makes of so many bytes fits in memory whatever they are: four bytes can stand for a block of 128 KiB.
_ZSTD_PIECE: Final = 1024
# The largest window that the zstd program itself unpacks without being asked to.
_ZSTD_WINDOW: Final = 128 * 1024 * 1024
_CAREFUL: Final = 8  # bytes: a checksum and a length lie behind the data
_WITH_GZIP_HEADER: Final = 31


def detect_packing(head: bytes) -> Packing | None:
    """The packing that a file begins with."""
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD) or (head[1:4] == _ZSTD_SKIPPED and 0x50 <= head[0] <= 0x5F):
        return "zstd"
    return None


class Unpacked:
    """The bytes that were packed. Several packed pieces one after the other are one file, as the programs have it."""

    def __init__(self, packing: Packing, source: Source, meter: Meter) -> None:
        self._pieces = _gunzip(source) if packing == "gzip" else _unzstd(source)
        self._meter = meter
        self._rest = b""
        self._error: DamagedFile | None = None

    def read(self, size: int, /) -> bytes:
        if not self._rest:
            self._rest = self._next()
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def _next(self) -> bytes:
        if self._error is not None:
            raise self._error
        try:
            piece = next(self._pieces, b"")
        except DamagedFile as error:
            self._error = error
            raise
        self._meter.unpack(len(piece))
        return piece


def _gunzip(source: Source) -> Iterator[bytes]:
    inflater = zlib.decompressobj(_WITH_GZIP_HEADER)
    is_first, is_empty, has_more = True, True, False
    while data := source.read(PIECE):
        while data or has_more:
            if inflater.eof:
                data = data.lstrip(b"\0")  # what tapes and block devices fill up with
                if not data:
                    break
                inflater = zlib.decompressobj(_WITH_GZIP_HEADER)
                is_first, is_empty = False, True

            before = inflater.copy()
            try:
                piece = inflater.decompress(data, PIECE)
            except zlib.error as error:
                yield from _up_to_the_damage(before, data)
                raise _damaged("gzip", error, is_trailer=is_empty and not is_first) from error

            if piece:
                is_empty = False
                yield piece

            data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            has_more = len(piece) == PIECE and not inflater.eof  # perhaps without any more input

    if not inflater.eof:
        raise _cut_off("gzip")


def _up_to_the_damage(inflater: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """What zlib would keep to itself of the piece in which it finds damage, or only a wrong checksum behind it all."""
    for start in range(0, len(data), _CAREFUL):
        try:
            yield inflater.decompress(data[start : start + _CAREFUL])
        except zlib.error:
            return


def _unzstd(source: Source) -> Iterator[bytes]:
    unpacking = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frame = unpacking.decompressobj()
    is_first, is_empty = True, True
    while data := source.read(PIECE):
        for start in range(0, len(data), _ZSTD_PIECE):
            part = data[start : start + _ZSTD_PIECE]
            while part:
                if frame.eof:
                    frame = unpacking.decompressobj()
                    is_first, is_empty = False, True

                try:
                    piece = frame.decompress(part)
                except zstandard.ZstdError as error:
                    raise _damaged("zstd", error, is_trailer=is_empty and not is_first) from error

                if piece:
                    is_empty = False
                    yield piece

                part = b""
                if frame.eof:
                    part = frame.unused_data

    if not frame.eof:
        raise _cut_off("zstd")


def _cut_off(packing: Packing) -> DamagedFile:
    return DamagedFile(f"The file is cut off: what is packed with {packing} does not end. Copy it again if you can.")


def _damaged(packing: Packing, error: Exception, *, is_trailer: bool) -> DamagedFile:
    if is_trailer:
        return DamagedFile(f"Behind what is packed with {packing} stand other bytes, which were not read.")
    return DamagedFile(
        f"The file is damaged: {packing} cannot unpack it any further ({error}). What came before may be wrong too.",
        is_doubtful=True,
    )

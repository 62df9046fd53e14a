"""The frame around stored bytes: a mark, the version of the format, a JSON header, and a body."""

import json
import struct
import threading
from typing import Any, Final

import zstandard

from runs.ycsb.errors import PackedDataError

_OF_THREAD: Final = threading.local()
_PREFIX: Final = struct.Struct(">4sHI")  # magic, version of the format, length of the JSON header


def heading(magic: bytes, version: int, header: dict[str, Any]) -> bytes:
    """What stored bytes begin with."""
    text = json.dumps(header, sort_keys=True).encode()
    return _PREFIX.pack(magic, version, len(text)) + text


def read_heading(data: bytes, magic: bytes, newest: int) -> tuple[int, dict[str, Any], int]:
    """The version, the header, and where the body begins. Raises PackedDataError."""
    try:
        mark, version, length = _PREFIX.unpack_from(data)
        if mark != magic:
            raise PackedDataError(f"stored data begins with {mark!r} instead of {magic!r}")
        if not 1 <= version <= newest:
            raise PackedDataError(f"stored data has version {version}; this Benchsite reads up to {newest}")
        header = json.loads(data[_PREFIX.size : _PREFIX.size + length])
    except (struct.error, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise PackedDataError(f"the stored data is damaged: {error}") from error
    if not isinstance(header, dict):
        raise PackedDataError("the stored data is damaged: its header is not an object")
    return version, header, _PREFIX.size + length


def compressed(body: bytes) -> bytes:
    """With a checksum, so that damage does not look like other numbers."""
    return _compressor().compress(body)


def _compressor() -> zstandard.ZstdCompressor:
    """One for each thread: to make one costs more than to compress what is small."""
    compressor: zstandard.ZstdCompressor | None = getattr(_OF_THREAD, "compressor", None)
    if compressor is None:
        compressor = _OF_THREAD.compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    return compressor


def decompressed(packed: bytes | memoryview, size: int) -> bytes:
    """The body, which is known to have `size` bytes. Raises PackedDataError where it has not."""
    try:
        if zstandard.frame_content_size(packed) != size:
            raise PackedDataError("the stored data is damaged: the lengths disagree")
        return zstandard.ZstdDecompressor().decompress(packed)
    except zstandard.ZstdError as error:
        raise PackedDataError(f"the stored data is damaged: {error}") from error

"""Interval histogram logs made to order, in both encodings."""

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence

from runs.ycsb.hdr import IntervalLog
from runs.ycsb.histogram import Histogram


def v1(counts: Sequence[int], *, word: str = "q", digits: int = 3, lowest: int = 1) -> str:
    """A histogram in the old encoding, which writes every count."""
    body = b"".join(struct.pack(">" + word, count) for count in counts)
    size = struct.calcsize(word) << 4
    return _packed(0x1C849302 | size, 0x1C849301 | size, body, digits, lowest)


def v2(body: bytes, *, digits: int = 3, lowest: int = 1) -> str:
    """A histogram in the new encoding, its numbers given as bytes."""
    return _packed(0x1C849314, 0x1C849313, body, digits, lowest)


def zigzag(number: int) -> bytes:
    """One number as the new encoding writes it."""
    value = ((number << 1) ^ (number >> 63)) & (2**64 - 1)
    out = bytearray()
    while value >= 0x80 and len(out) < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def encoded(histogram: Histogram, *, version: int = 2) -> str:
    """A histogram as HdrHistogram writes it."""
    if version == 1:
        return v1(histogram.counts.tolist())
    body, last = bytearray(), -1
    for index, count in zip(*(column.tolist() for column in histogram.sparse()), strict=True):
        if index > last + 1:
            body += zigzag(last + 1 - index)
        body += zigzag(count)
        last = index
    return v2(bytes(body))


def lines_of(log: IntervalLog, *, version: int = 2, tag: str = "") -> list[str]:
    """A log as a client writes it; with a tag, only its intervals."""
    rows = [
        f"{interval.start_s!r},{interval.length_s!r},{interval.max_us / 1e6!r},"
        f"{encoded(interval.histogram, version=version)}"
        for interval in log
    ]
    if tag:
        return [f"Tag={tag},{row}" for row in rows]
    head = [
        f"#[Logging for: {log.operation}]",
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {log.start_time_s!r} (seconds since epoch), some day]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    return head + rows


def file_of(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _packed(outer: int, inner: int, body: bytes, digits: int, lowest: int) -> str:
    packed = zlib.compress(struct.pack(">iiiiqqd", inner, len(body), 0, digits, lowest, 2**40, 1.0) + body)
    return base64.b64encode(struct.pack(">ii", outer, len(packed)) + packed).decode()

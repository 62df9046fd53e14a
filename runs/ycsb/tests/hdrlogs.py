"""Interval histogram logs made to order, in both encodings."""

import base64
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from runs.ycsb.encoded import Counts
from runs.ycsb.hdr import IntervalLog, LogDecoder, collect_logs
from runs.ycsb.histogram import Histogram, get_bucket_index
from runs.ycsb.intervals import Batches


class Interval(NamedTuple):
    """One line of a log: seconds since the log's start time, length in seconds, and the histogram."""

    start_s: float
    length_s: float
    max_us: float
    histogram: Histogram


def each_interval(log: IntervalLog) -> list[Interval]:
    return list(_intervals(log))


def _intervals(log: IntervalLog) -> Iterator[Interval]:
    for i in range(len(log)):
        part = slice(int(log.offsets[i]), int(log.offsets[i + 1]))
        histogram = Histogram.of_sparse(log.index[part], log.count[part])
        yield Interval(float(log.start_s[i]), float(log.length_s[i]), float(log.max_us[i]), histogram)


def build_histogram(values_us: Iterable[int]) -> Histogram:
    """One count for each value in microseconds."""
    indices = np.array([get_bucket_index(value) for value in values_us], dtype=np.int64)
    return Histogram.of_sparse(indices, np.ones(indices.size, dtype=np.int64))


def build_batches(parts: Sequence[Sequence[int]]) -> Batches:
    """One batch for each list of values in microseconds."""
    batches = Batches(len(parts))
    for batch, values in enumerate(parts):
        index, count = build_histogram(values).sparse()
        sizes = np.array([index.size], dtype=np.int64)
        batches.add(np.array([batch]), Counts(sizes, index.astype(np.int32), count))
    return batches


def read_logs(pieces: Iterable[bytes], *, operation: str | None = None) -> tuple[IntervalLog, ...]:
    """All measurements of one log: one, or as many as it has tags and headings."""
    decoder = LogDecoder(operation)
    batches = [batch for piece in pieces for batch in decoder.feed(piece)]
    batches += decoder.done()
    return collect_logs(batches, truncated=decoder.text.damage is not None)


def read_log(lines: Iterable[str], *, operation: str | None = None) -> IntervalLog:
    """The log of one measurement."""
    (log,) = read_logs((line.encode(errors="replace") + b"\n" for line in lines), operation=operation)
    return log


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


def get_lines(log: IntervalLog, *, version: int = 2, tag: str = "") -> list[str]:
    """A log as a client writes it; with a tag, only its intervals."""
    rows = [
        f"{interval.start_s!r},{interval.length_s!r},{interval.max_us / 1e6!r},"
        f"{encoded(interval.histogram, version=version)}"
        for interval in each_interval(log)
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


def build_file(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _packed(outer: int, inner: int, body: bytes, digits: int, lowest: int) -> str:
    packed = zlib.compress(struct.pack(">iiiiqqd", inner, len(body), 0, digits, lowest, 2**40, 1.0) + body)
    return base64.b64encode(struct.pack(">ii", outer, len(packed)) + packed).decode()

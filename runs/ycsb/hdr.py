"""Interval histogram logs as `hdrhistogram.fileoutput=true` writes them, in HdrHistogram's encodings V1 and V2.

YCSB 0.2 to 0.17 with its own HdrHistogram logs V1 (`HISTgg...`), with a current one V2 (`HISTFA...`). Both are
base64(compressed header, zlib(header, counts)). V1's counts are whole words; V2's are ZigZag LEB128 numbers of at most
nine bytes, where a negative one stands for so many zeros.

The counts of many intervals are decoded together: one pass of numpy over a few thousand intervals costs about as much
as inflating them, where a loop over numbers would cost a hundred times that.
"""

import base64
import binascii
import math
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from runs.ycsb.errors import HistogramError
from runs.ycsb.histogram import MAX_INDEX, SIGNIFICANT_DIGITS, Floats, Histogram, Ints

Bytes = npt.NDArray[np.uint8]

_OUTER: Final = struct.Struct(">ii")  # cookie, compressed length
_INNER: Final = struct.Struct(">iiiiqqd")  # cookie, length, offset, digits, lowest, highest, ratio
_V1_OUTER, _V1_INNER = 0x1C849302, 0x1C849301
_V2_OUTER, _V2_INNER = 0x1C849304, 0x1C849303
_WORD_SIZE_BITS: Final = 0xF0  # of a cookie; V2 keeps a 1 there
_NAME: Final = re.compile(r"#\[Logging for: (.+?)\]")
_START_TIME: Final = re.compile(r"#\[StartTime: ([-+0-9.eE]+)")
_BASE_TIME: Final = re.compile(r"#\[BaseTime: ([-+0-9.eE]+)")
_YEAR_S: Final = 365 * 24 * 3600.0
_BLOCK: Final = 4096  # intervals decoded together
_MOST_BYTES: Final = 8 * (MAX_INDEX + 1) + _INNER.size  # of one inflated histogram: no bomb gets past it
_LEB_LONGEST: Final = 9


@dataclass(frozen=True, slots=True)
class Interval:
    """One line of a log: seconds since the log's start time, length in seconds, and the histogram."""

    start_s: float
    length_s: float
    max_us: float
    histogram: Histogram


@dataclass(frozen=True, slots=True, eq=False)
class IntervalLog:
    """All intervals of one measurement of one client, as columns.

    `start_s` counts from `start_time_s` (seconds since the epoch, the client's clock). Interval i has the counts
    `count[offsets[i]:offsets[i+1]]` at the histogram indices `index[...]`.
    """

    operation: str  # the measurement's name: READ, READ-FAILED, Intended-READ, CLEANUP
    start_time_s: float
    start_s: Floats
    length_s: Floats
    max_us: Floats
    offsets: Ints
    index: npt.NDArray[np.int32]
    count: Ints
    truncated: bool = False  # the last line broke off; the intervals before it are here

    def __len__(self) -> int:
        return int(self.start_s.size)

    @property
    def intervals(self) -> list[Interval]:
        return list(self)

    def __iter__(self) -> Iterator[Interval]:
        for i in range(len(self)):
            part = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
            yield Interval(
                start_s=float(self.start_s[i]),
                length_s=float(self.length_s[i]),
                max_us=float(self.max_us[i]),
                histogram=Histogram.of_sparse(self.index[part], self.count[part]),
            )

    @property
    def total(self) -> int:
        return int(self.count.sum())

    def histogram(self) -> Histogram:
        """All intervals added exactly."""
        return Histogram.of_sparse(self.index, self.count)


def read_log(lines: Iterable[str], *, operation: str | None = None) -> IntervalLog:
    """Read one log. `operation` is the name to use (of the file) where the log itself does not say it.

    A line that breaks off at the very end is left out and noted as `truncated`; a damaged line before others raises
    HistogramError with its number, and so does a text in which nothing is a log.
    """
    head = _Head()
    rows: list[_Row] = []
    damaged: HistogramError | None = None
    blocks: list[_Counts] = []
    payloads: list[_Payload] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip().lstrip("\ufeff")
        if not text or head.take(text):
            continue
        if damaged is not None:
            raise damaged
        try:
            row, payload = _parse_row(text, number)
        except HistogramError as error:
            damaged = error
            continue
        rows.append(row)
        payloads.append(payload)
        if len(payloads) == _BLOCK:
            blocks.append(_decode(payloads))
            payloads = []
    blocks.append(_decode(payloads))
    name = head.name or operation
    if not rows and not head.is_log:
        raise damaged or HistogramError("this is not a histogram log: it has neither a heading nor an interval")
    if name is None:
        raise HistogramError("the log does not say which operation it is of")
    return _assemble(name, head, rows, blocks, truncated=damaged is not None)


@dataclass(frozen=True, slots=True)
class _Row:
    start_s: float
    length_s: float
    max_s: float  # the column is divided by a million, so microseconds come as seconds


@dataclass(frozen=True, slots=True)
class _Payload:
    """The counts of one inflated histogram. `word_size` is 0 for V2."""

    data: bytes
    word_size: int
    line_number: int


@dataclass(frozen=True, slots=True)
class _Counts:
    sizes: Ints
    index: npt.NDArray[np.int32]
    count: Ints


class _Head:
    """What the comment lines of a log say."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.start_time_s: float | None = None
        self.base_time_s: float | None = None
        self.is_log = False

    def take(self, text: str) -> bool:
        """Whether the line was a comment or the heading of the columns."""
        if text.startswith('"StartTimestamp"'):
            self.is_log = True
            return True
        if not text.startswith("#"):
            return False
        if found := _NAME.match(text):
            self.name, self.is_log = found[1], True
        elif found := _START_TIME.match(text):
            self.start_time_s, self.is_log = _float(found[1]), True
        elif found := _BASE_TIME.match(text):
            self.base_time_s = _float(found[1])
        return True

    def origin_s(self, first_start_s: float) -> float:
        """The instant from which the lines count, by HdrHistogram's rule for logs that do not name it."""
        if self.base_time_s is not None:
            return self.base_time_s
        start = self.start_time_s or 0.0
        return start if first_start_s < start - _YEAR_S else 0.0


def _parse_row(text: str, number: int) -> tuple[_Row, _Payload]:
    """One line of the log, its histogram inflated and its header checked."""
    if text.startswith("Tag="):
        text = text.partition(",")[2]
    columns = text.split(",")
    if len(columns) != 4:
        raise HistogramError(f"an interval has 4 columns, here are {len(columns)}", number)
    start, length, longest = (_float(column) for column in columns[:3])
    if start is None or length is None or longest is None or length < 0:
        raise HistogramError("the times of the interval are not numbers", number)
    return _Row(start, length, longest), _inflate(columns[3], number)


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _inflate(encoded: str, number: int) -> _Payload:
    try:
        outer = base64.b64decode(encoded, validate=True)
        cookie, length = _OUTER.unpack_from(outer)
        inflater = zlib.decompressobj()
        inner = inflater.decompress(outer[_OUTER.size : _OUTER.size + length], _MOST_BYTES)
        if not inflater.eof:
            raise HistogramError("the compressed histogram is cut off or too large", number)
        inner_cookie, size, _, digits, lowest, _, ratio = _INNER.unpack_from(inner)
    except (binascii.Error, struct.error, zlib.error, ValueError) as error:
        if isinstance(error, HistogramError):
            raise
        raise HistogramError(f"the histogram cannot be decoded ({error})", number) from error
    kinds = cookie & ~_WORD_SIZE_BITS, inner_cookie & ~_WORD_SIZE_BITS
    if kinds not in ((_V1_OUTER, _V1_INNER), (_V2_OUTER, _V2_INNER)):
        raise HistogramError(f"the histogram has an unknown encoding (cookie {cookie & 0xFFFFFFFF:#x})", number)
    if digits != SIGNIFICANT_DIGITS or lowest > 1 or ratio != 1.0:
        raise HistogramError(
            f"the histogram has {digits} significant digits from {lowest} on; 3 from 1 are read", number
        )
    data = inner[_INNER.size :]
    if size < 0 or len(data) < size:
        raise HistogramError(f"the histogram holds {len(data)} of its {size} bytes", number)
    word_size = 0 if kinds[0] == _V2_OUTER else (inner_cookie & _WORD_SIZE_BITS) >> 4
    if kinds[0] == _V1_OUTER and word_size not in (2, 4, 8):
        raise HistogramError(f"the histogram's counts are {word_size} bytes wide", number)
    return _Payload(data[:size], word_size, number)


def _decode(payloads: Sequence[_Payload]) -> _Counts:
    """The sparse counts of a block of intervals, in order."""
    if all(payload.word_size == 0 for payload in payloads):
        return _decode_v2(payloads)
    parts = [_decode_v2([payload]) if payload.word_size == 0 else _decode_v1(payload) for payload in payloads]
    return _Counts(
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.index for part in parts]),
        np.concatenate([part.count for part in parts]),
    )


def _decode_v1(payload: _Payload) -> _Counts:
    words = np.frombuffer(payload.data[: len(payload.data) // payload.word_size * payload.word_size],
                          dtype=f">i{payload.word_size}").astype(np.int64)  # fmt: skip
    index = np.flatnonzero(words)
    if words.size > MAX_INDEX + 1 or (index.size and int(words.min()) < 0):
        raise HistogramError("the histogram has impossible counts", payload.line_number)
    return _Counts(np.array([index.size], dtype=np.int64), index.astype(np.int32), words[index])


def _decode_v2(payloads: Sequence[_Payload]) -> _Counts:
    """All numbers of all payloads in one pass: find their ends, put their 7-bit groups together, undo the ZigZag."""
    lengths = np.array([len(payload.data) for payload in payloads], dtype=np.int64)
    data = np.frombuffer(b"".join(payload.data for payload in payloads), dtype=np.uint8)
    borders = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ends = _number_ends(data, borders, payloads)
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64) if ends.size else ends
    numbers = _unzigzag(data, starts, ends)
    # Which interval each number belongs to, and at which index of it the number stands.
    owner = np.searchsorted(borders, starts, side="right") - 1
    steps = np.where(numbers < 0, -numbers, 1)
    after = np.cumsum(steps)
    firsts = np.searchsorted(starts, borders[:-1], side="left")
    before_interval = np.concatenate([[0], after]).astype(np.int64)[firsts]
    index = after - steps - before_interval[owner]
    counted = numbers > 0
    if index.size and (int(steps.min()) < 1 or int(steps.max()) > MAX_INDEX + 1 or int(index.max()) > MAX_INDEX):
        # The first two catch runs of zeros so absurd that their sum would turn negative and look harmless.
        raise HistogramError("a histogram's counts run past the end of every histogram", payloads[0].line_number)
    sizes = np.bincount(owner[counted], minlength=len(payloads)).astype(np.int64)
    return _Counts(sizes, index[counted].astype(np.int32), numbers[counted])


def _number_ends(data: Bytes, borders: Ints, payloads: Sequence[_Payload]) -> Ints:
    """The position of the last byte of every number: one without the high bit, or the ninth in a row."""
    ends = np.flatnonzero(data < 0x80).astype(np.int64)
    lengths = np.diff(ends, prepend=-1)
    if data.size and (not ends.size or ends[-1] != data.size - 1 or int(lengths.max()) >= _LEB_LONGEST):
        ends = _number_ends_slowly(data, borders)
    lasts = borders[1:][np.diff(borders) > 0] - 1
    broken = np.flatnonzero(~np.isin(lasts, ends))
    if broken.size:
        owner = int(np.searchsorted(borders, lasts[broken[0]], side="right")) - 1
        raise HistogramError("the histogram's last count is cut off", payloads[owner].line_number)
    return ends


def _number_ends_slowly(data: Bytes, borders: Ints) -> Ints:
    """The same where counts above 2**55 or broken data make nine bytes in a row possible."""
    ends: list[int] = []
    fresh = set(borders.tolist())
    length = 0
    for position, byte in enumerate(data.tolist()):
        length = 1 if position in fresh else length + 1
        if byte < 0x80 or length == _LEB_LONGEST:
            ends.append(position)
            length = 0
    return np.array(ends, dtype=np.int64)


def _unzigzag(data: Bytes, starts: Ints, ends: Ints) -> Ints:
    """The signed numbers between the positions: seven bits a byte, low ones first, the ninth byte with all eight."""
    lengths = ends - starts + 1
    values = np.zeros(starts.size, dtype=np.uint64)
    for place in range(int(lengths.max(initial=0))):
        reaches = np.flatnonzero(lengths > place)
        bits = data[starts[reaches] + place].astype(np.uint64)
        if place < _LEB_LONGEST - 1:
            bits &= np.uint64(0x7F)
        values[reaches] |= bits << np.uint64(7 * place)
    signs = (values & np.uint64(1)).astype(np.int64)
    return (values >> np.uint64(1)).astype(np.int64) ^ -signs


def _assemble(
    name: str, head: _Head, rows: Sequence[_Row], blocks: Sequence[_Counts], *, truncated: bool
) -> IntervalLog:
    start = np.array([row.start_s for row in rows], dtype=np.float64)
    origin = head.origin_s(float(start[0]) if rows else 0.0)
    sizes = np.concatenate([block.sizes for block in blocks])
    # Lines of old logs carry absolute times: then they count from the log's own start time here too.
    start_time = head.start_time_s if head.start_time_s is not None else origin
    return IntervalLog(
        operation=name,
        start_time_s=start_time,
        start_s=start + (origin - start_time),
        length_s=np.array([row.length_s for row in rows], dtype=np.float64),
        max_us=np.array([row.max_s * 1e6 for row in rows], dtype=np.float64),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        index=np.concatenate([block.index for block in blocks]),
        count=np.concatenate([block.count for block in blocks]),
        truncated=truncated,
    )

"""Encoded HdrHistograms, versions V1 and V2, to sparse counts in the bucket layout of `runs.ycsb.histogram`.

Both are base64(cookie, length, zlib(header, counts)). V1's counts are whole words; V2's are ZigZag LEB128 numbers,
where a negative one stands for so many zeros.

The counts of many intervals are decoded together: one pass of numpy over some hundred intervals costs about as much as
inflating them, where a loop over numbers would cost a hundred times that.
"""

import binascii
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchsite.core.formatting import exact
from runs.ycsb.errors import HistogramError
from runs.ycsb.histogram import MAX_INDEX, SIGNIFICANT_DIGITS, Ints, get_bucket_indices

Bytes = npt.NDArray[np.uint8]

_OUTER: Final = struct.Struct(">ii")  # cookie, compressed length
_INNER: Final = struct.Struct(">iiiiqqd")  # cookie, length, offset, digits, lowest, highest, ratio
_V1: Final = (0x1C849302, 0x1C849301)  # outer and inner cookie
_V2: Final = (0x1C849304, 0x1C849303)
_WORD_SIZE_BITS: Final = 0xF0  # of a cookie; V2 keeps a 1 there
_MAX_LEB_BYTES: Final = 8  # of nine only counts from 2**55 on have need, and no interval has so many
# Of every byte as if it were a number by itself: whether it counts anything, and over how many indices it leads (a
# negative number over so many zeros). Bytes with the high bit are parts of longer numbers.
_BYTE: Final = np.arange(256)
_COUNTS: Final = (_BYTE & 1 == 0) & (_BYTE > 0) & (_BYTE < 0x80)
_STEPS: Final = np.where(_BYTE < 0x80, np.where(_BYTE & 1, (_BYTE >> 1) + 1, 1), 0).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class Layout:
    """How another tool's histogram divides the values: significant digits, and the unit 2**shift of its values."""

    digits: int
    shift: int

    @property
    def half_bits(self) -> int:
        """Every doubling of the values has 2**half_bits buckets."""
        return int(2 * 10**self.digits - 1).bit_length() - 1

    @property
    def most_index(self) -> int:
        """The index of the largest value Java can record."""
        return ((64 - self.half_bits - self.shift) << self.half_bits) - 1

    def values(self, index: Ints) -> tuple[Ints, Ints]:
        """The smallest and the largest value of the bucket at each index."""
        bucket = np.maximum((index >> self.half_bits) - 1, 0)
        lowest = (index - (bucket << self.half_bits)) << (bucket + self.shift)
        return lowest, lowest + (np.left_shift(np.int64(1), bucket + self.shift) - 1)


OURS: Final = Layout(SIGNIFICANT_DIGITS, 0)


def _most_bytes(layout: Layout) -> int:
    """No histogram is longer inflated: a word for every index."""
    return 8 * (layout.most_index + 1) + _INNER.size


_MAX_OUR_BYTES: Final = _most_bytes(OURS)


class Payload(NamedTuple):
    """The counts of one inflated histogram. `word_size` is 0 for V2."""

    data: bytes
    word_size: int
    layout: Layout
    line_number: int


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Sparse histograms one after the other: `sizes[i]` counts, each at its index."""

    sizes: Ints
    index: npt.NDArray[np.int32]
    count: Ints

    @classmethod
    def joined(cls, parts: Sequence["Counts"]) -> "Counts":
        """One after the other."""
        return cls(
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.index for part in parts]),
            np.concatenate([part.count for part in parts]),
        )

    def select(self, mask: npt.NDArray[np.bool_]) -> "Counts":
        """The histograms at which `mask` is true."""
        if mask.all():
            return self
        selected = np.repeat(mask, self.sizes)
        return Counts(self.sizes[mask], self.index[selected], self.count[selected])


def inflate(encoded: bytes, line_number: int) -> Payload:
    """Undo base64 and zlib and check the header. Raises HistogramError; never inflates more than a histogram needs."""
    try:
        outer = binascii.a2b_base64(encoded, strict_mode=True)
        cookie, length = _OUTER.unpack_from(outer)
        inflater = zlib.decompressobj()
        inner = inflater.decompress(outer[_OUTER.size : _OUTER.size + length], _MAX_OUR_BYTES)
        inner_cookie, size, _, digits, lowest, _, ratio = _INNER.unpack_from(inner)
        layout = OURS if digits == SIGNIFICANT_DIGITS and lowest <= 1 else _layout(digits, lowest, line_number)
        if not inflater.eof:
            inner += inflater.decompress(inflater.unconsumed_tail, max(_most_bytes(layout) - len(inner), 1))
    except (binascii.Error, struct.error, zlib.error) as error:
        raise HistogramError(f"the histogram cannot be decoded ({error})", line_number) from error

    if not inflater.eof:
        raise HistogramError("the compressed histogram is cut off or too large", line_number)

    kinds = cookie & ~_WORD_SIZE_BITS, inner_cookie & ~_WORD_SIZE_BITS
    if kinds not in (_V1, _V2):
        raise HistogramError(f"the histogram has an unknown encoding (cookie {cookie & 0xFFFFFFFF:#x})", line_number)
    if ratio != 1.0:
        raise HistogramError(f"the histogram's values are scaled by {exact(ratio)}: not read", line_number)
    if size < 0 or len(inner) - _INNER.size < size:
        raise HistogramError(f"the histogram holds {len(inner) - _INNER.size} of its {size} bytes", line_number)

    word_size = 0
    if kinds != _V2:
        word_size = (inner_cookie & _WORD_SIZE_BITS) >> 4
    if kinds == _V1 and word_size not in (2, 4, 8):
        raise HistogramError(f"the histogram's counts are {word_size} bytes wide", line_number)

    return Payload(inner[_INNER.size : _INNER.size + size], word_size, layout, line_number)


def decode(payloads: Sequence[Payload]) -> Counts:
    """The sparse counts of some histograms, in order."""
    if all(payload.word_size == 0 and payload.layout is OURS for payload in payloads):
        return _decode_v2(payloads, MAX_INDEX)
    return Counts.joined([_decode_one(payload) for payload in payloads])


def _layout(digits: int, lowest: int, line_number: int) -> Layout:
    if not 1 <= digits <= 5 or not lowest < 2**31:
        raise HistogramError(f"the histogram has {digits} significant digits from {lowest} on", line_number)
    return Layout(digits, max(lowest, 1).bit_length() - 1)


def _decode_one(payload: Payload) -> Counts:
    most = payload.layout.most_index
    counts = _decode_v1(payload) if payload.word_size else _decode_v2([payload], most)
    if payload.layout is OURS:
        return counts
    return _converted(counts, payload)


def _converted(counts: Counts, payload: Payload) -> Counts:
    """Into the layout of three digits, where every bucket with counts lies within one of its buckets."""
    lowest, highest = payload.layout.values(counts.index.astype(np.int64))
    index = get_bucket_indices(lowest)
    if (index != get_bucket_indices(highest)).any():
        raise HistogramError(
            f"the histogram is too coarse: {payload.layout.digits} significant digits in units of "
            f"{1 << payload.layout.shift}. Write it with 3 digits in units of 1",
            payload.line_number,
        )

    own_index, owner = np.unique(index, return_inverse=True)
    count = np.zeros(own_index.size, dtype=np.int64)
    np.add.at(count, owner, counts.count)
    return Counts(np.array([own_index.size], dtype=np.int64), own_index.astype(np.int32), count)


def _decode_v1(payload: Payload) -> Counts:
    whole = len(payload.data) // payload.word_size
    # Zero is zero in every order of bytes: looking for it in the machine's own is several times faster.
    raw = np.frombuffer(payload.data, dtype=f"i{payload.word_size}", count=whole)
    index = np.flatnonzero(raw)
    count = raw[index].view(f">i{payload.word_size}").astype(np.int64)
    if index.size and (int(index[-1]) > payload.layout.most_index or int(count.min()) < 0):
        raise HistogramError("the histogram has impossible counts", payload.line_number)
    return Counts(np.array([index.size], dtype=np.int64), index.astype(np.int32), count)


def _decode_v2(payloads: Sequence[Payload], most_index: int) -> Counts:
    """All numbers of all payloads in one pass: see how far each leads, keep those that count.

    Nearly all numbers are a single byte. The others take the place of their last byte.
    """
    data = np.frombuffer(b"".join(payload.data for payload in payloads), dtype=np.uint8)
    borders = np.concatenate([[0], np.cumsum([len(payload.data) for payload in payloads])]).astype(np.int64)
    starts, ends = _longer_numbers(data, borders, payloads)
    numbers = _unzigzag(data, starts, ends)
    leads = np.where(numbers < 0, -numbers, 1)
    bad = leads > most_index + 1
    if bad.any():
        # Runs of zeros so absurd that their sum would turn negative and look harmless.
        raise _beyond(payloads, borders, ends[bad])

    steps = _STEPS.take(data)
    counts = _COUNTS.take(data)
    steps[ends], counts[ends] = 0, numbers > 0
    counted = np.flatnonzero(counts)
    count = (data.take(counted) >> 1).astype(np.int64)
    count[np.searchsorted(counted, ends[numbers > 0])] = numbers[numbers > 0]
    reached: npt.NDArray[np.int64] = np.cumsum(steps, dtype=np.int32 if data.size < 2**24 else np.int64)
    index = reached.take(counted) + _shifts(reached, borders, ends, leads, counted)
    if index.size and int(index.max()) > most_index:
        raise _beyond(payloads, borders, counted[index > most_index])

    sizes = np.diff(np.searchsorted(counted, borders)).astype(np.int64)
    return Counts(sizes, index.astype(np.int32), count)


def _shifts(reached: npt.NDArray[Any], borders: Ints, ends: Ints, leads: Ints, counted: Ints) -> Ints:
    """For every number that counts the difference between its index and how far the small steps reached.

    It changes where a payload begins, and where a longer number adds what it leads over.
    """
    at = np.concatenate([borders[:-1], ends])
    order = np.argsort(at, kind="stable")
    begins = order < borders.size - 1
    led = np.cumsum(np.concatenate([np.zeros(borders.size - 1, dtype=np.int64), leads])[order])
    before = np.where(borders[:-1] > 0, reached[borders[:-1] - 1], 0) if reached.size else borders[:-1]
    # Of the payload to which each belongs; a number's own step leads beyond its index.
    payload = np.cumsum(begins) - 1
    shift = led - (led[begins] + before)[payload] - 1
    numbers = np.diff(np.append(np.searchsorted(counted, at[order]), counted.size))
    shifts: Ints = np.repeat(shift, numbers)
    return shifts


def _beyond(payloads: Sequence[Payload], borders: Ints, positions: Ints) -> HistogramError:
    line_number = _find_line(payloads, borders, positions)
    return HistogramError("the histogram's counts run past the end of every histogram", line_number)


def _find_line(payloads: Sequence[Payload], borders: Ints, positions: Ints) -> int:
    """The line of the payload in which the first of the positions lies."""
    owner = int(np.searchsorted(borders, positions[0], side="right")) - 1
    return payloads[owner].line_number


def _longer_numbers(data: Bytes, borders: Ints, payloads: Sequence[Payload]) -> tuple[Ints, Ints]:
    """Where the numbers of several bytes begin and end: with a byte without the high bit."""
    high = np.flatnonzero(data >= 0x80)
    apart = np.diff(high) > 1
    edge = high[:1] >= 0
    starts = high[np.concatenate((edge, apart))]
    ends = high[np.concatenate((apart, edge))] + 1
    lasts = borders[1:][np.diff(borders) > 0] - 1
    broken = lasts[data[lasts] >= 0x80]
    if broken.size:
        raise HistogramError("the histogram's last count is cut off", _find_line(payloads, borders, broken))

    endless = starts[ends - starts >= _MAX_LEB_BYTES]
    if endless.size:
        raise HistogramError("the histogram has impossible counts", _find_line(payloads, borders, endless))

    return starts, ends


def _unzigzag(data: Bytes, starts: Ints, ends: Ints) -> Ints:
    """The signed numbers between the positions: seven bits a byte, low ones first."""
    lengths = ends - starts + 1
    values = np.zeros(starts.size, dtype=np.uint64)
    for place in range(int(lengths.max(initial=0))):
        reaches = np.flatnonzero(lengths > place)
        bits = data[starts[reaches] + place].astype(np.uint64) & np.uint64(0x7F)
        values[reaches] |= bits << np.uint64(7 * place)
    signs = (values & np.uint64(1)).astype(np.int64)
    return (values >> np.uint64(1)).astype(np.int64) ^ -signs

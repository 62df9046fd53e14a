"""Rows of raw points, `READ,1458262912345,834`, taken apart a whole piece of a file at a time.

A loop over rows would take twenty times as long: here numpy finds all commas and line ends at once, and the digits of
all rows are put together eight at a time by their place values.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from runs.ycsb.histogram import Ints

Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

_COMMA: Final = 44
_LINE_FEED: Final = 10
_NAME: Final = re.compile(r"[A-Za-z][\w.-]{0,99}", re.ASCII)
_PAD: Final = 24  # bytes before the first and behind the last row, so that words around them can be read
_MAX_COLUMN: Final = 100  # characters of a row that is taken one by one
_MAX_NAME_LENGTH: Final = 24  # bytes; three words
_MAX_NUMBER: Final = 16  # digits; two words
_MAX_NAMES: Final = 32  # in one piece, before rows are taken one by one

_ZEROS: Final = np.uint64(0x3030303030303030)  # "00000000"
_HIGH_BITS: Final = np.uint64(0x8080808080808080)
_MIXER: Final = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / the golden ratio
_TO_HIGH_BIT: Final = np.uint64(0x7676767676767676)  # carries every byte above 9 to its high bit

# Of a word that is so many bytes long at its end: all bits of those bytes, the last of which are the highest.
_LAST_BYTES: Final = np.array([(1 << 64) - (1 << 64 - 8 * size) for size in range(9)], dtype=np.uint64)
_FIRST_BYTES: Final = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
# How neighbouring digits become one number: times, shifted right, and the bits that count.
_PLACES: Final = tuple(
    (np.uint64(10**count * 2 ** (8 * count) + 1), np.uint64(8 * count), np.uint64(mask))
    for count, mask in ((1, 0x00FF00FF00FF00FF), (2, 0x0000FFFF0000FFFF), (4, 0x00000000FFFFFFFF))
)


class OddLine(NamedTuple):
    """A line that is no row, `number` lines (from 0) after the first of its piece."""

    number: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of one operation."""

    operation: str
    time: Ints
    latency: Ints


def parse_rows(data: bytes) -> tuple[list[Rows], list[OddLine]]:
    """The rows of whole lines by operation, in their order, and the other lines that are not blank."""
    if data and not data.endswith(b"\n"):
        data += b"\n"
    piece = _Piece(data)
    groups = list(piece.groups())
    odd: list[OddLine] = []
    slow: dict[str, list[tuple[int, int]]] = {}
    for line in piece.left():
        row = _parse_slowly(line.text)
        if row is not None:
            slow.setdefault(row[0], []).append(row[1:])
        elif line.text.strip():
            odd.append(line)

    for name, points in slow.items():
        columns = np.array(points, dtype=np.int64)
        groups.append(Rows(name, columns[:, 0], columns[:, 1]))

    return groups, odd


def _parse_slowly(line: bytes) -> tuple[str, int, int] | None:
    """One row, its digits those of any script: Java prints them in the locale of the machine."""
    columns = line.decode(errors="replace").split(",")
    if len(columns) != 3 or max(map(len, columns)) > _MAX_COLUMN:
        return None
    name, time, latency = (column.strip() for column in columns)
    if not (_NAME.fullmatch(name) and time.isdecimal() and latency.isdecimal()):
        return None
    if max(len(time), len(latency)) > _MAX_NUMBER:
        return None
    return name, int(time), int(latency)


class _Piece:
    """Some lines, and of those with two commas the positions and numbers as columns."""

    def __init__(self, data: bytes) -> None:
        self._buffer = bytes(_PAD) + data + bytes(_PAD)
        # Eight bytes from every position on, without a copy.
        self._words: Words = np.ndarray((len(self._buffer) - 7,), dtype="<u8", buffer=self._buffer, strides=(1,))
        self._find_rows()
        self._times, are_times = self._numbers(self._first + 1, self._second)
        self._latencies, are_latencies = self._numbers(self._second + 1, self._end)
        length = self._first - self._start
        is_row = are_times & are_latencies & (length > 0) & (length <= _MAX_NAME_LENGTH)
        self._open = np.flatnonzero(is_row)  # rows that no operation has taken yet
        self._taken: list[Ints] = []  # those that one has

    def _find_rows(self) -> None:
        """Positions of the first byte, both commas and the line feed of every line with two commas."""
        every = np.frombuffer(self._buffer, dtype=np.uint8)
        marks = np.flatnonzero((every == _COMMA) | (every == _LINE_FEED))
        is_end = every[marks] == _LINE_FEED
        if 3 * int(np.count_nonzero(is_end)) == marks.size and bool(is_end[2::3].all()):
            self._line_ends = marks[2::3]  # every line has two commas
            self._line = np.arange(self._line_ends.size)
            at = np.arange(2, marks.size, 3)
        else:
            ends = np.flatnonzero(is_end)
            self._line_ends = marks[ends]
            # Two commas lie between the line feed before and this one: it is the third mark after that.
            self._line = np.flatnonzero(np.diff(ends, prepend=-1) == 3)
            at = ends[self._line]

        self._line_starts = np.concatenate([[_PAD], self._line_ends[:-1] + 1])[: self._line_ends.size]
        self._start = self._line_starts[self._line]
        self._first, self._second, self._end = marks[at - 2], marks[at - 1], marks[at]

    def _numbers(self, start: Ints, end: Ints) -> tuple[Ints, Mask]:
        """The decimal numbers between the positions, and which of them are numbers."""
        length = end - start
        values, odd = self._eight_digits(end, np.clip(length, 0, 8))
        if int(length.max(initial=0)) > 8:
            upper, odd_above = self._upper_digits(np.maximum(end - 8, _PAD), np.clip(length - 8, 0, 8))
            values += upper * np.uint64(100_000_000)
            odd |= odd_above
        return values.view(np.int64), (odd == 0) & (length > 0) & (length <= _MAX_NUMBER)

    def _upper_digits(self, end: Ints, length: Ints) -> tuple[Words, Words]:
        """As _eight_digits. The first digits of times are the same in most pieces of a file: then one row tells all."""
        written = self._words[end - 8] & _LAST_BYTES[length]
        if (length == length[0]).all() and (written == written[0]).all():
            return self._eight_digits(end[:1], length[:1])
        return self._eight_digits(end, length)

    def _eight_digits(self, end: Ints, length: Ints) -> tuple[Words, Words]:
        """The number that the last `length` of the eight bytes before `end` say; beside it 0 where all are digits."""
        digits = (self._words[end - 8] ^ _ZEROS) & _LAST_BYTES[length]
        odd = ((digits + _TO_HIGH_BIT) | digits) & _HIGH_BITS
        # The first digit lies in the lowest byte. Neighbours are added with their place values: 1, then 2, then 4.
        for factor, shift, mask in _PLACES:
            digits *= factor
            digits >>= shift
            digits &= mask
        return digits, odd

    def groups(self) -> Iterator[Rows]:
        """The rows of one operation after the other."""
        names = self._hashed_names()[self._open]
        for _ in range(_MAX_NAMES):
            if not self._open.size:
                return
            first, same = self._open[0], names == names[0]
            rows, self._open, names = self._open[same], self._open[~same], names[~same]
            name = self._buffer[self._start[first] : self._first[first]].decode(errors="replace")
            if _NAME.fullmatch(name):
                self._taken.append(rows)
                yield self._rows(name, rows)

    def _rows(self, name: str, rows: Ints) -> Rows:
        if rows.size == self._times.size:
            return Rows(name, self._times, self._latencies)
        return Rows(name, self._times[rows], self._latencies[rows])

    def _hashed_names(self) -> Words:
        """A number for each name. Of a name of eight bytes it is the name itself; no two others are likely to meet."""
        length = self._first - self._start
        longest = int(length[self._open].max(initial=0))
        names: Words = self._words[self._start] & _FIRST_BYTES[np.minimum(length, 8)]
        for reach in range(8, longest, 8):
            # The last eight bytes so far: they overlap those before, and all bytes have been seen in the end.
            ends = self._start + np.minimum(length, reach + 8)
            beyond = self._words[ends - 8] + length.view(np.uint64)
            names = np.where(length > reach, (names ^ beyond) * _MIXER, names)
        return names

    def left(self) -> Iterator[OddLine]:
        """The lines that are in no group."""
        if sum(rows.size for rows in self._taken) == self._line_ends.size:
            return
        are_left = np.ones(self._line_ends.size, dtype=bool)
        for rows in self._taken:
            are_left[self._line[rows]] = False
        for number in np.flatnonzero(are_left).tolist():
            yield OddLine(number, self._buffer[self._line_starts[number] : self._line_ends[number]])

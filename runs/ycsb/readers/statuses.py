"""Very many status lines, read fast and kept small: numbers in columns, a line of objects only when one asks for it.

Status lines of one client look alike but for their digits. So they are sorted by what is left without the digits, one
line of each kind is taken apart with care, and the numbers of all others of its kind are found by their places.
Whatever is no plain number there (NaN, a replacement character, a sign) belongs to the kind itself.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, overload

import numpy as np

from runs.ycsb.numbers import NO_MINIMUM
from runs.ycsb.readers.line_templates import NAMED, NOWHERE, Column, Kind, Place, detect_kind
from runs.ycsb.status import StatusLine, of_numbers, read_status

Integers = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
Positions = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

MAX_LINES: Final = 400_000  # lines kept of one run: more than four days, one a second
# So many names and numbers that only some lines state have columns, beside one for so many characters of a line.
_MAX_RARE: Final = 64
_CHARACTERS: Final = 8
DIGITS: Final = b"0123456789"
MAX_DIGITS: Final = 19  # digits of the largest number of a Java long
_MAX_KINDS: Final = 2_000
_EXACT_DIGITS: Final = 15  # that a double holds whatever they are
_POWERS: Final = np.power(10.0, np.arange(_EXACT_DIGITS + 1))
_DATE_DIGITS: Final = (4, 2, 2, 2, 2, 2, 3)
_NO_KIND: Final = Kind((), (), Place(NOWHERE), 0, None, (), {}, ())  # of lines that are read one by one
_U: Final = np.uint64
_WORD: Final = 8  # digits that one 64-bit word holds, one in each byte
MARGIN: Final = b" " * 3 * _WORD  # what must stand before the text, so that a word can be read that ends with any digit
# What stands in front of a line's operations; NaN is what it does not say.
_HEAD: Final = np.dtype([("elapsed_s", "i8"), ("operations_done", "i8"), ("rate_ops_s", "f8"), ("at_s", "f8")])


class StatusTable(Sequence[StatusLine]):
    """The status lines of one run, in order. Each is made when it is asked for; columns are there for arithmetic.

    `columns` hold a number of each line, NaN where a line does not state it.
    """

    def __init__(self, head: np.ndarray, max_columns: int) -> None:
        self.head = head
        self.columns: dict[Column, Floats] = {}
        self._max_columns = max_columns  # more are left out: each has room for every line

    @classmethod
    def of(cls, lines: Sequence[StatusLine]) -> "StatusTable":
        if isinstance(lines, StatusTable):
            return lines
        table = cls(np.zeros(len(lines), dtype=_HEAD), sys.maxsize)
        for position, line in enumerate(lines):
            table.put_line(position, line)
        return table

    @classmethod
    def joined(cls, parts: Sequence["StatusTable"]) -> "StatusTable":
        head = np.concatenate([np.zeros(0, dtype=_HEAD), *(part.head for part in parts)])
        table = cls(head, max((part._max_columns for part in parts), default=0))
        begin = 0
        for part in parts:
            for column, values in part.columns.items():
                table.put(column, slice(begin, begin + len(part)), values)
            begin += len(part)
        return table

    def select(self, positions: Sequence[int] | slice) -> "StatusTable":
        """Only the lines at these positions."""
        table = StatusTable(self.head[positions], self._max_columns)
        for column, values in self.columns.items():
            table.columns[column] = values[positions]
        return table

    def put(self, column: Column, positions: Positions | slice | int, values: Floats | float) -> None:
        if column not in self.columns and len(self.columns) < self._max_columns:
            self.columns[column] = np.full(len(self), np.nan)
        if column in self.columns:
            self.columns[column][positions] = values

    def put_line(self, position: int, line: StatusLine) -> None:
        self.head[position] = (line.elapsed_s, line.operations_done, line.rate_ops_s, line.at_s)  # None becomes NaN.
        for name, operation in line.operations.items():
            self.put((name, NAMED), position, 1.0)
            for field in operation.__slots__:
                number = getattr(operation, field)
                if number is not None:
                    self.put((name, field), position, number)

    def __len__(self) -> int:
        return len(self.head)

    @overload
    def __getitem__(self, index: int) -> StatusLine: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[StatusLine, ...]: ...

    def __getitem__(self, index: int | slice) -> StatusLine | tuple[StatusLine, ...]:
        if isinstance(index, slice):
            return tuple(self.select(index))
        elapsed_s, operations_done, *stated = self.head[index].item()
        rate_ops_s, at_s = (None if math.isnan(number) else number for number in stated)
        numbers: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for (name, field), values in self.columns.items():
            if not math.isnan(values[index]):
                numbers[name][field] = float(values[index])
        operations = {name: of_numbers(fields) for name, fields in numbers.items()}
        return StatusLine(elapsed_s, operations_done, rate_ops_s, operations, at_s)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def elapsed_s(self) -> Positions:
        return self.head["elapsed_s"]

    @property
    def operations_done(self) -> Positions:
        return self.head["operations_done"]

    @property
    def at_s(self) -> Floats:
        return self.head["at_s"]

    @property
    def has_median(self) -> bool:
        """Whether a line states one, as only versions after 0.17 do."""
        return any(field == "p50" and not np.isnan(values).all() for (_, field), values in self.columns.items())

    @property
    def names(self) -> tuple[str, ...]:
        """Every operation that a line names."""
        columns = self.columns.items()
        return tuple(sorted(name for (name, field), values in columns if field == NAMED and (values == 1).any()))

    def column(self, name: str, field: str) -> Floats:
        """One field of one operation ("READ", "avg") in every line; NaN where the line states none."""
        unknown = np.full(len(self), np.nan)
        values = self.columns.get((name, field), unknown)
        is_empty = self.columns.get((name, "count"), unknown) == 0
        if field == "count":
            return values
        return np.where(is_empty | (values >= NO_MINIMUM), np.nan, values)


def strip_digits(line: bytes) -> bytes:
    """The line without its digits."""
    return line.translate(None, DIGITS)


class StatusReader:
    """Reads batches of status lines of one file; it remembers the kinds that it has met."""

    def __init__(self) -> None:
        self._kinds: dict[bytes, Kind] = {}

    def read(self, lines: Sequence[bytes], shapes: Sequence[bytes] | None = None) -> StatusTable:
        """Every line must match `status.HEAD`. A status of several lines comes with its line ends.

        `shapes` are the lines without their digits, where they are at hand.
        """
        by_kind: defaultdict[Kind, list[int]] = defaultdict(list)
        for position, shape in enumerate(shapes or map(strip_digits, lines)):
            kind = self._kinds.get(shape)
            if kind is None:
                kind = self._find_kind(shape, lines[position])
            by_kind[kind].append(position)

        max_columns = _MAX_RARE + sum(map(len, lines)) // max(len(lines), 1) // _CHARACTERS
        table = StatusTable(np.zeros(len(lines), dtype=_HEAD), max_columns)
        irregular = by_kind.pop(_NO_KIND, [])
        digits = _Digits(lines)
        for kind, positions in by_kind.items():
            irregular += _read_kind(kind, np.array(positions, dtype=np.int64), digits, table)
        for position in irregular:
            status = read_status(lines[position])
            assert status is not None
            table.put_line(position, status)
        return table

    def _find_kind(self, shape: bytes, line: bytes) -> Kind:
        if len(self._kinds) >= _MAX_KINDS:
            return _NO_KIND
        kind = self._kinds[shape] = detect_kind(line) or _NO_KIND
        return kind


class _Digits:
    """The runs of digits of some lines, all read at once."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        text = MARGIN + b"\n".join(lines) + b"\n"
        self.starts, self.ends = digit_runs(text)
        self.values = read_values(text, self.starts, self.ends)
        lengths = np.array(list(map(len, lines)), dtype=np.int64) + 1
        self.line_starts = len(MARGIN) + np.cumsum(lengths) - lengths
        self.first_runs = np.searchsorted(self.starts, self.line_starts)
        self.run_counts = np.diff(self.first_runs, append=self.starts.size)


def _read_kind(kind: Kind, lines: Positions, digits: _Digits, table: StatusTable) -> list[int]:
    """Puts the lines into the table. The positions of those that only seem to be of the kind."""
    alike = lines[digits.run_counts[lines] == len(kind.gaps)]
    runs = digits.first_runs[alike][:, np.newaxis] + np.arange(len(kind.gaps))
    values, starts = digits.values[runs], digits.starts[runs]
    lengths = digits.ends[runs] - starts
    # The runs must stand between the same characters as in the line that the kind was made of.
    gaps = starts - digits.line_starts[alike][:, np.newaxis] - (np.cumsum(lengths, axis=1) - lengths)
    is_good = (gaps == kind.gaps).all(axis=1) & (lengths <= MAX_DIGITS).all(axis=1)
    is_good &= (lengths[:, [kind.done, kind.elapsed.whole]] < MAX_DIGITS).all(axis=1)
    is_good &= (lengths[:, kind.date] == _DATE_DIGITS[: len(kind.date)]).all(axis=1)
    for run, text in kind.fixed:
        is_good &= (values[:, run] == int(text)) & (lengths[:, run] == len(text))

    places = [kind.elapsed, kind.rate or kind.elapsed, *kind.fields.values()]
    numbers, are_exact = _read_numbers(values, lengths, places)
    is_good &= are_exact.all(axis=1)
    read, numbers, values = alike[is_good], numbers[is_good], values[is_good]
    table.head["elapsed_s"][read] = numbers[:, 0]
    table.head["operations_done"][read] = values[:, kind.done]
    table.head["rate_ops_s"][read] = numbers[:, 1] if kind.rate else np.nan
    table.head["at_s"][read] = _epochs(values[:, kind.date]) if kind.date else np.nan
    for name in kind.names:
        table.put((name, NAMED), read, 1.0)
    for position, column in enumerate(kind.fields, 2):
        table.put(column, read, numbers[:, position])
    return sorted({*lines.tolist()}.difference(read.tolist()))


def _read_numbers(values: Integers, lengths: Positions, places: Sequence[Place]) -> tuple[Floats, np.ndarray]:
    """The number at each place of each line, and whether it is exact. Digits without the point, divided, round once."""
    # A number that lacks one of its parts finds none in a last column.
    values = np.pad(values, ((0, 0), (0, 1)))
    lengths = np.pad(lengths, ((0, 0), (0, 1)))
    whole, part, sign = np.array([(place.whole, place.part, place.sign) for place in places]).T
    decimals = lengths[:, part]
    are_exact = lengths[:, whole] + decimals <= _EXACT_DIGITS
    scale = _POWERS[np.where(are_exact, decimals, 0)]
    numbers = sign * (values[:, whole] * scale + values[:, part]) / scale
    return numbers, are_exact | ((part == NOWHERE) & (values[:, whole] == NO_MINIMUM))


def digit_runs(text: bytes) -> tuple[Positions, Positions]:
    """Where each run of digits starts and ends. The text begins and ends with something else."""
    is_digit = (np.frombuffer(text, np.uint8) - np.uint8(48)) < 10
    edges = np.flatnonzero(is_digit[1:] != is_digit[:-1]) + 1
    return edges[::2], edges[1::2]


def read_values(text: bytes, starts: Positions, ends: Positions) -> Integers:
    """The number of each run; of a run of more than 24 digits the last ones. `text` begins with MARGIN."""
    # Indexed in brackets, because `take` would first make a copy of all these overlapping words.
    words = np.ndarray((len(text) - _WORD + 1,), dtype="<u8", buffer=text, strides=(1,))
    lengths = ends - starts
    values = _eight_digits(words[ends - _WORD], np.minimum(lengths, _WORD))
    for already in (_WORD, 2 * _WORD):
        longer = np.flatnonzero(lengths > already)
        if longer.size == 0:
            break
        more = _eight_digits(words[ends[longer] - already - _WORD], np.minimum(lengths[longer] - already, _WORD))
        values[longer] += more * _U(10**already)
    return values


def _eight_digits(words: Integers, lengths: Positions) -> Integers:
    """The value of the last `lengths` bytes of each word, the first digit in the lowest byte; in place of the words.

    Neighbours are joined to pairs, pairs to fours, fours to the whole: three multiplications for eight digits.
    """
    unused = (_U(_WORD) - lengths.astype(np.uint64)) * _U(8)
    words >>= unused
    words <<= unused
    words &= _U(0x0F0F_0F0F_0F0F_0F0F)
    neighbours = words >> _U(8)
    words *= _U(10)
    words += neighbours
    np.right_shift(words, _U(16), out=neighbours)
    for part, factor in ((words, 100 + (1_000_000 << 32)), (neighbours, 1 + (10_000 << 32))):
        part &= _U(0x0000_00FF_0000_00FF)
        part *= _U(factor)

    words += neighbours
    words >>= _U(32)
    return words


def _epochs(dates: np.ndarray) -> Floats:
    """Seconds since the epoch of year, month, day, hour, minute, second and milliseconds, read as UTC; NaN if none."""
    year, month, day, hour, minute, second, *more = dates.astype(np.int64).T
    months = (np.clip(year, 1, 9999) - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (month - 1)
    days = months.astype("datetime64[D]") + (day - 1)
    is_date = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (days.astype("datetime64[M]") == months)
    is_date &= (hour < 24) & (minute < 60)
    seconds = days.astype("datetime64[s]").astype(np.int64) + 3600 * hour + 60 * minute + second
    if more:
        (milliseconds,) = more
        seconds = seconds + milliseconds / 1000
    return np.where(is_date, seconds, np.nan)

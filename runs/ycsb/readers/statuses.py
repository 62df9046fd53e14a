"""Very many status lines, read fast and kept small: numbers in columns, a line of objects only when one asks for it.

Status lines of one client look alike but for their digits. So they are sorted by what is left without the digits, one
line of each kind is taken apart with care, and the numbers of all others of its kind are found by their places.
Whatever is no plain number there (NaN, a replacement character, a sign) belongs to the kind itself.
"""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, overload

import numpy as np

from runs.ycsb.numbers import NO_MINIMUM
from runs.ycsb.readers.line_templates import NOWHERE, Kind, Place, detect_kind
from runs.ycsb.status import StatusLine, StatusOperation, of_numbers, read_status

Integers = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
Positions = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

_U: Final = np.uint64
_WORD: Final = 8  # digits that one 64-bit word holds, one in each byte
MARGIN: Final = b" " * 3 * _WORD  # what must stand before the text, so that a word can be read that ends with any digit
MAX_DIGITS: Final = 19  # digits of the largest number of a Java long


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


MAX_LINES: Final = 400_000  # lines kept of one run: more than four days, one a second
_MAX_KINDS: Final = 2_000
_MAX_IRREGULAR: Final = 20_000  # lines kept as objects with all their operations
DIGITS: Final = b"0123456789"
_EXACT_DIGITS: Final = 15  # that a double holds whatever they are
_POWERS: Final = np.power(10.0, np.arange(_EXACT_DIGITS + 1))
_DATE_DIGITS: Final = (4, 2, 2, 2, 2, 2, 3)

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Statuses:
    """Some status lines in a row. A line without a kind is in `irregular`, by its position."""

    elapsed_s: Positions
    operations_done: Positions
    rate_ops_s: Floats  # NaN where a line states none
    at_s: Floats  # likewise
    kinds: list[Kind | None]
    numbers: Floats  # of each line, its kind's fields
    irregular: dict[int, StatusLine] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.kinds)

    def select(self, positions: Sequence[int] | slice) -> "Statuses":
        """Only the lines at these positions."""
        if isinstance(positions, slice):
            selected: Sequence[int] = range(len(self))[positions]
            kinds = self.kinds[positions]
        else:
            selected, kinds = positions, [self.kinds[position] for position in positions]
        irregular = {}
        if self.irregular:
            irregular = {new: self.irregular[old] for new, old in enumerate(selected) if old in self.irregular}
        return Statuses(
            elapsed_s=self.elapsed_s[positions],
            operations_done=self.operations_done[positions],
            rate_ops_s=self.rate_ops_s[positions],
            at_s=self.at_s[positions],
            kinds=kinds,
            numbers=self.numbers[positions],
            irregular=irregular,
        )

    def line(self, position: int) -> StatusLine:
        kind = self.kinds[position]
        if kind is None:
            return self.irregular[position]

        rate, at_s = float(self.rate_ops_s[position]), float(self.at_s[position])
        return StatusLine(
            elapsed_s=int(self.elapsed_s[position]),
            operations_done=int(self.operations_done[position]),
            rate_ops_s=None if math.isnan(rate) else rate,
            operations=_build_operations(kind, self.numbers[position].tolist()),
            at_s=None if math.isnan(at_s) else at_s,
        )


def _build_operations(kind: Kind, numbers: Sequence[float]) -> dict[str, StatusOperation]:
    fields: dict[str, dict[str, float | None]] = {name: {} for name in kind.operations}
    for place, number in zip(kind.fields, numbers, strict=False):
        fields[place.operation][place.field] = number
    return {name: of_numbers(columns) for name, columns in fields.items()}


_UNKNOWN: Final = Kind((), (), Place(NOWHERE), 0, None, (), (), ())  # stands for a kind not met yet


class StatusTable(Sequence[StatusLine]):
    """The status lines of one run, in order. Each is made when it is asked for; columns are there for arithmetic."""

    def __init__(self, parts: Sequence[Statuses]) -> None:
        self._parts = tuple(part for part in parts if len(part))
        self._ends = np.cumsum([len(part) for part in self._parts], dtype=np.int64).tolist()

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> StatusLine: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[StatusLine, ...]: ...

    def __getitem__(self, index: int | slice) -> StatusLine | tuple[StatusLine, ...]:
        if isinstance(index, slice):
            return tuple(self[position] for position in range(len(self))[index])
        position = range(len(self))[index]
        number = bisect_right(self._ends, position)
        part = self._parts[number]
        begin = self._ends[number] - len(part)
        return part.line(position - begin)

    def __iter__(self) -> Iterator[StatusLine]:
        for part in self._parts:
            yield from map(part.line, range(len(part)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), self[-1].operations_done if self else 0))

    def __repr__(self) -> str:
        return f"<{len(self)} status lines>"

    @property
    def elapsed_s(self) -> Positions:
        return _joined([part.elapsed_s for part in self._parts], np.int64)

    @property
    def operations_done(self) -> Positions:
        return _joined([part.operations_done for part in self._parts], np.int64)

    @property
    def at_s(self) -> Floats:
        """NaN where a line has no date."""
        return _joined([part.at_s for part in self._parts], np.float64)

    @property
    def has_median(self) -> bool:
        """Whether a line states one, as only versions after 0.17 do."""
        fields = chain.from_iterable(kind.fields for kind in self._kinds)
        return any(place.field == "p50" for place in fields)

    @property
    def _kinds(self) -> set[Kind]:
        return set(filter(None, chain.from_iterable(part.kinds for part in self._parts)))

    @property
    def names(self) -> tuple[str, ...]:
        """Every operation that a line names."""
        names = set().union(*(kind.operations for kind in self._kinds))
        for part in self._parts:
            names = names.union(*(line.operations for line in part.irregular.values()))
        return tuple(sorted(names))

    def column(self, operation: str, name: str) -> Floats:
        """One field of one operation ("READ", "avg") in every line; NaN where the line states none."""
        parts = []
        for part in self._parts:
            values = np.full(len(part), np.nan)
            kinds = set(part.kinds)
            for kind in filter(None, kinds):
                _fill(values, part, kind, operation, name, is_only=len(kinds) == 1)
            for position, line in part.irregular.items():
                values[position] = getattr(line.operations.get(operation), name, None)  # None becomes NaN.
            parts.append(values)

        return _joined(parts, np.float64)


def _fill(values: Floats, part: Statuses, kind: Kind, operation: str, name: str, *, is_only: bool) -> None:
    """The field's values into the lines of one kind."""
    columns = {place.field: column for column, place in enumerate(kind.fields) if place.operation == operation}
    if name not in columns:
        return
    lines = slice(None) if is_only else [position for position, other in enumerate(part.kinds) if other is kind]
    numbers = part.numbers[lines, columns[name]]
    if name != "count" and "count" in columns:
        numbers = np.where(part.numbers[lines, columns["count"]] == 0, np.nan, numbers)
    values[lines] = np.where(numbers >= 2.0**63, np.nan, numbers)


def _joined(arrays: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype=kind), *arrays])


def strip_digits(line: bytes) -> bytes:
    """The line without its digits."""
    return line.translate(None, DIGITS)


class StatusReader:
    """Reads batches of status lines of one file; it remembers the kinds that it has met."""

    def __init__(self) -> None:
        self._kinds: dict[bytes, Kind | None] = {}
        self._irregular = 0

    def read(self, lines: Sequence[bytes], shapes: Sequence[bytes] | None = None) -> Statuses:
        """Every line must match `status.HEAD`. A status of several lines comes with its line ends.

        `shapes` are the lines without their digits, where they are at hand.
        """
        shapes = shapes or [strip_digits(line) for line in lines]
        kinds = [self._kinds.get(shape, _UNKNOWN) for shape in shapes]
        for position, kind in enumerate(kinds):
            if kind is _UNKNOWN:
                kinds[position] = self._find_kind(shapes[position], lines[position])

        batch = _Batch(lines, kinds)
        statuses = batch.read()
        for position in np.flatnonzero(~batch.is_regular).tolist():
            status = read_status(lines[position])
            assert status is not None
            self._irregular += 1
            if self._irregular > _MAX_IRREGULAR:
                status = replace(status, operations={})
            statuses.irregular[position] = status
            statuses.elapsed_s[position] = status.elapsed_s
            statuses.operations_done[position] = status.operations_done
            statuses.rate_ops_s[position] = np.nan if status.rate_ops_s is None else status.rate_ops_s
            statuses.at_s[position] = np.nan if status.at_s is None else status.at_s

        return statuses

    def _find_kind(self, shape: bytes, line: bytes) -> Kind | None:
        if shape not in self._kinds and len(self._kinds) < _MAX_KINDS:
            self._kinds[shape] = detect_kind(line)
        return self._kinds.get(shape)


class _Batch:
    """Some lines, all of whose runs of digits are read at once."""

    def __init__(self, lines: Sequence[bytes], kinds: list[Kind | None]) -> None:
        self.kinds = kinds
        self.is_regular = np.array([kind is not None for kind in kinds], dtype=bool)
        text = MARGIN + b"\n".join(lines) + b"\n"
        self.starts, self.ends = digit_runs(text)
        self.values = read_values(text, self.starts, self.ends)
        lengths = np.array(list(map(len, lines)), dtype=np.int64) + 1
        self.line_starts = len(MARGIN) + np.cumsum(lengths) - lengths
        self.first_runs = np.searchsorted(self.starts, self.line_starts)
        self.run_counts = np.diff(self.first_runs, append=self.starts.size)

    def read(self) -> Statuses:
        size = len(self.kinds)
        by_kind: defaultdict[Kind, list[int]] = defaultdict(list)
        for position, kind in enumerate(self.kinds):
            if kind is not None:
                by_kind[kind].append(position)

        width = max((len(kind.fields) for kind in by_kind), default=0)
        statuses = Statuses(
            elapsed_s=np.zeros(size, dtype=np.int64),
            operations_done=np.zeros(size, dtype=np.int64),
            rate_ops_s=np.full(size, np.nan),
            at_s=np.full(size, np.nan),
            kinds=self.kinds,
            numbers=np.zeros((size, width)),
        )
        for kind, positions in by_kind.items():
            self._read_kind(kind, np.array(positions, dtype=np.int64), statuses)

        return statuses

    def _read_kind(self, kind: Kind, lines: Positions, statuses: Statuses) -> None:
        lines = self._set_apart(lines, self.run_counts[lines] == len(kind.gaps))
        runs = self.first_runs[lines][:, np.newaxis] + np.arange(len(kind.gaps))
        lengths = self.ends[runs] - self.starts[runs]
        is_good = self._has_places(kind, lines, runs, lengths) & _has_sizes(kind, lengths)
        lines = self._set_apart(lines, is_good)
        table = _Table(self.values[runs[is_good]], lengths[is_good])
        elapsed, is_good = table.number(kind.elapsed)
        is_good &= table.reads(kind)
        for column, place in enumerate(kind.fields):
            statuses.numbers[lines, column], is_exact = table.number(place)
            is_good &= is_exact
        if kind.rate is not None:
            statuses.rate_ops_s[lines], is_exact = table.number(kind.rate)
            is_good &= is_exact

        statuses.elapsed_s[lines] = elapsed.astype(np.int64)
        statuses.operations_done[lines] = table.values[:, kind.done].astype(np.int64)
        if kind.date:
            statuses.at_s[lines] = _epochs(table.values[:, kind.date])
        self._set_apart(lines, is_good)

    def _set_apart(self, lines: Positions, is_good: np.ndarray) -> Positions:
        """The good ones; the others are read one by one later."""
        for position in lines[~is_good].tolist():
            self.kinds[position] = None
            self.is_regular[position] = False
        good: Positions = lines[is_good]
        return good

    def _has_places(self, kind: Kind, lines: Positions, runs: Positions, lengths: Positions) -> np.ndarray:
        """Whether the runs of digits stand between the same characters as in the line that the kind was made of."""
        before = np.cumsum(lengths, axis=1) - lengths
        gaps = self.starts[runs] - self.line_starts[lines][:, np.newaxis] - before
        return np.asarray((gaps == np.array(kind.gaps)).all(axis=1))


def _has_sizes(kind: Kind, lengths: Positions) -> np.ndarray:
    is_good = lengths.max(axis=1, initial=0) <= MAX_DIGITS
    is_good &= (lengths[:, kind.done] < MAX_DIGITS) & (lengths[:, kind.elapsed.whole] < MAX_DIGITS)
    return np.asarray(is_good & (lengths[:, kind.date] == _DATE_DIGITS[: len(kind.date)]).all(axis=1))


@dataclass(frozen=True, slots=True)
class _Table:
    """The runs of digits of some lines of one kind: a row for each line."""

    values: np.ndarray
    lengths: Positions

    def number(self, place: Place) -> tuple[Floats, np.ndarray]:
        """The numbers at one place, and which of them are exact. Digits without the point, divided, round but once."""
        whole = np.zeros(len(self.values), dtype=np.uint64)
        digits = np.zeros(len(self.values), dtype=np.int64)
        if place.whole != NOWHERE:
            whole = self.values[:, place.whole]
            digits = self.lengths[:, place.whole]
        if place.part == NOWHERE:
            return place.sign * whole.astype(np.float64), (digits <= _EXACT_DIGITS) | (whole == NO_MINIMUM)
        decimals = self.lengths[:, place.part]
        is_exact = digits + decimals <= _EXACT_DIGITS
        scale = _POWERS[np.where(is_exact, decimals, 0)]
        return place.sign * (whole * scale + self.values[:, place.part]) / scale, is_exact

    def reads(self, kind: Kind) -> np.ndarray:
        """Which lines have the names of the kind."""
        is_good = np.ones(len(self.values), dtype=bool)
        for run, text in kind.fixed:
            if len(text) > MAX_DIGITS:  # of which no value is read
                return np.zeros(len(self.values), dtype=bool)
            is_good &= (self.values[:, run] == int(text)) & (self.lengths[:, run] == len(text))
        return is_good


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

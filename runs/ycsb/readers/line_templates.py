"""Kinds of status lines: those that are equal but for their digits, and where the numbers stand in them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from typing import Final

from runs.ycsb.numbers import finite
from runs.ycsb.operation import PROCESS
from runs.ycsb.status import AVERAGE, FIELDS, HEAD, OPERATION, RAW, read_head

NOWHERE: Final = -1
Column = tuple[str, str]  # the name of an operation, and a field of `StatusOperation`
NAMED: Final = ""  # the field of a column that is 1 where a line names the operation
_RUN: Final = re.compile(r"[0-9]+")
_NUMBER: Final = re.compile(r"([0-9]{1,19})?(?:[.,]([0-9]{1,17}))?")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a number stands among a line's runs of digits: its whole part and its decimals; NOWHERE if it has none."""

    whole: int
    part: int = NOWHERE
    sign: int = 1


@dataclass(frozen=True, eq=False, slots=True)
class Kind:
    """All status lines that are equal but for their digits."""

    gaps: tuple[int, ...]  # how many characters other than digits stand before each run of digits
    date: tuple[int, ...]  # the runs of year, month, day, hour, minute, second and, from 0.2 on, milliseconds
    elapsed: Place
    done: int
    rate: Place | None
    names: tuple[str, ...]  # of all operations, also those without a single number
    fields: Mapping[Column, Place]
    fixed: tuple[tuple[int, str], ...]  # runs that are part of a name or a word, and what they read


def detect_kind(sample: bytes) -> Kind | None:
    """The kind that one line stands for; None when its numbers cannot be told by their places alone."""
    head = read_head(sample)
    match = HEAD.search(sample)
    if head is None or match is None:
        return None

    # One character for each byte, so that positions are the same in both.
    line = _Line(sample.decode("latin-1"))
    try:
        status, end = head
        fields = line.fields(end)
        elapsed, done = line.place(*match.span(4), signed=True), line.place(*match.span(5))
        rate = None
        if status.rate_ops_s is not None:
            rate = line.place(*match.span(6), signed=True)
    except _NotByPlace:
        return None

    date: Sequence[int] = ()
    if match.start(1) < 0:
        # What stands in front may be a date that lacks a digit, which other lines of this look have.
        line.named.append((0, match.start()))
    else:
        date = line.runs_in(match.start(1), max(match.end(2), match.end(3)))

    return Kind(
        gaps=line.gaps,
        date=tuple(date),
        elapsed=elapsed,
        done=done.whole,
        rate=rate,
        names=tuple(name for name in dict.fromkeys(line.operations) if name not in PROCESS),
        fields=fields,
        fixed=line.fixed(),
    )


class _NotByPlace(Exception):
    """A number is written in a way that differs from line to line."""


class _Line:
    def __init__(self, text: str) -> None:
        self.text = text
        self.runs = [run.span() for run in _RUN.finditer(text)]
        digits = 0
        gaps = []
        for start, end in self.runs:
            gaps.append(start - digits)
            digits += end - start
        self.gaps = tuple(gaps)
        self.operations: list[str] = []
        self.named: list[tuple[int, int]] = []  # the parts of the text whose digits are no numbers

    def runs_in(self, start: int, end: int) -> range:
        return range(bisect_left(self.runs, (start, 0)), bisect_right(self.runs, (end, 0)))

    def place(self, start: int, end: int, *, signed: bool = False) -> Place:
        """The place of the number between two positions."""
        text = self.text[start:end]
        sign = 1
        if signed and text.startswith("-"):
            sign = -1
        match = _NUMBER.fullmatch(text.removeprefix("-") if signed else text)
        runs = self.runs_in(start, end)
        if match is None or len(runs) != sum(group is not None for group in match.groups()):
            raise _NotByPlace

        whole = NOWHERE
        if match[1] is not None:
            whole = runs[0]
        return Place(whole, runs[-1] if match[2] is not None else NOWHERE, sign)

    def fields(self, start: int) -> dict[Column, Place]:
        """The numbers of every operation; of one that is named twice the last counts, as in `read_operations`."""
        by_operation: dict[str, dict[str, Place]] = {}
        for match in OPERATION.finditer(self.text, start):
            by_operation[self._name(match.span(1))] = self._pairs(match.start(2), match[2])

        for match in AVERAGE.finditer(self.text, start):
            by_operation[self._name(match.span(1))] = self._values([("avg", match.span(2))])

        for match in RAW.finditer(self.text, start) if " count: " in self.text else ():
            by_operation[self._name(match.span(1))] = self._values([("count", match.span(2)), ("avg", match.span(3))])

        fields = {}
        for operation, places in by_operation.items():
            for field, place in places.items():
                if operation not in PROCESS:
                    fields[operation, field] = place
        return fields

    def _name(self, span: tuple[int, int]) -> str:
        self.named.append(span)
        name = self.text[slice(*span)].encode("latin-1").decode(errors="replace")
        self.operations.append(name)
        return name

    def _pairs(self, start: int, text: str) -> dict[str, Place]:
        values = {}
        for pair in text.split(", "):
            word, equals, value = pair.partition("=")
            at = start + len(word) + 1
            self.named.append((start, at))
            if equals and word in FIELDS:
                values[FIELDS[word]] = (at, at + len(value))
            start += len(pair) + 2
        return self._values(list(values.items()))

    def _values(self, spans: list[tuple[str, tuple[int, int]]]) -> dict[str, Place]:
        places = {}
        for name, span in spans:
            if finite(self.text[slice(*span)].encode("latin-1").decode(errors="replace")) is None:
                if self.runs_in(*span):
                    raise _NotByPlace
                continue
            places[name] = self.place(*span)
            if name == "count" and places[name].part != NOWHERE:
                raise _NotByPlace
        return places

    def fixed(self) -> tuple[tuple[int, str], ...]:
        """Runs of digits in names and before a head without a date: they must be the same in every line."""
        runs = sorted(set(chain.from_iterable(starmap(self.runs_in, self.named))))
        return tuple((run, self.text[slice(*self.runs[run])]) for run in runs)

"""Declared properties: names with a type, a range and a default, and the checking of what people write for them.

A property that nobody declared is refused with the nearest name that is known, because YCSB and most servers ignore a
misspelt one in silence. Pure: the catalog declares servers' settings with it, `runs.ycsb` declares YCSB's own.
"""

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from runs.ycsb.errors import PropertyError as PropertyError
from runs.ycsb.messages import (
    NAMED_TWICE,
    NO_CONTROL_CHARACTERS,
    NO_PROPERTY_VALUE,
    NOT_KNOWN,
    QUANTITY,
    TEXT_TOO_LONG,
    WRITE_BOOLEAN,
    WRITE_NUMBER,
    WRITE_ONE_OF,
    WRITE_PEM,
    WRONG_FORM,
)

Kind = Literal["str", "int", "bool", "float", "choice", "size", "duration", "pem"]

SIZE_UNITS = {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}  # bytes
DURATION_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}  # seconds
MAX_TEXT_LENGTH = 500
MAX_PEM_LENGTH = 20_000
# Whole numbers only: PostgreSQL reads 1.5GB, Redis does not.
_QUANTITY = re.compile(r"([0-9]+)\s*([A-Za-z]*)")
_PEM = re.compile(r"(-----BEGIN ([A-Z ]+)-----[A-Za-z0-9+/= ]+-----END \2-----\s*)+")
_ROUNDING = 1e-6
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One declared property. `least` and `most` are bytes for a size and seconds for a duration.

    `choices` are all values of a choice; of any other type they are words accepted beside its usual values.
    `pattern` must match the whole of a str; without one a str may hold any printable characters. A pem is certificates
    or a key; its line breaks become blanks. `also` are names of other YCSBs for the same values in the same unit.
    """

    name: str
    type: Kind = "str"
    default: str | None = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    help: str = ""
    unit: str = ""
    secret: bool = False
    also: tuple[str, ...] = ()

    def check(self, value: object) -> str:
        """The canonical text of `value`. Raises PropertyError, whose message says what to write instead."""
        text = self._read(value)
        if self.type == "pem":
            text = " ".join(text.split())
        if not text.isprintable():
            raise self._error(NO_CONTROL_CHARACTERS)
        if text in self.choices:
            return text

        match self.type:
            case "choice":
                raise self._error(WRITE_ONE_OF.format(text=self._shown(text), choices=", ".join(self.choices)))
            case "str":
                return self._check_str(text)
            case "bool":
                return self._check_bool(text)
            case "int" | "float":
                return self._check_number(text)
            case "size" | "duration":
                return self._check_quantity(text)
            case "pem":
                if len(text) > MAX_PEM_LENGTH or not _PEM.fullmatch(text):
                    raise self._error(WRITE_PEM)
                return text

    def _read(self, value: object) -> str:
        """The text of a value as people or TOML write it."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int | float):
            return str(value)
        raise PropertyError({self.name: NO_PROPERTY_VALUE.format(type=type(value).__name__)})

    def number(self, text: str) -> float:
        """The value of a checked text: bytes of a size, seconds of a duration, else the number itself."""
        match = _QUANTITY.fullmatch(text)
        if match is None or self.type not in ("size", "duration"):
            return float(text)
        amount, unit = match.groups()
        return float(amount) * self._units.get(unit, 1)

    @property
    def _units(self) -> Mapping[str, float]:
        """Of a size or a duration."""
        return SIZE_UNITS if self.type == "size" else DURATION_UNITS

    def _check_str(self, text: str) -> str:
        if len(text) > MAX_TEXT_LENGTH:
            raise self._error(TEXT_TOO_LONG.format(length=len(text), limit=MAX_TEXT_LENGTH))
        if self.pattern and not re.fullmatch(self.pattern, text, re.ASCII):
            help_text = self.help.rstrip(".")
            raise self._error(WRONG_FORM.format(text=self._shown(text), help=help_text).removesuffix(". "))
        return text

    def _check_bool(self, text: str) -> str:
        if text.lower() in _YES:
            return "true"
        if text.lower() in _NO:
            return "false"
        raise self._error(WRITE_BOOLEAN.format(text=self._shown(text)))

    def _check_number(self, text: str) -> str:
        try:
            # Underscores and blanks would pass int() and then surprise the program that reads the text.
            if re.search(r"[_\s]", text):
                raise ValueError
            number: int | float = int(text) if self.type == "int" else float(text)
        except ValueError:
            form = "a whole number" if self.type == "int" else "a number"
            raise self._error(f"is {self._shown(text)}; write {form}{self._range()}") from None

        if not math.isfinite(number):
            raise self._error(WRITE_NUMBER.format(text=self._shown(text), range=self._range()))

        self._check_range(number, text)
        return str(number)

    def _check_quantity(self, text: str) -> str:
        match = _QUANTITY.fullmatch(text)
        if match:
            amount, written_unit = match.groups()
            canonical_units = {unit.lower(): unit for unit in self._units}
            unit = canonical_units.get(written_unit.lower(), "")
            if unit or float(amount) == 0:
                self._check_range(self.number(amount + unit), amount + unit)
                return amount + unit

        example = "64MB" if self.type == "size" else "200ms"
        form = QUANTITY.format(units=", ".join(self._units), example=example)
        raise self._error(f"is {self._shown(text)}; write {form}{self._range()}")

    def _check_range(self, number: float, text: str) -> None:
        too_small = self.least is not None and number < self.least
        too_large = self.most is not None and number > self.most
        if too_small or too_large:
            raise self._error(f"is {self._shown(text)}; it must lie{self._range().removeprefix(',')}")

    def _range(self) -> str:
        """The allowed range in words, as the end of a sentence, or nothing."""
        match self.least, self.most:
            case None, None:
                return ""
            case least, None:
                return f", at or above {self._amount(least)}"
            case None, most:
                return f", at or below {self._amount(most)}"
            case least, most:
                return f", between {self._amount(least)} and {self._amount(most)}"

    def _amount(self, number: float | None) -> str:
        if number is None:
            return ""
        if self.type == "size":
            return _in_units(number, SIZE_UNITS)
        if self.type == "duration":
            return _in_units(number, DURATION_UNITS)
        return f"{number:.15g}"

    def _shown(self, text: str) -> str:
        """The value as an error may repeat it: never a secret's, and never at any length."""
        if self.secret:
            return "not acceptable"
        return repr(_shorten(text))

    def _error(self, message: str) -> PropertyError:
        return PropertyError({self.name: f"{self.name} {message}."})


def check_properties(declared: Mapping[str, Property], given: Mapping[str, object]) -> dict[str, str]:
    """The canonical texts of `given`. Raises one PropertyError that names every problem found."""
    checked: dict[str, str] = {}
    problems: dict[str, str] = {}
    for name, value in use_declared_names(declared, given).items():
        if name not in declared:
            problems[name] = unknown_name(name, declared)
            continue
        try:
            checked[name] = declared[name].check(value)
        except PropertyError as error:
            problems.update(error.problems)

    if problems:
        raise PropertyError(problems)

    return checked


def use_declared_names(declared: Mapping[str, Property], values: Mapping[str, object]) -> dict[str, object]:
    """The values under the declared names. Raises PropertyError where two names of one property have other values."""
    canonical: dict[str, str] = {}
    for name, entry in declared.items():
        canonical |= dict.fromkeys(entry.also, name)
    named: dict[str, object] = {}
    for name, value in values.items():
        target = canonical.get(name, name)
        if target in named and str(named[target]) != str(value):
            raise PropertyError({name: NAMED_TWICE.format(name=name, target=target)})
        named[target] = value
    return named


def unknown_name(name: str, known: Iterable[str]) -> str:
    """The sentence that refuses an unknown name, with the nearest known one where one is near."""
    near = nearest(name, known)
    message = NOT_KNOWN.format(name=_shorten(name))
    if near:
        message += f" Did you mean {near!r}?"
    return message


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that looks most like `name`, or None where nothing does."""
    text = name.lower()[:200]
    # Of more different lengths even equal letters are too few: most names need no closer look.
    shortest = likeness * len(text) / (2 - likeness) - _ROUNDING
    longest = (2 - likeness) * len(text) / likeness + _ROUNDING
    by_lower = {candidate.lower(): candidate for candidate in known if shortest <= len(candidate) <= longest}
    letters = frozenset(text)
    close = [lowered for lowered in by_lower if len(letters.difference(lowered)) <= len(text) - shortest]
    matches = difflib.get_close_matches(text, close, n=1, cutoff=likeness)
    if not matches:
        return None
    return by_lower[matches[0]]


def _in_units(number: float, units: Mapping[str, float]) -> str:
    """`number` in the largest unit that keeps it a readable number."""
    best, factor = next(iter(units.items()))
    for unit, size in units.items():
        if number >= size and (number / size) == round(number / size, 3):
            best, factor = unit, size
    return f"{number / factor:.6g}{best}"

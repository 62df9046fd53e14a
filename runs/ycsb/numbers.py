"""Numbers as Java prints them, read without ever raising, and which of them can be times."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, TypeVar

import numpy as np

from runs.ycsb.histogram import Floats

# What HdrHistogram answers for the smallest of no values at all.
NO_MINIMUM: Final = 9_223_372_036_854_775_807
_MAX_LENGTH: Final = 400  # characters; Double.toString needs 24, DecimalFormat up to 320
# Commas that people and spreadsheets put into a copy; YCSB itself never groups digits in a summary.
_GROUPED: Final = re.compile(r"-?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d{1,40})?", re.ASCII)
_DECIMAL: Final = re.compile(r"-?\d{1,40},\d{1,40}", re.ASCII)
LATEST_S: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
# A clock may be set wrong by years, but its year has four digits.
EARLIEST_S: Final = datetime(2, 1, 1, tzinfo=UTC).timestamp()


def finite(text: str) -> float | None:
    """The number, or None for NaN, ∞, a replacement character or no number. A comma may stand for the point."""
    text = text.strip()
    if not text or len(text) > _MAX_LENGTH or "_" in text:
        return None
    try:
        value = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        return None
    if math.isfinite(value):
        return value
    return None


def whole(text: str) -> int | None:
    """A count, also where an old version printed it as a double (`1.0E7`); None where it is none."""
    text = text.strip()
    value = finite(text)
    if value is None or value != math.floor(value) or abs(value) > 2**63:
        return None
    # The double cannot hold every long: read the digits themselves where there are only digits.
    if text.removeprefix("-").isdecimal():
        return int(text)
    return int(value)


def ungrouped(text: str, *, is_whole: bool) -> str | None:
    """A summary's value without the separators of thousands or the decimal comma that a copy may have been given.

    `44,214` is 44214 where only whole numbers occur; elsewhere it may as well be 44.214, so the answer is None.
    `12,5` is 12.5: no separator of thousands stands there.
    """
    if "," not in text:
        return text
    if _GROUPED.fullmatch(text):
        if is_whole or "." in text or text.count(",") > 1:
            return text.replace(",", "")
        return None
    if _DECIMAL.fullmatch(text):
        return text.replace(",", ".")
    return None


Number = TypeVar("Number", int, float)


def add_known_parts(parts: Iterable[Number | None]) -> Number | None:
    """None where there is nothing to add, or one part is unknown."""
    numbers = list(parts)
    if numbers and None not in numbers:
        return sum(part for part in numbers if part is not None)
    return None


def added(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """By name the sum of the parts' counts."""
    total: dict[str, int] = {}
    for part in parts:
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return total


def are_moments(seconds: Floats | float) -> bool:
    """Whether all of them can be said as a date, in any time zone; NaN cannot."""
    return bool(np.all((np.asarray(seconds) >= EARLIEST_S) & (np.asarray(seconds) <= LATEST_S)))

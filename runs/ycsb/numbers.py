"""Numbers as Java prints them, read without ever raising."""

import math
from typing import Final

# What HdrHistogram answers for the smallest of no values at all.
NO_MINIMUM: Final = 9_223_372_036_854_775_807
_LONGEST: Final = 400  # characters; Double.toString needs 24, DecimalFormat up to 320


def finite(text: str) -> float | None:
    """The number, or None for NaN, ∞, a replacement character or no number. A comma may stand for the point."""
    text = text.strip()
    if not text or len(text) > _LONGEST or "_" in text:
        return None
    try:
        value = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def whole(text: str) -> int | None:
    """A count, also where an old version printed it as a double (`1.0E7`); None where it is none."""
    value = finite(text)
    if value is None or value != math.floor(value) or abs(value) > 2**63:
        return None
    # The double cannot hold every long: read the digits themselves where there are only digits.
    plain = text.strip().removeprefix("-")
    return int(text) if plain.isdecimal() else int(value)

"""The one number formatter of the project: pages, figures, findings, reports, messages and e-mail. No Django here.

A measured value has three significant digits, trailing zeros included (1.20 ms, 41.2k ops/s); a configured one has the
digits that it was entered with (`exact`). Shares have at most three digits, below 1 % two. Thousands are set apart by
commas, and a narrow no-break space stands before the unit. `benchsite/tests/test_one_number_formatter.py` refuses any
other way.
"""

import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import TypeGuard, TypeVar, cast

NOTHING = "\N{EN DASH}"  # what stands where there is no number
MINUS = "\N{MINUS SIGN}"
THIN = "\N{NARROW NO-BREAK SPACE}"  # between a number and its unit
TIMES = "\N{MULTIPLICATION SIGN}"

THROUGHPUT_STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
LATENCY_STEPS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))  # from microseconds
SIZE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")

# Where a spreadsheet may take text for a formula: where the cell begins, and behind what ends one where cells are
# separated by semicolons: quotes that begin within a cell do not keep it together. A byte order mark is left out by
# whoever reads a file's first cell, and some languages' spreadsheets take wide signs for the narrow ones.
FORMULA_SIGNS = r"""((?:\A|[;\t\r\n])[\s\ufeff"]*)(?=[=+@\uff1d\uff0b\uff0d\uff20-])"""
FORMULA_BEGINS = r"\A(?=[\t\r\n])"
FORMULA = re.compile(f"{FORMULA_BEGINS}|{FORMULA_SIGNS}")

Number = float | int | None
Cell = TypeVar("Cell")


def is_number(value: object) -> TypeGuard[int | float]:
    """Python takes a truth value for a number, and no reader does."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_missing(value: Number) -> bool:
    """Whether there is no finite number to show."""
    return value is None or not math.isfinite(value)


def significant(value: float, digits: int = 3, rounding: str = ROUND_HALF_UP) -> str:
    """`value` with `digits` significant digits and never an exponent: 41.2, 0.00123, 1240 (more whole digits stay).

    A half is rounded away from zero, as people do it: 1.25 with two digits is 1.3. A bound is rounded to the side on
    which it stays true: `ROUND_FLOOR` or `ROUND_CEILING` of `decimal`.
    """
    if value == 0:
        return "0"
    # Rounding first makes 99.96 "100" rather than "100.0".
    exact = Decimal(repr(float(value)))
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding)
    decimals = max(0, digits - 1 - rounded.adjusted())
    text = f"{rounded:.{decimals}f}" if decimals else f"{exact.to_integral_value(rounding):f}"
    return text.replace("-", MINUS)


def grouped(value: Number, decimals: int = 0) -> str:
    """The whole number with its thousands apart, or with as many `decimals`: 1,234,567. Halves as in `significant`."""
    if value is None or is_missing(value):
        return NOTHING
    if isinstance(value, int) and not decimals:
        return f"{value:,}".replace("-", MINUS)
    exact = Decimal(value if isinstance(value, int) else repr(float(value)))
    rounded = exact
    if exact.adjusted() < 20:
        rounded = exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return f"{rounded:,.{decimals}f}".replace("-", MINUS)


def counted(number: int, noun: str) -> str:
    """A number of things: "1 client", "1,204 clients"."""
    if number != 1:
        noun += "s"
    return f"{grouped(number)} {noun}"


def client_threads(number: int) -> str:
    """ "8 threads"; 0 where nobody knows them, as in an upload."""
    return counted(number, "thread") if number else "threads unknown"


def printable(text: str, substitute: str = "") -> str:
    """Without control characters, or with another sign in place of each."""
    return "".join(sign if sign.isprintable() else substitute for sign in text)


def first_difference(a: str, b: str) -> int:
    """The index at which two texts begin to differ: the shorter's length where that is how the other one begins."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def enumerated(texts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c" """
    if len(texts) < 2:
        return "".join(texts)
    *first, last = texts
    return f"{', '.join(first)} and {last}"


def listed(texts: Sequence[str], most: int) -> str:
    """Texts in a sentence; of more than `most` the rest as a number: "a, b and 3 more"."""
    more = ""
    if len(texts) > most:
        more = f" and {len(texts) - most} more"
    return f"{', '.join(texts[:most])}{more}"


def exact(value: Number) -> str:
    """A configured number as it was entered: 5, 0.05, 99.99; never an exponent, no trailing zeros, thousands apart."""
    if value is None or is_missing(value):
        return NOTHING
    return f"{Decimal(f'{value:.15g}').normalize():,f}".replace("-", MINUS)


def cell(value: Number) -> str:
    """A number in a table, as charts.js writes it: three significant digits, whole ones all, and no trailing zeros.

    A column holds measured and configured numbers; the exports to CSV and JSON have all digits.
    """
    if value is None or is_missing(value) or isinstance(value, int):
        return grouped(value)
    return exact(float(significant(value).replace(MINUS, "-")))


def short(value: Number) -> str:
    """A count with a letter for its size: 41.2k, 1.05M, 870."""
    if value is None or is_missing(value):
        return NOTHING
    for least, letter in THROUGHPUT_STEPS:
        # 999.6 rounds to three digits as 1000, which reads better as 1.00k.
        if abs(value) >= least * 0.9995:
            return significant(value / least) + letter
    # A count of five is no measurement with two decimals.
    if isinstance(value, int):
        return grouped(value)
    return significant(value)


def throughput(ops_s: Number) -> str:
    """Operations per second: "41.2k ops/s"."""
    if is_missing(ops_s):
        return NOTHING
    return f"{short(ops_s)}{THIN}ops/s"


def latency(microseconds: Number) -> str:
    """A latency given in microseconds: "870 µs", "1.20 ms", "2.10 s"."""
    if microseconds is None or is_missing(microseconds):
        return NOTHING
    for least, unit in LATENCY_STEPS:
        if abs(microseconds) >= least * 0.9995 or unit == "µs":
            return f"{significant(microseconds / least)}{THIN}{unit}"
    return NOTHING  # The last step takes everything; this line satisfies the type checker.


def latency_between(low_us: Number, high_us: Number) -> str:
    """Bounds of a latency in one unit; "≥ 10.0 ms" without an upper one, and where both are equal that value alone."""
    if low_us is None or is_missing(low_us):
        return NOTHING
    if high_us is None or is_missing(high_us):
        return f"≥{THIN}{latency(low_us)}"
    if low_us == high_us:
        return latency(low_us)
    number, unit = latency(high_us).split(THIN)
    unit_us = {name: step_us for step_us, name in LATENCY_STEPS}[unit]
    return f"{significant(low_us / unit_us)}\N{EN DASH}{number}{THIN}{unit}"


def ratio(value: Number) -> str:
    """A ratio of measured values: 3.6283 is "3.6"; near 1, where two digits would say nothing, three: "1.08"."""
    if value is None or is_missing(value):
        return NOTHING
    return significant(value, 3 if 0.8 < value < 1.25 else 2)


def times(value: Number) -> str:
    """A ratio with its sign: "3.6\N{MULTIPLICATION SIGN}"."""
    if is_missing(value):
        return NOTHING
    return ratio(value) + TIMES


def size(number_of_bytes: Number) -> str:
    """A size in binary units: "1.50 GiB"."""
    if number_of_bytes is None or is_missing(number_of_bytes):
        return NOTHING
    value = float(number_of_bytes)
    step = 0
    while abs(value) >= 1023.5 and step < len(SIZE_UNITS) - 1:
        value, step = value / 1024, step + 1
    return f"{significant(value)}{THIN}{SIZE_UNITS[step]}"


def duration(seconds: Number) -> str:
    """A length of time by its two largest parts: "12.0 ms", "0.40 s", "2 s", "45 s", "4 min 12 s", "3 h 5 min"."""
    if seconds is None or is_missing(seconds):
        return NOTHING

    sign, seconds = (MINUS, -seconds) if seconds < 0 else ("", seconds)
    if 0 < seconds < 0.0995:
        return f"{sign}{latency(seconds * 1e6)}"
    if seconds < 9.95 and seconds != round(seconds):
        return f"{sign}{significant(seconds, 2)}{THIN}s"

    whole = round(seconds)
    for upper, upper_unit, lower, lower_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= upper:
            # The lower part is rounded before it is split off, so that it never reads "1 h 60 min".
            parts = round(whole / lower)
            high, low = divmod(parts, upper // lower)
            tail = ""
            if low:
                tail = f" {low}{THIN}{lower_unit}"
            return f"{sign}{high}{THIN}{upper_unit}{tail}"

    return f"{sign}{whole}{THIN}s"


def duration_between(low_s: float, high_s: float) -> str:
    """Bounds of a length of time: "2 s to 12 s", and where both read the same that alone."""
    low, high = duration(low_s), duration(high_s)
    if low == high:
        return low
    return f"{low} to {high}"


def signed_percent(fraction: Number) -> str:
    """A change as signed per cent: 0.123 is "+12.3 %". Nothing for what is not finite."""
    if fraction is None or is_missing(fraction):
        return NOTHING
    percent = fraction * 100
    sign = ""
    if percent != 0:
        sign = MINUS
        if percent > 0:
            sign = "+"
    return f"{sign}{significant(abs(percent), _count_digits(percent))}{THIN}%"


def _count_digits(percent: float) -> int:
    """Of a share: below 1 % a third digit says nothing."""
    if abs(percent) < 1:
        return 2
    return 3


def percent(fraction: Number) -> str:
    """A share: 0.5 is "50 %", a third is "33.3 %", and what is not all is never "100 %": 0.9996 is "99.96 %"."""
    if fraction is None or is_missing(fraction):
        return NOTHING
    digits = _count_digits(fraction * 100)
    # More digits where what is not all would be rounded to "100 %".
    texts = (significant(fraction * 100, count) for count in (digits, 4, 5))
    text = next((text for text in texts if text != "100"), "100")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text}{THIN}%"


def plain_percent(fraction: Number) -> str:
    """As `percent`, with an ordinary space: for sentences that programs read too."""
    return percent(fraction).replace(THIN, " ")


def written(value: object, how: str) -> str:
    """A value by one of the functions above, with its argument: "throughput", "significant 2", "counted run"."""
    name, _, argument = how.partition(" ")
    arguments = []
    if argument:
        arguments = [int(argument) if argument.isdigit() else argument]
    return cast(str, globals()[name](value, *arguments))


def not_a_formula(cell: Cell) -> Cell:
    """A cell of a CSV file: text that a spreadsheet would take for a formula gets a leading apostrophe."""
    if isinstance(cell, str):
        return cast(Cell, FORMULA.sub(r"\g<1>'", cell))
    return cell

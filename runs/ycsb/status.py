"""The line that a client writes at every status interval: what was done so far, and the interval's latencies.

Its grammar is that of YCSB 0.1.0 to 0.18: with and without a date, a label glued to the front, numbers in the locale of
the JVM, and three ways to sum an interval up.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from runs.ycsb.numbers import NO_MINIMUM, finite, whole
from runs.ycsb.operation import PROCESS

# Date, seconds, operations and rate. Before the date stands a label or what a log shipper put there.
HEAD: Final = re.compile(
    rb"(?:(\d{4}-\d\d-\d\d \d\d:\d\d):(\d\d)(?::(\d{3}))? )?"
    rb"(-?\d{1,18}) sec: (\d{1,18}) operations;(?: (\S{1,400}) current ops/sec;)?"
)
# What the rest of the line says of each operation: of HdrHistogram, of histograms and time series, of raw points.
OPERATION: Final = re.compile(r"\[([^\[\]:=,]{1,80}): (Count=[^\[\]]{1,4000})\]")
AVERAGE: Final = re.compile(r"\[([^\[\]:=,]{1,80}) AverageLatency\(us\)=([^\[\]]{1,400})\]")
RAW: Final = re.compile(r"([^\s\[\]]{1,80}) count: (\d{1,18}), average latency\(us\): ([^\s\[\]]{1,400})", re.ASCII)
# A status goes on in the next line where two kinds of measurement are summed up.
CONTINUED: Final = re.compile(
    rb"\s*(?:\[[^\[\]:=,]{1,80}(?:: Count=| AverageLatency\(us\)=)|[^\s\[\]]{1,80} count: \d+, average latency\(us\): )"
)


@dataclass(frozen=True, slots=True)
class StatusOperation:
    """One operation in the interval, latencies in microseconds; None is what the line does not say."""

    count: int | None = None
    max: float | None = None
    min: float | None = None
    avg: float | None = None
    p99: float | None = None
    p50: float | None = None


_MAX_COUNT: Final = 2**53  # of an interval: what a double holds to the last digit
# The words of a summary in brackets, and the fields they fill.
FIELDS: Final = {"Count": "count", "Max": "max", "Min": "min", "Avg": "avg", "50": "p50", "99": "p99"}


@dataclass(frozen=True, slots=True)
class StatusLine:
    """`operations_done` counts from the start of the client; `rate_ops_s` and `operations` are of the interval."""

    elapsed_s: int  # whole seconds, cut off; negative when the clock was set back
    operations_done: int
    rate_ops_s: float | None
    operations: Mapping[str, StatusOperation] = field(default_factory=dict)
    at_s: float | None = None  # when it was written: epoch of the printed date read as UTC, for it names no time zone


def read_head(line: bytes) -> tuple[StatusLine, int] | None:
    """A status line without its operations, and where they begin in the text; None when the line is none."""
    match = HEAD.search(line)
    if match is None:
        return None

    minute, second, milliseconds, elapsed, done, rate = match.groups()
    at_s = None
    if minute is not None:
        at_s = _epoch_of_minute(minute)
        if at_s is not None:
            at_s += int(second) + (int(milliseconds) / 1000 if milliseconds else 0)

    rate_ops_s = None
    if rate is not None:
        rate_ops_s = finite(rate.decode(errors="replace"))
    return StatusLine(int(elapsed), int(done), rate_ops_s, at_s=at_s), match.end()


def parse_status(line: str) -> StatusLine | None:
    """The status that the line tells, or None when it is no status line. Never raises."""
    return read_status(line.encode(errors="replace"))


def read_status(line: bytes) -> StatusLine | None:
    """As `parse_status`, of bytes; a status of several lines has line ends."""
    head = read_head(line)
    if head is None:
        return None
    status, end = head
    operations = read_operations(line[end:].decode(errors="replace"))
    # What the JVM says of itself is left out: its units are not the µs that the line says.
    return replace(status, operations={name: part for name, part in operations.items() if name not in PROCESS})


def read_operations(text: str) -> dict[str, StatusOperation]:
    """Every operation that the rest of a status line sums up."""
    operations = {match[1]: _operation(match[2]) for match in OPERATION.finditer(text)}
    for match in AVERAGE.finditer(text):
        operations[match[1]] = StatusOperation(avg=finite(match[2]))
    if " count: " in text:
        for match in RAW.finditer(text):
            operations[match[1]] = of_numbers({"count": int(match[2]), "avg": finite(match[3])})
    return operations


def of_numbers(numbers: Mapping[str, float | None]) -> StatusOperation:
    """One operation of its fields; an interval without values has none but its count."""
    count = numbers.get("count")
    if count == 0:
        return StatusOperation(0)

    least = numbers.get("min")
    return StatusOperation(
        count=None if count is None or count > _MAX_COUNT else int(count),
        max=numbers.get("max"),
        min=None if least is not None and least >= NO_MINIMUM else least,
        avg=numbers.get("avg"),
        p99=numbers.get("p99"),
        p50=numbers.get("p50"),
    )


def _operation(text: str) -> StatusOperation:
    pairs = dict(pair.split("=", 1) for pair in text.split(", ") if "=" in pair)
    numbers = {FIELDS[word]: finite(value) for word, value in pairs.items() if word in FIELDS}
    numbers["count"] = whole(pairs.get("Count", ""))
    return of_numbers(numbers)


@lru_cache(maxsize=4)
def _epoch_of_minute(text: bytes) -> float | None:
    try:
        return datetime.strptime(text.decode("ascii"), "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None

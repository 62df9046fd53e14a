"""The line that a client writes at every status interval: what was done so far, and the interval's latencies."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from runs.ycsb.numbers import NO_MINIMUM, finite, whole

_PROGRESS: Final = re.compile(r"(-?\d{1,18}) sec: (\d{1,18}) operations;(?: (\S{1,400}) current ops/sec;)?")
_OPERATION: Final = re.compile(r"\[([^\[\]:=,]{1,80}): (Count=[^\[\]]{1,4000})\]")
_AVERAGE: Final = re.compile(r"\[([^\[\]:=,]{1,80}) AverageLatency\(us\)=([^\[\]]{1,400})\]")


@dataclass(frozen=True, slots=True)
class StatusOperation:
    """One operation in the interval, latencies in microseconds; None is what the line does not say."""

    count: int | None = None
    max: float | None = None
    min: float | None = None
    avg: float | None = None
    p90: float | None = None
    p99: float | None = None
    p999: float | None = None
    p9999: float | None = None


@dataclass(frozen=True, slots=True)
class StatusLine:
    """`operations_done` counts from the start of the client; `rate_ops_s` and `operations` are of the interval."""

    elapsed_s: int  # whole seconds, cut off; negative when the clock was set back
    operations_done: int
    rate_ops_s: float | None
    operations: Mapping[str, StatusOperation] = field(default_factory=dict)


def parse_status(line: str) -> StatusLine | None:
    """The status that the line tells, or None when it is no status line. Never raises."""
    progress = _PROGRESS.search(line)
    if progress is None:
        return None
    operations: dict[str, StatusOperation] = {}
    rest = line[progress.end() :]
    for found in _OPERATION.finditer(rest):
        operations[found[1]] = _operation(found[2])
    for found in _AVERAGE.finditer(rest):
        operations[found[1]] = StatusOperation(avg=finite(found[2]))
    rate = progress[3]
    return StatusLine(
        elapsed_s=int(progress[1]),
        operations_done=int(progress[2]),
        rate_ops_s=None if rate is None else finite(rate),
        operations=operations,
    )


def _operation(text: str) -> StatusOperation:
    pairs = dict(pair.split("=", 1) for pair in text.split(", ") if "=" in pair)
    number = {name: finite(value) for name, value in pairs.items()}
    count = whole(pairs.get("Count", ""))
    empty = count == 0
    least = number.get("Min")
    return StatusOperation(
        count=count,
        max=None if empty else number.get("Max"),
        min=None if empty or least == float(NO_MINIMUM) else least,
        avg=None if empty else number.get("Avg"),
        p90=None if empty else number.get("90"),
        p99=None if empty else number.get("99"),
        p999=None if empty else number.get("99.9"),
        p9999=None if empty else number.get("99.99"),
    )

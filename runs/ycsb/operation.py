"""One metric as a client printed it, and the lines around it. Latencies are in microseconds.

None (or an empty mapping) is what the file does not state; a reader never fills it in.

A name says which operation, from which moment, and how it ended. YCSB writes one histogram per name: `READ`,
`READ-FAILED`, `READ-NOT_FOUND`, `Intended-READ`, `READ-MODIFY-WRITE`, `CLEANUP`. Operations themselves may contain
hyphens, so a name is never split at its first one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Literal

LatencyKind = Literal["service", "response"]

# What measurement.trackjvm puts among the operations: no latencies, and no microseconds.
PROCESS: Final = frozenset({"THREAD_COUNT", "USED_MEM_MB", "SYS_LOAD_AVG", "GCS", "GCS_TIME"})
# With dataintegrity=true each read is verified. That is no operation, but its return codes say whether data is right.
VERIFY: Final = "VERIFY"
# Of an open load: from when an operation was due to its begin, and the same of those that a thread was free for.
START_LAG: Final = "START-LAG"
CLIENT_LAG: Final = "CLIENT-LAG"
LAGS: Final = frozenset({START_LAG, CLIENT_LAG})
# Latencies of what is not an operation of the workload.
BOOKKEEPING: Final = frozenset({"CLEANUP", VERIFY, "TOTAL", "SCAN-LATENCY-PER-RECORD"}) | PROCESS | LAGS
# Made of other operations that are measured under their own names too, so it is never added to them.
COMPOSITE: Final = "READ-MODIFY-WRITE"
# The longest first, so that READ does not swallow READ-MODIFY-WRITE.
KNOWN_OPERATIONS: Final = (COMPOSITE, "UPDATE", "INSERT", "DELETE", "READ", "SCAN")

_INTENDED: Final = "Intended-"
# What measurement types of two kinds put in front of their names.
COLLECTORS: Final = ("Hdr", "Bucket", "Raw")
# How forks and ports name what failed: READ_ERROR, FAILED-READ, and ERROR for that of all operations.
_FAILED: Final = re.compile(
    r"(?:(?P<operation>[A-Z]\w*(?:-\w+)*?)[-_])?(?:FAILED|FAILURES?|ERRORS?|EXCEPTIONS?)(?:[-_](?P<behind>[A-Z][\w-]*))?",
    re.ASCII,
)
OVERALL: Final = "OVERALL"


@dataclass(frozen=True, slots=True)
class MeasurementName:
    """`status` is empty for success, "FAILED" or the name of a YCSB status otherwise."""

    operation: str
    kind: LatencyKind
    status: str

    @property
    def is_operation(self) -> bool:
        return self.operation not in BOOKKEEPING

    @property
    def is_composite(self) -> bool:
        return self.operation == COMPOSITE


def split_collector(name: str) -> tuple[str, str]:
    """`HdrREAD` -> Hdr, READ. Names that only begin like that are left alone."""
    for collector in COLLECTORS:
        rest = name.removeprefix(collector)
        if rest != name and (rest.startswith(_INTENDED) or (rest[:1].isupper() and rest[1:2].isupper())):
            return collector, rest
    return "", name


@cache
def parse_name(name: str) -> MeasurementName:
    """Take a measurement's name apart. Unknown operations (of forks) are kept as they are."""
    _, name = split_collector(name)
    kind: LatencyKind = "service"
    if name.startswith(_INTENDED):
        name, kind = name[len(_INTENDED) :], "response"
    if name in BOOKKEEPING:
        return MeasurementName(name, kind, "")

    for operation in (*KNOWN_OPERATIONS, VERIFY):
        if name == operation:
            return MeasurementName(operation, kind, "")
        if name.startswith(operation + "-"):
            return MeasurementName(operation, kind, name[len(operation) + 1 :])

    failed = _FAILED.fullmatch(name)
    if failed:
        operation = failed["operation"] or failed["behind"] or OVERALL
        if operation.replace("_", "-") in KNOWN_OPERATIONS:
            operation = operation.replace("_", "-")
        return MeasurementName(operation, kind, "FAILED")

    return MeasurementName(name, kind, "")


def count_done(counts: Iterable[tuple[MeasurementName, int]]) -> int:
    """Operations of the workload: the read and the update in a read-modify-write have names of their own."""
    return max(sum(-count if name.is_composite else count for name, count in counts), 0)


def rank_measurement(measurement: tuple[str, LatencyKind]) -> tuple[str, bool]:
    """The key to sort measurements by: operations by name, of each its service times first."""
    operation, kind = measurement
    return operation, kind != "service"


def as_response(name: str) -> str:
    """The name of the same measurement where it counts from the scheduled start under the plain one."""
    parsed = parse_name(name)
    if parsed.kind == "response" or not parsed.is_operation:
        return name
    return printed_name(parsed.operation, "response", parsed.status)


def printed_name(operation: str, kind: LatencyKind, status: str = "") -> str:
    name = operation
    if kind == "response":
        name = _INTENDED + name
    if status:
        name += f"-{status}"
    return name


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many values lie in [from_us, to_us); to_us is None for the overflow bucket."""

    from_us: float
    to_us: float | None
    count: int


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One row of a printed time series: milliseconds since the operation's first value."""

    at_ms: float
    mean_us: float | None
    rate_ops_s: float | None = None  # the third column of the Thumbtack lineage


@dataclass(frozen=True, slots=True)
class ReadOperation:
    """One metric as printed: READ, READ-FAILED, Intended-READ, HdrREAD, READ_ERROR, TOTAL, CLEANUP.

    Of no values at all (a count of 0) YCSB prints a maximum and percentiles of 0: they are kept and mean nothing.
    """

    count: int | None = None
    mean_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    variance_us2: float | None = None
    percentiles_us: Mapping[str, float] = field(default_factory=dict)  # "99.9" -> µs
    # How coarse the percentiles are: 1000 where each is the floor of a bucket of 1 ms. None: as fine as HdrHistogram.
    resolution_us: float | None = None
    rounds_up: bool = False  # the percentiles are the upper ends of buckets instead
    returns: Mapping[str, int] = field(default_factory=dict)
    buckets: tuple[Bucket, ...] = ()  # those with a value in them, and the overflow wherever it is stated
    series: tuple[SeriesPoint, ...] = ()
    rate_ops_s: float | None = None  # where an operation states its own, as go-ycsb's do
    is_average: bool = False  # its counts were fractions, here rounded: it is a mean over several runs
    extra: Mapping[str, str] = field(default_factory=dict)  # every other key of this metric, as printed

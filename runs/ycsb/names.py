"""What the name of a YCSB measurement says: which operation, from which moment, and how it ended.

YCSB writes one histogram per name: `READ`, `READ-FAILED`, `READ-NOT_FOUND`, `Intended-READ`, `READ-MODIFY-WRITE`,
`CLEANUP`. Operations themselves may contain hyphens, so a name is never split at its first one.
"""

import re
from dataclasses import dataclass
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
_COLLECTORS: Final = ("Hdr", "Bucket", "Raw")
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


@cache
def parse_name(name: str) -> MeasurementName:
    """Take a measurement's name apart. Unknown operations (of forks) are kept as they are."""
    for collector in _COLLECTORS:
        rest = name.removeprefix(collector)
        if rest != name and (rest.startswith(_INTENDED) or (rest[:1].isupper() and rest[1:2].isupper())):
            name = rest
            break
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
    if failed := _FAILED.fullmatch(name):
        operation = failed["operation"] or failed["behind"] or OVERALL
        plain = operation.replace("_", "-")
        return MeasurementName(plain if plain in KNOWN_OPERATIONS else operation, kind, "FAILED")
    return MeasurementName(name, kind, "")


def as_response(name: str) -> str:
    """The name of the same measurement where it counts from the scheduled start under the plain one."""
    parsed = parse_name(name)
    if parsed.kind == "response" or not parsed.is_operation:
        return name
    return printed_name(parsed.operation, "response", parsed.status)


def printed_name(operation: str, kind: LatencyKind, status: str = "") -> str:
    return (_INTENDED if kind == "response" else "") + operation + (f"-{status}" if status else "")

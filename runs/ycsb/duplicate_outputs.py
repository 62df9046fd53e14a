"""Outputs of one client that were brought as those of two."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from runs.ycsb.hdr import IntervalLog
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.readers.statuses import StatusTable

# Digits that a number needs to be compared at all, and to be one that two clients do not share by chance.
_MIN_DIGITS: Final = 3
_MANY_DIGITS: Final = 6
_MIN_EQUAL: Final = 4  # numbers
_MIN_LINES: Final = 3  # of status
_MIN_VALUES: Final = 20  # of a histogram


@dataclass(frozen=True, slots=True)
class ClientNumbers:
    """The numbers by which a client's output is recognised."""

    printed: Mapping[tuple[str, str], float]  # by metric and key
    status: frozenset[tuple[float, int]]  # when each status line was written, and the operations done by then
    logs: Mapping[str, tuple[int, float]]  # by measurement: values, and the sum of their latencies in µs


def numbers_of(run: ReadRun | None, logs: Sequence[IntervalLog]) -> ClientNumbers:
    """The numbers of one client's summary, status lines and histogram logs."""
    sums = {}
    for log in logs:
        histogram = log.histogram()
        if histogram.count >= _MIN_VALUES:
            sums[log.operation] = (histogram.count, histogram.total_us)
    printed = {key: value for key, value in _printed(run) if _digits(value) >= _MIN_DIGITS} if run is not None else {}
    return ClientNumbers(printed, _status(run), sums)


def are_copies(a: ClientNumbers, b: ClientNumbers) -> bool:
    """Whether two outputs are of one client, also where some digits of one were changed.

    Clients of one run never share the sums of their latencies, nor the instants of their status lines, nor most of what
    they print: of the numbers that both print at least half are equal then, one of them with six digits or more.
    """
    shared = a.logs.keys() & b.logs.keys()
    if shared and sum(a.logs[name] == b.logs[name] for name in shared) * 2 >= len(shared):
        return True
    lines = min(len(a.status), len(b.status))
    if lines >= _MIN_LINES and len(a.status & b.status) * 2 >= lines:
        return True
    both = a.printed.keys() & b.printed.keys()
    equal = [a.printed[key] for key in both if a.printed[key] == b.printed[key]]
    is_telling = any(_digits(value) >= _MANY_DIGITS for value in equal)
    return len(equal) >= _MIN_EQUAL and is_telling and len(equal) * 2 >= len(both)


def find_copies(clients: Mapping[int, ClientNumbers]) -> dict[int, int]:
    """The clients that are copies, each with the client that it is a copy of."""
    copies: dict[int, int] = {}
    for first, second in combinations(sorted(clients), 2):
        if first not in copies and second not in copies and are_copies(clients[first], clients[second]):
            copies[second] = first
    return copies


def _printed(run: ReadRun) -> Iterator[tuple[tuple[str, str], float]]:
    for key, value in (("runtime", run.runtime_ms), ("throughput", run.throughput_ops_s)):
        if value is not None:
            yield ("", key), value
    for key, value in run.process.items():
        yield ("process", key), value
    for name, operation in run.operations.items():
        for key, value in _values(operation):
            yield (name, key), value


def _values(operation: ReadOperation) -> Iterator[tuple[str, float]]:
    for key in ("count", "mean_us", "min_us", "max_us", "variance_us2"):
        value = getattr(operation, key)
        if value is not None:
            yield key, value
    yield from operation.percentiles_us.items()


def _status(run: ReadRun | None) -> frozenset[tuple[float, int]]:
    if run is None or not run.status:
        return frozenset()
    table = run.status
    if not isinstance(table, StatusTable):
        return frozenset((line.at_s, line.operations_done) for line in table if line.at_s and line.operations_done)
    dated = np.isfinite(table.at_s) & (table.operations_done > 0)
    return frozenset(zip(table.at_s[dated].tolist(), table.operations_done[dated].tolist(), strict=True))


def _digits(value: float) -> int:
    """The significant digits of a number, without the zeros at its ends: 100,000 has one."""
    return len(f"{abs(value):.15g}".partition("e")[0].replace(".", "").strip("0"))

"""Outputs of one client that were brought as those of two."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from runs.ycsb.hdr import IntervalLog
from runs.ycsb.intervals import sums_by_interval
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.readers.statuses import StatusTable

# Digits that a number needs to be compared at all, and to be one that two clients do not share by chance.
_MIN_DIGITS: Final = 3
_MANY_DIGITS: Final = 6
_MIN_EQUAL: Final = 4  # numbers
_MIN_LINES: Final = 3  # of status
_MIN_VALUES: Final = 20  # of a histogram
# Failures of one kind, like timeouts, take one time: clients share it. Means of few values have few fractions.
_MIN_BUCKETS: Final = 4
_MIN_SPREAD: Final = 1.01
_MIN_MEAN_VALUES: Final = 1000
# Counts of operations by the second: so many values differ at least, so large a share is equal, and so many intervals
# may be missing at one end.
_MIN_DIFFERENT: Final = 4
_MIN_SHARE: Final = 0.8
_MAX_LAG: Final = 3
# Means that move by the same distance or factor need more digits than a sum of a few thousand microseconds has.
_MEAN_DIGITS: Final = 10
_SAME_US: Final = 1e-6
_SAME_FACTOR: Final = 1e-9


@dataclass(frozen=True, slots=True)
class ClientNumbers:
    """The numbers by which a client's output is recognised."""

    printed: Mapping[tuple[str, str], float]  # by metric and key
    status: frozenset[tuple[float, int]]  # when each status line was written, and the operations done by then
    logs: Mapping[str, tuple[int, float]]  # by measurement that varies: values, and the sum of their latencies in µs
    counts: Mapping[str, Sequence[int]]  # operations of each interval in order, by measurement; "" of the status lines


def collect_numbers(run: ReadRun | None, logs: Sequence[IntervalLog]) -> ClientNumbers:
    """The numbers of one client's summary, status lines and histogram logs."""
    sums = {}
    for log in logs:
        histogram = log.histogram()
        if histogram.count >= _MIN_VALUES and np.unique(log.index[log.count > 0]).size >= _MIN_BUCKETS:
            sums[log.operation] = (histogram.count, histogram.total_us)

    printed = {}
    if run is not None:
        printed = {key: value for key, value in _list_printed(run) if _count_digits(value) >= _MIN_DIGITS}
    status = _list_dated_statuses(run)
    done = [operations for _, operations in sorted(status)]
    counts = {"": np.diff(done).tolist()}
    for log in logs:
        counts[log.operation] = sums_by_interval(log.counts.sizes, log.count).tolist()
    return ClientNumbers(printed=printed, status=frozenset(status), logs=sums, counts=counts)


def are_copies(a: ClientNumbers, b: ClientNumbers) -> bool:
    """Whether two outputs are of one client, also where numbers of one were changed.

    Clients of one run never share the sums of most of their latencies that vary, nor the instants of their status
    lines, nor how many operations they did in second after second, nor the distance of their mean latencies in all
    operations, nor most of what they print: of the numbers that both print at least half are equal then, one of them
    with six digits or more.
    """
    shared = a.logs.keys() & b.logs.keys()
    if shared and sum(a.logs[name] == b.logs[name] for name in shared) * 2 > len(shared):
        return True

    lines = min(len(a.status), len(b.status))
    if lines >= _MIN_LINES and len(a.status & b.status) * 2 >= lines:
        return True
    if _share_counts(a, b) or _share_means(a.printed, b.printed):
        return True

    both = a.printed.keys() & b.printed.keys()
    equal = [a.printed[key] for key in both if a.printed[key] == b.printed[key]]
    is_telling = any(_count_digits(value) >= _MANY_DIGITS for value in equal)
    return len(equal) >= _MIN_EQUAL and is_telling and len(equal) * 2 >= len(both)


def _share_counts(a: ClientNumbers, b: ClientNumbers) -> bool:
    """Whether intervals in a row have the same counts. Equal loads repeat few counts, so several must differ."""
    for lag in range(-_MAX_LAG, _MAX_LAG + 1):
        pairs: list[tuple[int, int]] = []
        for name in a.counts.keys() & b.counts.keys():
            pairs += zip(a.counts[name][max(lag, 0) :], b.counts[name][max(-lag, 0) :], strict=False)
        pairs = [pair for pair in pairs if max(pair) >= 10 ** (_MIN_DIGITS - 1)]
        equal = [first for first, second in pairs if first == second]
        if len(set(equal)) >= _MIN_DIFFERENT and len(equal) >= _MIN_SHARE * len(pairs):
            return True
    return False


def _share_means(a: Mapping[tuple[str, str], float], b: Mapping[tuple[str, str], float]) -> bool:
    """Whether every latency of one is that of the other plus a distance or times a factor, by the long means.

    Two operations have the same distance or factor; or one has whole microseconds and as many values.
    """
    distances, factors = [], []
    for name, key in a.keys() & b.keys():
        mean_a, mean_b = a[name, key], b[name, key]
        if key != "mean_us" or min(_count_digits(mean_a), _count_digits(mean_b)) < _MEAN_DIGITS:
            continue
        distance = mean_b - mean_a
        has_same_count = a.get((name, "count"), 0) == b.get((name, "count"), 1)
        if has_same_count and abs(distance - round(distance)) <= _SAME_US:
            return True
        distances.append(distance)
        factors.append(mean_b / mean_a)

    return _has_equal_pair(distances, _SAME_US) or _has_equal_pair(factors, _SAME_FACTOR)


def _has_equal_pair(values: Sequence[float], tolerance: float) -> bool:
    return any(abs(first - second) <= tolerance for first, second in combinations(values, 2))


def find_copies(clients: Mapping[int, ClientNumbers]) -> dict[int, int]:
    """The clients that are copies, each with the client that it is a copy of."""
    copies: dict[int, int] = {}
    for first, second in combinations(sorted(clients), 2):
        if first not in copies and second not in copies and are_copies(clients[first], clients[second]):
            copies[second] = first
    return copies


def _list_printed(run: ReadRun) -> Iterator[tuple[tuple[str, str], float]]:
    for key, value in (("runtime", run.runtime_ms), ("throughput", run.throughput_ops_s)):
        if value is not None:
            yield ("", key), value
    for key, value in run.process.items():
        yield ("process", key), value
    for name, operation in run.operations.items():
        for key, value in _list_varying(operation):
            yield (name, key), value


def _list_varying(operation: ReadOperation) -> Iterator[tuple[str, float]]:
    if (operation.max_us or math.inf) <= (operation.min_us or 0) * _MIN_SPREAD:
        return
    for key in ("count", "mean_us", "min_us", "max_us", "variance_us2"):
        value = getattr(operation, key)
        has_few_fractions = key == "mean_us" and (operation.count or math.inf) < _MIN_MEAN_VALUES
        if value is not None and not has_few_fractions:
            yield key, value
    yield from operation.percentiles_us.items()


def _list_dated_statuses(run: ReadRun | None) -> list[tuple[float, int]]:
    if run is None:
        return []
    table = StatusTable.of(run.status)
    dated = np.isfinite(table.at_s) & (table.operations_done > 0)
    return list(zip(table.at_s[dated].tolist(), table.operations_done[dated].tolist(), strict=True))


def _count_digits(value: float) -> int:
    """The significant digits of a number, without the zeros at its ends: 100,000 has one."""
    mantissa, _, _ = f"{abs(value):.15g}".partition("e")
    return len(mantissa.replace(".", "").strip("0"))

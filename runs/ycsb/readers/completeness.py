"""Whether a run's results are there to the end. A summary states things twice, so what is missing shows."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchsite.core.formatting import grouped
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.messages import (
    BUCKETS_BREAK_OFF,
    CLEANUP_MISSING,
    OPERATIONS_MISSING,
    RESULTS_BREAK_OFF,
    RESULTS_MISSING,
    RETURNS_BREAK_OFF,
)
from runs.ycsb.metric import MetricDraft
from runs.ycsb.operation import (
    COLLECTORS,
    COMPOSITE,
    KNOWN_OPERATIONS,
    OVERALL,
    ReadOperation,
    parse_name,
    split_collector,
)

_TOLERANCE: Final = 1e-6  # of a throughput that somebody rounded
# What every metric states, whatever the measurement type; histograms may lack percentiles.
_ALWAYS: Final = frozenset({"count", "Average", "Min", "Max"})
_COUNTED: Final = frozenset({"count"})
# Operations without return codes, in every version.
_NEVER_RETURNED: Final = frozenset({"CLEANUP", COMPOSITE})


def what_breaks_off(
    operations: Mapping[str, ReadOperation], metrics: Mapping[str, MetricDraft], *, is_untouched: bool
) -> str | None:
    """A sentence about what the last metric lacks; None where it lacks nothing.

    Metrics are printed one after the other and all in the same way, so a file that was cut lacks the end of one. Only
    an untouched output can be held to what a client always prints; people leave lines out of a copy.
    """
    if not operations:
        return None
    if is_untouched and not any(parse_name(name).operation == "CLEANUP" for name in operations):
        return CLEANUP_MISSING
    missing = _find_missing_twin(operations)
    if missing:
        return RESULTS_MISSING.format(operations=missing)

    *_, last = operations
    if operations[last].count == 0:
        return None  # of no values some exporters state less

    alike = [metrics[name] for name in operations if split_collector(name)[0] == split_collector(last)[0]]
    if _is_unknown(last):
        return None
    expected_keys: frozenset[str] = frozenset()
    if len(alike) > 1:
        expected_keys = frozenset.intersection(*(draft.keys for draft in alike[:-1]))
    if metrics[last].has_histogram:
        expected_keys &= _ALWAYS
    if is_untouched:
        expected_keys |= _list_constant_keys(alike)
    if expected_keys - metrics[last].keys:
        return RESULTS_BREAK_OFF.format(operation=last)
    if any(draft.rows.overflow for draft in alike) and metrics[last].rows.overflow is None:
        return BUCKETS_BREAK_OFF.format(operation=last)
    if not _has_returns(last, operations, is_untouched=is_untouched):
        return RETURNS_BREAK_OFF.format(operation=last)

    return None


def _find_missing_twin(names: Iterable[str]) -> str:
    """The first name that lacks, where measurement types of two kinds print each operation under two."""
    operations: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        collector, operation = split_collector(name)
        operations[collector].add(operation)
    collectors = [collector for collector in COLLECTORS if collector in operations]
    for other in collectors[1:]:
        missing = operations[collectors[0]] - operations[other]
        if missing:
            return other + min(missing)
    return ""


def _list_constant_keys(drafts: Sequence[MetricDraft]) -> frozenset[str]:
    """With measurement.raw.no_summary metrics have counts and return codes alone, and so have all of them."""
    if any(draft.keys - _COUNTED for draft in drafts):
        return _ALWAYS
    return _COUNTED


def _has_returns(last: str, operations: Mapping[str, ReadOperation], *, is_untouched: bool) -> bool:
    """Whether the last metric has all its return codes, where the output has any."""
    parsed = parse_name(last)
    operation = operations[last]
    if parsed.status or parsed.kind == "response" or parsed.operation in _NEVER_RETURNED:
        return True
    if split_collector(last)[0] in ("Bucket", "Raw") or parsed.operation not in KNOWN_OPERATIONS or not operation.count:
        return True
    if operation.is_average:
        return True
    has_any = any(operation.returns for operation in operations.values())
    return not (has_any or is_untouched) or sum(operation.returns.values()) >= operation.count


@dataclass(frozen=True, slots=True)
class Sums:
    """How many operations a run did: by throughput and run time, and by its metrics."""

    expected: float
    total: int  # a read-modify-write counts once
    failed_inserts: int
    unexplained_updates: int  # that may belong to a read-modify-write of which there are no results

    @property
    def agree(self) -> bool:
        slack = 0.5 + _TOLERANCE * abs(self.expected)
        # The failed inserts of a load are not part of its throughput.
        return any(abs(self.expected - total) <= slack for total in (self.total, self.total - self.failed_inserts))

    @property
    def tell_of_missing(self) -> bool:
        """Whether the metrics that are there cannot be all; some forks count operations twice."""
        excess = self.total - self.expected
        return not self.agree and (excess < 0 or 0 < excess <= self.unexplained_updates)

    def __str__(self) -> str:
        return OPERATIONS_MISSING.format(expected=grouped(self.expected), total=self.total)


def find_spans(
    operations: Mapping[str, ReadOperation], runtime_ms: float | None, throughput_ops_s: float | None
) -> tuple[str, ...]:
    """The measurements that contain others, as transactions do: where the throughput counts all but them."""
    spans = tuple(name for name in operations if _is_unknown(name))
    if not any(operations[name].count for name in spans):
        return ()
    sums = compare_sums(
        {name: operations[name] for name in operations if name not in spans}, runtime_ms, throughput_ops_s
    )
    if sums is not None and sums.total and sums.agree:
        return spans
    return ()


def counted(operations: Mapping[str, ReadOperation], logs: Sequence[IntervalLog]) -> Mapping[str, ReadOperation]:
    """The operations by which a run is counted: its metrics, or its raw points where it prints no metric."""
    return operations or {log.operation: ReadOperation(count=log.total) for log in logs}


def compare_sums(
    operations: Mapping[str, ReadOperation], runtime_ms: float | None, throughput_ops_s: float | None
) -> Sums | None:
    """Throughput times run time is the number of operations, and so is the sum over the metrics; None if unknown."""
    if runtime_ms is None or throughput_ops_s is None or any(_is_unknown(name) for name in operations):
        return None
    if any(operation.is_average for operation in operations.values()):
        return None  # the product of two averages is not the average of the products

    expected = throughput_ops_s * runtime_ms / 1000
    if not math.isfinite(expected) or any(operation.count is None for operation in operations.values()):
        return None

    counts: dict[str, int] = {}
    failed_inserts = 0
    for name, operation in operations.items():
        parsed = parse_name(name)
        if parsed.kind == "response" or not parsed.is_operation or split_collector(name)[0] in ("Bucket", "Raw"):
            continue
        if parsed.operation == OVERALL:
            continue  # failures that other metrics may count too
        count = operation.count or 0
        counts[parsed.operation] = counts.get(parsed.operation, 0) + count
        if parsed.operation == "INSERT" and parsed.status:
            failed_inserts += count

    modified = counts.pop(COMPOSITE, None)
    unexplained_updates = 0
    if modified is None:
        unexplained_updates = min(counts.get("READ", 0), counts.get("UPDATE", 0))

    return Sums(
        expected=expected,
        total=sum(counts.values()) - (modified or 0),
        failed_inserts=failed_inserts,
        unexplained_updates=unexplained_updates,
    )


def _is_unknown(name: str) -> bool:
    parsed = parse_name(name)
    return parsed.is_operation and parsed.operation not in (*KNOWN_OPERATIONS, OVERALL)

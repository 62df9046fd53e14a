"""The summary a client writes at its end, in the text layout of YCSB 0.17.0."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Protocol, TypeVar

from runs.ycsb.errors import SummaryMissing
from runs.ycsb.messages import NO_SUMMARY, NO_SUMMARY_IN_LINES
from runs.ycsb.metric import MetricDraft, split_line
from runs.ycsb.numbers import finite
from runs.ycsb.operation import PROCESS, ReadOperation

# Metrics that are of the client's process and not of an operation.
_PROCESS: Final = re.compile(
    r"TOTAL_GC(?:S|s|_TIME|_TIME_%)?(?:_.*)?|(?:MAX|MIN)_(?:MEM_USED|THREADS|SYS_LOAD_AVG)|" + "|".join(sorted(PROCESS))
)
_SHOWN: Final = 3  # lines quoted when there is no result


@dataclass(frozen=True, slots=True)
class Summary:
    """`operations` maps the metric as printed (READ, READ-FAILED, Intended-READ, CLEANUP) to its numbers."""

    runtime_ms: float | None
    throughput_ops_s: float | None
    operations: Mapping[str, ReadOperation]
    process: Mapping[str, float] = field(default_factory=dict)  # "TOTAL_GC_TIME_% Time(%)": of the client itself

    @property
    def counts(self) -> dict[str, int]:
        """How many values each metric counted."""
        return {name: operation.count for name, operation in self.operations.items() if operation.count is not None}


class Printed(Protocol):
    """A dataclass with the run time of a client."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def runtime_ms(self) -> float | None: ...

    @property
    def throughput_ops_s(self) -> float | None: ...


P = TypeVar("P", bound=Printed)


def without_steps(printed: P, by_s: float) -> P:
    """With the run time, which YCSB takes from the wall clock, as if that had not been stepped by `by_s`."""
    before_ms, throughput_ops_s = printed.runtime_ms, printed.throughput_ops_s
    if not by_s or before_ms is None or throughput_ops_s is None or before_ms <= by_s * 1000:
        return printed
    runtime_ms = before_ms - by_s * 1000
    return replace(printed, runtime_ms=runtime_ms, throughput_ops_s=throughput_ops_s * before_ms / runtime_ms)


def is_process(metric: str) -> bool:
    """Whether a metric is of the client's own process: garbage collection, memory, threads."""
    return _PROCESS.fullmatch(metric) is not None


def parse_summary(text: str) -> Summary:
    """Read the text of one client. Raises SummaryMissing when there is not a single result in it."""
    overall: dict[str, float | None] = {}
    drafts: dict[str, MetricDraft] = {}
    process: dict[str, float] = {}
    for line in text.splitlines():
        metric, key, value = split_line(line) or ("", "", "")
        if metric == "OVERALL":
            if key in ("RunTime(ms)", "Throughput(ops/sec)"):
                overall[key] = finite(value)
        elif is_process(metric):
            if (number := finite(value)) is not None:
                process[f"{metric} {key}"] = number
        elif metric:
            drafts.setdefault(metric, MetricDraft()).take(key, value)

    operations = {metric: _without_empty(draft.done()) for metric, draft in drafts.items() if draft.is_measured}
    if not overall and not operations:
        raise SummaryMissing(_nothing(text))

    return Summary(
        runtime_ms=overall.get("RunTime(ms)"),
        throughput_ops_s=overall.get("Throughput(ops/sec)"),
        operations=operations,
        process=process,
    )


def _without_empty(operation: ReadOperation) -> ReadOperation:
    """Without the latencies that YCSB prints for no values at all."""
    if operation.count != 0:
        return operation
    return replace(operation, mean_us=None, min_us=None, max_us=None, percentiles_us={})


def _nothing(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return NO_SUMMARY
    closest = [line for line in lines if line.startswith("[")] or lines
    quoted = " | ".join(line[:120] for line in closest[:_SHOWN])
    return NO_SUMMARY_IN_LINES.format(lines=len(lines), closest=quoted)

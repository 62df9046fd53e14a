"""The summary a client writes at its end, in the text layout of YCSB 0.17.0; unknown lines are kept as they are."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from runs.ycsb.errors import SummaryMissing
from runs.ycsb.names import parse_name
from runs.ycsb.numbers import NO_MINIMUM, finite, whole

# Metrics that are of the process and not of an operation.
_PROCESS: Final = re.compile(r"TOTAL_GC|MAX_|MIN_")
_PERCENTILE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,10})?)(?:st|nd|rd|th)?PercentileLatency\((us|ms)\)")
_LATENCY: Final = re.compile(r"(Average|Min|Max)Latency\((us|ms)\)")
_UNITS_US: Final = {"us": 1.0, "ms": 1000.0}
_SHOWN: Final = 3  # lines quoted when there is no result


@dataclass(frozen=True, slots=True)
class SummaryOperation:
    """One metric of the summary, latencies in microseconds; None is what the text does not state."""

    count: int | None = None
    mean_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    percentiles_us: Mapping[str, float] = field(default_factory=dict)  # "99.9" -> µs
    returns: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OtherLine:
    """A line that is no measurement of an operation: garbage collection, a fork's own metric, noise."""

    line_number: int  # from 1
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """`operations` maps the metric as printed (READ, READ-FAILED, Intended-READ, CLEANUP) to its numbers."""

    runtime_ms: float | None
    throughput_ops_s: float | None
    operations: Mapping[str, SummaryOperation]
    others: tuple[OtherLine, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many values each metric counted."""
        return {name: operation.count for name, operation in self.operations.items() if operation.count is not None}

    @property
    def operations_done(self) -> int:
        """Operations of the workload, failed ones included, each read-modify-write once."""
        total = 0
        for name, count in self.counts.items():
            parsed = parse_name(name)
            if parsed.kind == "service" and parsed.is_operation:
                total += -count if parsed.is_composite else count
        return total

    @property
    def returns(self) -> dict[str, int]:
        """Return code -> count over all operations of the database (verifying is not one)."""
        total: dict[str, int] = {}
        for name, operation in self.operations.items():
            if not parse_name(name).is_operation or parse_name(name).is_composite:
                continue
            for code, count in operation.returns.items():
                total[code] = total.get(code, 0) + count
        return total


class _Draft:
    """One metric while its lines are read."""

    def __init__(self) -> None:
        self.count: int | None = None
        self.latency: dict[str, float | None] = {}
        self.percentiles: dict[str, float] = {}
        self.returns: dict[str, int] = {}

    def take(self, key: str, value: str) -> bool:
        """Whether the key was one of an operation's."""
        if key == "Operations":
            self.count = whole(value)
            return self.count is not None
        if key.startswith("Return="):
            count = whole(value)
            if count is None:
                return False
            # The same name twice is two statuses that differ only in what they describe.
            self.returns[key[7:]] = self.returns.get(key[7:], 0) + count
            return True
        number = finite(value)
        if found := _LATENCY.fullmatch(key):
            least = found[1] == "Min" and number is not None and number >= NO_MINIMUM
            self.latency[found[1]] = None if number is None or least else number * _UNITS_US[found[2]]
            return True
        if (found := _PERCENTILE.fullmatch(key)) and number is not None:
            self.percentiles[found[1]] = number * _UNITS_US[found[2]]
            return True
        return False

    def done(self) -> SummaryOperation:
        empty = self.count == 0
        return SummaryOperation(
            count=self.count,
            mean_us=None if empty else self.latency.get("Average"),
            min_us=None if empty else self.latency.get("Min"),
            max_us=None if empty else self.latency.get("Max"),
            percentiles_us={} if empty else self.percentiles,
            returns=self.returns,
        )


def parse_summary(text: str) -> Summary:
    """Read the text of one client. Raises SummaryMissing when there is not a single result in it."""
    overall: dict[str, float | None] = {}
    drafts: dict[str, _Draft] = {}
    others: list[OtherLine] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        metric, key, value = _split(line)
        if metric == "OVERALL" and key in ("RunTime(ms)", "Throughput(ops/sec)"):
            overall[key] = finite(value)
        elif not metric or _PROCESS.match(metric) or metric == "OVERALL":
            others.append(OtherLine(number, line))
        else:
            draft = drafts.get(metric) or _Draft()
            if draft.take(key, value):
                drafts[metric] = draft
            else:
                others.append(OtherLine(number, line))
    if not overall and not drafts:
        raise SummaryMissing(_nothing(text))
    return Summary(
        runtime_ms=overall.get("RunTime(ms)"),
        throughput_ops_s=overall.get("Throughput(ops/sec)"),
        operations={metric: draft.done() for metric, draft in drafts.items()},
        others=tuple(others),
    )


def _split(line: str) -> tuple[str, str, str]:
    """Metric, key and value of `[METRIC], key, value`; empty texts where the line has another form."""
    text = line.strip()
    end = text.find("],")
    if not text.startswith("[") or end < 2:
        return "", "", ""
    key, comma, value = text[end + 2 :].rpartition(",")
    return (text[1:end], key.strip(), value.strip()) if comma else ("", "", "")


def _nothing(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "There is no summary: the file is empty. The client was killed, or ended before it could write one."
    closest = [line for line in lines if line.startswith("[")] or lines
    quoted = " | ".join(line[:120] for line in closest[:_SHOWN])
    return f"There is no summary in {len(lines)} lines; what comes closest: {quoted}"

"""The summary a client writes at its end, in the text layout of YCSB 0.17.0; unknown lines are kept as they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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


def parse_summary(text: str) -> Summary:
    """Read the text of one client. Raises SummaryMissing when there is not a single result in it."""
    raise NotImplementedError

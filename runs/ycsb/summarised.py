"""A run of which only summaries exist: what can be added is added exactly, and percentiles become bounds.

The counterpart of `runs.ycsb.merged.MergedRun` for clients that left no histograms.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from runs.ycsb import ALGORITHM_VERSION, READER_VERSION
from runs.ycsb.merged import MissingClient, Phase, Window
from runs.ycsb.names import LatencyKind
from runs.ycsb.series import Series

# From what the throughput was computed: the window that all clients have in common (by their status lines), the one
# client's own statement, or the sum of several clients' statements with nothing known about their windows.
ThroughputBasis = Literal["window", "stated", "sum"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """A percentile lies in [low_us, high_us]. Equal ends: it is known. high_us is None: without bound."""

    low_us: float
    high_us: float | None

    @property
    def is_exact(self) -> bool:
        return self.low_us == self.high_us


@dataclass(frozen=True, slots=True)
class SummarisedOperation:
    """One operation of all clients, whole run. Counts are None where a client does not state them."""

    operation: str
    kind: LatencyKind
    ok: int | None
    failed: int | None
    failures: Mapping[str, int]  # status -> count
    returns: Mapping[str, int]
    is_composite: bool
    mean_us: float | None
    min_us: float | None
    max_us: float | None
    percentiles_us: Mapping[str, Bounds]  # "99.9" -> bounds
    resolution_us: float | None = None


@dataclass(frozen=True, slots=True)
class SummarisedClient:
    """One client as it stated itself."""

    number: int
    operations: int | None
    ok: int | None
    failed: int | None
    busy_us: float | None  # the sum of all service times: counts times means
    throughput_ops_s: float | None  # as printed
    runtime_ms: float | None
    threads: int | None
    printed_counts: Mapping[str, int]
    started_s: float | None = None  # by its status lines
    ended_s: float | None = None
    cleanup_s: float | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class SummarisedRun:
    """Every number that summaries allow. `operations` is sorted by name, service before response times."""

    phase: Phase | None
    operations: tuple[SummarisedOperation, ...]
    clients: tuple[SummarisedClient, ...]
    missing: tuple[MissingClient, ...]
    total_operations: int | None  # failed ones included, a read-modify-write once
    ok_operations: int | None
    failed_operations: int | None
    throughput_ops_s: float | None  # successful operations, on `basis`
    basis: ThroughputBasis
    throughput_sum_ops_s: float | None
    throughput_wall_ops_s: float | None
    overlap: float | None  # None: nothing tells when the clients ran
    window: Window | None
    series: tuple[Series, ...] = ()  # of status lines and printed series
    reader_version: int = READER_VERSION
    algorithm_version: int = ALGORITHM_VERSION

    @property
    def clients_expected(self) -> int:
        return len(self.clients) + len(self.missing)

    @property
    def clients_merged(self) -> int:
        return len(self.clients)

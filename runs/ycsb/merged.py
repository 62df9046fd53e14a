"""What goes into the merge of a run's clients, and what comes out of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from runs.ycsb import ALGORITHM_VERSION, READER_VERSION
from runs.ycsb.arrivals import Arrivals
from runs.ycsb.clock_steps import ClockStep
from runs.ycsb.command import PERCENTILES
from runs.ycsb.evidence import ClientEvidence
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.histogram import Histogram
from runs.ycsb.intervals import Batches, Timeline
from runs.ycsb.logscan import LogSource
from runs.ycsb.operation import LatencyKind, as_response
from runs.ycsb.summary import Summary
from runs.ycsb.upper_bounds import upper_bounds

Phase = Literal["load", "measure"]


@dataclass(frozen=True, slots=True)
class ClientLogs:
    """One client's interval logs, unread or in memory, and what it states beside them.

    Times are seconds since the epoch on its own clock. A run that is cut again has no logs any more.
    """

    number: int
    logs: Sequence[LogSource | IntervalLog] = ()
    summary: Summary | None = None
    clock_offset_s: float = 0.0  # the reference clock minus this client's
    clock_steps: Sequence[ClockStep] | None = None  # of its clock since it started, where they were measured
    threads: int | None = None
    response_only: bool = False  # measurement.interval=intended alone: plain names are response times
    truncated: bool = False  # a log broke off in the middle of a line
    evidence: ClientEvidence | None = None

    @property
    def printed_counts(self) -> dict[str, int] | None:
        """Printed counts by measurement name; None without a summary."""
        if self.summary is None:
            return None
        counts = self.summary.counts
        if self.response_only:
            return {as_response(name): count for name, count in counts.items()}
        return counts


@dataclass(frozen=True, slots=True)
class Window:
    """Seconds since the epoch on the reference clock."""

    from_s: float
    to_s: float

    @property
    def length_s(self) -> float:
        return self.to_s - self.from_s


@dataclass(frozen=True)
class MergedOperation:
    """One operation of all clients in the window. The latencies of failed operations never join the others."""

    operation: str
    kind: LatencyKind
    histogram: Histogram  # of the successful ones
    batches: Batches  # the same by parts of the window
    failed_histogram: Histogram
    failures: Mapping[str, int]  # in the window: YCSB status, or FAILED where YCSB did not tell them apart
    returns: Mapping[str, int]  # return code -> count over whole runs, all clients; empty for response times
    is_composite: bool  # READ-MODIFY-WRITE: made of operations that are counted under their own names

    @property
    def ok(self) -> int:
        return self.histogram.count

    @property
    def failed(self) -> int:
        return self.failed_histogram.count

    @property
    def count(self) -> int:
        return self.ok + self.failed

    @cached_property
    def mean_us(self) -> float | None:
        return self.histogram.mean

    @cached_property
    def min_us(self) -> int | None:
        return self.histogram.min

    @cached_property
    def max_us(self) -> int | None:
        return self.histogram.max

    @cached_property
    def percentiles_us(self) -> dict[float, int | None]:
        """The percentiles that are stored, None without any values."""
        return dict(zip(PERCENTILES, self.histogram.percentiles(PERCENTILES), strict=True))

    @cached_property
    def upper_bounds_us(self) -> dict[float, int | None]:
        """The upper bound of each percentile, None where there is none."""
        return dict(zip(PERCENTILES, upper_bounds(self.histogram, self.batches, PERCENTILES), strict=True))


@dataclass(frozen=True, slots=True)
class MergedClient:
    """One client's share. Times are on the reference clock, counts are of the window unless they say otherwise."""

    number: int
    started_s: float  # its first operation's interval began
    ended_s: float  # its last operation's interval ended
    covered_s: float  # the length of its intervals in the window
    intervals: int  # how many of them
    operations: int
    ok: int
    failed: int
    busy_us: float  # the sum of the service times of all its operations
    throughput_ops_s: float  # successful operations per covered second
    run_operations: int  # over its whole run, failed ones included, by its logs
    log_counts: Mapping[str, int]  # over its whole run, by measurement name
    runtime_ms: float | None = None  # as printed
    printed_throughput_ops_s: float | None = None
    printed_counts: Mapping[str, int] | None = None  # by measurement name; None without a summary
    init_s: float | None = None  # of its run time: before the first and after the last operation
    cleanup_s: float | None = None
    verified: Mapping[str, int] | None = None  # over its whole run: return code -> count of its verifications of data
    truncated: bool = False  # a log broke off in the middle of a line
    threads: int | None = None
    evidence: ClientEvidence | None = None  # of an upload
    clock_steps: tuple[ClockStep, ...] = ()  # in seconds since its first interval began; its times are without them


@dataclass(frozen=True, slots=True)
class MissingClient:
    """A client that could not be merged, and why."""

    number: int
    reason: str


class OfClients:
    """Properties of merged runs, of histograms or of summaries."""

    __slots__ = ()
    clients: tuple[Any, ...]
    missing: tuple[MissingClient, ...]

    @property
    def clients_expected(self) -> int:
        return len(self.clients) + len(self.missing)

    @property
    def clients_merged(self) -> int:
        return len(self.clients)


@dataclass(frozen=True, slots=True)
class MergedRun(OfClients):
    """Every number of a run that is stored. `operations` is sorted by name, service before response times."""

    phase: Phase
    window: Window
    warmup_s: float
    operations: tuple[MergedOperation, ...]
    clients: tuple[MergedClient, ...]
    missing: tuple[MissingClient, ...]
    total_operations: int  # in the window, failed ones included, a read-modify-write counted once
    ok_operations: int
    failed_operations: int
    throughput_ops_s: float  # successful operations
    throughput_sum_ops_s: float | None  # the sum of what the clients printed over their whole runs
    throughput_wall_ops_s: float  # all operations / from the first start to the last end
    overlap: float  # the clients' common time / the whole of it, over their whole runs
    longest_us: float  # the sum of the longest service times in the window, one for each thread (0 if unknown)
    timelines: tuple[Timeline, ...]  # of the whole run: when its intervals were, and how many values each counts
    reader_version: int = READER_VERSION
    algorithm_version: int = ALGORITHM_VERSION
    notes: tuple[str, ...] = ()  # what of its clients' files is not stored, and why
    lags: Mapping[str, Histogram] = field(default_factory=dict)  # of an open load, in the window, by their names
    arrivals: Arrivals | None = None  # of an open load

    @property
    def basis(self) -> Literal["window"]:
        return "window"

    @property
    def tail_s(self) -> float:
        """How much of the clients' common time lies behind the window."""
        return max(round(min(client.ended_s for client in self.clients) - self.window.to_s, 3), 0.0)

"""Everything the checks need to know about a run, taken from its merge, its plan and its machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runs.ycsb.merge import MergedRun, Phase
from runs.ycsb.names import LatencyKind


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """One operation in the window, all clients; latencies of successful ones in microseconds."""

    operation: str
    kind: LatencyKind = "service"
    is_composite: bool = False
    ok: int = 0
    failed: int = 0
    mean_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    percentiles_us: Mapping[float, float | None] | None = None

    @property
    def count(self) -> int:
        return self.ok + self.failed


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """One client. Seconds since the epoch on the reference clock; None is what nobody measured."""

    number: int
    started_s: float
    ended_s: float
    covered_s: float = 0.0
    operations: int = 0
    ok: int = 0
    busy_us: float = 0.0
    throughput_ops_s: float = 0.0
    threads: int | None = None
    runtime_ms: float | None = None
    printed_throughput_ops_s: float | None = None
    run_operations: int | None = None  # by its logs, over its whole run
    log_counts: Mapping[str, int] | None = None
    printed_counts: Mapping[str, int] | None = None
    init_s: float | None = None
    cleanup_s: float | None = None
    truncated: bool = False
    machine: str = ""  # the name of the host it ran on
    cpu_percent: float | None = None  # of one core, over the measured part
    cores: int | None = None  # of that host


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run as the checks see it. None means unknown, and an unknown fact is never taken for a good one."""

    phase: Phase
    threads: int
    target_ops_s: float | None
    clients_expected: int
    clients: tuple[ClientFacts, ...]
    missing: tuple[str, ...]  # "client 1: no log", in words
    window_s: float
    window_asked_s: float | None  # None: as long as it lasts
    operations: tuple[OperationFacts, ...]
    total_operations: int
    ok_operations: int
    failed_operations: int
    throughput_ops_s: float
    overlap: float | None = None
    longest_us: float = 0.0  # the sum of the longest service times, one for each thread
    returns: Mapping[str, int] | None = None  # over whole runs, all clients, all operations
    proportions: Mapping[str, float] | None = None  # operation -> its share by the workload's properties
    recordcount: int | None = None
    rows_loaded: int | None = None
    rate_ops_s: Sequence[float] | None = None  # per second of the window, all clients
    client_on_database_host: bool | None = None


def facts_of(
    merged: MergedRun,
    *,
    threads: int,
    target_ops_s: float | None = None,
    workload: Mapping[str, str] | None = None,
    rows_loaded: int | None = None,
    measure_s: float | None = None,
    rate_ops_s: Sequence[float] | None = None,
    client_on_database_host: bool | None = None,
    machines: Mapping[int, str] | None = None,
    cpu_percent: Mapping[int, float] | None = None,
    cores: Mapping[int, int] | None = None,
) -> RunFacts:
    """The facts of a merged run. The mappings at the end are by client number and may be incomplete."""
    raise NotImplementedError

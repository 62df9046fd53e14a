"""Everything the checks need to know about a run. None means unknown, and an unknown fact is never a good one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from runs.queue.spec import OpenLoadSpec
from runs.results.fact_validation import NUMBERS, fact_problem
from runs.results.measures.host import HostSamples
from runs.ycsb.arrivals import Arrivals
from runs.ycsb.clock_steps import ClockStep
from runs.ycsb.evidence import ClientEvidence
from runs.ycsb.merged import Phase
from runs.ycsb.operation import LatencyKind


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """One operation in the window, all clients; latencies of successful ones in microseconds."""

    operation: str
    kind: LatencyKind = "service"
    is_composite: bool = False
    ok: int | None = 0
    failed: int | None = 0
    mean_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    percentiles_us: Mapping[float, float | None] | None = None
    upper_bounds_us: Mapping[float, float | None] | None = None  # of percentiles, with 99 %; None: no histograms
    resolution_us: float | None = None  # how coarse the percentiles are, where they are coarser than HdrHistogram
    contradiction: str = ""  # between the numbers that one client printed, in words
    averaged: bool = False  # its counts or percentiles are fractions, which YCSB never prints
    # What the response time's p99 may have been: the service times, corrected for the load's schedule.
    response_estimated_us: float | None = None

    @property
    def count(self) -> int | None:
        if self.ok is None:
            return None
        return self.ok + (self.failed or 0)


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """One client. Seconds since the epoch on the reference clock."""

    number: int
    started_s: float | None = None
    ended_s: float | None = None
    covered_s: float = 0.0  # the time over which it was counted
    operations: int | None = 0
    busy_us: float | None = 0.0  # the sum of all its service times
    throughput_ops_s: float | None = 0.0
    threads: int | None = None
    runtime_ms: float | None = None
    printed_throughput_ops_s: float | None = None
    log_counts: Mapping[str, int] | None = None  # None: it left no histogram log
    printed_counts: Mapping[str, int] | None = None
    verified: Mapping[str, int] | None = None  # return code -> count of its verifications of data
    status_operations: int | None = None  # by its status lines, where it left a summary but no histogram log
    status_coverage: float | None = None  # the part of its summary that they count line by line
    status_interval_s: float | None = None  # how far apart they are
    init_s: float | None = None
    cleanup_s: float | None = None
    truncated: bool = False
    machine: str = ""  # the name of the host it ran on
    cpu_percent: float | None = None  # of one core, over the measured part
    cores: int | None = None  # of that host
    gc_share: float | None = None  # of its run time
    clock_offset_s: float | None = None
    clock_steps: Sequence[ClockStep] = ()  # in seconds since its first operation
    evidence: ClientEvidence | None = None  # of an upload: what its files say beside its numbers


# A machine's facts that make hardware other hardware.
HARDWARE: Final = (
    "cores", "cpu_model", "memory_bytes", "disk", "disk_file_system", "nic_bits_per_s", "virtualised", "instance_type",
)  # fmt: skip


@dataclass(frozen=True)
class ClusterFacts:
    """Where the database stood. `machines` are its nodes' facts, as `Machine.facts` has them.

    It keeps what it worked out: a comparison of forty sides asks each of them forty times.
    """

    nodes: int | None = None
    replication_factor: int | None = None
    machines: tuple[Mapping[str, object], ...] = ()

    @property
    def stored_copies(self) -> int:
        """Of each record: those that no node has take no room."""
        return min(self.replication_factor or 1, self.nodes or 1)

    def least(self, name: str) -> float | None:
        """The smallest value of a fact over all nodes; None unless every node states it."""
        values = []
        for machine in self.machines:
            value = parse_number(fact(machine, name))
            if value is None:
                return None
            values.append(value)
        return min(values, default=None)

    @cached_property
    def cache_bytes(self) -> float | None:
        """What a node's database may cache in, of the smallest node: `cache_bytes`, else all its memory."""
        return self.least("cache_bytes") or self.least("memory_bytes")

    @cached_property
    def hardware(self) -> Sequence[tuple[object, ...]]:
        """What the nodes are made of, in no order; empty unless something is known of each."""
        hardware = []
        for machine in self.machines:
            parts = tuple(fact(machine, name) for name in HARDWARE)
            if not any(part is not None for part in parts):
                return ()
            hardware.append(parts)
        return sorted(hardware, key=repr)


@dataclass(frozen=True, slots=True)
class ClientProbe:
    """A run of the same load on the same threads with more clients."""

    clients: int
    throughput_ops_s: float


@dataclass(frozen=True, slots=True)
class OverTime:
    """A run second by second, all clients, from their common start to the end of the window."""

    warmup_s: int  # how many of the seconds come before the window
    rate_ops_s: Sequence[float]  # a second without anything is 0
    p95_us: Sequence[float] = ()  # of the operation that was done most, NaN where it was not
    response_mean_us: Sequence[float] = ()  # in the window only, over all operations; NaN where there were none
    # How far apart the clients' own numbers are: status lines of 10 s are spread over their seconds. None: unknown.
    resolution_s: float | None = 1.0

    @property
    def is_by_second(self) -> bool:
        return self.resolution_s is not None and self.resolution_s <= 1.5


@dataclass(frozen=True, slots=True)
class InsertedRecords:
    """What a run's clients inserted and deleted, and how much of it is there afterwards. The second number of each pair
    has the operations whose outcome nobody knows, too.
    """

    inserted: tuple[int, int]
    deleted: tuple[int, int]
    present: int  # counted on the server, key by key


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What is known of a run as a whole beside its output."""

    client_on_database_host: bool | None = None
    divided_cpus: tuple[int, int] | None = None  # of that machine, for servers and for clients; None: not divided
    low_latency_us: float | None = None  # the mean service time on another, the lowest rung of the sweep
    probe: ClientProbe | None = None
    cluster: ClusterFacts = field(default_factory=ClusterFacts)
    durability: Mapping[str, object] = field(default_factory=dict)  # the mode's record; empty: unknown
    mode_properties: Mapping[str, str] = field(default_factory=dict)  # what the mode gives to a YCSB client
    mode_stated: bool = False  # the servers of a scheduled run were not asked for their mode
    made_elsewhere: bool = False  # it was uploaded: nobody here saw its clients end
    without_codes: bool = False  # its clients are go-ycsb's, which print no return codes
    background_work: Mapping[str, float] = field(default_factory=dict)  # that the servers had left when it began
    has_faults: bool = False  # planned ones were applied while it was measured
    inserted_records: InsertedRecords | None = None  # None: they were not counted, or there are none
    operations_asked: int = 0  # until so many were done the window was to last
    groups_insert: bool = False  # a group beside the ladder does
    groups: Sequence[Mapping[str, Any]] = ()  # results of those beside the ladder, as a measurement set stores them
    open_load: OpenLoadSpec | None = None  # None: each thread waited for its answer
    other_system: str = ""  # whose binding the command lines of an upload name, where it states another system


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts(RunContext):
    """One run as the checks see it."""

    phase: Phase | None
    threads: int | None
    target_ops_s: float | None
    clients_expected: int
    clients: tuple[ClientFacts, ...]
    missing: tuple[str, ...]  # "client 1: no log", in words
    window_s: float | None  # of summaries: the shortest client's run time
    window_asked_s: float | None  # None: as long as it lasts
    operations: tuple[OperationFacts, ...]
    total_operations: int | None
    ok_operations: int | None
    failed_operations: int | None
    throughput_ops_s: float | None
    overlap: float | None = None
    longest_us: float = 0.0  # the sum of the longest service times, one for each thread
    returns: Mapping[str, int] | None = None  # over whole runs, all clients, all operations
    proportions: Mapping[str, float] | None = None  # operation -> its share by the workload's properties
    properties: Mapping[str, str] = field(default_factory=dict)  # of the workload
    recordcount: int | None = None
    record_bytes: float | None = None
    rows_loaded: int | None = None
    rate_ops_s: Sequence[float] | None = None  # per second of the window, all clients
    over_time: OverTime | None = None
    whole_runs: bool = False  # the numbers are of whole runs, as the clients printed them
    hosts: tuple[HostSamples, ...] = ()  # within the window
    arrivals: Arrivals | None = None  # of an open load
    measured_by_client: Mapping[int, int] = field(default_factory=dict)  # operations of whole runs, by their logs

    @property
    def reached_share(self) -> float | None:
        """How much of the target was reached; of an open load, of what really arrived. None: not known."""
        if self.arrivals is not None:
            return 1.0 - self.arrivals.total.dropped_share
        if not self.target_ops_s or self.throughput_ops_s is None:
            return None
        return self.throughput_ops_s / self.target_ops_s

    @property
    def service(self) -> tuple[OperationFacts, ...]:
        """The service times of the operations that add up: without what is made of others."""
        return tuple(
            operation for operation in self.operations if operation.kind == "service" and not operation.is_composite
        )


def fact(machine: Mapping[str, object], name: str) -> object:
    """A machine's fact without how it is known; None for what is no fact. Uploads may state numbers as texts."""
    value = machine.get(name)
    if isinstance(value, Mapping):
        value = value.get("value")
    if isinstance(value, str) and name in NUMBERS:
        value = parse_number(value)
    if isinstance(value, bool) and name not in NUMBERS:
        return value
    if fact_problem(name, value):
        return None
    return value


def parse_number(value: object) -> float | None:
    """A fact as a finite number; texts that are one count too."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None

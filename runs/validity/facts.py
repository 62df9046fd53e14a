"""Everything the checks need to know about a run, taken from its merge, its plan and its machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runs.ycsb.command import PERCENTILES
from runs.ycsb.merge import MergedClient, MergedOperation, MergedRun, Phase
from runs.ycsb.names import LatencyKind
from runs.ycsb.properties import proportions


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
    machines, cpu_percent, cores = machines or {}, cpu_percent or {}, cores or {}
    returns = _returns(merged)
    return RunFacts(
        phase=merged.phase,
        threads=threads,
        target_ops_s=target_ops_s,
        clients_expected=merged.clients_expected,
        clients=tuple(
            _client(client, machines.get(client.number, ""), cpu_percent.get(client.number), cores.get(client.number))
            for client in merged.clients
        ),
        missing=tuple(f"client {entry.number}: {entry.reason}" for entry in merged.missing),
        window_s=merged.window.length_s,
        window_asked_s=measure_s,
        operations=tuple(_operation(operation) for operation in merged.operations),
        total_operations=merged.total_operations,
        ok_operations=merged.ok_operations,
        failed_operations=merged.failed_operations,
        throughput_ops_s=merged.throughput_ops_s,
        overlap=merged.overlap,
        longest_us=merged.longest_us,
        returns=returns or None,
        proportions=proportions(workload) if workload is not None and merged.phase == "measure" else None,
        recordcount=int(workload["recordcount"]) if workload is not None else None,
        rows_loaded=rows_loaded,
        rate_ops_s=rate_ops_s,
        client_on_database_host=client_on_database_host,
    )


def _client(client: MergedClient, machine: str, cpu_percent: float | None, cores: int | None) -> ClientFacts:
    return ClientFacts(
        number=client.number,
        started_s=client.started_s,
        ended_s=client.ended_s,
        covered_s=client.covered_s,
        operations=client.operations,
        ok=client.ok,
        busy_us=client.busy_us,
        throughput_ops_s=client.throughput_ops_s,
        threads=client.threads,
        runtime_ms=client.runtime_ms,
        printed_throughput_ops_s=client.printed_throughput_ops_s,
        run_operations=client.run_operations,
        log_counts=client.log_counts,
        printed_counts=client.printed_counts,
        init_s=client.init_s,
        cleanup_s=client.cleanup_s,
        truncated=client.truncated,
        machine=machine,
        cpu_percent=cpu_percent,
        cores=cores,
    )


def _operation(operation: MergedOperation) -> OperationFacts:
    histogram = operation.histogram
    values = histogram.percentiles(PERCENTILES)
    return OperationFacts(
        operation=operation.operation,
        kind=operation.kind,
        is_composite=operation.is_composite,
        ok=operation.ok,
        failed=operation.failed,
        mean_us=histogram.mean,
        min_us=histogram.min,
        max_us=histogram.max,
        percentiles_us=dict(zip(PERCENTILES, values, strict=True)),
    )


def _returns(merged: MergedRun) -> dict[str, int]:
    total: dict[str, int] = {}
    for operation in merged.operations:
        if not operation.is_composite:
            for code, count in operation.returns.items():
                total[code] = total.get(code, 0) + count
    return total

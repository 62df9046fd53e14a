"""The facts of a run, from what its clients left behind and from what is known beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from runs.checks.facts import ClientFacts, OperationFacts, RunContext, RunFacts
from runs.checks.over_time import over_time
from runs.results.measures.coordinated_omission import corrected
from runs.results.measures.host import HostSamples
from runs.ycsb.merged import MergedClient, MergedOperation, MergedRun, Phase
from runs.ycsb.numbers import added
from runs.ycsb.properties import dataset, proportions
from runs.ycsb.series import Series
from runs.ycsb.summary_run import SummarisedClient, SummarisedOperation, SummarisedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings(RunContext):
    """With what is known of its clients and machines. Mappings by client number may be incomplete."""

    machines: Mapping[int, str] = field(default_factory=dict)  # the names of the clients' hosts
    cores: Mapping[int, int] = field(default_factory=dict)  # of those hosts
    cpu_percent: Mapping[int, float] = field(default_factory=dict)
    clock_offsets_s: Mapping[int, float] = field(default_factory=dict)
    gc_shares: Mapping[int, float] = field(default_factory=dict)  # of their run times, collecting garbage
    hosts: tuple[HostSamples, ...] = ()  # of the whole run


def collect_facts(
    merged: MergedRun | SummarisedRun,
    *,
    threads: int | None,
    target_ops_s: float | None = None,
    workload: Mapping[str, str] | None = None,
    rows_loaded: int | None = None,
    measure_s: float | None = None,
    rate_ops_s: Sequence[float] | None = None,
    series: Sequence[Series] = (),
    phase: Phase | None = None,
    context: Surroundings = Surroundings(),
) -> RunFacts:
    """The facts of a merged run; `workload` is checked.

    `series` (of the whole run) and `rate_ops_s` are used of clients with histograms: summaries bring their own. `phase`
    is said where summaries do not show it.
    """
    phase = merged.phase or phase
    if isinstance(merged, SummarisedRun):
        measured = _collect_summarised(merged)
    else:
        expected_us = _expected_interval_us(merged, threads, target_ops_s)
        measured = {
            "window_s": merged.window.length_s,
            "operations": tuple(_merged_operation(operation, expected_us) for operation in merged.operations),
            "longest_us": merged.longest_us,
            "arrivals": merged.arrivals,
            "measured_by_client": {client.number: client.run_operations for client in merged.clients},
            "rate_ops_s": rate_ops_s,
            "over_time": over_time(series, merged.window, merged.warmup_s),
            "hosts": tuple(host.within(merged.window.from_s, merged.window.to_s) for host in context.hosts),
        }

    return RunFacts(
        phase=phase,
        threads=threads,
        target_ops_s=target_ops_s,
        clients_expected=merged.clients_expected,
        clients=tuple(_client(client, context) for client in merged.clients),
        missing=tuple(f"client {client.number}: {client.reason}" for client in merged.missing),
        window_asked_s=measure_s,
        total_operations=merged.total_operations,
        ok_operations=merged.ok_operations,
        failed_operations=merged.failed_operations,
        throughput_ops_s=merged.throughput_ops_s,
        overlap=merged.overlap,
        returns=added(operation.returns for operation in merged.operations if not operation.is_composite) or None,
        rows_loaded=rows_loaded,
        **measured,
        **_read_task(workload, phase),
        **{column.name: getattr(context, column.name) for column in fields(RunContext)},
    )


CLIENT_FIELDS: Final = tuple(field.name for field in fields(ClientFacts))
# What both kinds of merged operations have by these names.
_COMMON_FIELDS: Final = ("operation", "kind", "is_composite", "ok", "failed", "mean_us", "min_us", "max_us")
# Formats whose percentiles are whole microseconds: a fraction there is an average of several.
_WHOLE_MICROSECONDS: Final = frozenset({"ycsb-text", "ycsb-json", "thumbtack"})


def _collect_summarised(merged: SummarisedRun) -> dict[str, Any]:
    """The window is the common one, else the shortest client's run time; seconds are those of status lines."""
    runtimes_s = [client.runtime_ms / 1000 for client in merged.clients if client.runtime_ms and client.runtime_ms > 0]
    window_s = min(runtimes_s, default=None)
    seconds = rate_ops_s = None
    if merged.window is not None:
        window_s = merged.window.length_s
        seconds = over_time(merged.series, merged.window, 0.0, resolution_s=_compute_resolution_s(merged))
    if seconds is not None:
        rate_ops_s = seconds.rate_ops_s

    whole = {client.format for client in merged.clients} <= _WHOLE_MICROSECONDS
    return {
        "window_s": window_s,
        "operations": tuple(_summarised_operation(operation, whole=whole) for operation in merged.operations),
        "rate_ops_s": rate_ops_s,
        "over_time": seconds,
        "whole_runs": True,
    }


def _compute_resolution_s(merged: SummarisedRun) -> float | None:
    """How far apart status lines are at most; None where a client has none."""
    intervals_s = [client.status_interval_s for client in merged.clients if client.status_interval_s is not None]
    if len(intervals_s) < len(merged.clients):
        return None
    return max(intervals_s, default=None)


def _client(client: MergedClient | SummarisedClient, context: Surroundings) -> ClientFacts:
    number = client.number
    gc_share = context.gc_shares.get(number)
    if gc_share is None and client.evidence is not None:
        gc_share = client.evidence.gc_share
    measured = {name: getattr(client, name) for name in CLIENT_FIELDS if hasattr(client, name)}
    return ClientFacts(
        **measured,
        machine=context.machines.get(number, ""),
        cpu_percent=context.cpu_percent.get(number),
        cores=context.cores.get(number),
        gc_share=gc_share,
        clock_offset_s=context.clock_offsets_s.get(number),
    )


def _read_task(workload: Mapping[str, str] | None, phase: Phase | None) -> dict[str, Any]:
    """The run's task by the workload's properties."""
    if not workload:
        return {}
    task: dict[str, Any] = {
        "properties": workload,
        "recordcount": int(workload["recordcount"]),
        "record_bytes": float(dataset(workload).record_bytes),
    }
    if phase != "load":
        task["proportions"] = proportions(workload)
    return task


def _merged_operation(operation: MergedOperation, expected_us: float | None) -> OperationFacts:
    estimate = None
    if expected_us is not None and operation.kind == "service" and not operation.is_composite:
        estimate = corrected(operation.histogram, expected_us).percentile(99.0)
    return OperationFacts(
        **{name: getattr(operation, name) for name in _COMMON_FIELDS},
        percentiles_us=operation.percentiles_us,
        upper_bounds_us=operation.upper_bounds_us,
        response_estimated_us=estimate,
    )


def _expected_interval_us(merged: MergedRun, threads: int | None, target_ops_s: float | None) -> float | None:
    """How often a thread was to send an operation, where nothing was measured from that moment on."""
    if not threads or not target_ops_s or any(operation.kind == "response" for operation in merged.operations):
        return None
    return threads / target_ops_s * 1e6


def _summarised_operation(operation: SummarisedOperation, *, whole: bool) -> OperationFacts:
    # The lower bounds of percentiles ascend as the percentiles themselves do.
    lower_bounds_us = {float(name): bounds.low_us for name, bounds in operation.percentiles_us.items()}
    averaged = operation.is_average
    for bounds in operation.percentiles_us.values():
        averaged = averaged or (whole and (_is_fraction(bounds.low_us) or _is_fraction(bounds.high_us)))
    return OperationFacts(
        **{name: getattr(operation, name) for name in _COMMON_FIELDS},
        percentiles_us=lower_bounds_us,
        resolution_us=operation.resolution_us,
        contradiction=operation.contradiction,
        averaged=averaged,
    )


def _is_fraction(value: float | None) -> bool:
    return value is not None and not value.is_integer()

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
    known: Surroundings | None = None,
) -> RunFacts:
    """The facts of a merged run; `workload` is checked.

    `series` (of the whole run) and `rate_ops_s` are used of clients with histograms: summaries bring their own. `phase`
    is said where summaries do not show it.
    """
    known = known or Surroundings()
    phase = merged.phase or phase
    if isinstance(merged, SummarisedRun):
        own = _of_summaries(merged)
    else:
        expected_us = _expected_interval_us(merged, threads, target_ops_s)
        own = {
            "window_s": merged.window.length_s,
            "operations": tuple(_merged_operation(operation, expected_us) for operation in merged.operations),
            "longest_us": merged.longest_us,
            "arrivals": merged.arrivals,
            "measured_by_client": {client.number: client.run_operations for client in merged.clients},
            "rate_ops_s": rate_ops_s,
            "over_time": over_time(series, merged.window, merged.warmup_s),
            "hosts": tuple(host.within(merged.window.from_s, merged.window.to_s) for host in known.hosts),
        }

    return RunFacts(
        phase=phase,
        threads=threads,
        target_ops_s=target_ops_s,
        clients_expected=merged.clients_expected,
        clients=tuple(_client(client, known) for client in merged.clients),
        missing=tuple(f"client {entry.number}: {entry.reason}" for entry in merged.missing),
        window_asked_s=measure_s,
        total_operations=merged.total_operations,
        ok_operations=merged.ok_operations,
        failed_operations=merged.failed_operations,
        throughput_ops_s=merged.throughput_ops_s,
        overlap=merged.overlap,
        returns=added(entry.returns for entry in merged.operations if not entry.is_composite) or None,
        rows_loaded=rows_loaded,
        **own,
        **_stated(workload, phase),
        **{entry.name: getattr(known, entry.name) for entry in fields(RunContext)},
    )


CLIENT_FIELDS: Final = tuple(field.name for field in fields(ClientFacts))
# What both kinds of merged operations have by these names.
_SAME: Final = ("operation", "kind", "is_composite", "ok", "failed", "mean_us", "min_us", "max_us")
# Formats whose percentiles are whole microseconds: a fraction there is an average of several.
_WHOLE_MICROSECONDS: Final = frozenset({"ycsb-text", "ycsb-json", "thumbtack"})


def _of_summaries(merged: SummarisedRun) -> dict[str, Any]:
    """The window is the common one, else the shortest client's run time; seconds are those of status lines."""
    lasted = [client.runtime_ms / 1000 for client in merged.clients if client.runtime_ms and client.runtime_ms > 0]
    seconds = None
    if merged.window is not None:
        # How far apart status lines are at most; unknown where a client has none.
        apart = [client.status_interval_s for client in merged.clients]
        resolution_s = None
        if None not in apart:
            resolution_s = max((interval_s for interval_s in apart if interval_s is not None), default=None)
        seconds = over_time(merged.series, merged.window, 0.0, resolution_s=resolution_s)

    whole = {client.format for client in merged.clients} <= _WHOLE_MICROSECONDS
    rate_ops_s = None
    if seconds:
        rate_ops_s = seconds.rate_ops_s

    return {
        "window_s": merged.window.length_s if merged.window is not None else min(lasted, default=None),
        "operations": tuple(_summarised_operation(operation, whole=whole) for operation in merged.operations),
        "rate_ops_s": rate_ops_s,
        "over_time": seconds,
        "whole_runs": True,
    }


def _client(client: MergedClient | SummarisedClient, known: Surroundings) -> ClientFacts:
    number, evidence = client.number, client.evidence
    own = {name: getattr(client, name) for name in CLIENT_FIELDS if hasattr(client, name)}
    return ClientFacts(
        **own,
        machine=known.machines.get(number, ""),
        cpu_percent=known.cpu_percent.get(number),
        cores=known.cores.get(number),
        gc_share=known.gc_shares.get(number, evidence.gc_share if evidence is not None else None),
        clock_offset_s=known.clock_offsets_s.get(number),
    )


def _stated(workload: Mapping[str, str] | None, phase: Phase | None) -> dict[str, Any]:
    """The run's task by the workload's properties."""
    if not workload:
        return {}
    return {
        "properties": workload,
        "proportions": proportions(workload) if phase != "load" else None,
        "recordcount": int(workload["recordcount"]),
        "record_bytes": float(dataset(workload).record_bytes),
    }


def _merged_operation(operation: MergedOperation, expected_us: float | None) -> OperationFacts:
    estimate = None
    if expected_us is not None and operation.kind == "service" and not operation.is_composite:
        estimate = corrected(operation.histogram, expected_us).percentile(99.0)
    return OperationFacts(
        **{name: getattr(operation, name) for name in _SAME},
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
    lowest = {float(name): bounds.low_us for name, bounds in operation.percentiles_us.items()}
    ends: list[float | None] = []
    for bounds in operation.percentiles_us.values():
        ends += (bounds.low_us, bounds.high_us)
    return OperationFacts(
        **{name: getattr(operation, name) for name in _SAME},
        percentiles_us=lowest,
        resolution_us=operation.resolution_us,
        contradiction=operation.contradiction,
        averaged=operation.is_average or (whole and any(end is not None and not end.is_integer() for end in ends)),
    )

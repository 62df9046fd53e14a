"""A merged run as `read_output --merge` shows it: the shape of a single run, and what only a merge has."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchsite.core.formatting import percent
from runs.ycsb.clients import merge_run
from runs.ycsb.errors import MergeError
from runs.ycsb.file_grouping import RunFiles
from runs.ycsb.histogram import Histogram
from runs.ycsb.merged import MergedRun
from runs.ycsb.messages import CLIENTS_APART, NOTHING_TO_MERGE
from runs.ycsb.operation import printed_name
from runs.ycsb.summary_run import SummarisedRun

PERCENTILES: Final = ("50", "90", "95", "99", "99.9", "99.99")
EXACT: Final = "exact, histograms added"
STATED: Final = "as the client states them"
BOUNDS: Final = "bounds, histograms missing"
LITTLE_OVERLAP: Final = 0.9  # of the time from the first start to the last end


def as_json(run: RunFiles) -> dict[str, Any]:
    """One run of several clients, merged over the whole of it; `error` says why it could not be."""
    try:
        return describe(run, merge_run(run))
    except MergeError as error:
        return {
            "phase": run.phase,
            "clients": [list(client.names) for client in run.clients],
            "clients_merged": 0,
            "error": str(error),
            "warnings": [],
        }


def describe(run: RunFiles, merged: MergedRun | SummarisedRun) -> dict[str, Any]:
    """One run and what it was merged to."""
    notes: Sequence[object] = run.notes
    if isinstance(merged, MergedRun):
        percentiles, operations = EXACT, _describe_histograms(merged)
    else:
        percentiles, operations, notes = STATED, _describe_summaries(merged), merged.notes
        if len(merged.clients) > 1:
            percentiles = BOUNDS
    missing = [f"client {client.number}: {client.reason}" for client in merged.missing]
    error = None
    if not merged.clients:
        error = NOTHING_TO_MERGE.format(problems="; ".join(missing))

    return {
        "phase": run.phase,
        "clients": [list(client.names) for client in run.clients],
        "clients_merged": merged.clients_merged,
        "clients_expected": merged.clients_expected,
        "merged": f"{merged.clients_merged} of {merged.clients_expected} clients merged",
        "error": error,
        "warnings": [*notes, *missing, *_find_little_overlap(merged)],
        "percentiles": percentiles,
        "runtime_ms": max((client.runtime_ms for client in merged.clients if client.runtime_ms), default=None),
        "throughput_ops_s": merged.throughput_ops_s,
        "throughput_sum_ops_s": merged.throughput_sum_ops_s,
        "throughput_wall_ops_s": merged.throughput_wall_ops_s,
        "overlap": merged.overlap,
        "total_operations": merged.total_operations,
        "failed_operations": merged.failed_operations,
        "operations": operations,
    }


def _find_little_overlap(merged: MergedRun | SummarisedRun) -> list[str]:
    """A sum of throughputs is none where the clients did not work at the same time."""
    if merged.overlap is None or merged.overlap >= LITTLE_OVERLAP or len(merged.clients) < 2:
        return []
    return [CLIENTS_APART.format(share=percent(merged.overlap))]


def _describe_histograms(merged: MergedRun) -> dict[str, Any]:
    operations: dict[str, Any] = {}
    for operation in merged.operations:
        name = printed_name(operation.operation, operation.kind)
        operations[name] = _describe_histogram(operation.histogram, operation.returns)
        if operation.failed:
            failed = _describe_histogram(operation.failed_histogram, operation.failures)
            operations[f"{name}-FAILED"] = failed
    return operations


def _describe_histogram(histogram: Histogram, returns: Mapping[str, int]) -> dict[str, Any]:
    percentiles_us = {}
    if histogram.count:
        values = histogram.percentiles([float(name) for name in PERCENTILES])
        percentiles_us = dict(zip(PERCENTILES, values, strict=True))
    return {
        "count": histogram.count,
        "mean_us": histogram.mean,
        "min_us": histogram.min,
        "max_us": histogram.max,
        "percentiles_us": percentiles_us,
        "returns": dict(returns),
    }


def _describe_summaries(merged: SummarisedRun) -> dict[str, Any]:
    operations: dict[str, Any] = {}
    for operation in merged.operations:
        name = printed_name(operation.operation, operation.kind)
        # A percentile stands under `percentiles_us` only where its bounds meet.
        bounds = operation.percentiles_us
        operations[name] = {
            "count": operation.ok,
            "mean_us": operation.mean_us,
            "min_us": operation.min_us,
            "max_us": operation.max_us,
            "percentiles_us": {rank: bound.low_us for rank, bound in bounds.items() if bound.is_exact},
            "percentiles_bounds_us": {rank: [bound.low_us, bound.high_us] for rank, bound in bounds.items()},
            "returns": dict(operation.returns),
        }
        if operation.failed:
            operations[f"{name}-FAILED"] = {
                "count": operation.failed,
                "mean_us": operation.failed_mean_us,
                "returns": dict(operation.failures),
            }

    return operations

"""One measurement set as rows, whether its clients left histograms or only summaries.

The callers hold the transaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from benchsite.accounts.models import User
from runs.checks import CheckResult
from runs.models import ClientRun, Finding, Measurement, MeasurementSet, Run, Series
from runs.results.recording.server_samples import compute_server_use
from runs.ycsb.bounds import Bounds
from runs.ycsb.merged import MergedClient, MergedOperation, MergedRun
from runs.ycsb.series import Series as UnpackedSeries, pack
from runs.ycsb.summary_run import SummarisedClient, SummarisedOperation, SummarisedRun

# The percentiles that have columns of their own.
COLUMNS: Final[Mapping[str, float]] = {
    "p50_us": 50.0, "p90_us": 90.0, "p95_us": 95.0, "p99_us": 99.0, "p999_us": 99.9, "p9999_us": 99.99,
}  # fmt: skip
# What a measurement set has of its merged run, and a measurement of its operation.
RUN_FIELDS: Final = (
    "clients_merged", "clients_expected", "throughput_ops_s", "basis", "throughput_sum_ops_s", "throughput_wall_ops_s",
    "overlap",
)  # fmt: skip
OPERATION_FIELDS: Final = ("operation", "count", "ok", "failed", "mean_us", "min_us", "max_us")
# What a finding has of its CheckResult, beside the id of the check.
FINDING_FIELDS: Final = ("severity", "title", "measured", "threshold", "message", "remedy")
# One client's share of the set, and what it printed about its whole run: cutting again asks for that.
CLIENT_FIELDS: Final = (
    "number", "throughput_ops_s", "operations", "failed", "started_s", "ended_s", "runtime_ms", "threads",
    "printed_throughput_ops_s", "printed_counts", "cleanup_s", "verified",
    "truncated",
)  # fmt: skip


def write_set(
    run: Run,
    number: int,
    merged: MergedRun | SummarisedRun,
    findings: Iterable[CheckResult],
    *,
    created_by: User | None = None,
    note: str = "",
    groups: Sequence[Mapping[str, Any]] = (),
) -> MeasurementSet:
    """Store one measurement set with its operations and findings; as the current one, in the place of another. `groups`
    are `runs.results.recording.groups.GroupResult`.

    Raises OSError where the samples of the run's servers cannot be read.
    """
    run.measurement_sets.filter(is_current=True).update(is_current=False)
    measurement_set = set_row(run, number, merged, created_by=created_by, note=note)
    measurement_set.groups = list(groups)
    if merged.window is not None:
        measurement_set.server_use = compute_server_use(run, merged.window.from_s, merged.window.to_s)
    measurement_set.save(force_insert=True)
    Measurement.objects.bulk_create(measurement_rows(measurement_set, merged))
    Finding.objects.bulk_create(finding_rows(measurement_set, findings))
    return measurement_set


def set_row(
    run: Run, number: int, merged: MergedRun | SummarisedRun, *, created_by: User | None = None, note: str = ""
) -> MeasurementSet:
    """The row of a measurement set, not yet stored."""
    return MeasurementSet(
        run=run,
        number=number,
        is_current=True,
        created_by=created_by,
        note=note or " ".join(merged.notes),
        **set_fields(merged),
        reader_version=merged.reader_version,
        algorithm_version=merged.algorithm_version,
    )


def set_fields(merged: MergedRun | SummarisedRun) -> dict[str, Any]:
    """The numbers of a whole run, by their columns in MeasurementSet."""
    arrivals = {}
    if isinstance(merged, MergedRun) and merged.arrivals:
        arrivals = merged.arrivals.as_dict()
    return {
        **_describe_window(merged),
        **copy_fields(merged, RUN_FIELDS),
        "operations": merged.total_operations,
        "arrivals": arrivals,
        "failed": merged.failed_operations,
        "clients": [_describe_client(client) for client in merged.clients],
    }


def measurement_rows(measurement_set: MeasurementSet, merged: MergedRun | SummarisedRun) -> list[Measurement]:
    """The rows of a set's operations, not yet stored."""
    rows = []
    for operation in merged.operations:
        percentiles = _exact(operation) if isinstance(operation, MergedOperation) else _bounded(operation)
        row = Measurement(
            measurement_set_id=measurement_set.pk,
            latency_kind=operation.kind,
            **copy_fields(operation, OPERATION_FIELDS),
            returns=dict(operation.returns),
            **percentiles,
        )
        rows.append(row)
    return rows


def finding_rows(measurement_set: MeasurementSet, findings: Iterable[CheckResult]) -> list[Finding]:
    """The rows of what the checks say, not yet stored."""
    return [
        Finding(
            measurement_set_id=measurement_set.pk,
            algorithm_version=measurement_set.algorithm_version,
            check_id=result.check_id,
            **copy_fields(result, FINDING_FIELDS),
        )
        for result in findings
    ]


def copy_fields(values: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(values, name) for name in names}


def client_row(run: Run, number: int, order: Mapping[str, Any], **fields: Any) -> ClientRun:
    """A client that somebody else ran, not yet stored. What its `order` leaves out is not known."""
    unknown = {
        "binding": "", "digest": "", "java_class": "", "threads": 0, "target_ops_s": None, "duration_s": None,
        "deadline_s": 0, "properties": {},
    }  # fmt: skip
    return ClientRun(
        run=run, number=number, process_number=number, state=ClientRun.State.FINISHED,
        order={**unknown, "phase": run.phase, **order}, **fields,
    )  # fmt: skip


def write_series(run: Run, series: Iterable[UnpackedSeries], reader_version: int) -> None:
    """Replace the run's series."""
    run.series.all().delete()
    Series.objects.bulk_create(series_rows(run, series, reader_version))


def series_rows(run: Run, series: Iterable[UnpackedSeries], reader_version: int) -> list[Series]:
    """The rows of a run's series, not yet stored."""
    return [
        Series(
            run_id=run.pk,
            operation=part.operation,
            latency_kind=part.kind,
            interval_s=part.interval_s,
            points=int(np.size(part.points)),
            data=pack(part),
            reader_version=reader_version,
        )
        for part in series
    ]


def _describe_window(merged: MergedRun | SummarisedRun) -> dict[str, Any]:
    window = merged.window
    if window is None:
        return {}
    return {
        "warmup_s": merged.warmup_s,
        "tail_s": merged.tail_s,
        "window_from": datetime.fromtimestamp(window.from_s, UTC),
        "window_to": datetime.fromtimestamp(window.to_s, UTC),
        "window_s": window.length_s,
    }


def _describe_client(client: MergedClient | SummarisedClient) -> dict[str, Any]:
    fields = copy_fields(client, [name for name in CLIENT_FIELDS if name in client.__slots__])
    for name, value in fields.items():
        if isinstance(value, Mapping):
            fields[name] = dict(value)
    if client.evidence is not None:
        fields["evidence"] = asdict(client.evidence)
    if isinstance(client, MergedClient) and client.clock_steps:
        fields["clock_steps"] = client.clock_steps
    return fields


def _exact(operation: MergedOperation) -> dict[str, Any]:
    """The percentiles of its histogram, with the upper bounds of what they may be in the long run."""
    columns = {column: operation.percentiles_us[percentile] for column, percentile in COLUMNS.items()}
    upper_bounds_us = operation.upper_bounds_us.items()
    upper_bounds = {f"p{percentile:g}": value for percentile, value in upper_bounds_us if value is not None}
    return {**columns, "upper_bounds": upper_bounds}


def _bounded(operation: SummarisedOperation) -> dict[str, Any]:
    """The percentiles that are known exactly, and the bounds of the others."""
    percentiles = {float(name): bounds for name, bounds in operation.percentiles_us.items()}
    exact = {column: percentiles[percentile] for column, percentile in COLUMNS.items() if percentile in percentiles}
    return {
        **{column: bounds.low_us for column, bounds in exact.items() if bounds.is_exact},
        "bounds": _bounds(percentiles, operation),
        "resolution_us": operation.resolution_us,
    }


def _bounds(percentiles: Mapping[float, Bounds], operation: SummarisedOperation) -> dict[str, list[float | None]]:
    """Bounds of percentiles without a column or without an exact value."""
    bounds_by_name = {
        f"p{percentile:g}": bounds
        for percentile, bounds in sorted(percentiles.items())
        if not bounds.is_exact or percentile not in COLUMNS.values()
    }
    if operation.mean_us is None and operation.mean_bounds_us is not None:
        bounds_by_name["mean"] = operation.mean_bounds_us
    return {name: [bounds.low_us, bounds.high_us] for name, bounds in bounds_by_name.items()}

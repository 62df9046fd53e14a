"""What two computations of the same run say differently: stored rows against rows that were just made."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from benchsite.core.formatting import exact, is_number
from runs.models import Artifact, Finding, Measurement, MeasurementSet, Series as StoredSeries
from runs.results.recording.intervals import FreshIntervals, read_artifact, read_fresh
from runs.results.recording.rows import FINDING_FIELDS, copy_fields
from runs.ycsb.errors import YcsbError
from runs.ycsb.series import Series, unpack

# Sums of floats in another order differ in their last digits, which is no difference.
TOLERANCE: Final = 1e-9
SET_FIELDS: Final = (
    "warmup_s", "tail_s", "window_from", "window_to", "window_s", "clients_merged", "clients_expected", "operations",
    "failed", "throughput_ops_s", "basis", "throughput_sum_ops_s", "throughput_wall_ops_s", "overlap",
)  # fmt: skip
MEASUREMENT_FIELDS: Final = (
    "count", "ok", "failed", "mean_us", "min_us", "max_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us",
    "p9999_us", "bounds", "upper_bounds", "resolution_us", "returns",
)  # fmt: skip


Rows = Mapping[str, Mapping[str, Any]]


def list_rows(
    measurement_set: MeasurementSet,
    measurements: Iterable[Measurement],
    findings: Iterable[Finding],
    groups: Iterable[Mapping[str, Any]],
) -> Rows:
    """The numbers and texts of one computation of a run, by label and name: {"READ service": {"p99_us": 18799}}."""
    rows = {"run": copy_fields(measurement_set, SET_FIELDS)}
    for client in measurement_set.clients:
        rows[f"client {client['number']}"] = client
    for row in measurements:
        rows[f"{row.operation} {row.latency_kind}"] = copy_fields(row, MEASUREMENT_FIELDS)
    for finding in findings:
        rows[finding.check_id] = copy_fields(finding, FINDING_FIELDS)
    for group in groups:
        # Its curve is no number.
        rows[f"group {group['name']}"] = {name: value for name, value in group.items() if name != "curve"}
    return rows


def compare_rows(old: Rows, new: Rows) -> Iterator[str]:
    """Row by row; only what the old one has is looked at."""
    for label in dict.fromkeys([*old, *new]):
        if label not in old or label not in new:
            yield _describe_missing(label, old, new)
            continue
        for name, before in old[label].items():
            after = new[label].get(name)
            if not same(before, after):
                yield describe(f"{label} {name}", before, after)


def compare_series(old: Iterable[StoredSeries], new: Iterable[Series]) -> Iterator[str]:
    """By operation, kind and interval, how many points differ."""
    stored = {_label_series(row.operation, row.latency_kind, row.interval_s): row for row in old}
    fresh = {_label_series(series.operation, series.kind, series.interval_s): series for series in new}
    for label in sorted(stored.keys() | fresh.keys()):
        if label not in stored or label not in fresh:
            yield _describe_missing(label, stored, fresh)
            continue
        try:
            old_series = unpack(bytes(stored[label].data))
        except YcsbError as error:
            yield describe(label, error, f"{fresh[label].points.size} points")
            continue
        differing = _count_differing_points(old_series, fresh[label])
        if differing:
            yield describe(label, f"{old_series.points.size} points", f"{differing} of them differ")


def _label_series(operation: str, kind: str, interval_s: int) -> str:
    return f"series {operation} {kind} every {interval_s} s"


def compare_intervals(old: Mapping[str, Artifact], new: FreshIntervals) -> Iterator[str]:
    """By measurement name, whether the stored histograms are the same."""
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            yield _describe_missing(name, old, new)
            continue
        new_intervals = read_fresh(new[name])
        count = f"{len(new_intervals.kept)} intervals"
        try:
            old_intervals = read_artifact(old[name])
            differs = not new_intervals.equals(old_intervals)
        except (OSError, YcsbError) as error:
            yield describe(name, error, count)
            continue
        if differs:
            yield describe(name, f"{len(old_intervals.kept)} intervals", f"{count}, others")


def same(old: object, new: object) -> bool:
    """Whether two values are the same but for the last digits of a float, however deep they lie."""
    if isinstance(old, float | int) and isinstance(new, float | int) and not isinstance(old, bool):
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(same(old[key], new[key]) for key in old)
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(same(a, b) for a, b in zip(old, new, strict=True))
    return old == new


def describe(label: str, old: object, new: object) -> str:
    """ "READ service p99_us: 18,899 → 18,799"; None is what is not there."""
    return f"{label}: {_format_value(old)} → {_format_value(new)}"


def _describe_missing(label: str, old: Container[str], new: Container[str]) -> str:
    return describe(label, "stored" if label in old else None, "stored" if label in new else None)


def _count_differing_points(old: Series, new: Series) -> int:
    if (old.base_s, old.points.shape) != (new.base_s, new.points.shape):
        return max(int(old.points.size), int(new.points.size))
    differs = np.zeros(old.points.size, dtype=np.bool_)
    for name in old.points.dtype.names or ():
        differs |= ~np.isclose(old.points[name], new.points[name], rtol=1e-6, atol=0.0, equal_nan=True)
    return int(differs.sum())


def _format_value(value: object) -> str:
    if value is None or value == "":
        return "nothing"
    if is_number(value):
        return exact(value)
    return str(value)

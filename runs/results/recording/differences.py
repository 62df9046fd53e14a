"""What two computations of the same run say differently: stored rows against rows that were just made."""

import math
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from django.db.models import Model

from benchsite.core.formatting import exact, is_number
from runs.models import Artifact, Finding, Measurement, MeasurementSet, Series as StoredSeries
from runs.results.recording.intervals import FreshIntervals, read_artifact, read_fresh
from runs.results.recording.rows import FINDING_FIELDS
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


@dataclass(frozen=True, slots=True)
class Difference:
    """One number or text as it is stored, and as it is today; None is what is not there."""

    label: str  # "READ service p99_us"
    old: object
    new: object

    def __str__(self) -> str:
        return f"{self.label}: {_format_value(self.old)} → {_format_value(self.new)}"


def of_sets(old: MeasurementSet, new: MeasurementSet) -> Iterator[Difference]:
    """The numbers of the whole run and of each client; only what the old set has of a client is looked at."""
    yield from _fields("run", old, new, SET_FIELDS)
    clients = {client["number"]: client for client in new.clients}
    for client in old.clients:
        other = clients.get(client["number"], {})
        for name, value in client.items():
            if not same(value, other.get(name)):
                yield Difference(f"client {client['number']} {name}", value, other.get(name))


def of_measurements(old: Iterable[Measurement], new: Iterable[Measurement]) -> Iterator[Difference]:
    yield from _rows(old, new, lambda row: f"{row.operation} {row.latency_kind}", MEASUREMENT_FIELDS)


def of_findings(old: Iterable[Finding], new: Iterable[Finding]) -> Iterator[Difference]:
    yield from _rows(old, new, lambda row: row.check_id, FINDING_FIELDS)


def of_groups(old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]) -> Iterator[Difference]:
    """Part by part of each client group; its curve is no number."""
    stored = {group["name"]: group for group in old}
    for group in new:
        before = stored.get(group["name"], {})
        for name, value in group.items():
            if name != "curve" and not same(before.get(name), value):
                yield Difference(f"group {group['name']} {name}", before.get(name), value)


def of_series(old: Iterable[StoredSeries], new: Iterable[Series]) -> Iterator[Difference]:
    """By operation, kind and interval, how many points differ."""
    stored = {_series_label(row.operation, row.latency_kind, row.interval_s): row for row in old}
    fresh = {_series_label(series.operation, series.kind, series.interval_s): series for series in new}
    for label in sorted(stored.keys() | fresh.keys()):
        if label not in fresh:
            yield Difference(label, f"{stored[label].points} points", None)
            continue
        new_series = fresh[label]
        if label not in stored:
            yield Difference(label, None, f"{new_series.points.size} points")
            continue
        try:
            old_series = unpack(bytes(stored[label].data))
        except YcsbError as error:
            yield Difference(label, str(error), f"{new_series.points.size} points")
            continue
        differing = _count_differing_points(old_series, new_series)
        if differing:
            yield Difference(label, f"{old_series.points.size} points", f"{differing} of them differ")


def _series_label(operation: str, kind: str, interval_s: int) -> str:
    return f"series {operation} {kind} every {interval_s} s"


def of_intervals(old: Mapping[str, Artifact], new: FreshIntervals) -> Iterator[Difference]:
    """By measurement name, whether the stored histograms are the same."""
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            yield _missing(name, old, new, "stored")
            continue
        new_intervals = read_fresh(new[name])
        count = f"{len(new_intervals.kept)} intervals"
        try:
            old_intervals = read_artifact(old[name])
            differs = not new_intervals.equals(old_intervals)
        except (OSError, YcsbError) as error:
            yield Difference(name, str(error), count)
            continue
        if differs:
            yield Difference(name, f"{len(old_intervals.kept)} intervals", f"{count}, others")


def same(old: object, new: object) -> bool:
    """Whether two values are the same but for the last digits of a float, however deep they lie."""
    if isinstance(old, float | int) and isinstance(new, float | int) and not isinstance(old, bool):
        return math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(same(old[key], new[key]) for key in old)
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(same(a, b) for a, b in zip(old, new, strict=True))
    return old == new


def _rows(old: Iterable[Any], new: Iterable[Any], key: Any, names: Sequence[str]) -> Iterator[Difference]:
    before: dict[Hashable, Model] = {key(row): row for row in old}
    after: dict[Hashable, Model] = {key(row): row for row in new}
    for name in sorted({*before, *after}, key=str):
        if name not in before or name not in after:
            yield _missing(name, before, after, "there")
        else:
            yield from _fields(str(name), before[name], after[name], names)


def _missing(name: Hashable, old: Container[Hashable], new: Container[Hashable], word: str) -> Difference:
    return Difference(str(name), word if name in old else None, word if name in new else None)


def _fields(label: str, old: Model, new: Model, names: Sequence[str]) -> Iterator[Difference]:
    for name in names:
        before, after = getattr(old, name), getattr(new, name)
        if not same(before, after):
            yield Difference(f"{label} {name}", before, after)


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

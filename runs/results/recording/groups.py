"""The client groups beside the ladder of a run: each merged over its own window, and judged by itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypedDict

import numpy as np

from runs.checks import CheckResult, compute_verdict
from runs.models import ClientRun, MeasurementSet
from runs.queue.spec import GroupSpec, RunSpec
from runs.results.recording.rows import COLUMNS, FINDING_FIELDS, OPERATION_FIELDS, measurement_rows, set_fields
from runs.ycsb.merged import MergedRun
from runs.ycsb.operation import COMPOSITE
from runs.ycsb.series import Series

# The curve of a group is of the finest level with at most so many points.
MAX_CURVE_POINTS: Final = 1_000
NUMBERS: Final = (
    "window_s",
    "throughput_ops_s",
    "operations",
    "failed",
    "clients_merged",
    "clients_expected",
    "arrivals",
)


@dataclass(frozen=True, slots=True)
class CollectedGroup:
    """The output of a group, merged; `merged` is None where nothing could be, and `problem` says why."""

    group: GroupSpec
    spec: RunSpec  # as if it were the only clients of the run
    clients: tuple[ClientRun, ...]
    merged: MergedRun | None = None
    series: tuple[Series, ...] = ()
    problem: str = ""


class Curve(TypedDict):
    """Successful operations per second, at seconds since the clients of the ladder began."""

    interval_s: int
    second: list[int]
    rate_ops_s: list[float]


class GroupResult(TypedDict):
    """One item of `MeasurementSet.groups`."""

    name: str
    measured: bool
    workload: str
    threads: int
    target_ops_s: int | None
    problem: str  # why there are no numbers
    from_s: float | None  # since the epoch
    to_s: float | None
    planned_s: float
    numbers: dict[str, Any]  # by NUMBERS
    measurements: list[dict[str, Any]]  # as the columns of Measurement
    curve: Curve | None
    verdict: str
    findings: list[dict[str, Any]]


def build_group_result(collected: CollectedGroup, findings: Sequence[CheckResult]) -> GroupResult:
    """The stored result of a group."""
    group, merged = collected.group, collected.merged
    stored_findings = []
    for finding in findings:
        fields = {name: getattr(finding, name) for name in FINDING_FIELDS}
        stored_findings.append({"check_id": finding.check_id, **fields})
    result: GroupResult = {
        "name": group["name"],
        "measured": group["measured"],
        "workload": group["workload"]["name"],
        "threads": group["load"]["threads"],
        "target_ops_s": group["load"]["target_ops_s"],
        "problem": collected.problem,
        "from_s": None,
        "to_s": None,
        "planned_s": float(collected.spec["window"]["min_measure_s"] or 0),
        "numbers": {},
        "measurements": [],
        "curve": _build_curve(collected.series),
        "verdict": compute_verdict(finding.severity for finding in findings)["verdict"],
        "findings": stored_findings,
    }
    if merged is None:
        return result

    numbers = set_fields(merged)
    result["numbers"] = {name: numbers[name] for name in NUMBERS}
    result["from_s"], result["to_s"] = merged.window.from_s, merged.window.to_s
    columns = (*OPERATION_FIELDS, "latency_kind", *COLUMNS)
    for row in measurement_rows(MeasurementSet(), merged):
        result["measurements"].append({name: getattr(row, name) for name in columns})

    return result


def _build_curve(series: Sequence[Series]) -> Curve | None:
    service = [part for part in series if part.kind == "service" and part.operation != COMPOSITE and part.points.size]
    if not service:
        return None
    fitting = [part.interval_s for part in service if part.points.size <= MAX_CURVE_POINTS]
    coarsest = max(part.interval_s for part in service)
    interval_s = min(fitting, default=coarsest)
    parts = [part for part in service if part.interval_s == interval_s]
    seconds = np.unique(np.concatenate([part.points["second"] for part in parts]))
    rate = np.zeros(seconds.size)
    for part in parts:
        rate[np.searchsorted(seconds, part.points["second"])] += np.nan_to_num(part.points["rate_ops_s"])
    return {"interval_s": interval_s, "second": seconds.tolist(), "rate_ops_s": rate.round(3).tolist()}

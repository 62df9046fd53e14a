"""The faults of a run as they were applied, each with what it did to the throughput."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from runs.models import MeasurementSet, Run, Series
from runs.plans.faults import KINDS, fault_sentence
from runs.plans.profiles import find_overload
from runs.results.measures.recovery import Floats, Recovery, find_return_s, recoveries
from runs.results.recording.arrivals import read_client_arrivals
from runs.ycsb.arrivals import Count, sum_by_second
from runs.ycsb.operation import COMPOSITE
from runs.ycsb.series import Series as UnpackedSeries, unpack

AppliedFault = dict[str, Any]  # as `_describe_fault` makes it


def applied_faults(run: Run) -> list[AppliedFault]:
    """Empty, without a query, for a run without faults; else two queries."""
    return applied_faults_by_run([run])[run]


def applied_faults_by_run(runs: Sequence[Run]) -> dict[Run, list[AppliedFault]]:
    """Two queries, none where no run has faults."""
    affected = [run for run in runs if run.evidence.get("faults")]
    cuts: dict[UUID, Mapping[str, Any]] = {}
    series: dict[UUID, list[UnpackedSeries]] = defaultdict(list)
    if affected:
        sets = MeasurementSet.objects.filter(run__in=affected, is_current=True)
        cuts = {cut["run_id"]: cut for cut in sets.values("run_id", "window_from", "window_s", "warmup_s")}
        for run_id, data in Series.objects.filter(run__in=affected, interval_s=1).values_list("run_id", "data"):
            series[run_id].append(unpack(bytes(data)))
    return {run: _applied_faults(run, cuts.get(run.pk), series[run.pk]) for run in runs}


def _applied_faults(run: Run, cut: Mapping[str, Any] | None, series: Sequence[UnpackedSeries]) -> list[AppliedFault]:
    records = run.evidence.get("faults") or ()
    window_begin_at = None
    recovery_by_begin: dict[float, Recovery] = {}
    if cut and cut["window_from"]:
        window_begin_at = cut["window_from"].timestamp()
        applied = [record for record in records if record["began_at"] is not None]
        recovery_by_begin = _measure_recoveries(run, cut, series, applied)
    return [
        _describe_fault(number, record, window_begin_at, recovery_by_begin.get(record["began_at"]))
        for number, record in enumerate(records, 1)
    ]


def _describe_fault(
    number: int, record: Mapping[str, Any], window_begin_at: float | None, recovery: Recovery | None
) -> AppliedFault:
    """One planned fault with how it was applied: `began_at` and `ended_at` are seconds since 1970, `began_s` counts
    from the begin of the window; None: the run ended before.

    `recovery` is None where no second of the run is stored, or none before the first fault.
    """
    fault, began_at, ended_at = record["fault"], record["began_at"], record["ended_at"]
    began_s = lasted_s = None
    if began_at is not None and window_begin_at is not None:
        began_s = began_at - window_begin_at
    if began_at is not None and ended_at is not None:
        lasted_s = ended_at - began_at
    return {
        **record,
        "number": number,
        "name": KINDS[fault["kind"]].name,
        "sentence": fault_sentence(fault),
        "note": KINDS[fault["kind"]].note,
        "began_s": began_s,
        "lasted_s": lasted_s,
        "recovery": recovery,
    }


def _measure_recoveries(
    run: Run, cut: Mapping[str, Any], series: Sequence[UnpackedSeries], applied: Sequence[Mapping[str, Any]]
) -> dict[float, Recovery]:
    """By the begin of each fault that was applied; empty where no seconds tell."""
    if not series:
        return {}

    base_s = min(stored.base_s for stored in series)
    begin_s = cut["window_from"].timestamp() - base_s
    seconds, rate, failed = _sum_operations(series, base_s)
    # The clients begin their seconds when they have started, a little after the instant that they agreed on.
    late_s = begin_s - cut["warmup_s"]
    if 0 < late_s < 1:
        seconds += late_s
    faults_s = []
    for record in applied:
        ended_s = None if record["ended_at"] is None else record["ended_at"] - base_s
        faults_s.append((record["began_at"] - base_s, ended_s))
    measures = recoveries(
        seconds,
        rate,
        failed,
        faults_s,
        begin_s=begin_s,
        end_s=begin_s + cut["window_s"],
        target_ops_s=run.target_ops_s,
    )
    if measures is None:
        return {}
    return {record["began_at"]: measure for record, measure in zip(applied, measures, strict=True)}


def get_overload(run: Run, cut: MeasurementSet) -> dict[str, float | None] | None:
    """The part of a profile that asks for more than the rung, in seconds from the begin of the window.

    `return_s` is from its end until it was served as before; None: it was not, NaN: nobody knows. Three queries.
    """
    profile = run.spec["load"].get("open", {}).get("profile", ())
    overload = find_overload(profile)
    if overload is None or cut.window_from is None:
        return None

    series = [unpack(bytes(data)) for data in run.series.filter(interval_s=1).values_list("data", flat=True)]
    counts = sum_by_second(read_client_arrivals(run.client_runs.filter(group="").prefetch_related("artifacts")))
    if not series or not counts:
        return None

    base_s = min(stored.base_s for stored in series)
    seconds, goodput_ops_s, _ = _sum_operations(series, base_s)
    offered_ops_s = np.array([counts.get(round(base_s + second), Count()).offered for second in seconds], dtype=float)
    began_s, ended_s = overload
    window_s = cut.window_from.timestamp() - base_s
    return_s = find_return_s(
        seconds,
        goodput_ops_s,
        offered_ops_s,
        _find_worst_p99(series, seconds, base_s),
        began_s=window_s + began_s,
        ended_s=window_s + ended_s,
    )
    return {"began_s": began_s, "ended_s": ended_s, "return_s": return_s}


def _find_worst_p99(series: Sequence[UnpackedSeries], seconds: Floats, base_s: float) -> Floats:
    """The highest p99 (µs) of the response times of each second's operations; NaN without any."""
    worst = np.full(seconds.size, np.nan)
    for stored in series:
        if stored.kind == "response" and stored.points.size:
            rows = np.searchsorted(seconds, stored.points["second"] + round(stored.base_s - base_s))
            worst[rows] = np.fmax(worst[rows], stored.points["p99_us"])
    return worst


def _sum_operations(series: Sequence[UnpackedSeries], base_s: float) -> tuple[Floats, Floats, Floats]:
    """Seconds since `base_s`, and of each the successful operations per second and the failed ones, of all operations.

    Service and response times are of the same operations, so one kind counts. A read-modify-write counts once.
    """
    kind = "response"
    if any(stored.kind == "service" for stored in series):
        kind = "service"
    parts = [stored for stored in series if stored.kind == kind and stored.points.size]
    begins = [stored.points["second"] + round(stored.base_s - base_s) for stored in parts]
    seconds = np.unique(np.concatenate(begins)) if begins else np.array([], dtype=np.int64)
    rate, failed = np.zeros(seconds.size), np.zeros(seconds.size)
    for stored, begin in zip(parts, begins, strict=True):
        rows = np.searchsorted(seconds, begin)
        rates = np.nan_to_num(stored.points["rate_ops_s"])
        if stored.operation == COMPOSITE:
            # The read and the update in it are counted by their own names.
            rate[rows] -= rates
        else:
            rate[rows] += rates
            failed[rows] += stored.points["failed"]

    return seconds.astype(float), rate, failed

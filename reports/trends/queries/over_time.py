"""Stored series as what the figures of time draw."""

import datetime as dt
from collections.abc import Iterable

import numpy as np

from reports.compare.figures.run_series import Arrays, Event, FaultBand, GroupCurve, OverTime
from runs.models import MeasurementSet, Run
from runs.plans.faults import KINDS
from runs.results.recording.arrivals import read_client_arrivals
from runs.ycsb.arrivals import sum_by_second
from runs.ycsb.series import Series as UnpackedSeries

MAX_EVENTS = 40


def over_time(series: Iterable[UnpackedSeries], base_s: float) -> list[OverTime]:
    """The stored series with their seconds on the common base."""
    return [
        OverTime(
            operation=stored.operation,
            kind=stored.kind,
            seconds=stored.points["second"].astype(float) + round(stored.base_s - base_s),
            rate_ops_s=stored.points["rate_ops_s"].astype(float),
            failed=stored.points["failed"].astype(float),
            mean_us=stored.points["mean_us"].astype(float),
            p99_us=stored.points["p99_us"].astype(float),
            interval_s=stored.interval_s,
        )
        for stored in series
    ]


def get_events(run: Run, base_s: float, last_s: float) -> list[Event]:
    """The events of a run while its clients ran, from second 0 to the last one; one query.

    Its stages and the transitions of its status are the timeline's: the clients know nothing of them.
    """
    begins = dt.datetime.fromtimestamp(base_s, tz=dt.UTC)
    ends = begins + dt.timedelta(seconds=last_s)
    rows = run.events.exclude(kind__in=["status", "stage"]).filter(at__range=(begins, ends)).order_by("at")
    return [
        Event(at.timestamp() - base_s, text or f"{kind} {new}".strip())
        for at, kind, new, text in rows.values_list("at", "kind", "new", "text")[:MAX_EVENTS]
    ]


def get_offered(run: Run, base_s: float, interval_s: int) -> Arrays | None:
    """The offered and dropped operations of an open load in each interval, by when they were due.

    None of other loads. Reads its clients' counts.
    """
    if "open" not in run.spec["load"]:
        return None
    seconds = sum_by_second(read_client_arrivals(run.client_runs.filter(group="").prefetch_related("artifacts")))
    if not seconds:
        return None
    due = np.array(list(seconds), dtype=np.float64) - round(base_s)
    begins, interval_of_second = np.unique(due // interval_s * interval_s, return_inverse=True)
    offered = np.bincount(interval_of_second, [count.offered for count in seconds.values()]) / interval_s
    dropped = np.bincount(interval_of_second, [count.dropped for count in seconds.values()]) / interval_s
    middles = begins + (interval_s - 1) / 2
    return middles, offered, dropped


def get_group_curves(run: Run, base_s: float, begin_s: float, end_s: float) -> list[GroupCurve]:
    """The client groups beside the ladder, between two seconds of the axis; one query."""
    measured = MeasurementSet.objects.filter(run=run, is_current=True).first()
    if measured is None or run.starts_at is None:
        return []

    shift = round(run.starts_at.timestamp() - base_s)
    curves = []
    for group in measured.groups:
        if group["curve"] is None:
            continue
        seconds = np.array(group["curve"]["second"], dtype=np.float64) + shift
        inside = (seconds >= begin_s) & (seconds < end_s)
        rate = np.array(group["curve"]["rate_ops_s"])[inside]
        curves.append((group["name"], seconds[inside], rate))

    return curves


def fault_bands(run: Run, base_s: float) -> list[FaultBand]:
    """The planned faults that were applied; `base_s` is the second 0 of the axis, since the epoch. No query."""
    return [
        (number, record["began_at"] - base_s, record["ended_at"] - base_s, KINDS[record["fault"]["kind"]].name)
        for number, record in enumerate(run.evidence.get("faults") or (), 1)
        if record["began_at"] is not None and record["ended_at"] is not None
    ]

"""Stored series and interval histograms as what the figures of time draw."""

import datetime as dt
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from reports.analysis.heat import Gathering, Heat
from reports.curves import Curve, Point
from reports.figures.points import rung_label
from reports.figures.run_series import Event, FaultBand, OverTime, total_rate
from reports.figures.stability import Ridge
from runs.models import Artifact, MeasurementSet, Run, Series
from runs.planning.faults import KINDS
from runs.recording.intervals import INTERVALS, read_artifact
from runs.ycsb.encoded import Counts
from runs.ycsb.errors import PackedDataError
from runs.ycsb.series import Series as UnpackedSeries
from runs.ycsb.series import unpack
from runs.ycsb.stored import StoredIntervals

# Rows of all series together that are unpacked for one picture: an hour of forty sweeps, second by second.
MAX_ROWS = 400_000
MAX_RIDGES = 24
MAX_EVENTS = 40
# A stored segment's sum will do where the segment is this much shorter than a column.
SEGMENT_SHARE = 0.5


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


def events_of(run: Run, base_s: float, last_s: float) -> list[Event]:
    """What was noted of a run while its clients ran, from second 0 to the last one; one query.

    Its stages and the transitions of its status are the timeline's: the clients know nothing of them.
    """
    begins = dt.datetime.fromtimestamp(base_s, tz=dt.UTC)
    rows = run.events.exclude(kind__in=["status", "stage"]).filter(
        at__range=(begins, begins + dt.timedelta(seconds=last_s))
    )
    return [
        Event((at.timestamp() - base_s), text or f"{kind} {new}".strip())
        for at, kind, new, text in rows.order_by("at").values_list("at", "kind", "new", "text")[:MAX_EVENTS]
    ]


def fault_bands(run: Run, base_s: float) -> list[FaultBand]:
    """The planned faults that were applied; `base_s` is the second 0 of the axis, since the epoch. No query."""
    return [
        FaultBand(number, record["began_at"] - base_s, record["ended_at"] - base_s, KINDS[record["fault"]["kind"]].name)
        for number, record in enumerate(run.evidence.get("faults") or (), 1)
        if record["began_at"] is not None and record["ended_at"] is not None
    ]


def ridges(curves: Sequence[Curve]) -> list[Ridge]:
    """The measured window of one run of each curve's ceiling, all at one interval. Three queries."""
    wanted = [(curve, point, point.nearest_runs) for curve in curves if (point := curve.ceiling_rung)]
    windows = {
        run_id: (begins.timestamp() if begins else 0.0, length_s)
        for run_id, begins, length_s in MeasurementSet.objects.filter(
            run__in=[run_id for _, _, run_ids in wanted for run_id in run_ids],
            is_current=True,
            window_from__isnull=False,
        ).values_list("run_id", "window_from", "window_s")
    }
    rows = Series.objects.filter(run__in=windows)
    sizes: dict[uuid.UUID, list[tuple[int, int]]] = defaultdict(list)
    for run_id, interval_s, points in rows.values_list("run_id", "interval_s", "points"):
        sizes[run_id].append((interval_s, points))
    chosen = {
        stored[0]: (curve, point)
        for curve, point, run_ids in wanted
        if (stored := [run_id for run_id in run_ids if run_id in sizes])
    }
    chosen = dict(list(chosen.items())[:MAX_RIDGES])
    level = _level(size for run_id in chosen for size in sizes[run_id])
    series: dict[uuid.UUID, list[UnpackedSeries]] = defaultdict(list)
    for run_id, data in rows.filter(run__in=chosen, interval_s=level).values_list("run_id", "data"):
        series[run_id].append(unpack(bytes(data)))
    return [
        _ridge(curve, point, series[run_id], *windows[run_id], level)
        for run_id, (curve, point) in chosen.items()
        if series.get(run_id)
    ]


def _level(rows: Iterable[tuple[int, int]]) -> int:
    """The finest interval of which all series together have no more rows than can be unpacked quickly."""
    sums: dict[int, int] = defaultdict(int)
    for interval_s, points in rows:
        sums[interval_s] += points
    return next((level for level in sorted(sums) if sums[level] <= MAX_ROWS), max(sums, default=1))


def _ridge(
    curve: Curve, point: Point, series: Sequence[UnpackedSeries], begin_s: float, length_s: float, level: int
) -> Ridge:
    seconds, rate = total_rate(over_time(series, begin_s))
    # A second that reaches far beyond the window was not measured whole: it would look slow.
    inside = (seconds >= 0) & (seconds + level <= length_s + 0.5)
    load = rung_label(point) if point.target_ops_s else f"{point.threads} threads"
    return Ridge(curve, load, seconds[inside], rate[inside], level)


def heats(run: Run, base_s: float, kind: str = "service") -> list[Heat]:
    """The latencies of every operation of a run over time; empty where its interval histograms are not there any more.

    `base_s` is the second 0 of the axis, since the epoch. One query; an artifact is read at a time.
    """
    maps = []
    for artifact in run.artifacts.filter(kind=INTERVALS).order_by("name"):
        if heat := _heat(artifact, base_s, kind):
            maps.append(heat)
    return maps


def _heat(artifact: Artifact, base_s: float, kind: str) -> Heat | None:
    try:
        stored = read_artifact(artifact)
    except (OSError, PackedDataError):
        return None
    parsed, timeline = stored.timeline.parsed, stored.timeline
    if not parsed.is_operation or parsed.status or parsed.kind != kind or not len(timeline):
        return None
    gathering = Gathering(float(timeline.end_s.max()) - base_s)
    _gather(stored, gathering, base_s)
    return gathering.heat(parsed.operation, parsed.kind)


def _gather(stored: StoredIntervals, gathering: Gathering, base_s: float) -> None:
    """Segment by segment, so that a run of twelve hours needs no more memory than one of a minute."""
    seconds = stored.kept.midpoint_s - base_s
    at = 0
    for segment in stored.segments:
        mine = seconds[at : at + segment.first.size]
        at += segment.first.size
        if float(np.ptp(mine)) <= SEGMENT_SHARE * gathering.width_s:
            whole = Counts(np.array([segment.index.size]), segment.index.astype(np.int32), segment.total)
            gathering.add(np.array([float(np.median(mine))]), whole)
        else:
            gathering.add(mine, segment.counts())

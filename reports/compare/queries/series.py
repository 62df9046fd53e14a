"""The stored series of one run, at the level that fits a figure, and the samples of its machines and servers."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from reports.compare.curves import Curve
from reports.compare.figures.run_series import OverTime, Window
from reports.compare.figures.server_metrics import Line, ServerMetricsFigure, counter_lines, machine_lines
from reports.trends.queries.over_time import over_time
from runs.models import MeasurementSet, Run, Series
from runs.results.measures.exporters import pick_preset, search_series
from runs.results.recording.server_samples import (
    get_sample_artifacts,
    read_counters,
    read_exporters,
    read_host_samples,
)
from runs.ycsb.series import Series as UnpackedSeries, unpack

# A figure has no more pixels: of a longer run, or a longer part of it, a coarser level is shown.
MAX_ROWS = 2_000
MAX_LINES = 24  # of exporters, in one figure
Part = tuple[float, float]  # seconds on the figure's axis


@dataclass(frozen=True, slots=True)
class StoredSeries:
    """The series of one run, all at one level; their time axis begins at `base_s`, seconds since the epoch."""

    series: tuple[UnpackedSeries, ...]
    finest: tuple[UnpackedSeries, ...]  # second by second, where `series` is coarser
    interval_s: int
    base_s: float
    window: Window


def stored_series(run: Run, *, part: Part | None = None, most_rows: int | None = MAX_ROWS) -> StoredSeries:
    """The series of a run, or of a part of it, with the window of its current measurement set; three queries.

    Without `most_rows` it is the finest level.
    """
    cut = MeasurementSet.objects.filter(run=run, is_current=True).values("window_from", "window_s").first()
    rows = Series.objects.filter(run=run)
    levels = dict(rows.order_by("points").values_list("interval_s", "points"))
    interval_s = _level(levels, part, most_rows)
    finest_s = min(levels, default=1)
    chosen = rows.filter(interval_s__in={interval_s, finest_s}).values_list("data", flat=True)
    unpacked = sorted((unpack(bytes(data)) for data in chosen), key=lambda stored: (stored.operation, stored.kind))
    base_s = min((stored.base_s for stored in unpacked), default=0.0)
    unpacked = list(_parts(unpacked, part, base_s))
    window = Window(target_ops_s=run.target_ops_s)
    if cut and cut["window_from"]:
        begin_s = cut["window_from"].timestamp() - base_s
        window = Window(begin_s, begin_s + cut["window_s"], run.target_ops_s)

    return StoredSeries(
        series=tuple(stored for stored in unpacked if stored.interval_s == interval_s),
        finest=tuple(stored for stored in unpacked if stored.interval_s == finest_s < interval_s),
        interval_s=interval_s,
        base_s=base_s,
        window=window,
    )


def series_at_ceilings(curves: Iterable[Curve], operation: str, kind: str) -> dict[UUID, OverTime]:
    """By sweep, the operation in the run at its ceiling, from the begin of its window on; two queries."""
    rungs = ((curve.sweep_id, curve.ceiling_rung) for curve in curves)
    sweeps = {rung.nearest_runs[0]: sweep_id for sweep_id, rung in rungs if rung}
    levels: dict[UUID, dict[int, int]] = defaultdict(dict)
    packed = {}
    rows = Series.objects.filter(run__in=sweeps, operation=operation, latency_kind=kind)
    for run_id, interval_s, points, data in rows.values_list("run_id", "interval_s", "points", "data"):
        levels[run_id][interval_s] = points
        packed[run_id, interval_s] = data

    cuts = MeasurementSet.objects.filter(run__in=levels, is_current=True, window_from__isnull=False)
    series = {}
    for run_id, begin, length_s in cuts.values_list("run_id", "window_from", "window_s"):
        assert begin is not None
        begin_s = begin.timestamp()
        stored = unpack(bytes(packed[run_id, _level(levels[run_id], None, MAX_ROWS)]))
        at_s = stored.points["second"] + stored.base_s - begin_s
        inside = (at_s > -stored.interval_s / 2) & (at_s < length_s)
        (series[sweeps[run_id]],) = over_time([replace(stored, points=stored.points[inside])], begin_s)

    return series


def _level(levels: dict[int, int], part: Part | None, most_rows: int | None) -> int:
    """The finest level with no more rows than wanted; the coarsest where all have more."""
    length_s = float("inf") if part is None else part[1] - part[0]
    for interval_s, rows in sorted(levels.items()):
        if most_rows is None or min(rows, length_s / interval_s) <= most_rows:
            return interval_s
    return max(levels, default=1)


def _parts(series: Iterable[UnpackedSeries], part: Part | None, base_s: float) -> Iterable[UnpackedSeries]:
    for stored in series:
        if part is None:
            yield stored
            continue
        begins = stored.points["second"] + round(stored.base_s - base_s)
        inside = (begins + stored.interval_s > part[0]) & (begins <= part[1])
        yield replace(stored, points=stored.points[inside])


NO_SAMPLES = "The servers' machines were not sampled while this run was measured."
NO_EXPORTER_SERIES = "No series of the exporters matches, or it stood still. Search for another word, such as memory."
NO_COUNTERS = "The counters of the servers were not read while this run was measured."


def exporter_metrics(run: Run, stored: StoredSeries, *, search: str) -> ServerMetricsFigure:
    """The series of a run's exporters: the preset, or the series in whose text all words of `search` occur.

    They have the time axis and the window of its `stored` series.
    """
    try:
        series = read_exporters(run)
    except OSError:
        series = []

    picked = search_series(series, search) if search.strip() else pick_preset(series)
    lines = [Line(line.name, line.at_s - stored.base_s, line.values, line.title) for line in picked[:MAX_LINES]]
    subject = "What the exporters stated"
    if len(picked) > MAX_LINES:
        subject = f"The first {MAX_LINES} of {len(picked):,} series of the exporters"
    return ServerMetricsFigure(f"exporters-{run.pk}", lines, stored.window, subject=subject, lacking=NO_EXPORTER_SERIES)


def server_metrics(run: Run, stored: StoredSeries, *, counters: bool) -> ServerMetricsFigure:
    """The machines of a run, or the counters of its servers, with the time axis and the window of its `stored` series.

    One query; samples that cannot be read any more are left out.
    """
    name, subject, lacking = "servers", "The machines of the servers", NO_SAMPLES
    if counters:
        name, subject, lacking = "counters", "What the servers counted", NO_COUNTERS

    files = list(get_sample_artifacts(run))
    try:
        if counters:
            lines = counter_lines(read_counters(files), stored.base_s)
        else:
            lines = machine_lines(read_host_samples(run, files), stored.base_s)
    except OSError:
        lines = []

    return ServerMetricsFigure(f"{name}-{run.pk}", lines, stored.window, subject=subject, lacking=lacking)

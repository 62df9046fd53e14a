"""The stored series of one run, at the level that fits a figure."""

from collections.abc import Iterable
from dataclasses import dataclass

from runs.models import MeasurementSet, Run, Series
from runs.ycsb.series import Series as UnpackedSeries
from runs.ycsb.series import unpack

# More rows than a figure has pixels are asked of a coarser level.
MOST_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class StoredSeries:
    """The series of one run, all at one level; their time axis begins at `base_s`, seconds since the epoch."""

    series: tuple[UnpackedSeries, ...]
    interval_s: int
    base_s: float
    window_from_s: float | None  # seconds since the epoch; None while nothing is judged
    window_s: float


def stored_series(run: Run, *, most_rows: int = MOST_ROWS) -> StoredSeries:
    """The series of a run with the window of its current measurement set; three queries."""
    cut = MeasurementSet.objects.filter(run=run, is_current=True).values("window_from", "window_s").first()
    rows = Series.objects.filter(run=run)
    interval_s = _level(rows.values_list("interval_s", "points"), most_rows)
    chosen = rows.filter(interval_s=interval_s).values_list("data", flat=True)
    unpacked = [unpack(bytes(data)) for data in chosen]
    return StoredSeries(
        series=tuple(sorted(unpacked, key=lambda one: (one.operation, one.kind))),
        interval_s=interval_s,
        base_s=min((one.base_s for one in unpacked), default=0.0),
        window_from_s=cut["window_from"].timestamp() if cut and cut["window_from"] else None,
        window_s=cut["window_s"] if cut else 0.0,
    )


def _level(rows: Iterable[tuple[int, int]], most_rows: int) -> int:
    """The finest level at which no operation has more rows than wanted; the coarsest where all have."""
    most: dict[int, int] = {}
    for interval_s, points in rows:
        most[interval_s] = max(most.get(interval_s, 0), points)
    fitting = [interval_s for interval_s, points in most.items() if points <= most_rows]
    return min(fitting, default=max(most, default=1))

"""The stored per-second series of one run."""

from dataclasses import dataclass

from runs.models import MeasurementSet, Run, Series
from runs.ycsb.series import Series as UnpackedSeries
from runs.ycsb.series import unpack


@dataclass(frozen=True, slots=True)
class StoredSeries:
    """The per-second series of one run; their time axis begins at `base_s`, seconds since the epoch."""

    series: tuple[UnpackedSeries, ...]
    base_s: float
    window_from_s: float | None  # seconds since the epoch; None while nothing is judged
    window_s: float


def stored_series(run: Run) -> StoredSeries:
    """The series of a run with the window of its current measurement set; two queries."""
    cut = MeasurementSet.objects.filter(run=run, is_current=True).values("window_from", "window_s").first()
    unpacked = [unpack(bytes(data)) for data in Series.objects.filter(run=run).values_list("data", flat=True)]
    return StoredSeries(
        series=tuple(sorted(unpacked, key=lambda one: (one.operation, one.kind))),
        base_s=min((one.base_s for one in unpacked), default=0.0),
        window_from_s=cut["window_from"].timestamp() if cut and cut["window_from"] else None,
        window_s=cut["window_s"] if cut else 0.0,
    )

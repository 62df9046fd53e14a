"""One measured point out of the repeats of a rung."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of repeats with the band they cover. The unit is that of the values."""

    median: float
    low: float
    high: float
    n: int
    values: tuple[float, ...] = ()  # of the repeats, in their order: what an interval is made of


def spread(values: Sequence[float]) -> Spread | None:
    """Median, least and most of the finite values; None where there is none.

    The unit of replication is a run (design: a point is the median of its non-excluded repeats). Histograms of repeats
    are never pooled: a percentile of a point is the median of the repeats' percentiles.
    """
    kept = np.asarray([value for value in values if np.isfinite(value)], dtype=float)
    if kept.size == 0:
        return None
    return Spread(float(np.median(kept)), float(kept.min()), float(kept.max()), int(kept.size), tuple(kept.tolist()))

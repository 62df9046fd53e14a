"""Where a run's warm-up ends (MSER-5), and whether it drifts afterwards. Suggestions: nothing is cut by them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BATCH = 5  # seconds
DRIFT = 0.05  # of the mean


@dataclass(frozen=True, slots=True)
class SteadyState:
    """`truncate_s` seconds of warm-up by MSER-5; at its limit there is no steady state and the run is too short."""

    truncate_s: int
    at_limit: bool
    statistics: tuple[float, ...]  # for every number of batches that might be cut, from 0
    mean_kept: float
    drift: float  # over the whole kept part, as a share of its mean, by least squares
    halves: float  # mean of the second half / mean of the first half - 1

    @property
    def is_trending(self) -> bool:
        return abs(self.drift) > DRIFT or abs(self.halves) > DRIFT


def mser5(series: Sequence[float]) -> SteadyState | None:
    """The cut that minimises the squared standard error of the mean of what is kept; None below four batches.

    At most half of the batches may be cut. MSER is blind to a late slow drift, so the drift is measured beside it.
    """
    values = np.asarray(series, dtype=np.float64)
    batches = values.size // BATCH
    if batches < 4:
        return None
    means = values[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    limit = batches // 2
    statistics = tuple(
        float(((kept := means[cut:]) - kept.mean()) @ (kept - kept.mean())) / kept.size**2 for cut in range(limit + 1)
    )
    cut = int(np.argmin(statistics))
    kept = values[cut * BATCH :]
    mean = float(kept.mean())
    slope = float(np.polyfit(np.arange(kept.size, dtype=np.float64), kept, 1)[0])
    half = kept.size // 2
    first, second = float(kept[:half].mean()), float(kept[half:].mean())
    return SteadyState(
        truncate_s=cut * BATCH,
        at_limit=cut == limit,
        statistics=statistics,
        mean_kept=mean,
        drift=slope * kept.size / mean if mean else 0.0,
        halves=second / first - 1 if first else 0.0,
    )

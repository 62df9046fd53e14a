"""Where a run's warm-up ends (MSER-5), and whether it drifts afterwards. Suggestions: nothing is cut by them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

BATCH = 5  # seconds
DRIFT = 0.05  # of the mean
# A latency series with more empty intervals than this share of all says nothing about a steady state.
MAX_GAPS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Drift:
    """How a series changes from its beginning to its end, as shares of its mean, each with its standard error.

    The errors are those of means over 5 s: neighbouring seconds resemble each other, and by themselves they would make
    every drift look certain.
    """

    slope: float  # over the whole series, by least squares
    slope_error: float
    halves: float  # mean of the second half / mean of the first half - 1
    halves_error: float

    def exceeds(self, share: float, sigmas: float) -> bool:
        """Whether either is above `share`, and above what chance alone does (`sigmas` standard errors)."""
        slope_limit = max(share, sigmas * self.slope_error)
        halves_limit = max(share, sigmas * self.halves_error)
        return abs(self.slope) > slope_limit or abs(self.halves) > halves_limit


@dataclass(frozen=True, slots=True)
class SteadyState:
    """`truncate_s` seconds of warm-up by MSER-5; at its limit there is no steady state and the run is too short."""

    truncate_s: int
    at_limit: bool
    mean_kept: float


def mser5(series: Sequence[float] | npt.NDArray[np.float64]) -> SteadyState | None:
    """The cut that minimises the squared standard error of the mean of what is kept; None below four batches.

    At most half of the batches may be cut. MSER is blind to a late slow drift: `compute_drift` measures that.
    """
    values = np.asarray(series, dtype=np.float64)
    batches = values.size // BATCH
    if batches < 4:
        return None
    means = values[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    limit = batches // 2
    cut = int(np.argmin(mser_statistics(means, limit)))
    return SteadyState(cut * BATCH, at_limit=cut == limit, mean_kept=float(values[cut * BATCH :].mean()))


def mser_statistics(means: npt.NDArray[np.float64], limit: int) -> npt.NDArray[np.float64]:
    """For 0 to `limit` cut batches: the sum of squares around the mean of those that are kept / their number squared.

    All of them from sums counted backwards, so that half a day takes no longer than a minute. The values are centred
    first: the difference of two large sums would have no digits left.
    """
    centred = means - means.mean()
    remaining = np.arange(means.size, means.size - limit - 1, -1, dtype=np.float64)
    sums = np.cumsum(centred[::-1])[::-1][: limit + 1]
    squares = np.cumsum(centred[::-1] ** 2)[::-1][: limit + 1]
    return np.maximum(squares - sums**2 / remaining, 0.0) / remaining**2


def compute_drift(series: Sequence[float] | npt.NDArray[np.float64]) -> Drift:
    """The drift of a series, none where its first half is zeros.

    Below four batches of 5 s nobody knows what chance does: no end of it.
    """
    values = np.asarray(series, dtype=np.float64)
    batches = values.size // BATCH
    mean = float(values.mean())
    half = values.size // 2
    first, second = float(values[:half].mean()), float(values[half:].mean())
    if mean == 0 or first == 0:
        return Drift(slope=0.0, slope_error=0.0, halves=0.0, halves_error=0.0)

    slope_per_s, _ = np.polyfit(np.arange(values.size, dtype=np.float64), values, 1)
    slope = float(slope_per_s) * values.size / mean
    halves = second / first - 1
    if batches < 4:
        return Drift(slope=slope, slope_error=math.inf, halves=halves, halves_error=math.inf)

    means = values[: batches * BATCH].reshape(batches, BATCH).mean(axis=1)
    _, covariance = np.polyfit(np.arange(batches, dtype=np.float64), means, 1, cov=True)
    first_error = _compute_standard_error(means[: batches // 2])
    second_error = _compute_standard_error(means[batches // 2 :])

    return Drift(
        slope=slope,
        slope_error=math.sqrt(covariance[0, 0]) * batches / mean,
        halves=halves,
        halves_error=math.hypot(first_error, second_error) / first,
    )


def _compute_standard_error(means: npt.NDArray[np.float64]) -> float:
    """The standard error of the mean of these."""
    return float(means.std(ddof=1)) / math.sqrt(means.size)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Cut `cut_s` seconds by MSER-5, the later of throughput's and the latencies'; none at a limit."""

    cut_s: int
    by: str  # "throughput", or "p95 of READ": which of the series asked for the later cut
    at_limit: bool  # that series has no steady state within this run
    drift: float  # of the throughput over what the cut leaves, as a share of its mean

    @property
    def is_drifting(self) -> bool:
        """MSER does not see a slow trend, so a cut does not mean that the rest is steady."""
        return abs(self.drift) > DRIFT


def suggest(
    rate_ops_s: Sequence[float], p95_us: Mapping[str, Sequence[float]], *, interval_s: int = 1
) -> Suggestion | None:
    """From the clients' common time, one value for each interval; None where that is too short (20 intervals).

    Latencies are by operation; NaN where an interval has none.
    """
    rate = np.nan_to_num(np.asarray(rate_ops_s, dtype=np.float64))
    steady = mser5(rate)
    if steady is None:
        return None

    latest = "throughput"
    for operation, values in p95_us.items():
        filled = _fill_gaps(np.asarray(values, dtype=np.float64))
        by_latency = mser5(filled) if filled is not None else None
        if by_latency is None:
            continue
        if (by_latency.at_limit, by_latency.truncate_s) > (steady.at_limit, steady.truncate_s):
            latest, steady = f"p95 of {operation}", by_latency

    drift = compute_drift(rate[steady.truncate_s :])
    return Suggestion(
        cut_s=steady.truncate_s * interval_s,
        by=latest,
        at_limit=steady.at_limit,
        drift=max(drift.slope, drift.halves, key=abs),
    )


def extend_warmup(rate_ops_s: Sequence[float], p95_us: Sequence[float], *, warmup_s: int, settle_s: int) -> int:
    """The warm-up in seconds until throughput and p95 are steady (`suggest`), at least `warmup_s`, at most `settle_s`
    longer; the most where nothing is steady within the run. The series begin with the warm-up, one value a second.
    """
    suggestion = suggest(rate_ops_s, {"": p95_us})
    if suggestion is None:
        return warmup_s
    if suggestion.at_limit:
        return warmup_s + settle_s
    return min(max(warmup_s, suggestion.cut_s), warmup_s + settle_s)


def _fill_gaps(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Gaps bridged by straight lines; None where there are too many of them."""
    finite = np.isfinite(values)
    if not values.size or (~finite).mean() > MAX_GAPS:
        return None
    positions = np.arange(values.size, dtype=np.float64)
    return np.interp(positions, positions[finite], values[finite])

"""Upper bounds of percentiles within one run: "p99 9.6 ms, at most 10.1 ms (99 %)".

For independent values the k-th smallest of n is an upper bound of the percentile p with confidence P(B < k), where B is
binomial with n and p (distribution-free order-statistic bounds: David and Nagaraja, Order Statistics, 7.1).

Latencies in a row are alike, so n is replaced by the number of independent values that would say as much. The variance
of the share of values at or above the percentile is estimated from the batches of the window (batch means: Law,
Simulation Modeling and Analysis, 9.5.3) as a ratio, since batches count different numbers of values. A correlation
between neighbouring batches adds to it. Student's t takes the place of the normal quantile: there are few batches.

The bound says how well this run shows its own percentile. It says nothing about the next run.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Final

from runs.ycsb.batches import MIN_BATCHES, Batches
from runs.ycsb.histogram import Histogram, index_of

CONFIDENCE: Final = 0.99
_MAX_CORRELATION: Final = 0.9


def upper_bounds(histogram: Histogram, batches: Batches, percentiles: Sequence[float]) -> list[int | None]:
    """For each percentile the value (µs) that it exceeds with a probability of at most 1 %.

    None where the window has too few batches, or its values do not say enough about the percentile.
    """
    if len(batches) < MIN_BATCHES or not histogram.count:
        return [None] * len(percentiles)
    values = histogram.percentiles(percentiles)
    raised = [
        _raised(histogram.count, batches, percentile, value)
        for percentile, value in zip(percentiles, values, strict=True)
        if value is not None
    ]
    bounds = iter(histogram.percentiles([percentile for percentile in raised if percentile is not None]))
    return [None if percentile is None else next(bounds) for percentile in raised]


def min_values(percentile: float) -> int:
    """How many independent values it takes at least for an upper bound of the percentile."""
    return math.ceil(math.log(1 - CONFIDENCE) / math.log(percentile / 100))


def _raised(count: int, batches: Batches, percentile: float, value_us: int) -> float | None:
    """The percentile whose value is the upper bound of this one."""
    from scipy.special import bdtr, bdtrik

    share = percentile / 100
    number = int(count / variance_inflation(batches, index_of(value_us)))
    if number < min_values(percentile):
        return None
    # The smallest k with P(B <= k) >= CONFIDENCE; the inverse is off by less than 1.
    below = math.ceil(bdtrik(CONFIDENCE, number, share))
    rank = below if bdtr(below - 1, number, share) >= CONFIDENCE else below + 1
    return float(max(100 * rank / number, percentile))


def variance_inflation(batches: Batches, index: int) -> float:
    """By how many times the count of values exceeds that of independent values which say as much, at least 1.

    `index` is the histogram index from which values count as beyond.
    """
    totals, beyond = batches.totals().astype(float), batches.from_index(index).astype(float)
    size, share = len(batches), beyond.sum() / totals.sum()
    deviations = beyond - share * totals
    squares = float((deviations**2).sum())
    student = _student(size)
    if not squares:
        return student
    # Deviations around a mean are correlated by -1/size where the batches are independent.
    correlation = float((deviations[1:] * deviations[:-1]).sum()) / squares + 1 / size
    correlation = min(max(correlation, 0.0), _MAX_CORRELATION)
    ratio = squares * size / (size - 1) / (totals.sum() * share * (1 - share))
    return float(max(ratio * (1 + correlation) / (1 - correlation), 1.0)) * student


@cache
def _student(size: int) -> float:
    """The square of Student's quantile over the normal one, for this number of batches."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(size - 1, CONFIDENCE) / ndtri(CONFIDENCE)) ** 2

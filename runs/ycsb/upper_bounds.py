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
from statistics import NormalDist
from typing import Final

import numpy as np

from runs.ycsb.distributions import binomial_quantile, student_quantile
from runs.ycsb.histogram import Floats, Histogram, Ints, get_bucket_index
from runs.ycsb.intervals import MIN_BATCHES, Batches

CONFIDENCE: Final = 0.99
_MAX_CORRELATION: Final = 0.9


def upper_bounds(histogram: Histogram, batches: Batches, percentiles: Sequence[float]) -> list[int | None]:
    """For each percentile the value (µs) that it exceeds with a probability of at most 1 %.

    None where the window has too few batches, or its values do not say enough about the percentile.
    """
    values = [value for value in histogram.percentiles(percentiles) if value is not None]
    if len(batches) < MIN_BATCHES or not values:
        return [None] * len(percentiles)

    inflation = variance_inflation(batches, np.array([get_bucket_index(value) for value in values]))
    numbers = (histogram.count / inflation).astype(np.int64)
    raised: dict[int, float] = {}  # by position: the percentile whose value is the bound
    for position, (percentile, number) in enumerate(zip(percentiles, numbers.tolist(), strict=True)):
        if number >= min_values(percentile):
            rank = binomial_quantile(CONFIDENCE, number, percentile / 100) + 1
            raised[position] = max(100 * rank / number, percentile)

    bounds: list[int | None] = [None] * len(percentiles)
    for position, bound in zip(raised, histogram.percentiles(list(raised.values())), strict=True):
        bounds[position] = bound
    return bounds


def min_values(percentile: float) -> int:
    """How many independent values it takes at least for an upper bound of the percentile."""
    return math.ceil(math.log(1 - CONFIDENCE) / math.log(percentile / 100))


def variance_inflation(batches: Batches, indices: Ints) -> Floats:
    """By how many times the count of values exceeds that of independent values which say as much, at least 1.

    One factor for each of the `indices`, the histogram index from which values count as beyond.
    """
    counted = batches.from_indices(np.concatenate(([0], indices))).astype(float)
    totals, beyond = counted[0], counted[1:]
    size = len(batches)
    total = totals.sum()
    share = beyond.sum(axis=1) / total
    deviations = beyond - share[:, None] * totals
    squares = np.vecdot(deviations, deviations)
    varies = squares > 0
    squares = np.where(varies, squares, 1.0)
    # Deviations around a mean are correlated by -1/size where the batches are independent.
    correlation = np.vecdot(deviations[:, 1:], deviations[:, :-1]) / squares + 1 / size
    correlation = np.minimum(np.maximum(correlation, 0.0), _MAX_CORRELATION)
    independent = np.where(varies, total * share * (1 - share), 1.0)
    ratio = squares * size / (size - 1) / independent * (1 + correlation) / (1 - correlation)
    inflation: Floats = np.where(varies, np.maximum(ratio, 1.0), 1.0) * _student(size)
    return inflation


@cache
def _student(size: int) -> float:
    """The square of Student's quantile over the normal one, for this number of batches."""
    return float(student_quantile(size - 1, CONFIDENCE) / NormalDist().inv_cdf(CONFIDENCE)) ** 2

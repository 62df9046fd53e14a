"""How often the upper bounds of percentiles hold, and how wide they are: on made-up latencies.

Latencies are log-normal (sd of the logarithm 0.5); their logarithms are an AR(1) process whose neighbours have the
stated correlation. `manage.py bound_coverage` prints the table that docs/evidence/checks-simulated.md quotes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtri

from runs.ycsb.encoded import Counts
from runs.ycsb.histogram import Histogram, get_bucket_indices
from runs.ycsb.intervals import MAX_BATCHES, Batches
from runs.ycsb.upper_bounds import upper_bounds

PERCENTILES: Final = (95.0, 99.0, 99.9)
MEDIAN_US: Final = 20_000.0
SIGMA: Final = 0.5


@dataclass(frozen=True, slots=True)
class Case:
    values: int  # in one run
    correlation: float  # of neighbours

    def __str__(self) -> str:
        return f"{self.values} values, correlation {self.correlation}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """By percentile, over the runs of one case: shares, and the median of bound / percentile - 1."""

    stated: Mapping[float, float]
    exceeded: Mapping[float, float]  # runs whose stated bound is below the true percentile, of all runs
    width: Mapping[float, float]


CASES: Final = tuple(
    Case(values, correlation)
    for values in (1_000, 10_000, 100_000, 1_000_000)
    for correlation in (0.0, 0.9, 0.99, 0.999)
)


def coverage(case: Case, runs: int, seed: int) -> Coverage:
    """One seed, one answer."""
    random = np.random.default_rng([seed, case.values, int(case.correlation * 1000)])
    widths: dict[float, list[float]] = {percentile: [] for percentile in PERCENTILES}
    exceeded = dict.fromkeys(PERCENTILES, 0)
    for _ in range(runs):
        batches, histogram = _latencies(case, random)
        bounds = upper_bounds(histogram, batches, PERCENTILES)
        for percentile, bound, value in zip(PERCENTILES, bounds, histogram.percentiles(PERCENTILES), strict=True):
            if bound is not None and value:
                widths[percentile].append(bound / value - 1)
                exceeded[percentile] += bound < MEDIAN_US * np.exp(SIGMA * ndtri(percentile / 100))
    return Coverage(
        stated={percentile: len(width) / runs for percentile, width in widths.items()},
        exceeded={percentile: number / runs for percentile, number in exceeded.items()},
        width={percentile: float(np.median(width or [np.nan])) for percentile, width in widths.items()},
    )


def _latencies(case: Case, random: np.random.Generator) -> tuple[Batches, Histogram]:
    """One run, in the batches of its window."""
    noise = random.standard_normal(case.values) * np.sqrt(1 - case.correlation**2)
    before = [case.correlation * random.standard_normal()]
    logarithms = lfilter([1.0], [1.0, -case.correlation], noise, zi=before)[0]
    index = get_bucket_indices(MEDIAN_US * np.exp(SIGMA * logarithms))
    count = np.ones(index.size, dtype=np.int64)
    sizes = np.array([part.size for part in np.array_split(index, MAX_BATCHES)], dtype=np.int64)
    batches = Batches(MAX_BATCHES)
    batches.add(np.arange(MAX_BATCHES), Counts(sizes, index.astype(np.int32), count))
    return batches, Histogram.of_sparse(index, count)

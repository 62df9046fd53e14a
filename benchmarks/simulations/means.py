"""Intervals of plain means, by which benchmarks state how sure their own numbers are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from reports.compare.analysis.ratios import CONFIDENCE, IDENTICAL


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """In the unit of the values."""

    mean: float
    low: float
    high: float
    n: int


def half_width_in_cv(n: int, confidence: float = CONFIDENCE) -> float | None:
    """t / sqrt(n): how far the interval of a mean reaches, in coefficients of variation; None for fewer than two."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, (1 + confidence) / 2)) / math.sqrt(n) if n > 1 else None


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> MeanInterval | None:
    """mean ± t·s/sqrt(n) (analysis 5); None for fewer than two values, one that is not finite, or identical ones."""
    reach = half_width_in_cv(len(values), confidence)
    if reach is None or any(not math.isfinite(value) for value in values):
        return None
    mean, sd = fmean(values), stdev(values)
    if sd <= IDENTICAL * abs(mean):
        return None
    return MeanInterval(mean, mean - reach * sd, mean + reach * sd, len(values))

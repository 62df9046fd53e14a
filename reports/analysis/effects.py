"""How far two groups of repeats lie apart, without a unit: Hedges' g and Cliff's delta."""

import math
from collections.abc import Sequence
from statistics import fmean, variance
from typing import Final

import numpy as np

IDENTICAL: Final = 1e-9


def finite(*groups: Sequence[float]) -> bool:
    return all(math.isfinite(value) for group in groups for value in group)


def cohens_d(a: Sequence[float], b: Sequence[float]) -> float | None:
    """(mean a - mean b) / pooled standard deviation; None where a side has one value, or nothing varies."""
    if min(len(a), len(b)) < 2 or not finite(a, b):
        return None
    largest = max(abs(value) for side in (a, b) for value in side)
    if not largest:
        return None
    # It has no unit, so it may be made of shares of the largest, whose squares are numbers too.
    a, b = [value / largest for value in a], [value / largest for value in b]
    pooled = math.sqrt(((len(a) - 1) * variance(a) + (len(b) - 1) * variance(b)) / (len(a) + len(b) - 2))
    return (fmean(a) - fmean(b)) / pooled if pooled > IDENTICAL else None


def hedges_g(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Cohen's d without its bias in small groups: d · (1 - 3 / (4·df - 1)) (analysis 5)."""
    d = cohens_d(a, b)
    return None if d is None else d * (1 - 3 / (4 * (len(a) + len(b) - 2) - 1))


def cliffs_delta(a: Sequence[float], b: Sequence[float]) -> float | None:
    """P(a > b) - P(a < b) over all pairs, -1 to 1; None for an empty side (analysis 5)."""
    if not a or not b or not finite(a, b):
        return None
    signs = np.sign(np.subtract.outer(np.asarray(a, float), np.asarray(b, float)))
    return float(signs.mean())

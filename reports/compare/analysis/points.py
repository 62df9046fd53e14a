"""One measured point out of the repeats of a rung."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from runs.results.measures.repeatability import compute_geomean


@dataclass(frozen=True, slots=True)
class Spread:
    """The geometric mean of repeats with the band they cover. The unit is that of the values."""

    geomean: float
    low: float
    high: float
    n: int
    values: tuple[float, ...] = ()  # of the repeats, in their order: what an interval is made of


def spread(values: Sequence[float]) -> Spread | None:
    """Geometric mean, least and most of the finite values; None where there is none.

    The unit of replication is a run. A ratio of two points is that of their geometric means, so that is the value of a
    point too. Histograms of repeats are never pooled: a percentile of a point is the mean of the repeats' percentiles.
    """
    # Plain floats: a page has thousands of these, each of a few values, and an array costs more than the arithmetic.
    finite = tuple([float(value) for value in values if math.isfinite(value)])
    if not finite:
        return None
    return Spread(compute_geomean(finite), min(finite), max(finite), len(finite), finite)


def first_values(values: Spread, n: int) -> Spread:
    """The spread of the first `n` values; one without values stays as it is."""
    return spread(values.values[:n]) or values

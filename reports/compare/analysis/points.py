"""One measured point out of the repeats of a rung."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


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
    # Plain floats: a page has thousands of these, each of a few values, and an array costs more than the arithmetic.
    kept = tuple([float(value) for value in values if math.isfinite(value)])
    if not kept:
        return None
    ordered = sorted(kept)
    n = len(kept)
    middle = ordered[n // 2] if n % 2 else (ordered[n // 2 - 1] + ordered[n // 2]) / 2
    return Spread(middle, ordered[0], ordered[-1], n, kept)


def first_values(values: Spread, n: int) -> Spread:
    """The spread of the first `n` values; one without values stays as it is."""
    return spread(values.values[:n]) or values

"""How well repeats agree, and at which level of an experiment more of them help."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, stdev
from typing import Final

import numpy as np
from numpy.typing import NDArray

MOST: Final = 1000  # repeats of a level; more is nobody's answer


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of the repeats of one test; shares, not per cent."""

    n: int
    over_least: float  # (max - min) / min
    over_mean: float  # (max - min) / mean; which of the two the study of 2014 printed is not said (analysis 5)
    cv: float  # standard deviation (n - 1) / mean


@dataclass(frozen=True, slots=True)
class Level:
    """One level of an experiment, for example a run, a server's start, a load of the data."""

    name: str
    cost_s: float  # of one more repeat of this level alone
    variance: float  # T², unbiased, of what this level adds; may come out negative where it adds nothing


def agreement(values: Sequence[float]) -> Agreement | None:
    """None for fewer than two values, and where one is not positive or no finite number."""
    if len(values) < 2 or any(not (math.isfinite(value) and value > 0) for value in values):
        return None
    spread, mean = max(values) - min(values), fmean(values)
    return Agreement(len(values), spread / min(values), spread / mean, stdev(values) / mean)


def kalibera_jones(levels: Sequence[Level]) -> list[int | None]:
    """Repeats of each level but the highest, the lowest first: ceil(sqrt(c(i+1)/c(i) · T²(i)/T²(i+1))) (analysis 5).

    The highest level is repeated as often as time allows. None: the level above varies by nothing, so that repeats of
    this one are as good as repeats of that. Raises ValueError for a cost that is not positive.
    """
    if any(not (math.isfinite(level.cost_s) and level.cost_s > 0) for level in levels):
        raise ValueError("a level costs some seconds")
    found: list[int | None] = []
    for level, above in pairwise(levels):
        if above.variance <= 0:
            found.append(None)
            continue
        squared = above.cost_s / level.cost_s * max(level.variance, 0.0) / above.variance
        found.append(min(max(math.ceil(math.sqrt(squared) - 1e-9), 1), MOST))
    return found


def level_variances(values: Sequence[object]) -> list[float]:
    """T² of each level, the lowest first, of values nested by level, the highest outermost, as many in each.

    S²(i) is the mean variance of the means of level i within the level above; T²(1) = S²(1), and
    T²(i) = S²(i) - S²(i-1) / repeats of the level below (Kalibera and Jones 2013). ValueError for other shapes.
    """
    array: NDArray[np.float64] = np.asarray(values, float)
    if array.ndim < 1 or min(array.shape) < 2:
        raise ValueError("every level needs two repeats, and as many in each")
    found: list[float] = []
    below, repeats = 0.0, 1
    while array.ndim:
        biased = float(array.var(axis=-1, ddof=1).mean())
        found.append(biased - below / repeats)
        below, repeats = biased, array.shape[-1]
        array = array.mean(axis=-1)
    return found

"""Ratios as people quote them, and how sure they are: log-Welch intervals; effects without a unit:
Hedges' g and Cliff's delta.

The unit of replication is a run, never a second of one (analysis 5). scipy is imported where it is used, for a site
should start fast.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, variance
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reports.compare.messages import NO_NUMBER, NO_RUN_COUNTS, ZERO

CONFIDENCE: Final = 0.95
# Below this the spread of repeats is that of rounding: identical values, which tell nothing of their noise.
IDENTICAL: Final = 1e-9
MAX_LOG: Final = 700.0  # of a ratio that is still a number
TINY: Final = 1e-300  # in place of a zero that something is divided by

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """mean ln A - mean ln B with its uncertainty, as a ratio: how many times A is B."""

    ratio: float
    low: float
    high: float
    df: float
    p: float  # two-sided, of "the ratio is 1"


@dataclass(frozen=True, slots=True)
class Noise:
    """The variance of ln(value) of one repeat, with its degrees of freedom, where more is known than the values say."""

    variance: float
    df: float

    def at_least(self, own: "Noise") -> "Noise":
        """This noise, pooled over more values, where these values' `own` is no larger.

        What it is larger by is a part with its own degrees of freedom (Satterthwaite).
        """
        return summed(self, Noise(max(own.variance - self.variance, 0.0), own.df))


def summed(*parts: Noise) -> Noise:
    """The variance of independent parts, degrees of freedom after Satterthwaite."""
    total = math.fsum(part.variance for part in parts)
    return Noise(total, total**2 / max(math.fsum(part.variance**2 / part.df for part in parts), TINY))


def bartlett_p(variances: Sequence[float], dfs: Sequence[float]) -> float:
    """The p value of "all variances are equal" (Bartlett 1937): with degrees of freedom, none of them 0."""
    from scipy.special import chdtrc

    pairs = list(zip(dfs, variances, strict=True))
    df = sum(dfs)
    groups = len(dfs)
    pooled = sum(df * variance for df, variance in pairs) / df
    statistic = df * math.log(pooled) - sum(df * math.log(variance) for df, variance in pairs)
    correction = 1 + (sum(1 / df for df in dfs) - 1 / df) / (3 * (groups - 1))
    return float(chdtrc(groups - 1, statistic / correction))


def compute_ratio(above: float, below: float) -> float | None:
    """None where the denominator is not positive, or one of the two is no finite number."""
    if not (math.isfinite(above) and math.isfinite(below)) or below <= 0:
        return None
    quotient = above / below
    if not math.isfinite(quotient):
        return None
    return quotient


def bound_sign(numerator_is_bound: bool, denominator_is_bound: bool) -> str | None:
    """The sign before a quotient of two values that may be lower bounds; None: nothing is known of it."""
    if numerator_is_bound and denominator_is_bound:
        return None
    if numerator_is_bound:
        return "≥ "
    if denominator_is_bound:
        return "≤ "
    return ""


def unusable(values: Sequence[float]) -> str:
    """Why no ratio can be made of these values, as the rest of a sentence; empty where it can."""
    if not values:
        return NO_RUN_COUNTS
    if any(not math.isfinite(value) for value in values):
        return NO_NUMBER
    if any(value < 0 for value in values):
        return "has a negative value"
    if any(value == 0 for value in values):
        return ZERO
    return ""


def log_welch(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> RatioInterval | None:
    """exp(d ± t·SE), d = mean ln A - mean ln B, SE² = s²lnA/nA + s²lnB/nB, Welch's degrees of freedom (analysis 5).

    None with fewer than two values on a side, with a value that has no logarithm, and where neither side varies at all:
    two runs that agree to the last digit prove nothing about the third.
    """
    if min(len(a), len(b)) < 2 or unusable(a) or unusable(b):
        return None
    distance, error, df = (float(part) for part in welch(np.log(np.asarray(a, float)), np.log(np.asarray(b, float))))
    return compute_interval(distance, error, df, confidence)


def pooled_welch(
    a: Sequence[float],
    b: Sequence[float],
    noises: tuple[Noise, Noise],
    between: Callable[[Noise], Noise] | None,
    confidence: float,
) -> RatioInterval | None:
    """As `log_welch`, with the noise of each side as it is known; `between` adds that of their sessions.

    SE² = Va/nA + Vb/nB, degrees of freedom after Satterthwaite.
    """
    distance = fmean(map(math.log, a)) - fmean(map(math.log, b))
    total = summed(*(Noise(noise.variance / len(side), noise.df) for noise, side in zip(noises, (a, b), strict=True)))
    if between:
        total = between(total)
    return compute_interval(distance, math.sqrt(total.variance), total.df, confidence)


def compute_interval(distance: float, error: float, df: float, confidence: float = CONFIDENCE) -> RatioInterval | None:
    """exp(distance ± t·error) with Student's t; None where nothing varies, or the ratio is no number any more."""
    if error < IDENTICAL or abs(distance) > MAX_LOG or df <= 0:
        return None
    from scipy.special import stdtr, stdtrit

    reach = float(stdtrit(df, (1 + confidence) / 2)) * error
    p = float(2 * stdtr(df, -abs(distance) / error))
    return RatioInterval(math.exp(distance), bounded_exp(distance - reach), bounded_exp(distance + reach), df, p)


def welch(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """mean a - mean b, its standard error and the degrees of freedom, over the last axis of both.

    Welch's degrees of freedom; where the sides have different numbers of values `cautious` ones.
    """
    n_a, n_b = a.shape[-1], b.shape[-1]
    part_a, part_b = a.var(axis=-1, ddof=1) / n_a, b.var(axis=-1, ddof=1) / n_b
    both = np.maximum(part_a + part_b, TINY)  # Where neither varies there is no interval, whatever the rest is.
    df = 1 / np.maximum((part_a / both) ** 2 / (n_a - 1) + (part_b / both) ** 2 / (n_b - 1), TINY)
    return a.mean(axis=-1) - b.mean(axis=-1), np.sqrt(part_a + part_b), cautious(df, n_a, n_b)


def cautious(df: Floats, n_a: Floats | int, n_b: Floats | int) -> Floats:
    """Welch's degrees of freedom of unequal sides, less the error of their own estimate.

    The geometric mean with those of the smaller side. Welch's alone hold the ratio in 93.0 % if the smaller of 3 and 10
    repeats varies more. Of equal sides Welch's are cautious enough, and stay.
    """
    return np.where(n_a == n_b, df, np.sqrt(df * (np.minimum(n_a, n_b) - 1)))


def bounded_exp(value: float) -> float:
    """e^value; infinite beyond any number, as the end of the interval of two very noisy runs may be."""
    if value < MAX_LOG:
        return math.exp(value)
    return math.inf


def finite(*groups: Sequence[float]) -> bool:
    return all(math.isfinite(value) for value in chain.from_iterable(groups))


def cohens_d(a: Sequence[float], b: Sequence[float]) -> float | None:
    """(mean a - mean b) / pooled standard deviation; None where a side has one value, or nothing varies."""
    if min(len(a), len(b)) < 2 or not finite(a, b):
        return None
    largest = max(abs(value) for value in (*a, *b))
    if not largest:
        return None
    # It has no unit, so it may be made of shares of the largest, whose squares are numbers too.
    a, b = [value / largest for value in a], [value / largest for value in b]
    pooled = math.sqrt(((len(a) - 1) * variance(a) + (len(b) - 1) * variance(b)) / (len(a) + len(b) - 2))
    if pooled > IDENTICAL:
        return (fmean(a) - fmean(b)) / pooled
    return None


def hedges_g(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Cohen's d without its bias in small groups: d · (1 - 3 / (4·df - 1)) (analysis 5)."""
    d = cohens_d(a, b)
    if d is None:
        return None
    return d * (1 - 3 / (4 * (len(a) + len(b) - 2) - 1))


def cliffs_delta(a: Sequence[float], b: Sequence[float]) -> float | None:
    """P(a > b) - P(a < b) over all pairs, -1 to 1; None for an empty side (analysis 5)."""
    if not a or not b or not finite(a, b):
        return None
    signs = np.sign(np.subtract.outer(np.asarray(a, float), np.asarray(b, float)))
    return float(signs.mean())

"""How far two groups of repeats lie apart, without a unit: Hedges' g, Cliff's delta, Mann and Whitney's test."""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean, variance
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchsite.formatting import significant

MIN_FOR_RANKS: Final = 4  # of each side: three of each can never have a p below 0.1
MAX_EXACT: Final = 60  # values on both sides together; beyond, the normal approximation is as good
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


def smallest_p(n_a: int, n_b: int) -> float:
    """The smallest two-sided p that ranks of so many values can have: 2 / C(n_a + n_b, n_a) (analysis 5)."""
    return min(1.0, 2 / math.comb(n_a + n_b, n_a))


def ranks_sentence(n_a: int, n_b: int) -> str:
    """Why the test of ranks does not speak; empty where it does."""
    if min(n_a, n_b) >= MIN_FOR_RANKS:
        return ""
    if not n_a or not n_b:
        return "A test of ranks needs runs on both sides."
    smallest = smallest_p(n_a, n_b)
    return (
        f"A test of ranks cannot speak with {n_a} and {n_b} runs: the smallest possible p is {significant(smallest)}. "
        f"Measure at least {MIN_FOR_RANKS} runs of each side."
    )


def mann_whitney_p(a: Sequence[float], b: Sequence[float]) -> float | None:
    """The two-sided p of Mann and Whitney's test, exact up to sixty values, with ties too; None below 4 on a side.

    Exact: the share of all ways to deal the (mid)ranks that lie as far from their mean as this one.
    """
    if ranks_sentence(len(a), len(b)) or not finite(a, b):
        return None
    # Twice the rank of each value, so that the ranks of ties are whole.
    array = np.asarray([*a, *b], float)
    below = (array[:, None] > array[None, :]).sum(axis=1)
    same = (array[:, None] == array[None, :]).sum(axis=1)
    doubled = [int(rank) for rank in 2 * below + same + 1]
    own, mean = sum(doubled[: len(a)]), len(a) * (len(a) + len(b) + 1)  # of doubled ranks
    if len(doubled) > MAX_EXACT:
        n_a = len(a)
        n = len(doubled)
        spread = float(np.var(doubled)) * n_a * (n - n_a) / (n - 1)
        if spread <= 0:
            return 1.0
        return math.erfc(max(abs(own - mean) - 1, 0) / math.sqrt(2 * spread))
    ways = _ways(tuple(sorted(doubled)), len(a))
    away = abs(np.arange(ways.size) - mean) >= abs(own - mean)
    return float(ways[away].sum() / ways.sum())


@lru_cache(maxsize=64)
def _ways(ranks: tuple[int, ...], chosen: int) -> NDArray[np.float64]:
    """How many choices of so many of the ranks have each sum."""
    table = np.zeros((chosen + 1, sum(ranks) + 1))
    table[0, 0] = 1
    for rank in ranks:
        for taken in range(chosen, 0, -1):
            table[taken, rank:] += table[taken - 1, : table.shape[1] - rank]
    ways: NDArray[np.float64] = table[chosen].copy()
    return ways

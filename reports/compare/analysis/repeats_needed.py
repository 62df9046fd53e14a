"""How many repeats find a difference, and in how many of all cases they do (analysis 5)."""

import math
from bisect import bisect_left
from functools import lru_cache
from typing import Final

from reports.compare.analysis.ratios import CONFIDENCE

# More repeats than this nobody makes; then the answer is that no number of repeats is sensible.
MAX_REPEATS: Final = 1000
MIN_REPEATS: Final = 3  # of a comparison with an interval (analysis 5: "3 minimum")
POWER: Final = 0.80  # the share of cases in which they find it


@lru_cache(maxsize=4096)
def repeats_needed(cv: float, delta: float) -> int | None:
    """Repeats of each side that find a difference of `delta` (a share) in four of five cases, at a two-sided 5 %.

    The power of the t-test of two groups by the noncentral t (analysis 5); at least three, which an interval needs.
    None where it would take more than a thousand, or cv and delta are no positive numbers.
    """
    if not (math.isfinite(cv) and math.isfinite(delta)) or cv < 0 or delta <= 0:
        return None
    effect = delta / cv if cv else math.inf
    repeats = range(MIN_REPEATS, MAX_REPEATS + 1)
    at = bisect_left(repeats, True, key=lambda n: _power(effect, n) >= POWER)
    if at < len(repeats):
        return repeats[at]
    return None


def _power(effect: float, n: int) -> float:
    """The chance that n repeats of each side find an effect, given in standard deviations."""
    from scipy.special import nctdtr, stdtrit

    df, shift = 2 * n - 2, effect * math.sqrt(n / 2)
    limit = float(stdtrit(df, (1 + CONFIDENCE) / 2))
    # Far out the series of the noncentral t does not converge, where the answer is 1, and the other tail nothing.
    if shift - limit > 8:
        return 1.0
    other = 0.0
    if shift < 3:
        other = float(nctdtr(df, shift, -limit))
    return 1 - float(nctdtr(df, shift, limit)) + other

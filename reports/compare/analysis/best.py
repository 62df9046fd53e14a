"""Which sides of a figure cannot be told from the best one: multiple comparisons with the best (Hsu 1981, 1996).

A side leaves the set where another one is better by the rule of `repeat_comparison`: beyond the noise of both,
two-sided, and by the practical threshold. So two sides are told apart here exactly where their ratio is. With 95 % the
true best is in the set. `manage.py interval_coverage bests` simulates it.

A side may be in the set because its repeats say little. It is among the best only where they exclude that another one
is better by more than `MAX_LOSS`; else it is undecided.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from reports.compare.analysis.ratios import Noise, bartlett_p
from reports.compare.analysis.repeat_comparison import ROUNDING, THRESHOLD
from reports.compare.analysis.repeats_needed import repeats_needed
from reports.compare.analysis.top_estimate import ALPHA, MIN_SD, quantile

# From so many sides on each side's variance leans on the variance of all, as two repeats more would (Smyth 2004), one
# more with two repeats: with 40 sides of three repeats Welch's test alone would keep half of the sides that are 20 %
# slower. With two repeats a test for equal variances sees little, so a noisy best side would drop out too often.
MIN_POOLED_SIDES: Final = 5
MAX_PRIOR_DF: Final = 2
# Bartlett's test: below this p the variances differ, and no side leans on another's.
UNEQUAL: Final = 0.1
MAX_LOSS: Final = 0.10  # of a side that is among the best, against any other, as a share


class _Side(NamedTuple):
    mean: float  # of ln(value)
    variance: float
    df: float  # 0: a single run, or identical ones: how much the next one varies is not known
    n: int


@dataclass(frozen=True, slots=True)
class Rank:
    """What the repeats of a side say of its place."""

    is_member: bool | None  # of the set
    is_shown: bool = False  # of a member: it loses no more than `MAX_LOSS` against any other
    repeats: int | None = None  # of each side, that decide of a member whether it does; None: no number helps

    @property
    def is_among_best(self) -> bool:
        return bool(self.is_member) and self.is_shown

    @property
    def is_undecided(self) -> bool:
        return bool(self.is_member) and not self.is_shown


def rank_sides(
    sides: Sequence[Sequence[float]],
    alpha: float = ALPHA,
    *,
    noises: Sequence[Noise | None] = (),
    threshold: float = THRESHOLD,
) -> list[Rank]:
    """For each side, by its repeats, whether it belongs to the set, and what shows that it is among the best.

    Not known (None): it has no two repeats that differ, or a side without such repeats lies above it. `noises` are
    those of one repeat of each side, where more runs tell of them than these repeats: of values that were chosen
    because they are high, their own spread is too small.

    Higher is better. The true best is in the set with 1 - alpha. Raises ValueError for a value that is not positive.
    """
    noises = noises or [None] * len(sides)
    judged = _moderated([_side(values, noise) for values, noise in zip(sides, noises, strict=True)])
    order = sorted((side for side in judged if side.df), key=lambda side: -side.mean)
    others = len(order) - 1
    unknown = max((side.mean for side in judged if not side.df), default=-math.inf)
    members: list[bool | None] = []
    for side in judged:
        if side.df and any(_exceeds(other, side, others, alpha / 2, threshold) for other in order):
            members.append(False)
        else:
            members.append(True if side.df and side.mean >= unknown else None)

    is_alone = members.count(False) == len(members) - 1
    near = unknown - math.log1p(-MAX_LOSS)  # Below it, a side without repeats may lie so far above.
    return [
        _rank(side, order, alpha / 2, is_alone=is_alone, is_near=side.mean < near) if is_member else Rank(is_member)
        for side, is_member in zip(judged, members, strict=True)
    ]


def _rank(side: _Side, sides: Sequence[_Side], alpha: float, *, is_alone: bool, is_near: bool) -> Rank:
    """Of a member of the set; `sides` are those with a variance, it among them. `is_near`: one without repeats is not
    clearly lower.
    """
    others = [other for other in sides if other is not side]
    rivals = [other for other in others if _may_exceed(other, side, len(others), alpha)]
    if is_alone or not (rivals or is_near):
        return Rank(True, is_shown=True)
    if not rivals:
        return Rank(True, repeats=repeats_needed(math.sqrt(side.variance), MAX_LOSS))
    variance = max((side.variance + rival.variance) / 2 for rival in rivals)
    needed = repeats_needed(math.sqrt(variance), MAX_LOSS)
    if needed is None:
        return Rank(True)
    # As many as there are did not decide it.
    return Rank(True, repeats=max(needed, *(min(side.n, rival.n) + 1 for rival in rivals)))


def _side(values: Sequence[float], noise: Noise | None) -> _Side:
    logs = [math.log(value) for value in values]
    mean = sum(logs) / len(logs)
    if noise and len(logs) > 1:
        return _Side(mean, noise.variance, noise.df, len(logs))
    variance = sum((value - mean) ** 2 for value in logs) / max(len(logs) - 1, 1)
    return _Side(mean, variance, len(logs) - 1 if variance > MIN_SD**2 else 0, len(logs))


def _moderated(sides: Sequence[_Side]) -> list[_Side]:
    """With the variances leaning on each other where the sides are many and vary alike."""
    repeated = [side for side in sides if side.df]
    if len(repeated) < MIN_POOLED_SIDES:
        return list(sides)
    df = sum(side.df for side in repeated)
    pooled = sum(side.df * side.variance for side in repeated) / df
    if bartlett_p([side.variance for side in repeated], [side.df for side in repeated]) < UNEQUAL:
        return list(sides)
    return [_leaning(side, pooled) if side.df else side for side in sides]


def _leaning(side: _Side, pooled: float) -> _Side:
    prior_df = min(MAX_PRIOR_DF, side.df)
    df = prior_df + side.df
    return side._replace(variance=(prior_df * pooled + side.df * side.variance) / df, df=df)


def _exceeds(better: _Side, side: _Side, comparisons: int, alpha: float, threshold: float) -> bool:
    """Welch's test, one-sided, of one of so many comparisons; smaller differences than the threshold do not count."""
    if math.expm1(better.mean - side.mean) < threshold - ROUNDING:
        return False
    error, df = _compute_error(better, side)
    distance = (better.mean - side.mean) / error
    if distance < quantile(math.inf, comparisons, alpha):  # No degrees of freedom would be enough.
        return False
    return distance > quantile(df, comparisons, alpha)


def _may_exceed(other: _Side, side: _Side, comparisons: int, alpha: float) -> bool:
    """Whether the interval of the difference holds a loss of the side beyond `MAX_LOSS`."""
    error, df = _compute_error(other, side)
    return other.mean - side.mean + quantile(df, comparisons, alpha) * error > -math.log1p(-MAX_LOSS)


def _compute_error(a: _Side, b: _Side) -> tuple[float, float]:
    """The standard error of a difference of means and its degrees of freedom (Welch)."""
    parts = a.variance / a.n, b.variance / b.n
    return math.sqrt(sum(parts)), sum(parts) ** 2 / (parts[0] ** 2 / a.df + parts[1] ** 2 / b.df)

"""V26: could one curve that rises, falls, or rises to one peak and falls have made a sweep's ladder?"""

import math
from collections.abc import Sequence
from functools import cache
from operator import mul
from statistics import fmean
from typing import Final

from benchsite.core.formatting import percent, short, throughput
from runs.checks.results import CheckResult
from runs.ycsb.distributions import chi_square_tail, f_tail

MIN_RUNGS: Final = 3
# Standard deviation of the logarithms of runs that differ by nothing: less than this explains is no dip.
VARIATION: Final = 0.05
# Of ladders that such a curve made, at most so many are flagged.
SIGNIFICANCE: Final = 0.05


def judge_ladder(rungs: Sequence[tuple[str, Sequence[float]]]) -> CheckResult:
    """`rungs` ascend in what they asked for ("4 threads"), each with the throughput of its repeats in ops/s.

    Logarithms of throughput are tested against the nearest single-peaked curve, with `VARIATION` between runs and,
    where rungs were repeated, also with their own.
    """
    title, limits = "Shape of the ladder", f"one peak at most, for runs that vary by {percent(VARIATION)}"
    rungs = [(label, values) for label, values in rungs if values and min(values) > 0]
    if len(rungs) < MIN_RUNGS:
        missing = f"It takes {MIN_RUNGS} rungs to tell a shape."
        return CheckResult("V26", "not_assessed", title, "", limits, missing)

    logs = [list(map(math.log, values)) for _, values in rungs]
    means = [fmean(values) for values in logs]
    measured = ", ".join(short(math.exp(mean)) for mean in means)[:110] + " ops/s"
    if is_explained(logs, VARIATION):
        return CheckResult("V26", "pass", title, measured, limits, "A curve with at most one peak explains the rungs.")

    before, dip, after = _find_deepest_dip(means)
    labels = [label for label, _ in rungs]
    dip_text, before_text, after_text = (
        f"{throughput(math.exp(means[i]))} at {labels[i]}" for i in (dip, before, after)
    )

    return CheckResult(
        "V26", "warn", title, measured, limits,
        f"{dip_text} is below {before_text} and {after_text}, which no curve with at most one peak explains.",
        "Look at what else ran beside these runs (V25), and run the rungs again.",
    )  # fmt: skip


def _find_deepest_dip(means: Sequence[float]) -> tuple[int, int, int]:
    """The indices of the highest rung before the dip, of the dip itself, and of the highest rung after it."""

    def compute_depth(dip: int) -> float:
        return min(max(means[:dip]), max(means[dip + 1 :])) - means[dip]

    dip = max(range(1, len(means) - 1), key=compute_depth)
    before = max(range(dip), key=means.__getitem__)
    after = max(range(dip + 1, len(means)), key=means.__getitem__)
    return before, dip, after


def is_explained(logs: Sequence[Sequence[float]], variation: float) -> bool:
    """Whether a ladder is no further from every curve of one peak at most than chance takes it; `logs` are those of
    its repeats.

    The distance is the weighted sum of squares from the nearest single-peaked curve. For a curve that is flat, which
    is the least favourable one, that from the nearest ascending curve is distributed as chi-bar-squared (E-bar-squared
    where the variance is estimated): Robertson, Wright and Dykstra, Order Restricted Statistical Inference, 1988,
    section 2.3, with the level probabilities of equal weights. The nearest single-peaked curve is never further.
    """
    means = [fmean(values) for values in logs]
    weights = [float(len(values)) for values in logs]
    ascending = _distances(means, weights)
    descending = _distances(means[::-1], weights[::-1])[::-1]
    # The peak may be after any number of rungs.
    distance = min(map(sum, zip(ascending, descending, strict=True)))
    chances = _level_probabilities(len(logs))[1:-1]
    degrees = range(len(logs) - 1, 0, -1)
    tails = (chi_square_tail(df, distance / variation**2) for df in degrees)
    if math.fsum(map(mul, chances, tails)) >= SIGNIFICANCE:
        return True

    freedom = int(sum(weights)) - len(logs)
    squares = 0.0
    for values, mean in zip(logs, means, strict=True):
        squares += sum((value - mean) ** 2 for value in values)
    # Without repeats, or with equal ones, the runs tell nothing of their own variation.
    if not freedom or not squares:
        return False

    variance = squares / freedom
    tails = (f_tail(df, freedom, distance / variance / df) for df in degrees)
    return math.fsum(map(mul, chances, tails)) > SIGNIFICANCE


def _distances(means: Sequence[float], weights: Sequence[float]) -> list[float]:
    """For each number of first rungs, 0 to all, their squared distance from the nearest ascending curve.

    Pools adjacent violators.
    """
    blocks: list[tuple[float, float]] = []  # (mean, weight)
    distances, distance = [0.0], 0.0
    for mean, weight in zip(means, weights, strict=True):
        while blocks and blocks[-1][0] > mean:
            previous_mean, previous_weight = blocks.pop()
            pooled_weight = weight + previous_weight
            distance += weight * previous_weight / pooled_weight * (mean - previous_mean) ** 2
            mean = (mean * weight + previous_mean * previous_weight) / pooled_weight
            weight = pooled_weight
        blocks.append((mean, weight))
        distances.append(distance)
    return distances


@cache
def _level_probabilities(rungs: int) -> tuple[float, ...]:
    """How likely the nearest ascending curve to so many equal means has n different values, for n = 0 to all."""
    chances = [1.0]
    for k in range(1, rungs + 1):
        one_less, as_many = [0.0, *chances], [*chances, 0.0]
        chances = [less / k + equal * (k - 1) / k for less, equal in zip(one_less, as_many, strict=True)]
    return tuple(chances)

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

    low = max(range(1, len(means) - 1), key=lambda i: min(max(means[:i]), max(means[i + 1 :])) - means[i])
    around = (low, means.index(max(means[:low])), low + 1 + means[low + 1 :].index(max(means[low + 1 :])))
    at = [f"{throughput(math.exp(means[i]))} at {rungs[i][0]}" for i in around]

    return CheckResult(
        "V26", "warn", title, measured, limits,
        f"{at[0]} is below {at[1]} and {at[2]}, which no curve with at most one peak explains.",
        "Look at what else ran beside these runs (V25), and run the rungs again.",
    )  # fmt: skip


def is_explained(logs: Sequence[Sequence[float]], variation: float) -> bool:
    """Whether a ladder is no further from every curve of one peak at most than chance takes it; `logs` are those of
    its repeats.

    The distance is the weighted sum of squares from the nearest single-peaked curve. For a curve that is flat, which
    is the least favourable one, that from the nearest ascending curve is distributed as chi-bar-squared (E-bar-squared
    where the variance is estimated): Robertson, Wright and Dykstra, Order Restricted Statistical Inference, 1988,
    section 2.3, with the level probabilities of equal weights. The nearest single-peaked curve is never further.
    """
    means, weights = [fmean(values) for values in logs], [float(len(values)) for values in logs]
    ascending, descending = _distances(means, weights), _distances(means[::-1], weights[::-1])[::-1]
    distance = min(map(sum, zip(ascending, descending, strict=True)))
    chances = _level_probabilities(len(logs))[1:-1]
    degrees = range(len(logs) - 1, 0, -1)
    tails = (chi_square_tail(df, distance / variation**2) for df in degrees)
    if math.fsum(map(mul, chances, tails)) >= SIGNIFICANCE:
        return True

    freedom = int(sum(weights)) - len(logs)
    squares = sum((value - mean) ** 2 for values, mean in zip(logs, means, strict=True) for value in values)
    variance = 0.0
    if freedom:
        variance = squares / freedom
    if not variance:
        return False

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
            other, heavy = blocks.pop()
            distance += weight * heavy / (weight + heavy) * (mean - other) ** 2
            mean, weight = (mean * weight + other * heavy) / (weight + heavy), weight + heavy
        blocks.append((mean, weight))
        distances.append(distance)
    return distances


@cache
def _level_probabilities(rungs: int) -> tuple[float, ...]:
    """How likely the nearest ascending curve to so many equal means has n different values, for n = 0 to all."""
    chances = [1.0]
    for k in range(1, rungs + 1):
        chances = [
            (chances[n - 1] / k if n else 0.0) + (chances[n] * (k - 1) / k if n < k else 0.0) for n in range(k + 1)
        ]
    return tuple(chances)

"""What repeats of one cell say about the noise of the machines they ran on, and a bracket about their drift.

All on natural logarithms of throughput (or of a latency), so that 50k after 100k is as far away as 100k after 50k.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from runs.ycsb.distributions import student_quantile

# From fewer repeated cells nobody reads the noise of a cluster: one may be the calm one, or the odd one.
MIN_CELLS: Final = 2


@dataclass(frozen=True, slots=True)
class Repeatability:
    """How far measurements of the same cell lie apart."""

    sd_log: float  # pooled over the cells, of ln(value)
    degrees: int  # of freedom: values minus cells
    cells: int  # those with two values or more

    @property
    def limit(self) -> float:
        """The repeatability limit as a share: two values of one cell differ by more in one case of twenty."""
        return compute_limit(self.sd_log, self.degrees)


def compute_geomean(values: Sequence[float]) -> float:
    """With a value that has no logarithm, such as a latency of 0 in buckets of 1 ms, the arithmetic mean."""
    if len(values) == 1:
        return values[0]
    if min(values) <= 0:
        return math.fsum(values) / len(values)
    # Between the ends, whatever rounding does: equal values have that very mean.
    mean = math.exp(math.fsum(map(math.log, values)) / len(values))
    return min(max(mean, min(values)), max(values))


def compute_limit(sd_log: float, degrees: int) -> float:
    """exp(t * sqrt(2) * s) - 1: by how much two measurements of the same thing differ in one case of twenty.

    ISO 5725-6 on logarithms, which has 1.96 for t: with the four degrees of freedom of two cells repeated three times
    that is exceeded in 12 % of cases.
    """
    return math.expm1(student_quantile(degrees, 0.975) * math.sqrt(2) * sd_log)


def repeatability(cells: Iterable[Sequence[float]]) -> Repeatability | None:
    """s² = sum over cells of sum (ln x - mean ln x)² / sum of (n - 1), of the positive finite values (analysis 5).

    A cell of fewer than two such values says nothing; None where no cell says anything.
    """
    squares, degrees, configurations = 0.0, 0, 0
    for cell in cells:
        logs = [math.log(value) for value in cell if value > 0 and math.isfinite(value)]
        if len(logs) < 2:
            continue
        mean = math.fsum(logs) / len(logs)
        squares += math.fsum((log - mean) ** 2 for log in logs)
        degrees += len(logs) - 1
        configurations += 1

    if degrees:
        return Repeatability(math.sqrt(squares / degrees), degrees, configurations)

    return None


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """The geometric mean of a cell's values with its 95 % interval; None: fewer than two values, or all alike."""

    mean: float
    low: float | None
    high: float | None


def compute_mean_interval(values: Sequence[float]) -> MeanInterval:
    """exp(mean of logarithms ± t · s / √n) of the values of one cell, all of them positive."""
    mean = math.fsum(math.log(value) for value in values) / len(values)
    noise = repeatability([values])
    if noise is None or not noise.sd_log:
        return MeanInterval(math.exp(mean), None, None)
    reach = student_quantile(noise.degrees, 0.975) * noise.sd_log / math.sqrt(len(values))
    return MeanInterval(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach))


def drift(first: float, again: float) -> float | None:
    """How much the bracket differs from the first run of its cell, as a share of it: -0.1 is 10 % less.

    None where one of the two is no throughput.
    """
    if not (first > 0 and again > 0 and math.isfinite(first) and math.isfinite(again)):
        return None
    return again / first - 1


def exceeds(drift: float, limit: float) -> bool:
    """Whether a drift is more than a repeatability limit allows; a loss counts as the gain that would undo it."""
    return drift > -1 and abs(math.log1p(drift)) > math.log1p(limit)

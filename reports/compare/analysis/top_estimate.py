"""The top of a ladder of threads out of its repeats: an estimate with an interval, and how the ladder ends.

The highest of several noisy rungs is too high on average. So each pass over the ladder counts on the rungs that the
other passes put on top, and the interval accounts for the selection. The model of ln(throughput) is
y_ij = rung_i + pass_j + e_ij (Kalibera and Jones 2013: a level of variation above the run). All values are natural
logarithms. `manage.py interval_coverage` simulates what holds how often.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from statistics import variance
from typing import Final

import numpy as np

from reports.compare.analysis.ratios import Floats, Noise, summed

ALPHA: Final = 0.05
# Less noise than this is that of rounding: identical numbers do not show how much the next one would differ.
MIN_SD: Final = 1e-6
# A rung that is more than 10 % lower never stands in for the highest, however much some rung's runs vary.
MAX_LOWER: Final = -math.log(0.9)

Logs = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Top:
    """The estimate of the highest rung. Places are those of the ladder's rungs, from 0."""

    places: tuple[int, ...]  # of the rungs that the estimate is made of
    log: float
    low: float  # 95 % interval
    high: float
    highest: float  # mean of a rung
    passes: tuple[float, ...]  # what the estimate is the mean of, one value a pass
    noise: Noise  # of such a value, by the model, or by these values where they vary more
    is_growing: bool  # the last rung lies above the one before it, beyond noise
    has_ended: bool  # the end of the ladder gained less than the least gain per doubling, beyond noise


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Mean squares of the two-way layout: `run` within passes, `level` between them, with their degrees of freedom."""

    run: float
    df: int
    level: float
    level_df: int
    rungs: int

    def noise(self, rungs: float) -> Noise:
        """The noise of the mean of so many rungs in one pass; degrees of freedom after Satterthwaite."""
        run = self.run * max(1 / rungs - 1 / self.rungs, 0.0)
        return summed(Noise(self.level / self.rungs, self.level_df), Noise(run, max(self.df, 1)))

    def reach(self, rungs: float, passes: int, alpha: float) -> float:
        """How far a one-sided limit of the mean of so many rungs over all passes lies from that mean.

        Var = (pass + run / rungs) / passes, where E level = run + k · pass. Student's t is the mean of both parts'
        own, weighted by them (Cochran and Cox 1957): it holds too where few passes differ much.
        """
        level, run = self.level / self.rungs, self.run * max(1 / rungs - 1 / self.rungs, 0.0)
        t = (level * quantile(self.level_df, 1, alpha) + run * quantile(self.df, 1, alpha)) / (level + run)
        return t * math.sqrt((level + run) / passes)


def estimate_top(ladder: Logs, doublings: Sequence[float], least_gain: float) -> Top | None:
    """The top of a ladder: for each rung the logarithms of the same two or more passes, in their order.

    `doublings` are log2 of the threads, ascending; `least_gain` is the logarithm of the gain per doubling below which
    more threads bring nothing. None where the passes do not vary.
    """
    passes = len(ladder[0])
    last = len(ladder) - 1
    noise = two_way(ladder)
    if noise is None:
        return None

    means = [sum(rung) / passes for rung in ladder]
    highest = max(means)
    selected = _select(ladder, means.index(highest), math.sqrt(2 * noise.run / (passes - 1)))
    values = _average(ladder, selected)
    log = sum(values) / passes
    own = Noise(sum((value - log) ** 2 for value in values) / (passes - 1), passes - 1)
    error = math.sqrt(2 * noise.run / passes)
    # Of all earlier rungs: which of them are near the highest was seen in the same runs.
    limit = quantile(noise.df, last) * error
    near = highest - limit
    before = [i for i in range(last) if means[i] >= near] or ([last - 1] if last else [])

    return Top(
        places=tuple(sorted(set(chain.from_iterable(selected)))),
        log=log,
        low=log - noise.reach(sum(map(len, selected)) / passes, passes, ALPHA / 2),
        high=highest + noise.reach(1, passes, ALPHA / 2),
        highest=highest,
        passes=tuple(values),
        noise=noise.noise(sum(map(len, selected)) / passes).at_least(own),
        is_growing=last > 0 and means[last] - means[last - 1] > quantile(noise.df) * error,
        has_ended=any(means[last] - means[i] < least_gain * (doublings[last] - doublings[i]) - limit for i in before),
    )


def _select(ladder: Logs, best: int, error: float) -> list[list[int]]:
    """For each pass the rungs that it counts on: those that the other passes confirm.

    Where the noise is larger than `MAX_LOWER`, and these lie below every repeat of the `best` rung, that rung alone.
    """
    selected = _confirmed(ladder, min(error, MAX_LOWER))
    values = _average(ladder, selected)
    if error > MAX_LOWER and sum(values) / len(values) < min(ladder[best]):
        return [[best]] * len(values)
    return selected


def _average(ladder: Logs, selected: Sequence[Sequence[int]]) -> list[float]:
    """The mean of the selected rungs in each pass."""
    return [sum(ladder[i][j] for i in places) / len(places) for j, places in enumerate(selected)]


def _confirmed(ladder: Logs, error: float) -> list[list[int]]:
    """For each pass the rungs within `error` of the highest mean of the other passes."""
    sums = [sum(rung) for rung in ladder]
    others = len(ladder[0]) - 1
    selected = []
    for j in range(others + 1):
        means = [(total - rung[j]) / others for total, rung in zip(sums, ladder, strict=True)]
        least = max(means) - error
        selected.append([i for i, mean in enumerate(means) if mean >= least])
    return selected


def two_way(ladder: Logs) -> TwoWay | None:
    """The two-way layout without interaction; of one rung the variance of its repeats. None without variation."""
    logs = np.asarray(ladder, float)
    rungs, passes = logs.shape
    level_df, df = passes - 1, (rungs - 1) * (passes - 1)
    level = max(rungs * float(logs.mean(axis=0).var(ddof=1)), MIN_SD**2)
    run = float((compute_residuals(logs) ** 2).sum()) / max(df, 1)
    if rungs == 1:
        run, df = level, level_df
    if run > MIN_SD**2:
        return TwoWay(run, df, level, level_df, rungs)

    return None


def compute_residuals(logs: Floats) -> Floats:
    """What rung (row) and pass (column) together leave over."""
    residuals: Floats = logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=0, keepdims=True) + logs.mean()
    return residuals


def rung_noise(ladder: Logs, values: Sequence[float]) -> Noise | None:
    """The noise of one repeat of a rung with these `values`, by all rungs of the `ladder`; None for a single rung."""
    layout = None
    if len(ladder) > 1 and len(values) > 1:
        layout = two_way(ladder)
    if not layout:
        return None
    return layout.noise(1).at_least(Noise(variance(values), len(values) - 1))


@lru_cache(maxsize=4096)
def quantile(df: float, of: int = 1, alpha: float = ALPHA) -> float:
    """One-sided, of the largest of so many Student's t; safe where they are correlated positively (Sidak 1967)."""
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 - alpha) ** (1 / max(of, 1))))

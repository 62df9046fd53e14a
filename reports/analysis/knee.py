"""The knee of a latency curve: the last load at which throughput is still worth its latency."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reports.analysis.ceiling import Ceiling, Rung, ceiling, within_ceiling

# A rung this close to the highest power still counts as the peak: leans to throughput, tolerates noise.
NEAR_PEAK = 0.95
FEWEST_RUNGS = 4
# Less throughput than this share more than the rung before is none: its price in latency has no bound.
LEAST_GAIN = 0.005


@dataclass(frozen=True, slots=True)
class Knee:
    """The knee's rung; not `reached` makes it the last rung of a ladder that ends before the knee: a lower bound."""

    threads: int
    throughput_ops_s: float
    latency_s: float
    share_of_ceiling: float  # X / the stated ceiling: X_max of threads, the last sustained of targets
    latency_growth: float  # R / R of the first rung
    reached: bool
    reason: str = ""  # why it is not reached
    target_ops_s: float | None = None
    confidence: str = ""  # high, medium or low; empty: not graded (`opinions.opinions` does), or not reached

    @property
    def load(self) -> float:
        """The rung's target in ops/s where there is one, else its threads."""
        return self.target_ops_s or float(self.threads)


def power(rung: Rung, alpha: float = 1.0) -> float:
    """Kleinrock's power P = X^alpha / R; without a measured latency R = N / X, so P = X² / N (analysis 2.1).

    alpha = 2 leans to throughput: its peak lies where 1 % more throughput costs 2 % more latency.
    """
    latency_s = latency(rung)
    return float(rung.throughput_ops_s**alpha / latency_s) if latency_s > 0 else 0.0


def latency(rung: Rung) -> float:
    """Mean latency in seconds: the response time to a target, the service time, else Little's law for a closed loop."""
    if rung.response_s is not None:
        return rung.response_s
    if rung.latency_s is not None:
        return rung.latency_s
    return rung.threads / rung.throughput_ops_s if rung.throughput_ops_s > 0 else 0.0


def of_one_kind(rungs: Sequence[Rung]) -> list[Rung]:
    """The rungs with their response times only where all have one: one ladder never mixes kinds of latency."""
    if all(rung.response_s is not None for rung in rungs):
        return list(rungs)
    return [replace(rung, response_s=None) for rung in rungs]


def elasticity(before: Rung, after: Rung) -> float:
    """e = ln(R_i / R_(i-1)) / ln(X_i / X_(i-1)): per cent of latency paid for one of throughput (analysis 2.1).

    Beyond the knee e > 1. Infinite where throughput grew by less than 0.5 %; nan without a latency.
    """
    low, high = latency(before), latency(after)
    if low <= 0 or high <= 0 or before.throughput_ops_s <= 0:
        return math.nan
    if after.throughput_ops_s <= before.throughput_ops_s * (1 + LEAST_GAIN):
        return math.inf
    return math.log(high / low) / math.log(after.throughput_ops_s / before.throughput_ops_s)


def ladder_of(rungs: Sequence[Rung]) -> list[Rung]:
    """The rungs that have throughput and latency, ascending by target, then by threads."""
    return sorted((rung for rung in of_one_kind(rungs) if rung.throughput_ops_s > 0 and latency(rung) > 0), key=_load)


def power_knee(rungs: Sequence[Rung], alpha: float = 1.0, stated: Ceiling | None = None) -> Knee | None:
    """The last rung up to the highest throughput with P >= 0.95 P_max (analysis 2.1); None for no rung.

    On a ladder of targets only those stand for election that were sustained up to the ceiling; None where none was.
    `stated` is the ladder's ceiling where more is known than these rungs say.

    Rungs after the highest throughput do not stand for election (throughput fell), but they do show that the peak was
    passed. Reached needs at least four rungs and one past the peak of P.
    """
    ladder = ladder_of(rungs)
    if not ladder:
        return None
    stated = stated or ceiling(ladder)
    electable = electable_of(ladder, stated)
    if not electable or stated is None:
        return None
    top, most = electable[-1], stated.throughput_ops_s
    powers = [power(rung, alpha) for rung in ladder]
    peak = max(powers[index] for index in electable)
    last_peak = max(index for index in electable if powers[index] == peak)
    knee = max(index for index in electable if powers[index] >= NEAR_PEAK * peak)
    if len(ladder) < FEWEST_RUNGS:
        return _knee(ladder, top, most, reason=f"{len(ladder)} of at least {FEWEST_RUNGS} rungs")
    beyond = powers[last_peak + 1 :]
    if not beyond or (last_peak == top and ladder[top].target_ops_s and min(beyond) >= peak):
        return _knee(ladder, top, most, reason="no rung lies past the peak of throughput over latency")
    return _knee(ladder, knee, most)


def electable_of(ladder: Sequence[Rung], stated: Ceiling | None) -> list[int]:
    """The places of the rungs that may be the knee: up to the highest throughput that the ceiling covers."""
    covered = [index for index, rung in enumerate(ladder) if within_ceiling(rung, stated)]
    if not covered:
        return []
    top = max(covered, key=lambda index: ladder[index].throughput_ops_s)
    return [index for index in covered if index <= top]


def _load(rung: Rung) -> tuple[float, int]:
    return (rung.target_ops_s or 0.0, rung.threads)


def _knee(ladder: Sequence[Rung], index: int, ceiling_ops_s: float, *, reason: str = "") -> Knee:
    rung = ladder[index]
    return Knee(
        threads=rung.threads,
        throughput_ops_s=rung.throughput_ops_s,
        latency_s=latency(rung),
        share_of_ceiling=rung.throughput_ops_s / ceiling_ops_s,
        latency_growth=latency(rung) / latency(ladder[0]),
        reached=not reason,
        reason=reason,
        target_ops_s=rung.target_ops_s,
    )

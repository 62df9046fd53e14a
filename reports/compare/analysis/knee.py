"""The knee of a latency curve: the last load at which throughput is still worth its latency."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reports.compare.analysis.ceiling import MIN_REPEATS, Ceiling, Rung, ceiling, within_ceiling
from reports.compare.analysis.top_estimate import quantile

# A rung this close to the highest power still counts as the peak: leans to throughput, tolerates noise.
NEAR_PEAK = 0.95
MIN_RUNGS = 4
# Single runs are taken to vary by up to this standard deviation of ln(throughput) (a judgement).
MAX_SINGLE_SD = 0.05


@dataclass(frozen=True, slots=True)
class Knee:
    """The knee's rung; not `reached`: the ladder has none, and the rung is the end beyond which it may lie."""

    threads: int
    throughput_ops_s: float
    latency_s: float
    share_of_ceiling: float  # X / the stated ceiling: X_max of threads, the last sustained of targets
    latency_growth: float  # R / R of the first rung
    reached: bool
    reason: str = ""  # why it is not reached
    target_ops_s: float | None = None

    @property
    def load(self) -> float:
        """The rung's target in ops/s where there is one, else its threads."""
        return self.target_ops_s or float(self.threads)


def power(rung: Rung) -> float:
    """Kleinrock's power P = X / R; without a measured latency R = N / X, so P = X² / N (analysis 2.1)."""
    latency_s = latency(rung)
    if latency_s > 0:
        return float(rung.throughput_ops_s / latency_s)
    return 0.0


def latency(rung: Rung) -> float:
    """Mean latency in seconds: the response time to a target, the service time, else Little's law for a closed loop."""
    if rung.response_s is not None:
        return rung.response_s
    if rung.latency_s is not None:
        return rung.latency_s
    if rung.throughput_ops_s > 0:
        return rung.threads / rung.throughput_ops_s
    return 0.0


def without_response(rungs: Sequence[Rung]) -> list[Rung]:
    return [rung if rung.response_s is None else replace(rung, response_s=None) for rung in rungs]


def build_ladder(rungs: Sequence[Rung]) -> list[Rung]:
    """The rungs that have throughput and latency, ascending by target, then by threads."""
    # Response times only where all rungs have one: one ladder never mixes kinds of latency.
    of_one_kind = rungs
    if not all(rung.response_s is not None for rung in rungs):
        of_one_kind = without_response(rungs)
    usable = [rung for rung in of_one_kind if rung.throughput_ops_s > 0 and latency(rung) > 0]
    return sorted(usable, key=lambda rung: (rung.target_ops_s or 0.0, rung.threads))


def power_knee(rungs: Sequence[Rung], stated: Ceiling | None = None) -> Knee | None:
    """The last rung before the ladder's last with P >= 0.95 P_max (analysis 2.1); None for no rung.

    Reached where P_max lies on an interior rung of at least four, and the power of the first and of the last rung is
    below it beyond noise; else the reason says where to add rungs. On a ladder of targets only those stand for election
    that were sustained up to the ceiling; None where none was. Rungs after the highest throughput do not stand for
    election (throughput fell), but they do show that the peak was passed. `stated` is the ladder's ceiling where more
    is known than these rungs say.
    """
    ladder = build_ladder(rungs)
    if not ladder:
        return None

    stated = stated or ceiling(ladder)
    electable = find_knee_candidates(ladder, stated)
    if not electable or stated is None:
        return None

    index, reason = _find_knee(ladder, electable)
    rung = ladder[index]
    return Knee(
        threads=rung.threads,
        throughput_ops_s=rung.throughput_ops_s,
        latency_s=latency(rung),
        # The estimate of the ceiling may lie below the mean of its own rung.
        share_of_ceiling=min(rung.throughput_ops_s / stated.throughput_ops_s, 1.0),
        latency_growth=latency(rung) / latency(ladder[0]),
        reached=not reason,
        reason=reason,
        target_ops_s=rung.target_ops_s,
    )


def _find_knee(ladder: Sequence[Rung], electable: Sequence[int]) -> tuple[int, str]:
    """The place of the knee; else that of the end of the ladder beyond which it may lie, and where to add rungs."""
    top = electable[-1]
    last = len(ladder) - 1
    powers = [power(rung) for rung in ladder]
    peak = max(electable, key=lambda index: (powers[index], index))
    if len(ladder) < MIN_RUNGS:
        return top, f"{len(ladder)} of at least {MIN_RUNGS} rungs"
    if peak == 0:
        return 0, "throughput over latency is highest on the first rung; add lower rungs"
    if peak == last or powers[last] >= powers[peak]:
        return top, "throughput over latency is highest on the last rung; add higher rungs"
    if not _is_above(ladder, peak, last):
        return top, "throughput over latency does not fall beyond noise by the last rung; add higher rungs, or repeats"
    if not _is_above(ladder, peak, 0):
        return 0, "throughput over latency does not rise beyond noise from the first rung; add lower rungs, or repeats"
    return max(index for index in electable if index < last and powers[index] >= NEAR_PEAK * powers[peak]), ""


def _is_above(ladder: Sequence[Rung], peak: int, end: int) -> bool:
    """Whether the highest power is above that of an end of the ladder beyond noise: one-sided, 5 % over all rungs.

    In a closed loop R = N / X, so ln(P) varies twice as ln(X) does. The variance within rungs is pooled
    over the ladder; where these two rungs vary more, it is theirs. Single runs, and targets, whose throughput does not
    vary as their latency does, are judged by the largest variation that single runs are taken to have.
    """
    gap = math.log(power(ladder[peak]) / power(ladder[end]))
    others = len(ladder) - 2
    pair = (ladder[peak], ladder[end])
    if ladder[peak].target_ops_s or min(len(rung.repeats_ops_s) for rung in pair) < MIN_REPEATS:
        return gap > quantile(math.inf, others) * math.sqrt(2) * 2 * MAX_SINGLE_SD
    squares, df = _squares_within(ladder)
    own, own_df = _squares_within(pair)
    variance = max(squares / df, own / max(own_df, 1)) * sum(1 / len(rung.repeats_ops_s) for rung in pair)
    return gap > quantile(df, others) * 2 * math.sqrt(variance)


def _squares_within(rungs: Sequence[Rung]) -> tuple[float, int]:
    """The squares of ln(throughput) about the mean of each rung, and their degrees of freedom."""
    squares, df = 0.0, 0
    for rung in rungs:
        logs = [math.log(x) for x in rung.repeats_ops_s if x > 0]
        mean = sum(logs) / max(len(logs), 1)
        squares, df = squares + sum((value - mean) ** 2 for value in logs), df + max(len(logs) - 1, 0)
    return squares, df


def find_knee_candidates(ladder: Sequence[Rung], stated: Ceiling | None) -> list[int]:
    """The places of the rungs that may be the knee: up to the highest throughput that the ceiling covers."""
    covered = [index for index, rung in enumerate(ladder) if within_ceiling(rung, stated)]
    if not covered:
        return []
    top = max(covered, key=lambda index: ladder[index].throughput_ops_s)
    return [index for index in covered if index <= top]


def refine_ladder(rungs: Sequence[Rung], knee: Knee) -> tuple[int, ...]:
    """The threads, or targets in ops/s, between a reached knee and its neighbours, at the geometric mean."""
    loads = [rung.load for rung in build_ladder(rungs)]
    at = loads.index(knee.load)
    middles = [round(math.sqrt(low * high)) for low, high in pairwise(loads[at - 1 : at + 2])]
    return tuple(middle for middle in middles if middle not in loads)

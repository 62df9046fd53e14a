"""The throughput ceiling of a load ladder, by a stated rule that a reader can check by hand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# A rung this close to the highest one counts as having reached it.
NEAR_CEILING = 0.95
# Less than this gained per doubling of the threads means that more threads bring nothing.
LEAST_GAIN_PER_DOUBLING = 0.05
# A target counts as sustained when this share of it was achieved (the rest goes into starting up).
SUSTAINED_SHARE = 0.98


@dataclass(frozen=True, slots=True)
class Rung:
    """One point of a ladder. `latency_s` is the mean over all operations; None where it was not measured."""

    threads: int
    throughput_ops_s: float
    latency_s: float | None = None
    target_ops_s: float | None = None


class Ladder(StrEnum):
    """What the end of a ladder shows."""

    EMPTY = "empty"  # No rung counts.
    SHORT = "short"  # Throughput still grew on the last rung: the ceiling lies higher.
    SATURATED = "saturated"  # The last rung brought less than the least gain.
    RETROGRADE = "retrograde"  # The last rung lies clearly below the highest.


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The highest throughput of a ladder and whether the ladder was long enough to show it."""

    throughput_ops_s: float
    threads: int  # of the rung that reached it
    saturation_threads: int  # the fewest threads within 5 % of it
    last_gain: float | None  # of the last step, per doubling of the threads; None: one rung only
    ladder: Ladder
    rungs: int
    target_ops_s: float | None = None

    @property
    def is_lower_bound(self) -> bool:
        return self.ladder is Ladder.SHORT


def gain_per_doubling(before: Rung, after: Rung) -> float:
    """g = (X_i / X_(i-1)) ** (1 / log2(N_i / N_(i-1))) - 1 (analysis 1.b); nan where it has no meaning."""
    if before.throughput_ops_s <= 0 or after.threads <= before.threads:
        return math.nan
    ratio = max(after.throughput_ops_s, 0.0) / before.throughput_ops_s
    return float(ratio ** (1 / math.log2(after.threads / before.threads)) - 1)


def thread_ceiling(rungs: Sequence[Rung]) -> Ceiling | None:
    """The ceiling of a ladder of thread counts (analysis 1.b); None for no rung with a throughput.

    X_max is the highest throughput, N_sat the fewest threads with X >= 0.95 X_max. The ladder is saturated when its
    last rung gained less than 5 % per doubling or lies below X_max, retrograde when it lies below 0.95 X_max; otherwise
    it is too short and X_max a lower bound. The rungs are those that count: rejected and excluded ones are left out
    before.
    """
    ladder = sorted((rung for rung in rungs if rung.throughput_ops_s > 0), key=lambda rung: rung.threads)
    if not ladder:
        return None
    highest = max(ladder, key=lambda rung: rung.throughput_ops_s)
    near = NEAR_CEILING * highest.throughput_ops_s
    last_gain = gain_per_doubling(ladder[-2], ladder[-1]) if len(ladder) > 1 else None
    return Ceiling(
        throughput_ops_s=highest.throughput_ops_s,
        threads=highest.threads,
        saturation_threads=next(rung.threads for rung in ladder if rung.throughput_ops_s >= near),
        last_gain=last_gain,
        ladder=_end_of(ladder, highest, last_gain),
        rungs=len(ladder),
    )


def _end_of(ladder: Sequence[Rung], highest: Rung, last_gain: float | None) -> Ladder:
    last = ladder[-1]
    if last.throughput_ops_s < NEAR_CEILING * highest.throughput_ops_s:
        return Ladder.RETROGRADE
    below = last.throughput_ops_s < highest.throughput_ops_s
    if below or (last_gain is not None and last_gain < LEAST_GAIN_PER_DOUBLING):
        return Ladder.SATURATED
    return Ladder.SHORT


def target_ceiling(rungs: Sequence[Rung]) -> Ceiling | None:
    """The ceiling of a ladder of targets (analysis 1.c); None for no rung with a target and a throughput.

    A target is sustained when achieved / target >= 0.98; the ceiling is what the highest target achieved below which
    every target was sustained too. Nothing sustained: the highest throughput that was reached at all. The ladder is too
    short while its last target is sustained.
    """
    ladder = sorted((rung for rung in rungs if rung.target_ops_s and rung.throughput_ops_s > 0), key=_target)
    if not ladder:
        return None
    sustained: list[Rung] = []
    for rung in ladder:
        if rung.throughput_ops_s / _target(rung) < SUSTAINED_SHARE:
            break
        sustained.append(rung)
    best = sustained[-1] if sustained else max(ladder, key=lambda rung: rung.throughput_ops_s)
    return Ceiling(
        throughput_ops_s=best.throughput_ops_s,
        threads=best.threads,
        saturation_threads=best.threads,
        last_gain=None,
        ladder=Ladder.SHORT if len(sustained) == len(ladder) else Ladder.SATURATED,
        rungs=len(ladder),
        target_ops_s=best.target_ops_s if sustained else None,
    )


def _target(rung: Rung) -> float:
    return rung.target_ops_s or 0.0


def ceiling(rungs: Sequence[Rung]) -> Ceiling | None:
    """The ceiling of either kind of ladder: of targets where every rung has one."""
    if rungs and all(rung.target_ops_s for rung in rungs):
        return target_ceiling(rungs)
    return thread_ceiling(rungs)

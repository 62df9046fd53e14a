"""Latency at one common load, and the load that one latency allows: what two sides are compared at.

p99 at A's ceiling against p99 at B's ceiling compares two different loads. Throughput is in operations per second,
latency in microseconds. Nothing is extrapolated: what lies beyond the measured rungs is said, not guessed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# A rung this close to the asked load has measured it.
AS_MEASURED = 0.01


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """One rung that counts. `order` is what the ladder raises (threads, or the target in ops/s), where it is known."""

    throughput_ops_s: float
    latency_us: float
    label: str = ""  # "16 threads"
    order: float | None = None


class How(StrEnum):
    """Where a number comes from, or why there is none."""

    MEASURED = "measured"
    INTERPOLATED = "interpolated"  # log-log between two neighbouring rungs
    NOT_REACHED = "not reached"  # lies above everything that was measured, or nothing was
    BELOW = "below"  # lies below the lowest rung


@dataclass(frozen=True, slots=True)
class AtLoad:
    """A latency at a load; None where no rung tells it. `between` are the rungs that it was taken from."""

    latency_us: float | None
    how: How
    between: tuple[LoadPoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Within:
    """The highest throughput within a limit of latency; None where even the lowest rung is above the limit."""

    throughput_ops_s: float | None
    how: How
    between: tuple[LoadPoint, ...] = ()
    capped: bool = False  # rungs that were not sustained were faster within the limit, and do not count


def latency_at(points: Sequence[LoadPoint], load_ops_s: float) -> AtLoad:
    """The latency at a load: of the rung within 1 % of it, else log-log between its neighbours on the rising branch.

    Above the highest throughput it is "not reached", below the lowest rung "below"; neither has a number.
    """
    branch = rising_branch(points)
    if not branch or not math.isfinite(load_ops_s):
        return AtLoad(None, How.NOT_REACHED)
    nearest = min(branch, key=lambda point: abs(point.throughput_ops_s - load_ops_s))
    if load_ops_s > 0 and abs(nearest.throughput_ops_s - load_ops_s) <= AS_MEASURED * load_ops_s:
        return AtLoad(nearest.latency_us, How.MEASURED, (nearest,))
    if load_ops_s < branch[0].throughput_ops_s:
        return AtLoad(None, How.BELOW, branch[:1])
    if load_ops_s > branch[-1].throughput_ops_s:
        return AtLoad(None, How.NOT_REACHED, branch[-1:])
    above = next(i for i, point in enumerate(branch) if point.throughput_ops_s > load_ops_s)
    low, high = branch[above - 1], branch[above]
    latency_us = _between(load_ops_s, low.throughput_ops_s, high.throughput_ops_s, low.latency_us, high.latency_us)
    return AtLoad(latency_us, How.INTERPOLATED, (low, high))


def throughput_within(points: Sequence[LoadPoint], limit_us: float) -> Within:
    """The highest throughput with latency <= limit on the rising branch.

    It is a rung's where the branch ends within the limit (the ceiling itself is fast enough) or hits it, else log-log
    between the last rung within the limit and the first above it.
    """
    branch = rising_branch(points)
    if not branch or math.isnan(limit_us):
        return Within(None, How.NOT_REACHED)
    within = [index for index, point in enumerate(branch) if point.latency_us <= limit_us]
    if not within:
        return Within(None, How.BELOW, branch[:1])
    last = within[-1]
    low = branch[last]
    if last == len(branch) - 1 or low.latency_us == limit_us:
        return Within(low.throughput_ops_s, How.MEASURED, (low,))
    high = branch[last + 1]
    throughput = _between(limit_us, low.latency_us, high.latency_us, low.throughput_ops_s, high.throughput_ops_s)
    return Within(throughput, How.INTERPOLATED, (low, high))


def rising_branch(points: Sequence[LoadPoint]) -> tuple[LoadPoint, ...]:
    """The rungs up to the highest throughput, ascending.

    Where every rung has an order, those that brought more than every rung before them: a rung whose throughput fell is
    another, slower way to a load that a lower rung reaches. Without orders, all but those that the highest rung beats
    in both throughput and latency.
    """
    usable = [point for point in points if _usable(point)]
    if not usable:
        return ()
    if any(point.order is None for point in usable):
        top = max(usable, key=lambda point: (point.throughput_ops_s, -point.latency_us))
        kept = [point for point in usable if point is top or not _beaten(point, top)]
        return tuple(sorted(kept, key=lambda point: (point.throughput_ops_s, point.latency_us)))
    branch: list[LoadPoint] = []
    for point in sorted(usable, key=lambda point: point.order or 0.0):
        if not branch or point.throughput_ops_s > branch[-1].throughput_ops_s:
            branch.append(point)
    return tuple(branch)


def _usable(point: LoadPoint) -> bool:
    return 0 < point.throughput_ops_s < math.inf and 0 <= point.latency_us < math.inf


def _beaten(point: LoadPoint, top: LoadPoint) -> bool:
    return point.throughput_ops_s <= top.throughput_ops_s and point.latency_us > top.latency_us


def _between(x: float, x_low: float, x_high: float, y_low: float, y_high: float) -> float:
    """y at x on the straight line through both rungs in log-log; on the plain one where a value is 0 (1 ms buckets)."""
    if min(x_low, x_high, y_low, y_high) <= 0:
        return y_low + (x - x_low) / (x_high - x_low) * (y_high - y_low)
    share = math.log(x / x_low) / math.log(x_high / x_low)
    return math.exp(math.log(y_low) + share * math.log(y_high / y_low))

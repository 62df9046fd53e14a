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
    """A latency at a load; None where no rung tells it. `between` are the rungs that it was taken from.

    `low_us` and `high_us` are its bounds by interpolation alone: what the repeats vary by is not in them.
    """

    latency_us: float | None
    how: How
    between: tuple[LoadPoint, ...] = ()
    low_us: float | None = None
    high_us: float | None = None


@dataclass(frozen=True, slots=True)
class Within:
    """The highest throughput within a limit of latency; None where even the lowest rung is above the limit."""

    throughput_ops_s: float | None
    how: How
    between: tuple[LoadPoint, ...] = ()
    capped: bool = False  # rungs that were not sustained were faster within the limit, and do not count
    violated: tuple[LoadPoint, ...] = ()  # lower rungs that are above the limit
    at_least: bool = False  # the ladder ends within the limit and below its ceiling


def latency_at(points: Sequence[LoadPoint], load_ops_s: float) -> AtLoad:
    """The latency at a load: of the rung within 1 % of it, else log-log between the neighbours on the drawn curve.

    Above the highest throughput it is "not reached", below the lowest rung "below"; neither has a number.
    """
    branch = rising_branch(points)
    if not branch or not math.isfinite(load_ops_s):
        return AtLoad(None, How.NOT_REACHED)
    top = max(branch, key=lambda point: point.throughput_ops_s)
    # A rung behind the first that reaches the load is a slower way to it.
    after = next((i for i, point in enumerate(branch) if point.throughput_ops_s >= load_ops_s), len(branch) - 1)
    nearest = min(branch[: after + 1], key=lambda point: abs(point.throughput_ops_s - load_ops_s))
    low_us, high_us = _bounds(branch, after, load_ops_s) if after else (math.inf, 0.0)
    if load_ops_s > 0 and abs(nearest.throughput_ops_s - load_ops_s) <= AS_MEASURED * load_ops_s:
        own = nearest.latency_us
        if nearest.throughput_ops_s == load_ops_s:
            low_us, high_us = own, own
        return AtLoad(own, How.MEASURED, (nearest,), min(low_us, own), max(high_us, own))
    if load_ops_s < branch[0].throughput_ops_s:
        return AtLoad(None, How.BELOW, branch[:1])
    if load_ops_s > top.throughput_ops_s:
        return AtLoad(None, How.NOT_REACHED, (top,))
    low, high = branch[after - 1], branch[after]
    latency_us = _between(load_ops_s, low.throughput_ops_s, high.throughput_ops_s, low.latency_us, high.latency_us)
    return AtLoad(latency_us, How.INTERPOLATED, (low, high), min(low_us, latency_us), max(high_us, latency_us))


def _bounds(branch: Sequence[LoadPoint], after: int, load_ops_s: float) -> tuple[float, float]:
    """Between which latencies (µs) a convex curve through the rungs lies at a load below the rung `after`.

    In a closed loop latency rises ever faster with throughput: between two rungs the curve lies below their chord and
    above the chords of the neighbouring segments, extended. Where a neighbour contradicts that, or there is none, the
    lower bound is the lower of the two rungs.
    """
    low, high = branch[after - 1], branch[after]
    chord, floor = _chord(low, high, load_ops_s), min(low.latency_us, high.latency_us)
    neighbours = [branch[after - 2 : after] if after > 1 else (), branch[after : after + 2]]
    rising = [pair for pair in neighbours if len(pair) == 2 and pair[0].throughput_ops_s < pair[1].throughput_ops_s]
    extended = (_chord(pair[0], pair[1], load_ops_s) for pair in rising)
    return max((value for value in extended if floor <= value <= chord), default=floor), chord


def _chord(a: LoadPoint, b: LoadPoint, load_ops_s: float) -> float:
    """The latency at the load on the straight line through both rungs."""
    share = (load_ops_s - a.throughput_ops_s) / (b.throughput_ops_s - a.throughput_ops_s)
    return a.latency_us + share * (b.latency_us - a.latency_us)


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
    best = max(within, key=lambda index: branch[index].throughput_ops_s)
    low, high = branch[best], branch[best + 1] if best + 1 < len(branch) else None
    violated = tuple(point for point in branch[:best] if point.latency_us > limit_us)
    if high is None or high.throughput_ops_s <= low.throughput_ops_s or low.latency_us == limit_us:
        return Within(low.throughput_ops_s, How.MEASURED, (low,), violated=violated)
    throughput = _between(limit_us, low.latency_us, high.latency_us, low.throughput_ops_s, high.throughput_ops_s)
    return Within(throughput, How.INTERPOLATED, (low, high), violated=violated)


def rising_branch(points: Sequence[LoadPoint]) -> tuple[LoadPoint, ...]:
    """The rungs up to the highest throughput, in the order of the ladder: the curve as it is drawn up to there.

    Without orders, all but those that the highest rung beats in both throughput and latency, by throughput.
    """
    usable = [point for point in points if _usable(point)]
    if not usable:
        return ()
    top = max(usable, key=lambda point: (point.throughput_ops_s, -point.latency_us))
    if any(point.order is None for point in usable):
        kept = [point for point in usable if point is top or not _beaten(point, top)]
        return tuple(sorted(kept, key=lambda point: (point.throughput_ops_s, point.latency_us)))
    ladder = sorted(usable, key=lambda point: point.order or 0.0)
    return tuple(ladder[: ladder.index(top) + 1])


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

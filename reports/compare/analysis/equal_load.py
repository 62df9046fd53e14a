"""Latency at one common load, and the load that one latency allows: what two sides are compared at.

p99 at A's ceiling against p99 at B's ceiling compares two different loads. Throughput is in operations per second,
latency in microseconds. Nothing is extrapolated: what lies beyond the measured rungs is said, not guessed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from reports.compare.analysis.ceiling import ALIKE
from reports.compare.analysis.ratios import Noise
from reports.compare.analysis.top_estimate import two_way

# A rung this close to the asked load has measured it.
AS_MEASURED = 0.01
# A drawn curve has so many steps for each factor e between the latencies of two rungs.
STEPS_PER_E = 10
MAX_STEPS = 24


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
    INTERPOLATED = "interpolated"  # between two neighbouring rungs, 1 / latency linear in throughput
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
    """The latency at a load: of the rung within 1 % of it, else between its neighbours on the drawn curve.

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
    latency_us = _between(low, high, load_ops_s)
    return AtLoad(latency_us, How.INTERPOLATED, (low, high), min(low_us, latency_us), max(high_us, latency_us))


def _bounds(branch: Sequence[LoadPoint], after: int, load_ops_s: float) -> tuple[float, float]:
    """Between which latencies (µs) the curve through the rungs lies at a load below the rung `after`.

    In a closed loop each further thread adds at least as much latency as the one before it: R = N / X is convex in N,
    so 1 / R is concave in X. Between two rungs 1 / R lies above the straight line through them, and below those of the
    neighbouring steps, extended. A neighbour that contradicts this is the bound on the other side; where there is none,
    the lower bound is the lower of the two rungs.
    """
    low, high = branch[after - 1], branch[after]
    line = _between(low, high, load_ops_s)
    floor, roof = sorted((low.latency_us, high.latency_us))
    neighbours = [branch[after - 2 : after] if after > 1 else (), branch[after : after + 2]]
    rising = [pair for pair in neighbours if len(pair) == 2 and pair[0].throughput_ops_s < pair[1].throughput_ops_s]
    extended = [min(max(_between(pair[0], pair[1], load_ops_s), floor), roof) for pair in rising]
    return max((value for value in extended if value <= line), default=floor), max([line, *extended])


def throughput_within(points: Sequence[LoadPoint], limit_us: float) -> Within:
    """The highest throughput with latency <= limit on the rising branch.

    It is a rung's where the branch ends within the limit (the ceiling itself is fast enough) or hits it, else between
    the last rung within the limit and the first above it, as `latency_at` interpolates.
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

    inverses = [_inverse(value, low, high) for value in (limit_us, low.latency_us, high.latency_us)]
    throughput = _line(inverses[0], inverses[1:], (low.throughput_ops_s, high.throughput_ops_s))
    return Within(throughput, How.INTERPOLATED, (low, high), violated=violated)


def rising_branch(points: Sequence[LoadPoint]) -> tuple[LoadPoint, ...]:
    """The rungs up to the highest throughput, in the order of the ladder: the curve as it is drawn up to there.

    Without orders, all but those that the highest rung beats in both throughput and latency, by throughput.
    """
    usable = [point for point in points if 0 < point.throughput_ops_s < math.inf and 0 <= point.latency_us < math.inf]
    if not usable:
        return ()

    top = max(usable, key=lambda point: (point.throughput_ops_s, -point.latency_us))
    if any(point.order is None for point in usable):
        unbeaten = [
            point
            for point in usable
            if point is top or point.throughput_ops_s > top.throughput_ops_s or point.latency_us <= top.latency_us
        ]
        return tuple(sorted(unbeaten, key=lambda point: (point.throughput_ops_s, point.latency_us)))

    ladder = sorted(usable, key=lambda point: point.order or 0.0)
    return tuple(ladder[: ladder.index(top) + 1])


def _between(low: LoadPoint, high: LoadPoint, load_ops_s: float) -> float:
    """The latency at a load where 1 / latency is linear in throughput, as in a queue M/M/1: 1 / R = capacity - X.

    Infinite at and beyond the capacity. Linear itself where a latency is 0 (1 ms buckets).
    """
    ends = [_inverse(point.latency_us, low, high) for point in (low, high)]
    value = _line(load_ops_s, (low.throughput_ops_s, high.throughput_ops_s), ends)
    if min(low.latency_us, high.latency_us) <= 0:
        return value
    if value > 0:
        return 1 / value
    return math.inf


def trace_curve(points: Sequence[LoadPoint]) -> list[tuple[float, float]]:
    """The curve through the points in their order, as it is read: ops/s and µs, with points between where it bends."""
    path = [(point.throughput_ops_s, point.latency_us) for point in points[:1]]
    for low, high in pairwise(points):
        steps = 1
        if min(low.latency_us, high.latency_us) > 0:
            steps = min(1 + round(abs(math.log(high.latency_us / low.latency_us)) * STEPS_PER_E), MAX_STEPS)
        for step in range(1, steps):
            load_ops_s = low.throughput_ops_s + (high.throughput_ops_s - low.throughput_ops_s) * step / steps
            path.append((load_ops_s, _between(low, high, load_ops_s)))
        path.append((high.throughput_ops_s, high.latency_us))
    return path


def _inverse(latency_us: float, low: LoadPoint, high: LoadPoint) -> float:
    if min(low.latency_us, high.latency_us) > 0:
        return 1 / latency_us
    return latency_us


def _line(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """y at x on the straight line through two points; of a vertical one the first."""
    if xs[0] == xs[1]:
        return ys[0]
    return ys[0] + (x - xs[0]) / (xs[1] - xs[0]) * (ys[1] - ys[0])


def noise_at(passes: Sequence[Sequence[LoadPoint]], load_ops_s: float) -> Noise | None:
    """How much the latency at the load varies between passes over the rungs; None where too few rungs show it.

    The variance of ln(latency at the load) is that of ln(latency) - E·ln(throughput) of both rungs around it, weighted
    by their distance, where E is the slope of ln(latency) over ln(throughput) there. It is pooled over the rungs with
    at least half of the load by the model rung + pass + noise (`top_estimate.two_way`), degrees of freedom after
    Satterthwaite.
    """
    if any(min(point.latency_us, point.throughput_ops_s) <= 0 for rungs in passes for point in rungs):
        return None

    ln_x, ln_r = (
        np.log([[getattr(point, name) for point in rungs] for rungs in passes]).T
        for name in ("throughput_ops_s", "latency_us")
    )
    x, inverse = np.exp(ln_x.mean(axis=1)), np.exp(-ln_r.mean(axis=1))
    after = max(next((i for i, value in enumerate(x) if value >= load_ops_s), len(x) - 1), 1)
    if len(x) < 2 or x[after] <= x[after - 1]:
        return None

    ends = slice(after - 1, after + 1)
    at_load = _line(load_ops_s, x[ends], inverse[ends])
    if at_load <= 0:
        return None

    slope = -(inverse[after] - inverse[after - 1]) / (x[after] - x[after - 1]) * load_ops_s / at_load
    noise = two_way((ln_r - slope * ln_x)[x >= ALIKE * load_ops_s].tolist())
    if noise is None:
        return None

    share = min(max((load_ops_s - x[after - 1]) / (x[after] - x[after - 1]), 0.0), 1.0)
    return noise.noise(1 / (share**2 + (1 - share) ** 2))

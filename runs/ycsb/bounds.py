"""Between which values a percentile of several clients lies when all that is known is what each of them stated.

No average, weighted mean or maximum of the clients' percentiles is the percentile of them all. What their statements do
allow is counting: a client that states count, minimum, maximum and percentiles says at how few and at how many of its
values a latency can be passed. Adding the clients' few and many gives the lowest and the highest latency at which the
common percentile can lie. Counts by bucket say the same at every border of a bucket, so they need no rule of their own.

Ranks are those of HdrHistogram 2.2. Other versions round them to the nearest, so a bound can be off by one value for
each client.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runs.ycsb.histogram import compute_rank, get_bucket_index, highest_value
from runs.ycsb.operation import Bucket, ReadOperation

# Asked of buckets even where nobody printed them.
OF_BUCKETS: Final = ("50", "95", "99", "99.9")


@dataclass(frozen=True, slots=True)
class Bounds:
    """A percentile lies in [low_us, high_us]. Equal ends: it is known. high_us is None: without bound."""

    low_us: float
    high_us: float | None

    @property
    def is_exact(self) -> bool:
        return self.low_us == self.high_us


_Limits = tuple[float, float]  # between which a value lies; infinite: without bound


def percentile_bounds(operations: Sequence[ReadOperation]) -> dict[str, Bounds]:
    """Every percentile that some client stated over the values of all clients.

    One client's own statement stays what it is: a point, or the bucket whose lower border it printed.
    """
    operations = [operation for operation in operations if operation.count != 0]
    names = set(itertools.chain.from_iterable(operation.percentiles_us for operation in operations))
    if operations and all(select_buckets(operation) for operation in operations):
        names |= set(OF_BUCKETS)
    bounds = {}
    for name in sorted(names, key=float):
        limits = _compute_limits(operations, name)
        if limits is not None:
            bounds[name] = _build_bounds(*limits)
    return bounds


def _build_bounds(low: float, high: float) -> Bounds:
    return Bounds(low, high if math.isfinite(high) else None)


def _get_end(bucket: Bucket) -> float:
    return math.inf if bucket.to_us is None else bucket.to_us


def added_buckets(operations: Sequence[ReadOperation]) -> tuple[Bucket, ...]:
    """The clients' counts by bucket added, where all of them have the same buckets; nothing otherwise."""
    parts = [select_buckets(operation) for operation in operations if operation.count != 0]
    if not parts or not all(parts):
        return ()
    counts: Counter[tuple[float, float]] = Counter()
    for bucket in itertools.chain.from_iterable(parts):
        counts[bucket.from_us, _get_end(bucket)] += bucket.count
    borders = sorted(counts)
    if any(low < previous_high for (_, previous_high), (low, _) in itertools.pairwise(borders)):
        return ()
    buckets = []
    for low, high in borders:
        to_us = high if math.isfinite(high) else None
        buckets.append(Bucket(low, to_us, counts[low, high]))
    return tuple(buckets)


def mean_bounds(
    buckets: Sequence[Bucket], least_us: float | None = None, most_us: float | None = None
) -> Bounds | None:
    """Between which values the mean of bucketed values lies, none of them beyond the extremes; None without any."""
    # An overflow that counts nothing is stated, too, and would make the mean infinite times nothing.
    buckets = [bucket for bucket in buckets if bucket.count]
    total = sum(bucket.count for bucket in buckets)
    if not total:
        return None
    lowest = least_us or 0.0
    highest = math.inf if most_us is None else most_us
    low_sum = sum(max(bucket.from_us, lowest) * bucket.count for bucket in buckets)
    high_sum = sum(min(_get_end(bucket), highest) * bucket.count for bucket in buckets)
    return _build_bounds(low_sum / total, high_sum / total)


def select_buckets(operation: ReadOperation) -> tuple[Bucket, ...]:
    """The buckets as far as they agree with the operation's count.

    A published output counts 32 values of a 30 s run in a bucket beyond 128 s, which its own count does not contain.
    """
    bounded = tuple(bucket for bucket in operation.buckets if bucket.to_us is not None)
    counted = sum(bucket.count for bucket in bounded)
    overflow = sum(bucket.count for bucket in operation.buckets) - counted
    if operation.count is None or operation.count == counted + overflow:
        return operation.buckets
    if operation.count == counted:
        return bounded
    return ()


def _compute_limits(operations: Sequence[ReadOperation], name: str) -> _Limits | None:
    by_statement = _get_stated_range(operations, name)
    if by_statement is not None and len(operations) == 1:
        low, high = by_statement
        if low == high:
            return by_statement

    by_count = _count_limits(operations, name)
    if by_statement is None or by_count is None:
        return by_count or by_statement
    return _intersect(by_statement, by_count) or by_count


def _get_stated_range(operations: Sequence[ReadOperation], name: str) -> _Limits | None:
    """A percentile of all lies between the lowest and the highest of the clients' own; None where one states none."""
    lows, highs = [], []
    for operation in operations:
        limits = _read_percentiles(operation).get(name)
        if limits is None:
            return None
        low, high = limits
        lows.append(low)
        highs.append(high)
    return (min(lows), max(highs)) if lows else None


def _read_percentiles(operation: ReadOperation) -> dict[str, _Limits]:
    """One client's percentiles: between the borders of a bucket where only one of them was printed.

    What its own counts by bucket contradict is left out: they are nearer to what was measured.
    """
    by_name: dict[str, _Limits] = {}
    buckets = select_buckets(operation)
    for name, value in operation.percentiles_us.items():
        stated = _compute_printed_limits(operation, value)
        counted = _find_bucket(buckets, float(name))
        if counted is None or _intersect(stated, counted) is not None:
            by_name[name] = stated
    return by_name


def find_overruled_percentiles(operation: ReadOperation) -> list[str]:
    """The names of the percentiles that the client prints outside of the buckets in which its own counts place them."""
    buckets = select_buckets(operation)
    width = operation.resolution_us or 0.0
    names = []
    for name in sorted(operation.percentiles_us, key=float):
        value = operation.percentiles_us[name]
        counted = _find_bucket(buckets, float(name))
        if counted is not None and _intersect((value, value + width), counted) is None:
            names.append(name)
    return names


def _compute_printed_limits(operation: ReadOperation, value: float) -> _Limits:
    """The limits of a printed percentile, within the extremes."""
    min_us, max_us = operation.min_us or 0.0, operation.max_us
    width = operation.resolution_us
    low, high = value, value + (width or 0.0)
    if operation.rounds_up:
        low, high = min_us if width is None else value - width, value
    low = max(low, min(min_us, high))
    if max_us is not None and low < max_us < high:
        high = max_us
    return low, high


def _find_bucket(buckets: Sequence[Bucket], percentile: float) -> _Limits | None:
    """The borders of the bucket in which the percentile lies."""
    rank = compute_rank(percentile, sum(bucket.count for bucket in buckets))
    running = 0
    for bucket in buckets:
        running += bucket.count
        if running >= rank:
            return bucket.from_us, _get_end(bucket)
    return None


def _intersect(limits: _Limits, other: _Limits) -> _Limits | None:
    """None where they have nothing in common."""
    (low, high), (other_low, other_high) = limits, other
    if other_low > high or low > other_high:
        return None
    return max(low, other_low), min(high, other_high)


# --- Counting ---

# Latencies in µs, each with a number of values.
_Steps = list[tuple[float, int]]


def _count_limits(operations: Sequence[ReadOperation], name: str) -> _Limits | None:
    """The limits by counting, over all clients; None where one does not state how many values it has."""
    total = 0
    fewest: _Steps = []
    most: _Steps = []
    for operation in operations:
        count = operation.count
        if count is None:
            count = sum(bucket.count for bucket in select_buckets(operation))
        if count <= 0:
            return None
        at_least, at_most = _statements(operation, count)
        total += count
        fewest += _fewest_passed(at_least)
        most += _most_passed(at_most, count)

    rank = compute_rank(float(name), total)
    low, high = sorted((_find_latency(most, rank), _find_latency(fewest, rank)))
    return low, high


def _statements(operation: ReadOperation, count: int) -> tuple[_Steps, _Steps]:
    """For latencies, how many of a client's values are at least not above, and at most below them."""
    at_least: _Steps = []
    at_most: _Steps = []
    for name, (low, high) in _read_percentiles(operation).items():
        rank = compute_rank(float(name), count)
        at_most.append((low, rank - 1))
        at_least.append((high, rank))

    if operation.min_us is not None:
        # HdrHistogram prints the lower end of the lowest bucket, and the upper end of every other value.
        at_least.append((_upper_end(operation.min_us, operation.resolution_us), 1))
        at_most.append((operation.min_us, 0))

    if operation.max_us is not None:
        at_least.append((operation.max_us, count))
        at_most.append((operation.max_us, count - 1))

    running = 0
    for bucket in select_buckets(operation):
        # Readers leave empty buckets out, so nothing lies between the one before and this one.
        at_most.append((bucket.from_us, running))
        running += bucket.count
        if bucket.to_us is not None:
            at_least.append((bucket.to_us, running))
            at_most.append((bucket.to_us, running))

    return at_least, at_most


def _upper_end(value_us: float, resolution_us: float | None) -> float:
    if resolution_us is not None or not 0 <= value_us < 2**62:
        return value_us
    return max(value_us, float(highest_value(get_bucket_index(int(value_us)))))


def _fewest_passed(at_least: _Steps) -> _Steps:
    """At least how many more of the client's values are not above each latency than before it."""
    steps: _Steps = []
    reached = 0
    for latency, number in sorted(at_least):
        if number > reached:
            steps.append((latency, number - reached))
            reached = number
    return steps


def _most_passed(at_most: _Steps, count: int) -> _Steps:
    """At most how many more of the client's values are not above each latency than before it."""
    steps: _Steps = []
    for latency, number in sorted(at_most, reverse=True):
        if number < count:
            steps.append((latency, count - number))
            count = number
    return [(0.0, count), *steps]


def _find_latency(steps: _Steps, rank: int) -> float:
    """The lowest latency at which the clients together reach the rank; infinite where they do not."""
    reached = 0
    for latency, more in sorted(steps):
        reached += more
        if reached >= rank:
            return latency
    return math.inf

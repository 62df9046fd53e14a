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
from collections.abc import Callable, Sequence
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


def percentile_bounds(operations: Sequence[ReadOperation]) -> dict[str, Bounds]:
    """Every percentile that some client stated over the values of all clients.

    One client's own statement stays what it is: a point, or the bucket whose lower border it printed.
    """
    operations = [operation for operation in operations if operation.count != 0]
    names = {name for operation in operations for name in operation.percentiles_us}
    if operations and all(select_buckets(operation) for operation in operations):
        names |= set(OF_BUCKETS)
    by_name = {name: _bounds(operations, name) for name in sorted(names, key=float)}
    return {name: bounds for name, bounds in by_name.items() if bounds is not None}


def added_buckets(operations: Sequence[ReadOperation]) -> tuple[Bucket, ...]:
    """The clients' counts by bucket added, where all of them have the same buckets; nothing otherwise."""
    parts = [select_buckets(operation) for operation in operations if operation.count != 0]
    if not parts or not all(parts):
        return ()
    counts: dict[tuple[float, float], int] = {}
    for bucket in (bucket for part in parts for bucket in part):
        key = bucket.from_us, math.inf if bucket.to_us is None else bucket.to_us
        counts[key] = counts.get(key, 0) + bucket.count
    borders = sorted(counts)
    if any(low < before for (_, before), (low, _) in itertools.pairwise(borders)):
        return ()
    return tuple(Bucket(low, None if high == math.inf else high, counts[low, high]) for low, high in borders)


def mean_bounds(
    buckets: Sequence[Bucket], least_us: float | None = None, most_us: float | None = None
) -> Bounds | None:
    """Between which values the mean of bucketed values lies, none of them beyond the extremes; None without any."""
    # An overflow that counts nothing is stated, too, and would make the mean infinite times nothing.
    buckets = [bucket for bucket in buckets if bucket.count]
    total = sum(bucket.count for bucket in buckets)
    if not total:
        return None
    low = sum(max(bucket.from_us, least_us or 0.0) * bucket.count for bucket in buckets) / total
    most = math.inf if most_us is None else most_us
    high = sum(min(math.inf if bucket.to_us is None else bucket.to_us, most) * bucket.count for bucket in buckets)
    return Bounds(low, high / total if math.isfinite(high) else None)


def select_buckets(operation: ReadOperation) -> tuple[Bucket, ...]:
    """The buckets as far as they agree with the operation's count.

    A published output counts 32 values of a 30 s run in a bucket beyond 128 s, which its own count does not contain.
    """
    bounded = tuple(bucket for bucket in operation.buckets if bucket.to_us is not None)
    counted = sum(bucket.count for bucket in bounded)
    overflow = sum(bucket.count for bucket in operation.buckets) - counted
    if operation.count is None or operation.count == counted + overflow:
        return operation.buckets
    return bounded if operation.count == counted else ()


def _bounds(operations: Sequence[ReadOperation], name: str) -> Bounds | None:
    simple = _between_the_clients(operations, name)
    if simple is not None and len(operations) == 1 and simple.is_exact:
        return simple
    statements = [_known(operation) for operation in operations]
    if any(statement is None for statement in statements):
        return simple
    counted = _counted([statement for statement in statements if statement is not None], name)
    return counted if simple is None or _excludes(simple, counted) else _both(simple, counted)


def _between_the_clients(operations: Sequence[ReadOperation], name: str) -> Bounds | None:
    """A percentile of all lies between the lowest and the highest of the clients' own; None if one did not state it."""
    parts = [_stated(operation).get(name) for operation in operations]
    stated = [part for part in parts if part is not None]
    if not stated or len(stated) < len(parts):
        return None
    highs = [part.high_us for part in stated if part.high_us is not None]
    return Bounds(min(part.low_us for part in stated), max(highs) if len(highs) == len(stated) else None)


def _stated(operation: ReadOperation) -> dict[str, Bounds]:
    """One client's percentiles: between the borders of a bucket where only one of them was printed.

    What its own counts by bucket contradict is left out: they are nearer to what was measured.
    """
    bounds: dict[str, Bounds] = {}
    buckets = select_buckets(operation)
    for name, value in operation.percentiles_us.items():
        stated, holding = _bucket(operation, value), _holding(buckets, float(name))
        if holding is None or not _excludes(stated, holding):
            bounds[name] = stated
    return bounds


def _bucket(operation: ReadOperation, value: float) -> Bounds:
    """What a printed percentile stands for; no value lies beyond the extremes."""
    least, most = operation.min_us or 0.0, operation.max_us
    width = operation.resolution_us
    if operation.rounds_up:
        low, high = least if width is None else value - width, value
    else:
        low, high = value, value + (width or 0.0)
    low = max(low, min(least, high))
    return Bounds(low, most if most is not None and low < most < high else high)


def _holding(buckets: Sequence[Bucket], percentile: float) -> Bounds | None:
    """The borders of the bucket in which the percentile lies."""
    rank = compute_rank(percentile, sum(bucket.count for bucket in buckets))
    running = 0
    for bucket in buckets:
        running += bucket.count
        if running >= rank:
            return Bounds(bucket.from_us, bucket.to_us)
    return None


def _excludes(bounds: Bounds, other: Bounds) -> bool:
    return (bounds.high_us is not None and other.low_us > bounds.high_us) or (
        other.high_us is not None and bounds.low_us > other.high_us
    )


def _both(bounds: Bounds, other: Bounds) -> Bounds:
    highs = [high for high in (bounds.high_us, other.high_us) if high is not None]
    return Bounds(max(bounds.low_us, other.low_us), min(highs, default=None))


# --- Counting ---


@dataclass(frozen=True, slots=True)
class _Known:
    """What one client's statements say about its values, as (latency in µs, number of values)."""

    count: int
    at_least: Sequence[tuple[float, int]]  # at least so many values are not above the latency
    at_most: Sequence[tuple[float, int]]  # at most so many values are below the latency


def _known(operation: ReadOperation) -> _Known | None:
    """None where the client does not state how many values it has: nothing can be weighed then."""
    buckets = select_buckets(operation)
    count = operation.count if operation.count is not None else sum(bucket.count for bucket in buckets)
    if count <= 0:
        return None
    at_least: list[tuple[float, int]] = []
    at_most: list[tuple[float, int]] = []
    for name, stated in _stated(operation).items():
        rank = compute_rank(float(name), count)
        at_most.append((stated.low_us, rank - 1))
        if stated.high_us is not None:
            at_least.append((stated.high_us, rank))
    if operation.min_us is not None:
        # HdrHistogram prints the lower end of the lowest bucket, and the upper end of every other value.
        at_least.append((_upper_end(operation.min_us, operation.resolution_us), 1))
        at_most.append((operation.min_us, 0))
    if operation.max_us is not None:
        at_least.append((operation.max_us, count))
        at_most.append((operation.max_us, count - 1))
    running = 0
    for bucket in buckets:
        # Readers leave empty buckets out, so nothing lies between the one before and this one.
        at_most.append((bucket.from_us, running))
        running += bucket.count
        if bucket.to_us is not None:
            at_least.append((bucket.to_us, running))
            at_most.append((bucket.to_us, running))
    return _Known(count, at_least, at_most)


def _upper_end(value_us: float, resolution_us: float | None) -> float:
    if resolution_us is not None or not 0 <= value_us < 2**62:
        return value_us
    return max(value_us, float(highest_value(get_bucket_index(int(value_us)))))


def _counted(clients: Sequence[_Known], name: str) -> Bounds:
    """The bounds by counting, over all clients."""
    rank = compute_rank(float(name), sum(client.count for client in clients))
    low = _reaches(clients, _most_passed, rank)
    high = _reaches(clients, _fewest_passed, rank)
    if low is not None and high is not None and high < low:
        low, high = high, low
    return Bounds(low or 0.0, high)


# From a latency on so many more values than before.
_Steps = list[tuple[float, int]]


def _fewest_passed(client: _Known) -> _Steps:
    """At least how many of the client's values are not above a latency."""
    steps: _Steps = []
    reached = 0
    for latency, number in sorted(client.at_least):
        if number > reached:
            steps.append((latency, number - reached))
            reached = number
    return steps


def _most_passed(client: _Known) -> _Steps:
    """At most how many of the client's values are not above a latency."""
    steps: _Steps = []
    allowed = client.count
    for latency, number in sorted(client.at_most, reverse=True):
        if number < allowed:
            steps.append((latency, allowed - number))
            allowed = number
    return [(0.0, allowed), *reversed(steps)]


def _reaches(clients: Sequence[_Known], steps_of: Callable[[_Known], _Steps], rank: int) -> float | None:
    """The lowest latency at which the clients together reach the rank."""
    reached = 0
    for latency, more in sorted(step for client in clients for step in steps_of(client)):
        reached += more
        if reached >= rank:
            return latency
    return None

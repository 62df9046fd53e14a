"""The printed histogram of a study: what its buckets allow to say about percentiles (analysis 6)."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from runs.studies import Fact, Kind, Study

_BETWEEN = re.compile(r"latency_bucket_(\d+)(us|ms|s)_to_(\d+)(us|ms|s)")
_BEYOND = re.compile(r"latency_bucket_over_(\d+)(us|ms|s)")
_MICROSECONDS = {"us": 1, "ms": 1000, "s": 1_000_000}


@dataclass(frozen=True, slots=True)
class Bucket:
    """Operations whose latency lay in (low, high]; the last one has no upper bound."""

    low_us: int
    high_us: int | None
    count: int
    fact: Fact


def buckets_of(study: Study) -> tuple[Bucket, ...]:
    """The study's printed buckets, ascending; none where it printed none."""
    buckets = [_bucket(fact) for fact in study.facts if fact.kind == Kind.HISTOGRAM]
    return tuple(sorted(buckets, key=lambda bucket: bucket.low_us))


def _bucket(fact: Fact) -> Bucket:
    if match := _BETWEEN.fullmatch(fact.metric):
        low, high = int(match[1]) * _MICROSECONDS[match[2]], int(match[3]) * _MICROSECONDS[match[4]]
        return Bucket(low, high, int(fact.value), fact)
    match = _BEYOND.fullmatch(fact.metric)
    if match is None:
        raise ValueError(f"{fact.id}: {fact.metric} names no bucket")
    return Bucket(int(match[1]) * _MICROSECONDS[match[2]], None, int(fact.value), fact)


def bucket_of(buckets: Sequence[Bucket], share: float) -> Bucket | None:
    """The bucket in which the quantile lies: the first at whose end at least `share` of the operations are counted.

    None without operations. A quantile of bucketed output is known to its bucket and no closer.
    """
    needed = math.ceil(share * sum(bucket.count for bucket in buckets) - 1e-9)
    counted = 0
    for bucket in buckets:
        counted += bucket.count
        if bucket.count and counted >= needed:
            return bucket
    return None


def mean_bounds(buckets: Sequence[Bucket], least_us: float, most_us: float) -> tuple[float, float]:
    """Between which the mean lies, in microseconds, when the least and the greatest latency are known.

    Every operation of a bucket lies at its lower end at the least and at its upper end at the most (analysis 6). The
    ends are powers of two, which the print rounds: its "2 ms" is 2,048 µs. Raises ZeroDivisionError without operations.
    """
    total = sum(bucket.count for bucket in buckets)
    low = sum(bucket.count * max(power_of_two(bucket.low_us), least_us) for bucket in buckets) / total
    high = sum(bucket.count * min(power_of_two(bucket.high_us or most_us), most_us) for bucket in buckets) / total
    return low, high


def power_of_two(printed_us: float) -> float:
    """The power of two that was printed in rounded units; 0 stays 0."""
    return 2.0 ** round(math.log2(printed_us)) if printed_us > 0 else 0.0

"""What the numbers of one operation say against each other, in words; an empty text says nothing."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from benchsite.core.formatting import exact
from runs.ycsb.messages import (
    BUCKET_ABOVE_MAXIMUM,
    BUCKETS_DIFFER,
    EXCESS_RETURNS,
    MEAN_ABOVE_MAXIMUM,
    MINIMUM_ABOVE_MEAN,
    PERCENTILE_ABOVE_MAXIMUM,
)
from runs.ycsb.operation import ReadOperation
from runs.ycsb.progress import Progress

# BATCHED_OK is not among them: YCSB 0.10 and 0.11 count what was accepted into a batch apart.
_COUNTED_AS_DONE = ("OK", "0")


def find_contradiction(operation: ReadOperation) -> str:
    """The first contradiction in one client's buckets, order of latencies and return codes."""
    names = operation.percentiles_us
    return (
        bucket_contradiction(operation)
        or disorder(
            {float(name): names[name] for name in names},
            operation.min_us,
            operation.mean_us,
            operation.max_us,
            operation.resolution_us or 0.0,
        )
        or _excess_returns(operation)
    )


def bucket_contradiction(operation: ReadOperation) -> str:
    """How the buckets contradict the count or the maximum."""
    if not operation.buckets:
        return ""
    counted = sum(bucket.count for bucket in operation.buckets)
    if operation.count is not None and counted != operation.count:
        return BUCKETS_DIFFER.format(values=counted, count=operation.count)
    last = max((bucket.from_us for bucket in operation.buckets if bucket.count), default=0.0)
    if operation.max_us is not None and last > operation.max_us:
        return BUCKET_ABOVE_MAXIMUM
    return ""


def disorder(
    percentiles_us: Mapping[float, float | None],
    min_us: float | None,
    mean_us: float | None,
    max_us: float | None,
    resolution_us: float,
) -> str:
    """What no distribution of latencies has. Percentiles may lie above the maximum by their resolution."""
    stated = [(name, value) for name, value in sorted(percentiles_us.items()) if value is not None]
    for (lower, below), (upper, above) in pairwise(stated):
        if above < below:
            return f"p{exact(upper)} is below p{exact(lower)}"

    if stated and max_us is not None and stated[-1][1] > max_us + resolution_us:
        return PERCENTILE_ABOVE_MAXIMUM.format(percentile=exact(stated[-1][0]))
    if any(value is not None and value < 0 for value in (min_us, mean_us, max_us)):
        return "a latency is negative"
    if mean_us is not None and min_us is not None and min_us > mean_us:
        return MINIMUM_ABOVE_MEAN
    if mean_us is not None and max_us is not None and mean_us > max_us:
        return MEAN_ABOVE_MAXIMUM

    return ""


def status_coverage(progress: Progress, operations: Mapping[str, ReadOperation]) -> float | None:
    """The least share of an operation of the summary that the status lines count line by line; 1 where none is lost.

    None where they do not count: those of the old histograms have rates only.
    """
    counts = {name: progress.lines.column(name, "count") for name in operations.keys() & set(progress.lines.names)}
    shares = [
        float(np.nansum(counts[name])) / total
        for name in counts
        if (total := operations[name].count) and not np.isnan(counts[name]).all()
    ]
    return min(shares, default=None)


def _excess_returns(operation: ReadOperation) -> str:
    """More return codes of success than operations that were timed."""
    done = sum(operation.returns.get(code, 0) for code in _COUNTED_AS_DONE)
    if operation.count is None or operation.is_average or done <= operation.count:
        return ""
    return EXCESS_RETURNS.format(returns=done, operations=operation.count)

"""Coordinated omission: what a client that waits for its database does not measure, and what can be said of it later.

A thread with a target sends its next operation when it is due, or, after a stall, as soon as it can. The service time
counts from the call and forgets the operations that came too late; the response time counts from when each was due.
"""

from collections.abc import Sequence

import numpy as np

from runs.ycsb.histogram import Floats, Histogram, highest_values, lowest_values


def throttled_thread(service: Sequence[float], interval: float) -> tuple[Floats, Floats]:
    """When each operation of one thread ends, and its response time; all in the unit of `service`.

    Operation i is due at i * interval and begins then, or when the one before it has ended (YCSB catches up back to
    back). Its response time is its end minus the instant at which it was due.
    """
    ends = np.empty(len(service), dtype=np.float64)
    free = 0.0
    for number, time in enumerate(service):
        free = max(free, number * interval) + time
        ends[number] = free
    return ends, ends - np.arange(len(service)) * interval


def corrected(service: Histogram, expected_us: float) -> Histogram:
    """The response times estimated from service times alone: "response-estimated", never "response".

    After HdrHistogram's copyCorrectedForCoordinatedOmission: a value v above the interval e that a thread was to keep
    stands for the operations that waited behind it too: v - e, v - 2e and so on, down to e.
    """
    expected = round(expected_us)
    indices, counts = service.sparse()
    values = highest_values(indices)
    late = values > max(expected, 1)
    total = service.counts
    if expected < 1 or not late.any():
        return Histogram(total)

    edges = np.maximum(lowest_values(np.arange(total.size + 1)), expected)
    for value, count in zip(values[late].tolist(), counts[late].tolist(), strict=True):
        # How many of the waiting ones lie at or above the lower edge of each bucket, and so, by bucket, how many in it.
        above = np.maximum(value - edges, 0) // expected
        total += count * -np.diff(above)

    return Histogram(total)

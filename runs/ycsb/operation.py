"""One metric as a client printed it, and the lines around it. Latencies are in microseconds.

None (or an empty mapping) is what the file does not state; a reader never fills it in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OtherLine:
    """A line that is no measurement of an operation: a fork's own metric, chatter, noise."""

    line_number: int  # from 1
    text: str


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many values lie in [from_us, to_us); to_us is None for the overflow bucket."""

    from_us: float
    to_us: float | None
    count: int


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One row of a printed time series: milliseconds since the operation's first value."""

    at_ms: float
    mean_us: float | None
    rate_ops_s: float | None = None  # the third column of the Thumbtack lineage


@dataclass(frozen=True, slots=True)
class ReadOperation:
    """One metric as printed: READ, READ-FAILED, Intended-READ, HdrREAD, READ_ERROR, TOTAL, CLEANUP.

    Of no values at all (a count of 0) YCSB prints a maximum and percentiles of 0: they are kept and mean nothing.
    """

    count: int | None = None
    mean_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    variance_us2: float | None = None
    percentiles_us: Mapping[str, float] = field(default_factory=dict)  # "99.9" -> µs
    # How coarse the percentiles are: 1000 where each is the floor of a bucket of 1 ms. None: as fine as HdrHistogram.
    resolution_us: float | None = None
    rounds_up: bool = False  # the percentiles are the upper ends of buckets instead
    returns: Mapping[str, int] = field(default_factory=dict)
    buckets: tuple[Bucket, ...] = ()  # those with a value in them, and the overflow wherever it is stated
    series: tuple[SeriesPoint, ...] = ()
    rate_ops_s: float | None = None  # where an operation states its own, as go-ycsb's do
    is_average: bool = False  # its counts were fractions, here rounded: it is a mean over several runs
    extra: Mapping[str, str] = field(default_factory=dict)  # every other key of this metric, as printed

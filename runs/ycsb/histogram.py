"""Exact histograms in the bucket layout of HdrHistogram: lowest value 1, three significant digits, microseconds.

Values up to 2047 have a bucket each; above, every doubling of the value has 1024 buckets, so a bucket is never wider
than 1/1024 of its values. Adding two histograms adds their counts index by index and loses nothing; that is the only
way percentiles of several clients or intervals are ever merged here.

The arithmetic of mean, minimum, maximum and percentiles is that of HdrHistogram 2.2 for Java, which YCSB prints with.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SIGNIFICANT_DIGITS: Final = 3
_SUB_BUCKETS: Final = 2048  # The power of two above 2 * 10**digits.
_HALF: Final = _SUB_BUCKETS // 2
_HALF_BITS: Final = 10
# The index of the largest value Java can record (2**63 - 1): no count lies beyond it.
MAX_INDEX: Final = (63 - _HALF_BITS) * _HALF + _HALF - 1
# From each of these values on, buckets are twice as wide.
_FIRST_OF_BUCKET: Final = np.int64(_SUB_BUCKETS) << np.arange(63 - _HALF_BITS - 1, dtype=np.int64)


def get_bucket_index(value: int) -> int:
    """The index of the bucket that counts `value` (in µs, not negative)."""
    bucket = max(value.bit_length() - (_HALF_BITS + 1), 0)
    return (bucket << _HALF_BITS) + (value >> bucket)


def get_bucket_indices(values: npt.NDArray[Any]) -> Ints:
    """The index of the bucket of each value (in µs, not negative)."""
    value = np.asarray(values, dtype=np.int64)
    bucket = np.searchsorted(_FIRST_OF_BUCKET, value, side="right")
    indices: Ints = (bucket << _HALF_BITS) + (value >> bucket)
    return indices


def lowest_values(indices: npt.NDArray[Any]) -> Ints:
    """The smallest value (µs) of the bucket at each index."""
    index = np.asarray(indices, dtype=np.int64)
    bucket = np.maximum((index >> _HALF_BITS) - 1, 0)
    lowest: Ints = (index - (bucket << _HALF_BITS)) << bucket
    return lowest


def bucket_widths(indices: npt.NDArray[Any]) -> Ints:
    """How many values (µs) share the bucket at each index."""
    bucket = np.maximum((np.asarray(indices, dtype=np.int64) >> _HALF_BITS) - 1, 0)
    widths: Ints = np.left_shift(np.int64(1), bucket)
    return widths


def median_values(indices: npt.NDArray[Any]) -> Ints:
    """The value (µs) that stands for the bucket at each index in a mean."""
    return lowest_values(indices) + (bucket_widths(indices) >> 1)


def highest_values(indices: npt.NDArray[Any]) -> Ints:
    """The largest value (µs) of the bucket at each index."""
    return lowest_values(indices) + bucket_widths(indices) - 1


def lowest_value(index: int) -> int:
    return int(lowest_values(np.array([index]))[0])


def highest_value(index: int) -> int:
    return int(highest_values(np.array([index]))[0])


def compute_rank(percentile: float, count: int) -> int:
    """Which of `count` ordered values answers the percentile (1 is the smallest).

    HdrHistogram takes the double just below the percentile, so that 99 % of 100 is 99 and not 100 by rounding.
    """
    below = min(max(math.nextafter(percentile, -math.inf), 0.0), 100.0)
    return max(math.ceil(below * count / 100.0), 1)


def changes(values: npt.NDArray[Any]) -> Ints:
    """The first place, and those at which a value differs from the one before it."""
    differs = np.ones(values.size, dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=differs[1:])
    return differs.nonzero()[0]


class Histogram:
    """Counts by HdrHistogram index. It grows with what is added to it; two of different sizes add and compare."""

    __slots__ = ("_count", "_counts", "_sparse")

    def __init__(self, counts: npt.ArrayLike = ()) -> None:
        """`counts[i]` values lie in the bucket with index i."""
        array: Ints = np.array(counts, dtype=np.int64)
        if array.ndim != 1 or array.size > MAX_INDEX + 1 or (array.size and int(array.min()) < 0):
            raise ValueError("the counts of a histogram are one row of whole numbers that are not negative")
        used = np.flatnonzero(array)
        self._counts: Ints = array[: int(used[-1]) + 1] if used.size else array[:0]
        self._count = int(self._counts.sum())
        self._sparse: tuple[Ints, Ints] | None = None  # until something is added

    @classmethod
    def of_sparse(cls, indices: npt.NDArray[Any], counts: npt.NDArray[Any]) -> "Histogram":
        """Counts at the indices; an index may occur any number of times."""
        histogram = cls()
        histogram.add_sparse(indices, counts)
        return histogram

    @classmethod
    def merged(cls, histograms: Iterable["Histogram"]) -> "Histogram":
        total = cls()
        for histogram in histograms:
            total.add(histogram)
        return total

    def add(self, other: "Histogram") -> None:
        self._grow(other._counts.size)
        self._counts[: other._counts.size] += other._counts
        self._count += other._count

    def add_sparse(self, indices: npt.NDArray[Any], counts: npt.NDArray[Any]) -> None:
        if indices.size == 0:
            return
        if int(indices.min()) < 0 or int(indices.max()) > MAX_INDEX or int(counts.min()) < 0:
            raise ValueError("a count lies outside of every histogram")
        self._grow(int(indices.max()) + 1)
        np.add.at(self._counts, indices, counts.astype(np.int64, copy=False))
        self._count += int(counts.sum())

    def _grow(self, size: int) -> None:
        self._sparse = None
        if size > self._counts.size:
            grown = np.zeros(size, dtype=np.int64)
            grown[: self._counts.size] = self._counts
            self._counts = grown

    @property
    def counts(self) -> Ints:
        """A copy of the counts by index."""
        return self._counts.copy()

    def sparse(self) -> tuple[Ints, Ints]:
        """The indices that have counts, ascending, and those counts."""
        if self._sparse is None:
            indices = np.flatnonzero(self._counts).astype(np.int64)
            self._sparse = indices, self._counts[indices]
        return self._sparse

    @property
    def count(self) -> int:
        return self._count

    @property
    def total_us(self) -> float:
        """The sum of all values in microseconds, each taken as the middle of its bucket."""
        indices, counts = self.sparse()
        return float(np.dot(median_values(indices).astype(np.float64), counts.astype(np.float64)))

    @property
    def mean(self) -> float | None:
        if self._count:
            return self.total_us / self._count
        return None

    @property
    def min(self) -> int | None:
        """The smallest value of the lowest bucket that has counts, as YCSB prints it."""
        indices, _ = self.sparse()
        if indices.size:
            return lowest_value(int(indices[0]))
        return None

    @property
    def max(self) -> int | None:
        """The largest value of the highest bucket that has counts, as YCSB prints it."""
        indices, _ = self.sparse()
        if indices.size:
            return highest_value(int(indices[-1]))
        return None

    def percentile(self, percentile: float) -> int | None:
        """The largest value (µs) of the bucket in which the percentile lies; None without any values."""
        return self.percentiles([percentile])[0]

    def percentiles(self, percentiles: Sequence[float]) -> list[int | None]:
        """Several percentiles in one pass."""
        if not self._count:
            return [None] * len(percentiles)
        used, counts = self.sparse()
        ranks = [compute_rank(percentile, self._count) for percentile in percentiles]
        indices = used[np.searchsorted(np.cumsum(counts), ranks, side="left")]
        values = highest_values(indices)
        return [
            lowest_value(int(index)) if percentile <= 0 else int(value)
            for percentile, index, value in zip(percentiles, indices, values, strict=True)
        ]

    def longest_total_us(self, number: int) -> float:
        """The sum (µs) of the `number` longest values, or of all when there are fewer."""
        indices, counts = self.sparse()
        beyond = np.cumsum(counts[::-1]) - counts[::-1]
        taken = np.clip(number - beyond, 0, counts[::-1])
        return float(np.dot(highest_values(indices[::-1]).astype(np.float64), taken.astype(np.float64)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        mine, theirs = self.sparse(), other.sparse()
        return np.array_equal(mine[0], theirs[0]) and np.array_equal(mine[1], theirs[1])

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Histogram(count={self._count}, max={self.max})"

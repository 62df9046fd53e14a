"""Interval histogram logs as `hdrhistogram.fileoutput=true` writes them, in HdrHistogram's encodings V1 and V2."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runs.ycsb.histogram import Floats, Histogram, Ints


@dataclass(frozen=True, slots=True)
class Interval:
    """One line of a log: seconds since the log's start time, length in seconds, and the histogram."""

    start_s: float
    length_s: float
    max_us: float
    histogram: Histogram


@dataclass(frozen=True, slots=True, eq=False)
class IntervalLog:
    """All intervals of one measurement of one client, as columns.

    `start_s` counts from `start_time_s` (seconds since the epoch, the client's clock). Interval i has the counts
    `count[offsets[i]:offsets[i+1]]` at the histogram indices `index[...]`.
    """

    operation: str  # the measurement's name: READ, READ-FAILED, Intended-READ, CLEANUP
    start_time_s: float
    start_s: Floats
    length_s: Floats
    max_us: Floats
    offsets: Ints
    index: npt.NDArray[np.int32]
    count: Ints
    truncated: bool = False  # the last line broke off; the intervals before it are here

    def __len__(self) -> int:
        return int(self.start_s.size)

    @property
    def intervals(self) -> list[Interval]:
        return list(self)

    def __iter__(self) -> Iterator[Interval]:
        for i in range(len(self)):
            part = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
            yield Interval(
                start_s=float(self.start_s[i]),
                length_s=float(self.length_s[i]),
                max_us=float(self.max_us[i]),
                histogram=Histogram.of_sparse(self.index[part], self.count[part]),
            )


def read_log(lines: Iterable[str], *, operation: str | None = None) -> IntervalLog:
    """Read one log. `operation` is the name to use (of the file) where the log itself does not say it.

    Raises HistogramError when there is neither a name nor an interval to be read.
    """
    raise NotImplementedError

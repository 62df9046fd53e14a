"""When the intervals of one measurement of a run were, of all its clients, and how many values each counts.

Times are seconds since the epoch on the reference clock. The histograms are in `runs.ycsb.stored`.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from runs.ycsb.histogram import Floats, Ints
from runs.ycsb.names import MeasurementName, parse_name


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """When the intervals of one measurement name were, of all clients, and how many values each counts."""

    name: str  # as YCSB names it: READ, READ-FAILED, Intended-READ, CLEANUP
    client: npt.NDArray[np.int32]
    start_s: Floats
    length_s: Floats
    totals: Ints
    parsed: MeasurementName = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parsed", parse_name(self.name))

    def __len__(self) -> int:
        return int(self.start_s.size)

    @property
    def end_s(self) -> Floats:
        return self.start_s + self.length_s

    @property
    def midpoint_s(self) -> Floats:
        return self.start_s + self.length_s / 2

    def select(self, mask: npt.NDArray[np.bool_]) -> "Timeline":
        """The intervals at which `mask` is true."""
        if mask.all():
            return self
        return Timeline(self.name, self.client[mask], self.start_s[mask], self.length_s[mask], self.totals[mask])


def sums_by_interval(sizes: Ints, count: Ints) -> Ints:
    """The sum of each interval's counts; unlike reduceat this is 0 for an empty one."""
    running: Ints = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    ends: Ints = np.cumsum(sizes)
    sums: Ints = running[ends] - running[ends - sizes]
    return sums

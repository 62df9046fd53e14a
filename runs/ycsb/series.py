"""Per-second series of one operation, all clients merged, on a grid that starts at `base_s`.

A second in which a client lived and did nothing is a row with count 0; a second that no client covers is not there.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runs.ycsb.merge import MergedRun
from runs.ycsb.names import LatencyKind

# One row per second. Latencies (of successful operations) in µs, NaN where there was none.
POINT: Final = np.dtype(
    [
        ("second", "<i4"),  # since base_s
        ("covered_s", "<f4"),  # client seconds covered by intervals: at most about 1 per client
        ("count", "<i8"),  # successful operations
        ("failed", "<i8"),
        ("mean_us", "<f4"),
        ("p50_us", "<f4"),
        ("p95_us", "<f4"),
        ("p99_us", "<f4"),
        ("max_us", "<f4"),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One operation of a run. `points` has dtype POINT, ascending by second."""

    operation: str
    kind: LatencyKind
    base_s: float  # second 0, seconds since the epoch on the reference clock
    interval_s: int
    clients: int
    points: npt.NDArray[Any]

    def rate_ops_s(self) -> npt.NDArray[np.float64]:
        """Successful operations per second of all clients, for every row."""
        raise NotImplementedError


def series_of(merged: MergedRun, *, base_s: float | None = None) -> tuple[Series, ...]:
    """The series of every operation and kind, whole run. `base_s` defaults to the first client's start."""
    raise NotImplementedError


def total_rate(merged: MergedRun) -> npt.NDArray[np.float64]:
    """Successful operations per second of the window, all operations and clients, one value per second."""
    raise NotImplementedError


def pack(series: Series) -> bytes:
    raise NotImplementedError


def unpack(data: bytes) -> Series:
    """Raises PackedDataError."""
    raise NotImplementedError

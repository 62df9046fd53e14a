"""The knee by the greatest distance from the chord: a second opinion that depends on where the ladder ends.

Kneedle (Satopää et al. 2011) on a convex, increasing curve of latency over throughput. Adding an overloaded rung moves
it, so it never decides; it says how sure the knee by power is (analysis 2.2).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

SENSITIVITY = 1.0
MIN_RUNGS = 3


def chord_knee(xs: Sequence[float], ys: Sequence[float]) -> int | None:
    """The index of the greatest x_n - y_n, both scaled to [0, 1]; None for fewer than three or equal values."""
    distances = _distances(xs, ys)
    return None if distances is None else int(np.argmax(distances[1]))


def kneedle(xs: Sequence[float], ys: Sequence[float], sensitivity: float = SENSITIVITY) -> int | None:
    """The index of the knee; None where the curve does not bend enough.

    xs ascend. D = x_n - y_n; its first peak from the right whose D falls, on the way to the left, below
    D_max - S · mean |Δx_n| before it rises to another peak. S = 1 as its authors advise.
    """
    found = _distances(xs, ys)
    if found is None:
        return None
    scaled, distances = found
    allowance = sensitivity * float(np.abs(np.diff(scaled)).mean())
    peak: int | None = None
    for index in range(len(distances) - 2, -1, -1):
        if peak is None or distances[index] > distances[peak]:
            peak = index
        elif distances[index] < distances[peak] - allowance:
            return peak
    return None


def _distances(
    xs: Sequence[float], ys: Sequence[float]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
    x, y = np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)
    if x.size < MIN_RUNGS or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    if np.ptp(x) <= 0 or np.ptp(y) <= 0:
        return None
    scaled = (x - x.min()) / np.ptp(x)
    return scaled, scaled - (y - y.min()) / np.ptp(y)

"""Fewer points for a line chart without losing what it shows."""

from typing import Any

import numpy as np
import numpy.typing as npt

MAX_POINTS = 2_000


def m4(values: npt.ArrayLike, columns: int) -> npt.NDArray[np.int64]:
    """The indices to keep: first, least, greatest and last of each of `columns` equal parts (M4, Jugel 2014).

    A line through them looks the same as through all, when a part is at most a pixel wide: no dip gets lost. NaN is
    never the least or greatest.
    """
    y = np.asarray(values, dtype=float)
    indices: set[int] = set()
    for part in np.array_split(np.arange(y.size), max(1, min(columns, y.size))):
        if not part.size:
            continue
        finite = part[np.isfinite(y[part])]
        indices.update((int(part[0]), int(part[-1])))
        if finite.size:
            indices.update((int(finite[np.argmin(y[finite])]), int(finite[np.argmax(y[finite])])))
    return np.asarray(sorted(indices))


def thinned(values: npt.NDArray[Any], most: int = MAX_POINTS) -> npt.NDArray[np.int64]:
    """Indices of at most `most` points, by `m4`; all where there are no more."""
    if values.size <= most:
        return np.arange(values.size)
    return m4(values, most // 4)

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
    kept: set[int] = set()
    for part in np.array_split(np.arange(y.size), max(1, min(columns, y.size))):
        if not part.size:
            continue
        finite = part[np.isfinite(y[part])]
        kept.update((int(part[0]), int(part[-1])))
        if finite.size:
            kept.update((int(finite[np.argmin(y[finite])]), int(finite[np.argmax(y[finite])])))
    return np.asarray(sorted(kept))


def lttb(values: npt.ArrayLike, points: int) -> npt.NDArray[np.int64]:
    """The indices of `points` values, both ends among them, that keep a line's visual shape (LTTB, Steinarsson 2013).

    Of each bucket the point that makes the largest triangle with the one kept before and the mean of the next bucket.
    It looks smooth but may drop an extreme (analysis 10): for lines that are looked at for their course, never for
    throughput or latency by second, whose dips and peaks are the story - those are thinned by `m4`. NaN is never kept
    between the ends.
    """
    y = np.asarray(values, dtype=float)
    if points >= y.size or y.size <= 2:
        return np.arange(y.size)
    if points < 3:
        return np.asarray([0, y.size - 1])
    # Both ends are buckets of their own; the others share what lies between equally.
    edges = np.floor(np.linspace(1, y.size - 1, points - 1)).astype(np.int64)
    kept = [0]
    for begin, end, after in zip(edges[:-1], edges[1:], [*edges[2:], y.size], strict=True):
        part = np.arange(begin, end)
        following = np.arange(end, max(after, end + 1))
        known = following[np.isfinite(y[following])]
        middle = (float(known.mean()), float(y[known].mean())) if known.size else (float(end), 0.0)
        before = (float(kept[-1]), float(y[kept[-1]]))
        y_before = before[1] if np.isfinite(before[1]) else middle[1]
        area: npt.NDArray[np.float64] = np.abs(
            (before[0] - middle[0]) * (y[part] - y_before) - (before[0] - part) * (middle[1] - y_before)
        )
        if np.isfinite(area).any():
            kept.append(int(part[np.nanargmax(area)]))
    return np.asarray([*kept, y.size - 1])


def thinned(values: npt.NDArray[Any], most: int = MAX_POINTS) -> npt.NDArray[np.int64]:
    """Indices of at most `most` points, by `m4`; all where there are no more."""
    return np.arange(values.size) if values.size <= most else m4(values, most // 4)

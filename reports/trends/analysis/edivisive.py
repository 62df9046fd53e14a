"""Change points of a series by E-divisive means, split and merged as Apache Otava (Hunter) does.

Analysis 7. The measure is that of Matteson and James (arXiv 1306.4933); windows, two passes and Student's t instead of
permutations are those of Fleming et al., "Hunter" (arXiv 2301.03034). A change point is the index of the first value
of the new level. Values are finite numbers in any unit; of logarithms a difference is a ratio.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
WINDOW: Final = 50  # values; each next window begins half a window later
MAX_P: Final = 0.001
MAX_FIRST_P: Final = 10 * MAX_P  # of the first pass


@dataclass(frozen=True, slots=True)
class Split:
    """A difference in level between two neighbouring stretches."""

    index: int  # of the first value of the later stretch
    before: float  # means
    after: float
    p: float  # of Student's t, two-sided

    @property
    def step(self) -> float:
        return self.after - self.before

    @property
    def magnitude(self) -> float:
        """The greater of the change relative to the earlier level and that relative to the later one, as Otava."""
        least = min(abs(self.before), abs(self.after))
        if least:
            return abs(self.step) / least
        return math.inf if self.step else 0.0

    @property
    def log_magnitude(self) -> float:
        """The magnitude of a change between natural logarithms."""
        return math.expm1(min(abs(self.step), 700.0))


@lru_cache(maxsize=512)
def _compute_weights(length: int, least: int) -> tuple[Floats, Floats, Floats, npt.NDArray[np.bool_]]:
    """The factors of the three sums for every tau (rows, 1 ..) and kappa (columns, 1 ..), and which are impossible."""
    n = np.arange(1, length + 1, dtype=float)[:, None]
    kappa = np.arange(1, length + 1, dtype=float)[None, :]
    m = kappa - n
    with np.errstate(divide="ignore", invalid="ignore"):
        before = np.where(n > 1, 2 * m / (kappa * (n - 1)), 0.0)
        after = np.where(m > 1, 2 * n / (kappa * (m - 1)), 0.0)
    return 2 / kappa + 0 * n, before, after, (m < least) | (n < least)


def best_split(sums: Floats, start: int, stop: int, least: int = 1) -> tuple[int, float] | None:
    """Where Q(Z[start:tau], Z[tau:kappa]) is greatest over all tau and kappa up to `stop`, and that Q.

    `sums` are the cumulative sums of the matrix of distances (`distance_sums`). None where the stretch is too short for
    two parts of `least` values.
    """
    length = stop - start
    if length < 2 * least:
        return None

    block = sums[start : stop + 1, start : stop + 1]
    # Distances among the first i values of the stretch, and between them and the first j.
    square = block - block[:1, :] - block[:, :1] + block[0, 0]
    within = np.diagonal(square)[1:]
    cross = square[1:, 1:]
    between, before, after, impossible = _compute_weights(length, least)
    q: Floats = between * (cross - within[:, None])
    q -= before * (within[:, None] / 2)
    q -= after * ((within[None, :] - 2 * cross + within[:, None]) / 2)
    q[impossible] = -np.inf
    greatest = int(np.argmax(q))
    row = greatest // length  # tau - 1
    return start + row + 1, float(q.flat[greatest])


def distance_sums(values: Floats) -> Floats:
    """Cumulative sums over rows and columns of |Z_i - Z_j|, with a row and a column of zeros in front."""
    sums = np.zeros((values.size + 1, values.size + 1))
    np.abs(values[:, None] - values[None, :]).cumsum(axis=0, out=sums[1:, 1:])
    sums[1:, 1:].cumsum(axis=1, out=sums[1:, 1:])
    return sums


def student_p(x: Floats, y: Floats) -> float:
    """Two-sided p of Student's t with pooled variance. As Otava, the variances are of ddof 0: p is a little small."""
    from scipy.special import stdtr

    n, m = x.size, y.size
    if n + m <= 2:
        return 1.0

    step = float(x.mean() - y.mean())
    pooled = ((n - 1) * float(x.var()) + (m - 1) * float(y.var())) / (n + m - 2)
    error = math.sqrt(pooled * (1 / n + 1 / m))
    if error == 0.0:
        return 1.0 if step == 0.0 else 0.0

    return float(2 * stdtr(n + m - 2, -abs(step) / error))


def compared(values: Floats, start: int, index: int, stop: int) -> Split:
    """The stretches on both sides of an index."""
    before, after = values[start:index], values[index:stop]
    return Split(index, float(before.mean()), float(after.mean()), student_p(before, after))


def first_pass(values: Floats, least: int) -> list[int]:
    """The indices that any window splits at, in order: wherever the best split is significant, again in its parts."""
    indices: set[int] = set()
    start = 0
    while start < values.size:
        inner = [start + index for index in _split_window(values[start : start + WINDOW], least)]
        indices.update(inner)
        start = max([*inner, start + WINDOW // 2])
    return sorted(indices)


def _split_window(values: Floats, least: int) -> list[int]:
    sums = distance_sums(values)
    ends = [0, values.size]
    splits: dict[tuple[int, int], tuple[int, float] | None] = {}
    while True:
        candidates = []
        for part in itertools.pairwise(ends):
            if part not in splits:
                splits[part] = best_split(sums, *part, least)
            best = splits[part]
            if best:
                candidates.append((*best, part))
        if not candidates:
            return ends[1:-1]
        # Of equal ones the first.
        index, _, (start, stop) = max(candidates, key=lambda candidate: candidate[1])
        if compared(values, start, index, stop).p > MAX_FIRST_P:
            return ends[1:-1]
        ends = sorted([*ends, index])


def change_points(
    values: Sequence[float] | Floats,
    *,
    min_magnitude: float = 0.0,
    logarithms: bool = False,
    least: int = 1,
) -> tuple[list[Split], list[Split]]:
    """The splits that both passes kept, in the order of the series, and those of the first alone.

    `least` is the smallest number of values on either side of a split; Otava's own is 1.
    """
    z = np.asarray(values, dtype=float)
    first = [compared(z, *ends) for ends in with_ends(first_pass(z, least), z.size)]
    # Takes the weakest away, and weighs its neighbours anew, until all that are left are strong enough.
    splits = list(first)

    def magnitude(split: Split) -> float:
        return split.log_magnitude if logarithms else split.magnitude

    while splits:
        weakest = max(splits, key=lambda split: split.p)
        if weakest.p < MAX_P:
            weakest = min(splits, key=magnitude)
            if magnitude(weakest) > min_magnitude:
                break
        position = splits.index(weakest)
        del splits[position]
        parts = with_ends([split.index for split in splits], z.size)
        for neighbour in (position - 1, position):
            if 0 <= neighbour < len(splits):
                splits[neighbour] = compared(z, *parts[neighbour])

    remaining = {split.index for split in splits}
    return splits, [split for split in first if split.index not in remaining]


def with_ends(indices: Sequence[int], size: int) -> list[tuple[int, int, int]]:
    """Each index with the one before it and the one after it."""
    ends = [0, *indices, size]
    return list(zip(ends, ends[1:], ends[2:], strict=False))

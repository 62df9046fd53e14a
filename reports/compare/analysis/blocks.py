"""The blocked analysis of a ratio: for sides whose repeats one plan interleaves (Abedi and Brecht 2017).

A block is one repeat of the plan: one run of every cell, a cell being one rung of one side. What shifts a whole block
(a neighbour, a cache, the hour) shifts both sides and leaves their ratio alone. The model is
ln(throughput) = cell + block + noise. `manage.py interval_coverage blocks` simulates it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean, variance
from typing import Final

import numpy as np

from benchsite.core.formatting import significant
from reports.compare.analysis.ratios import (
    CONFIDENCE,
    Floats,
    Noise,
    RatioInterval,
    bartlett_p,
    compute_interval,
    summed,
)
from reports.compare.analysis.top_estimate import MIN_SD, compute_residuals

# Below this p of Bartlett's test residuals are not pooled.
UNEQUAL: Final = 0.05
# Of fewer cells there are no residuals within the sides.
MIN_POOLED_CELLS: Final = 3


@dataclass(frozen=True, slots=True)
class Blocks:
    """The repeats of two sides by the number of their block, in ops/s."""

    a: Mapping[int, float]
    b: Mapping[int, float]
    # The rungs of each side over which residuals are pooled.
    cells: tuple[Sequence[Mapping[int, float]], Sequence[Mapping[int, float]]] = ((), ())

    @property
    def common(self) -> list[int]:
        return sorted(self.a.keys() & self.b.keys())

    @property
    def common_means(self) -> tuple[float, float]:
        """The geometric mean of each side over the common blocks, in ops/s: their quotient is the ratio."""
        common = self.common
        return geometric_mean([self.a[block] for block in common]), geometric_mean([self.b[block] for block in common])


def blocked_interval(blocks: Blocks, confidence: float = CONFIDENCE) -> tuple[RatioInterval, str] | None:
    """exp(d ± t·SE), d the mean over blocks of ln a - ln b; and a sentence that names the analysis.

    SE² = max(w + s²·(2 - 1/ka - 1/kb), v)/n. s² is the mean square of the residuals of ka and kb cells within the sides
    with (ka + kb - 2)(n - 1) degrees of freedom; w is the variance over blocks of the difference of both sides' mean
    cells, with n - 1: what a side varies by from block to block by itself is in it. What v = var(ln a - ln b) exceeds
    this by is a part with n - 1 (Satterthwaite). Where the variances of the cells differ SE² = v/n. None for fewer than
    two common blocks, and where nothing varies. Values are positive.
    """
    common = blocks.common
    n = len(common)
    if n < 2:
        return None

    differences = [math.log(blocks.a[block] / blocks.b[block]) for block in common]
    own = Noise(variance(differences), n - 1)
    noise, analysis = own, f"Paired over {n} blocks"
    a, b = (_logs(cells, common) for cells in blocks.cells)
    if min(len(a), len(b)) and len(a) + len(b) >= MIN_POOLED_CELLS:
        residuals = [compute_residuals(a), compute_residuals(b)]
        df = (len(a) + len(b) - 2) * (n - 1)
        run = sum(float((side**2).sum()) for side in residuals) / df
        if run > MIN_SD**2:
            variances = [
                max(squares / ((n - 1) * (1 - 1 / len(side))), MIN_SD**2)
                for side in residuals
                if len(side) > 1
                for squares in (side**2).sum(axis=1).tolist()
            ]
            p = bartlett_p(variances, [n - 1] * len(variances))
            if p < UNEQUAL:
                why = f"the variances of the cells differ (Bartlett's p {significant(p, 2)})"
                analysis += f", residuals not pooled: {why}"
            else:
                between = Noise(variance((a.mean(axis=0) - b.mean(axis=0)).tolist()), n - 1)
                noise = summed(between, Noise(run * (2 - 1 / len(a) - 1 / len(b)), df)).at_least(own)
                analysis = f"{n} blocks, residuals of {len(a) + len(b)} cells pooled"

    interval = compute_interval(fmean(differences), math.sqrt(noise.variance / n), noise.df, confidence)
    if not interval:
        return None

    return (interval, f"{analysis}.")


def _logs(cells: Sequence[Mapping[int, float]], common: Sequence[int]) -> Floats:
    """ln(throughput) by cell and block, of the cells that have every block."""
    values = np.array([[cell.get(block, 0.0) for block in common] for cell in cells], float)
    whole = values.reshape(len(cells), len(common))
    logs: Floats = np.log(whole[(whole > 0).all(axis=1)])
    return logs

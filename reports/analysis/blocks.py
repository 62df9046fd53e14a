"""The blocked analysis of a ratio: for sides whose repeats one plan interleaves (Abedi and Brecht 2017).

A block is one repeat of the plan: one run of every cell, a cell being one rung of one side. What shifts a whole block
(a neighbour, a cache, the hour) shifts both sides and leaves their ratio alone. The model is
ln(throughput) = cell + block + noise. `manage.py interval_coverage blocks` simulates it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Final

import numpy as np

from benchsite.formatting import significant
from reports.analysis.best import bartlett_p
from reports.analysis.plateau import MIN_SD
from reports.analysis.ratios import CONFIDENCE, Floats, Noise, RatioInterval, interval_of

# Below this p of Bartlett's test residuals are not pooled.
UNEQUAL: Final = 0.05
# Of fewer cells the pooled residuals are those of the compared ones.
MIN_POOLED_CELLS: Final = 3


@dataclass(frozen=True, slots=True)
class Blocks:
    """The repeats of two sides by the number of their block, in ops/s."""

    a: Mapping[int, float]
    b: Mapping[int, float]
    cells: Sequence[Mapping[int, float]] = ()  # the rungs of both sides over which residuals are pooled

    @property
    def common(self) -> list[int]:
        return sorted(self.a.keys() & self.b.keys())


def blocked_interval(blocks: Blocks, confidence: float = CONFIDENCE) -> tuple[RatioInterval, str] | None:
    """exp(d ± t·SE), d the mean over blocks of ln a - ln b; and a sentence that names the analysis.

    SE² = max(2·s², v)/n: s² is the mean square of the residuals of c cells in n blocks with (c - 1)(n - 1) degrees of
    freedom, v = var(ln a - ln b) has n - 1, as where a side varies from block to block by itself. What v exceeds 2·s²
    by is a part with n - 1 degrees of freedom (Satterthwaite). Where the variances of the cells differ SE² = v/n. None
    for fewer than two common blocks, and where nothing varies. Values are positive.
    """
    common = blocks.common
    n = len(common)
    if n < 2:
        return None
    differences = [math.log(blocks.a[block] / blocks.b[block]) for block in common]
    own = Noise(variance(differences), n - 1)
    residuals = _residuals(blocks.cells, common)
    cells = len(residuals)
    pooled_df = (cells - 1) * (n - 1)
    pooled = 2 * float((residuals**2).sum()) / max(pooled_df, 1)
    noise, analysis = own, f"Paired over {n} blocks"
    if cells >= MIN_POOLED_CELLS and pooled > 2 * MIN_SD**2:
        if why := _unequal(residuals, n):
            analysis += f", residuals not pooled: {why}"
        else:
            noise = Noise(pooled, pooled_df).at_least(own)
            analysis = f"{n} blocks, residuals of {cells} cells pooled"
    interval = interval_of(fmean(differences), math.sqrt(noise.variance / n), noise.df, confidence)
    return (interval, f"{analysis}.") if interval else None


def _residuals(cells: Sequence[Mapping[int, float]], common: Sequence[int]) -> Floats:
    """ln(throughput) by cell and block, less the means of its cell and its block; of cells that have every block."""
    whole = [[cell[block] for block in common] for cell in cells if all(cell.get(block, 0) > 0 for block in common)]
    if not whole:
        return np.empty((0, len(common)))
    logs = np.log(np.asarray(whole, float))
    residuals: Floats = logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=0) + logs.mean()
    return residuals


def _unequal(residuals: Floats, n: int) -> str:
    """Why the residuals are not pooled, as the rest of a sentence; empty where they may be."""
    cells = len(residuals)
    variances = np.maximum((residuals**2).sum(axis=1) / ((n - 1) * (1 - 1 / cells)), MIN_SD**2)
    p = bartlett_p(variances.tolist(), [n - 1] * cells)
    return f"the variances of the cells differ (Bartlett's p {significant(p, 2)})" if p < UNEQUAL else ""

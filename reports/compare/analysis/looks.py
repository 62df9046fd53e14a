"""Looks of a plan: after how many repeats it takes a verdict, and at which level.

The error of 5 % is spread over the looks by Pocock's spending function a(t) = alpha · ln(1 + (e - 1)·t) of the share t
of the planned repeats (Lan and DeMets 1983): early looks keep their power, which three repeats need. Levels follow by
recursive numerical integration of normal sums (Armitage, McPherson and Rowe 1969); Student's t is used at these levels
(Jennison and Turnbull 2000, section 3.8). `manage.py interval_coverage looks` simulates it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from benchsite.core.formatting import percent
from reports.compare.analysis.ratios import CONFIDENCE, Floats
from reports.compare.messages import BEFORE_FIRST_LOOK, LAST_LOOK, NEXT_LOOK, VERDICT_AT_LOOK

ALPHA: Final = 1 - CONFIDENCE
NODES: Final = 64  # of the Gauss-Legendre rule: the densities are smooth
BISECTIONS: Final = 50
MAX_Z: Final = 10.0
# Overall levels at which those of the looks are known: p-values between are interpolated.
ALPHAS: Final = (*np.geomspace(1e-10, ALPHA, 25).tolist(), *np.geomspace(ALPHA, 1.0, 10)[1:].tolist())


@dataclass(frozen=True, slots=True)
class Look:
    """The newest look that the repeats of two sides of one plan have reached."""

    looks: tuple[int, ...]  # ascending
    repeats: int  # that every compared rung has

    @property
    def after(self) -> int:
        """How many repeats the verdict is made of; 0: the first look is not reached, so there is none."""
        return max((look for look in self.looks if look <= self.repeats), default=0)

    @property
    def following(self) -> int | None:
        """The repeats of the next look; None: this is the last."""
        return next((look for look in self.looks if look > self.repeats), None)

    @property
    def lacking(self) -> int | None:
        """The repeats that the next look lacks."""
        if not self.following:
            return None
        return self.following - self.repeats

    @property
    def level(self) -> float:
        """Two-sided, of this look; there is one only once the first is reached."""
        return levels(self.looks)[self.looks.index(self.after)]

    @property
    def sentence(self) -> str:
        if not self.after:
            return BEFORE_FIRST_LOOK.format(repeats=self.repeats, first=self.looks[0])

        following = LAST_LOOK
        if self.following:
            following = NEXT_LOOK.format(repeats=self.following)

        return VERDICT_AT_LOOK.format(
            after=self.after,
            most=self.looks[-1],
            level=percent(self.level),
            interval=percent(1 - self.level),
            following=following,
        )

    def overall_p(self, p: float) -> float:
        """The least overall error at which this look rejects with this p: below 5 % where p is below its level.

        The repeated p-value (Jennison and Turnbull 2000, section 9.2), log-linear between `ALPHAS`.
        """
        of_look = [row[self.looks.index(self.after)] for row in _levels_by_alpha(self.looks)]
        return float(np.exp(np.interp(math.log(max(p, of_look[0])), np.log(of_look), np.log(ALPHAS))))


@lru_cache(maxsize=64)
def _levels_by_alpha(looks: tuple[int, ...]) -> list[tuple[float, ...]]:
    return [levels(looks, alpha) for alpha in ALPHAS]


@lru_cache(maxsize=4096)
def levels(looks: Sequence[int], alpha: float = ALPHA) -> tuple[float, ...]:
    """The two-sided level of each look, so that all of them together reject a true hypothesis with `alpha`."""
    from scipy.special import ndtr

    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # The density of the sum at some points, where no earlier look has rejected.
    points: Floats = np.zeros(1)
    density: Floats = np.ones(1)
    spent, before, of_looks = 0.0, 0.0, []
    for look in looks:
        share = look / looks[-1]
        budget = alpha * math.log1p((math.e - 1) * share) - spent
        sd = math.sqrt(share - before)
        low, high = 0.0, MAX_Z
        for _ in range(BISECTIONS):
            z = (low + high) / 2
            limit = z * math.sqrt(share)
            rejected = float(density @ (ndtr((points - limit) / sd) + ndtr((-limit - points) / sd)))
            low, high = (z, high) if rejected > budget else (low, z)

        of_looks.append(float(2 * ndtr(-high)))
        limit = high * math.sqrt(share)
        steps = (limit * nodes[:, None] - points) / sd
        inside = np.exp(-(steps**2) / 2) / (sd * math.sqrt(2 * math.pi)) @ density
        points, density = limit * nodes, limit * weights * inside
        before, spent = share, spent + budget

    return tuple(of_looks)

"""How even a per-second series is, once the warm-up is cut off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

# Seconds below this share of the median are slow.
SLOW: float = 0.9


@dataclass(frozen=True, slots=True)
class Stability:
    """In the unit of the series, or a share of its median where the name says so."""

    seconds: int
    mean: float
    sd: float  # n - 1
    cv: float  # sd / mean
    median: float
    down_spike_share: float  # median - smallest
    slow_share: float  # of the seconds

    @property
    def grade(self) -> Literal["flat", "variable", "erratic"]:
        """In one word; the limits are judgements (2 % and 0.1 % of slow seconds, 10 %)."""
        if self.cv <= 0.02 and self.slow_share <= 0.001:
            return "flat"
        if self.cv <= 0.10:
            return "variable"
        return "erratic"


def stability(series: Sequence[float]) -> Stability | None:
    """None for fewer than two seconds, or when nothing was done in most of them. A missing second is a 0."""
    values = np.asarray(series, dtype=np.float64)
    if values.size < 2:
        return None

    mean, median = float(values.mean()), float(np.median(values))
    if mean <= 0 or median <= 0:
        return None

    sd = float(values.std(ddof=1))
    return Stability(
        seconds=int(values.size),
        mean=mean,
        sd=sd,
        cv=sd / mean,
        median=median,
        down_spike_share=(median - float(values.min())) / median,
        slow_share=float((values < SLOW * median).mean()),
    )


def longest_run(flags: Sequence[bool]) -> int:
    """How many in a row are true, at most."""
    longest = current = 0
    for flag in flags:
        current = current + 1 if flag else 0
        longest = max(longest, current)
    return longest

"""Gunther's Universal Scalability Law: what contention and coherency predict for more threads than were measured.

X(N) = lam · N / (1 + sigma (N - 1) + kappa N (N - 1)), throughput in ops/s (analysis 2.2). It predicts a peak;
it is not the knee.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

MIN_RUNGS = 6
MIN_R2 = 0.98
# A peak at more than this many times the most threads measured is a guess.
REACH = 2.0


@dataclass(frozen=True, slots=True)
class Usl:
    """A fitted law, and whether it may be believed."""

    lam: float  # of one thread, ops/s
    sigma: float  # the share that is serial
    kappa: float  # the cost of agreeing
    r2: float
    rungs: int
    most_threads: int

    @property
    def peak_threads(self) -> float:
        """N* = sqrt((1 - sigma) / kappa); infinite without coherency."""
        return math.sqrt((1 - self.sigma) / self.kappa) if self.kappa > 0 else math.inf

    @property
    def peak_ops_s(self) -> float:
        """X(N*); without coherency what contention leaves, lam / sigma."""
        if self.kappa > 0:
            return self.throughput_at(self.peak_threads)
        return self.lam / self.sigma if self.sigma > 0 else math.inf

    @property
    def accepted(self) -> bool:
        """R² >= 0.98 and N* <= 2 · the most threads measured; otherwise its peak is extrapolated."""
        return self.r2 >= MIN_R2 and self.peak_threads <= REACH * self.most_threads

    def throughput_at(self, threads: float) -> float:
        """X(N) in ops/s."""
        return self.lam * threads / (1 + self.sigma * (threads - 1) + self.kappa * threads * (threads - 1))

    def latency_at(self, throughput_ops_s: float) -> float | None:
        """R = N / X in s, N the smaller root of lam N = X (1 + sigma (N - 1) + kappa N (N - 1)); None above the peak.

        The shorter formula (sigma - 1) / (sigma X - lam) drops kappa and is too low before every peak.
        """
        x = throughput_ops_s
        linear, constant = x * (self.sigma - self.kappa) - self.lam, x * (1 - self.sigma)
        if x <= 0:
            return None
        if self.kappa == 0:
            return -constant / linear / x if linear < 0 else None
        root = linear * linear - 4 * x * self.kappa * constant
        return (-linear - math.sqrt(root)) / (2 * x * self.kappa) / x if root >= 0 else None


def fit_usl(threads: Sequence[float], throughputs_ops_s: Sequence[float]) -> Usl | None:
    """Bounded least squares: lam > 0, 0 <= sigma <= 1, kappa >= 0; None for fewer than six rungs with throughput."""
    pairs = sorted((n, x) for n, x in zip(threads, throughputs_ops_s, strict=True) if n > 0 and 0 < x < math.inf)
    if len({n for n, _ in pairs}) < MIN_RUNGS:
        return None
    n = np.array([pair[0] for pair in pairs], dtype=np.float64)
    x = np.array([pair[1] for pair in pairs], dtype=np.float64)
    lam, sigma, kappa = _fitted(n, x)
    rest = x - lam * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))
    total = float(((x - x.mean()) ** 2).sum())
    if total <= 0:
        return None
    return Usl(lam, sigma, kappa, 1 - float((rest**2).sum()) / total, len(pairs), int(n[-1]))


def _fitted(n: npt.NDArray[np.float64], x: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """lam, sigma, kappa from the start max X/N, 0.1, 0.01; lam in units of that start: all three are of one size."""
    # Importing it takes half a second, which pages without a fit should not.
    from scipy.optimize import least_squares

    scale = float((x / n).max())

    def rest(values: npt.NDArray[np.float64]) -> Any:
        lam, sigma, kappa = values
        return lam * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) - x / scale

    fit = least_squares(
        rest, x0=[1.0, 0.1, 0.01], bounds=([1e-9, 0.0, 0.0], [np.inf, 1.0, np.inf]), xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    lam, sigma, kappa = (float(value) for value in fit.x)
    return lam * scale, sigma, kappa

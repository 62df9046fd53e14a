"""How often the 95 % interval of a ratio holds the true one, and how often a verdict is wrong, by simulation.

`manage.py interval_coverage` prints the table that docs/evidence/comparisons.md quotes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from benchsite.core.formatting import grouped, plain_percent
from reports.compare.analysis.ratios import CONFIDENCE, Floats, welch
from reports.compare.analysis.repeat_comparison import THRESHOLD

PAIRS: Final = 20_000
SEED: Final = 20261121
HEADER: Final = (
    "| runs of each side | variation (CV) | interval holds the true ratio (width) | wrong verdict | 10 % called | "
    "20 % called | equivalent | equivalent, but 5 % faster |\n|---|---|---|---|---|---|---|---|"
)
FACTORS: Final = (1.1, 1.2)

Shape = Literal["normal", "lognormal"]


@dataclass(frozen=True, slots=True)
class Case:
    """Made-up repeats of two sides that are equally fast; the coefficients of variation are shares."""

    n_a: int
    n_b: int
    cv_a: float
    cv_b: float
    shape: Shape

    @property
    def runs(self) -> str:
        return str(self.n_a) if self.n_a == self.n_b else f"{self.n_a} and {self.n_b}"

    @property
    def variation(self) -> str:
        shown = [plain_percent(cv) for cv in (self.cv_a, self.cv_b)]
        return shown[0] if self.cv_a == self.cv_b else " and ".join(shown)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares of the simulated pairs; the width is that of ln(ratio), median."""

    case: Case
    held: float  # the interval holds the true ratio
    width: float
    wrong: float  # "faster" or "slower", though neither is
    small: float  # a side that is 10 % faster is called faster
    large: float  # one that is 20 % faster
    equivalent: float  # of identical sides
    missed: float  # "equivalent" of a side that is faster by the threshold


CASES: Final = tuple(
    Case(n_a, n_b, cv_a, cv_b, "lognormal")
    for n_a, n_b in ((2, 2), (3, 3), (4, 4), (5, 5), (10, 10), (3, 5), (3, 10))
    for cv_a, cv_b in (
        *((cv, cv) for cv in (0.01, 0.03, 0.05)), (0.02, 0.05), *([(0.05, 0.02)] if n_a != n_b else []),
    )
)  # fmt: skip


def rows(pairs: int = PAIRS, seed: int = SEED) -> Iterator[str]:
    """Every case, each from a generator of its own, so that one does not depend on those before it."""
    return (row(coverage(case, pairs, seed)) for case in CASES)


def coverage(case: Case, pairs: int = PAIRS, seed: int = SEED) -> Coverage:
    """The log-Welch interval on so many pairs of sides whose medians are the same, or differ by a known factor."""
    from scipy.special import stdtrit

    random = np.random.default_rng([seed, CASES.index(case) if case in CASES else len(CASES)])
    a, b = (
        _logs(random, (pairs, n), cv, case.shape) for n, cv in ((case.n_a, case.cv_a), (case.n_b, case.cv_b))
    )  # fmt: skip
    distance, error, df = welch(a, b)
    reach = stdtrit(df, (1 + CONFIDENCE) / 2) * error
    low, high, ratio = np.exp(distance - reach), np.exp(distance + reach), np.exp(distance)
    held = (low <= 1) & (high >= 1)
    called = ((low * factor > 1) & (ratio * factor >= 1 + THRESHOLD) for factor in FACTORS)
    equivalent = ((low * factor >= 1 - THRESHOLD) & (high * factor <= 1 + THRESHOLD) for factor in (1.0, 1 + THRESHOLD))
    shares = (~held & (np.abs(ratio - 1) >= THRESHOLD), *called, *equivalent)
    width = float(np.median(2 * reach))
    return Coverage(case, float(held.mean()), width, *(float(hits.mean()) for hits in shares))


def _logs(random: np.random.Generator, size: tuple[int, int], cv: float, shape: Shape) -> Floats:
    """Logarithms of values with the median 1 and that variation."""
    if shape == "lognormal":
        return random.normal(0.0, np.sqrt(np.log1p(cv**2)), size)
    return np.log(random.normal(1.0, cv, size))


def row(result: Coverage) -> str:
    case = result.case
    held, width, *shares = (
        f"{grouped(100 * share, 1)} %"
        for share in (
            result.held,
            result.width,
            result.wrong,
            result.small,
            result.large,
            result.equivalent,
            result.missed,
        )
    )
    return f"| {case.runs} | {case.variation} | {held} ({width}) | {' | '.join(shares)} |"

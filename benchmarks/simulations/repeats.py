"""How often the 95 % interval of a ratio holds the true one, and how often a verdict is wrong, by simulation.

`manage.py interval_coverage` prints the table that docs/how-results-are-compared.md quotes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from benchsite.formatting import grouped, plain_percent
from reports.analysis.ratios import CONFIDENCE, Floats, welch
from reports.analysis.repeat_comparison import THRESHOLD

PAIRS: Final = 20_000
SEED: Final = 20261121
HEADER: Final = (
    "| runs of each side | variation (CV) | distribution | interval holds the true ratio | wrong verdict |\n"
    "|---|---|---|---|---|"
)

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
    """Shares of the simulated pairs."""

    case: Case
    held: float  # the interval holds the true ratio
    wrong: float  # "faster" or "slower", though neither is


CASES: Final = tuple(
    Case(n_a, n_b, cv_a, cv_b, shape)
    for n_a, n_b in ((2, 2), (3, 3), (5, 5), (10, 10), (3, 5), (3, 10))
    for cv_a, cv_b in ((0.02, 0.02), (0.05, 0.05), (0.02, 0.05), *([(0.05, 0.02)] if n_a != n_b else []))
    for shape in ("normal", "lognormal")
)  # fmt: skip


def rows(pairs: int = PAIRS, seed: int = SEED) -> Iterator[str]:
    """Every case, each from a generator of its own, so that one does not depend on those before it."""
    return (row(coverage(case, pairs, seed)) for case in CASES)


def coverage(case: Case, pairs: int = PAIRS, seed: int = SEED) -> Coverage:
    """The log-Welch interval on so many pairs of sides whose medians are the same."""
    from scipy.special import stdtrit

    random = np.random.default_rng([seed, CASES.index(case) if case in CASES else len(CASES)])
    a, b = (
        _logs(random, (pairs, n), cv, case.shape) for n, cv in ((case.n_a, case.cv_a), (case.n_b, case.cv_b))
    )  # fmt: skip
    distance, error, df = welch(a, b)
    reach = stdtrit(df, (1 + CONFIDENCE) / 2) * error
    held = np.abs(distance) <= reach
    wrong = ~held & (np.abs(np.expm1(distance)) >= THRESHOLD)
    return Coverage(case, float(held.mean()), float(wrong.mean()))


def _logs(random: np.random.Generator, size: tuple[int, int], cv: float, shape: Shape) -> Floats:
    """Logarithms of values with the median 1 and that variation."""
    if shape == "lognormal":
        return random.normal(0.0, np.sqrt(np.log1p(cv**2)), size)
    return np.log(random.normal(1.0, cv, size))


def row(result: Coverage) -> str:
    case = result.case
    shares = " | ".join(f"{grouped(100 * share, 1)} %" for share in (result.held, result.wrong))
    return f"| {case.runs} | {case.variation} | {case.shape} | {shares} |"

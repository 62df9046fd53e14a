"""How often the ratio of two ceilings is right, by Welch's t and by the blocked analysis of the same runs: simulation.

`manage.py interval_coverage blocks` prints the table that docs/evidence/comparisons.md quotes; `looks` that of
plans that take verdicts after 3, 5 and 9 repeats.
"""

import math
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from benchmarks.simulations.ladders import FLAT, LOOKS
from benchmarks.simulations.pairs import made_curve, made_point
from benchsite.core.formatting import exact, grouped
from reports.compare.analysis.ratios import Floats
from reports.compare.analysis.repeat_comparison import Comparison, Outcome
from reports.compare.curves import Curve
from reports.compare.pages.baseline_ratios import throughput_ratio

PAIRS: Final = 1500
SEED: Final = 20261123
SHAPE: Final = FLAT["peak, neighbours 10 % lower"]
MATRIX: Final = uuid.UUID(int=SEED)
FACTORS: Final = (1.0, 1.1, 1.2)
HEADER: Final = (
    "| runs | run CV | block sd | Welch: interval holds (width) | false | 10 % called | 20 % called | "
    "blocked: interval holds (width) | false | 10 % called | 20 % called |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, slots=True)
class Case:
    """Two sides on one ladder, measured by one plan. Standard deviations are of ln(throughput)."""

    runs: int
    cv: float
    block: float  # of what the runs of a repeat share
    cv_b: float | None = None  # of the second side, where it varies otherwise
    side: float = 0.0  # of what the runs of one side in a repeat share
    gain: float = 0.0  # per doubling, of ladders without an end, which are compared at their last rung; 0: the peak

    @property
    def shape(self) -> Sequence[float]:
        return [(1 + self.gain) ** i for i in range(len(SHAPE))] if self.gain else SHAPE

    @property
    def label(self) -> str:
        cv = exact(100 * self.cv) if self.cv_b is None else f"{exact(100 * self.cv)} and {exact(100 * self.cv_b)}"
        own = f", {exact(100 * self.side)} % of each side" if self.side else ""
        ladder = f", {exact(100 * self.gain)} % per doubling" if self.gain else ""
        return f"{self.runs} | {cv} % | {exact(100 * self.block)} %{own}{ladder}"


PEAK_CASES: Final = (
    *(
        Case(n, cv, sd)
        for n, sds in ((3, (0.0, 0.05, 0.10)), (4, (0.05,)), (5, (0.0, 0.10)))
        for cv in (0.01, 0.03, 0.05)
        for sd in sds
    ),
    *(Case(n, 0.01, 0.02, cv_b=0.03) for n in (3, 5)),
    *(Case(n, 0.02, 0.02, side=0.01) for n in (3, 5)),
    *(Case(n, 0.03, 0.0, side=0.03) for n in (3, 5)),
)
CASES: Final = (
    *PEAK_CASES,
    *(Case(3, cv, 0.0, gain=0.3) for cv in (0.01, 0.03, 0.05)),
    *(Case(3, cv, 0.0, gain=0.6) for cv in (0.01, 0.03)),
)
LOOK_CASES: Final = tuple(Case(LOOKS[-1], cv / 100, block) for block in (0.05, 0.0) for cv in range(1, 6))
LOOK_HEADER: Final = (
    "| analysis | run CV | intervals of all looks hold | false at some look | false at some look, each at 5 % | "
    "10 % called at the 1st look | by the 2nd | by the 3rd | one verdict after 3 | after 9 |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, slots=True)
class Rates:
    """Of one analysis, shares of the pairs; the width is that of ln(ratio), median."""

    held: float
    width: float
    false: float  # "faster" or "slower" of identical sides
    small: float  # a side that is 10 % faster is called faster
    large: float  # one that is 20 % faster


def rates(case: Case, pairs: int = PAIRS, seed: int = SEED) -> tuple[Rates, Rates]:
    """By Welch's t and by the blocked analysis, of the same runs."""
    random = np.random.default_rng([seed, CASES.index(case) if case in CASES else len(CASES)])
    compared = [_compared(*_sides(random, case)) for _ in range(pairs)]
    return _rates([welch for welch, _ in compared]), _rates([blocked for _, blocked in compared])


def _sides(random: np.random.Generator, case: Case) -> tuple[Floats, Floats]:
    """ln(throughput) of two identical sides by rung and repeat."""
    shared = np.log(np.asarray(case.shape))[:, None] + math.log(10_000) + random.normal(0.0, case.block, case.runs)
    first, second = (
        shared + random.normal(0.0, case.side, case.runs) + random.normal(0.0, cv, (len(case.shape), case.runs))
        for cv in (case.cv, case.cv if case.cv_b is None else case.cv_b)
    )
    return first, second


def _compared(a: Floats, b: Floats) -> tuple[list[Comparison], list[Comparison]]:
    """Both analyses, each of the first side as it is and where it is 1.1 and 1.2 times as fast."""
    second = _curve(b)
    welch, blocked = [], []
    for factor in FACTORS:
        first = _curve(a + math.log(factor))
        blocked.append(_ratio(first, second))
        welch.append(_ratio(replace(first, order="as_listed"), second))
    return welch, blocked


def _ratio(a: Curve, b: Curve) -> Comparison:
    comparison = throughput_ratio(a, b, None).comparison
    assert comparison is not None
    return comparison


def _curve(logs: Floats) -> Curve:
    points = [made_point(2**i, values) for i, values in enumerate(np.exp(logs))]
    return replace(made_curve(points, MATRIX), matrix_id=MATRIX, order="interleaved", repeats=logs.shape[1])


def _rates(compared: Sequence[Sequence[Comparison]]) -> Rates:
    same, small, large = zip(*compared, strict=True)
    ends = [(comparison.low or 0.0, comparison.high or math.nan) for comparison in same]
    decided = (Outcome.FASTER, Outcome.SLOWER)
    return Rates(
        held=float(np.mean([low <= 1 <= high for low, high in ends])),
        width=float(np.median([math.log(high / low) if low else math.inf for low, high in ends])),
        false=float(np.mean([comparison.outcome in decided for comparison in same])),
        small=float(np.mean([comparison.outcome is Outcome.FASTER for comparison in small])),
        large=float(np.mean([comparison.outcome is Outcome.FASTER for comparison in large])),
    )


def rows(pairs: int = PAIRS, seed: int = SEED) -> Iterator[str]:
    for case in CASES:
        yield f"| {case.label} | {' | '.join(map(_cells, rates(case, pairs, seed)))} |"


def _cells(row: Rates) -> str:
    shares = " | ".join(_percent(share) for share in (row.false, row.small, row.large))
    return f"{_percent(row.held)} ({_percent(row.width)}) | {shares}"


def _percent(share: float) -> str:
    return f"{grouped(100 * share, 1)} %"


@dataclass(frozen=True, slots=True)
class LookRates:
    """Shares of the pairs whose plan takes verdicts after 3, 5 and 9 repeats."""

    held: float  # the intervals of all looks hold the true ratio
    false: float  # "faster" or "slower" of identical sides at one of the looks
    unspread: float  # the same, were each look at 5 %
    called: tuple[float, ...]  # a side that is 10 % faster is called faster at this look or an earlier one
    single: tuple[float, float]  # the same of one verdict at 5 %, after the repeats of the first and the last look


def look_rates(case: Case, pairs: int = PAIRS, seed: int = SEED) -> LookRates:
    """Blocked where repeats share something, else by Welch's t."""
    random = np.random.default_rng(
        [seed, len(PEAK_CASES), LOOK_CASES.index(case) if case in LOOK_CASES else len(LOOK_CASES)]
    )
    sides = [_sides(random, case) for _ in range(pairs)]
    order = "interleaved" if case.block else "as_listed"
    same, unspread = ([_at_looks(a, b, order, looks) for a, b in sides] for looks in (LOOKS, ()))
    faster, single = ([_at_looks(a + math.log(1.1), b, order, looks) for a, b in sides] for looks in (LOOKS, ()))
    decided = (Outcome.FASTER, Outcome.SLOWER)
    called, alone = (
        np.array([[comparison.outcome is Outcome.FASTER for comparison in compared] for compared in comparisons])
        for comparisons in (faster, single)
    )
    return LookRates(
        held=float(
            np.mean(
                [
                    all((comparison.low or 0) <= 1 <= (comparison.high or 0) for comparison in compared)
                    for compared in same
                ]
            )
        ),
        false=float(np.mean([any(comparison.outcome in decided for comparison in compared) for compared in same])),
        unspread=float(
            np.mean([any(comparison.outcome in decided for comparison in compared) for compared in unspread])
        ),
        called=tuple(np.logical_or.accumulate(called, axis=1).mean(axis=0).tolist()),
        single=(float(alone[:, 0].mean()), float(alone[:, -1].mean())),
    )


def _at_looks(a: Floats, b: Floats, order: str, looks: tuple[int, ...]) -> list[Comparison]:
    """The comparison after each number of repeats; without `looks` each is the only one."""
    sides = ([replace(_curve(logs[:, :n]), order=order, looks=looks) for logs in (a, b)] for n in LOOKS)
    return [_ratio(first, second) for first, second in sides]


def look_rows(pairs: int = PAIRS, seed: int = SEED) -> Iterator[str]:
    yield LOOK_HEADER
    for case in LOOK_CASES:
        row = look_rates(case, pairs, seed)
        shares = (row.held, row.false, row.unspread, *row.called, *row.single)
        analysis = f"blocked, block sd {exact(100 * case.block)} %" if case.block else "Welch's t"
        yield f"| {analysis} | {exact(100 * case.cv)} % | {' | '.join(map(_percent, shares))} |"

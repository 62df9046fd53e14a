"""How often verdicts are right across sessions, in tables of many sides and of a plan's bracket, by simulation.

`manage.py interval_coverage spreads|tables|brackets` prints the tables that docs/evidence/comparisons.md quotes.
"""

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Final

import numpy as np

from benchsite.core.formatting import exact, grouped
from reports.compare.analysis.multiple import adjusted
from reports.compare.analysis.ratios import Floats
from reports.compare.analysis.repeat_comparison import Comparison, Outcome, compare_values
from reports.trends.analysis.sessions import session_spread
from runs.results.measures.repeatability import drift, exceeds, repeatability

DECIDED: Final = (Outcome.FASTER, Outcome.SLOWER)
RUNS: Final = 3  # of each session of the history
SPREAD_CASES: Final = (
    *product((3,), (0.01, 0.03, 0.05), (0.0, 0.02, 0.05), (3, 12)),
    *product((30,), (0.05,), (0.0, 0.02, 0.03, 0.05), (8, 20)),
)
SPREAD_HEADER: Final = (
    "| runs | run CV | session sd | known sessions | interval holds (width) | false | 10 % called | 20 % called |\n"
    "|---|---|---|---|---|---|---|---|"
)
TABLE_CASES: Final = tuple(product((2, 5, 20), (3, 5), (0.01, 0.03, 0.05)))
TABLE_HEADER: Final = (
    "| comparisons | runs | CV | a false verdict in the table | without adjustment | 10 % called | 20 % called |\n"
    "|---|---|---|---|---|---|---|"
)
BRACKET_CASES: Final = tuple(product((2, 4, 10), (2, 3), (0.01, 0.05)))
BRACKET_HEADER: Final = (
    "| repeated cells | repeats of each | CV | no drift: reported | drift of 10 %: reported |\n|---|---|---|---|---|"
)


def spread_rates(
    runs: int, cv: float, sd: float, sessions: int, count: int, seed: int
) -> tuple[float, float, float, float, float]:
    """Two sides of a session each, where a test of so many sessions shows how these vary.

    Shares of the pairs whose interval holds, with its median width; of those called falsely; and of sides that are 10 %
    and 20 % faster and called so.
    """
    random = np.random.default_rng([seed, runs, round(1e4 * cv), round(1e4 * sd), sessions])
    compared: list[list[Comparison]] = []
    for _ in range(count):
        known = np.exp(random.normal(0.0, sd, (sessions, 1)) + random.normal(0.0, cv, (sessions, RUNS)))
        spread = session_spread([{str(i): session for i, session in enumerate(known.tolist())}])
        a, b = np.exp(random.normal(0.0, sd, (2, 1)) + random.normal(0.0, cv, (2, runs)))
        compared.append([_compared(a * factor, b, spread) for factor in (1.0, 1.1, 1.2)])
    same, small, large = zip(*compared, strict=True)
    ends = [(comparison.low or math.nan, comparison.high or math.nan) for comparison in same]
    return (
        float(np.mean([low <= 1 <= high for low, high in ends])),
        float(np.median([math.log(high / low) for low, high in ends])),
        float(np.mean([comparison.outcome in DECIDED for comparison in same])),
        *(float(np.mean([comparison.outcome is Outcome.FASTER for comparison in faster])) for faster in (small, large)),
    )  # type: ignore[return-value]


def table_rates(comparisons: int, runs: int, cv: float, count: int, seed: int) -> tuple[float, float, float, float]:
    """Sides of one table against one reference: the share of tables with a false verdict, with and without Holm's
    adjustment, where all are alike; and of sides called, where one of them is 10 % or 20 % faster."""
    random = np.random.default_rng([seed, comparisons, runs, round(1e4 * cv)])
    wrong = alone = 0
    called = [0, 0]
    for _ in range(count):
        reference, *sides = np.exp(random.normal(0.0, cv, (1 + comparisons, runs)))
        table = [_compared(side, reference, None) for side in sides]
        wrong += any(comparison.outcome in DECIDED for comparison in adjusted(table))
        alone += any(comparison.outcome in DECIDED for comparison in table)
        for i, factor in enumerate((1.1, 1.2)):
            faster = adjusted([_compared(sides[0] * factor, reference, None), *table[1:]])
            called[i] += faster[0].outcome is Outcome.FASTER
    return wrong / count, alone / count, called[0] / count, called[1] / count


def bracket_rates(cells: int, repeats: int, cv: float, count: int, seed: int) -> tuple[float, float]:
    """The share of matrices whose bracket reports a drift: without one, and with one of 10 %."""
    random = np.random.default_rng([seed, cells, repeats, round(1e4 * cv)])
    reported = [0, 0]
    for _ in range(count):
        values = np.exp(random.normal(0.0, cv, (cells, repeats)))
        noise = repeatability(values.tolist())
        assert noise is not None
        again = float(np.exp(random.normal(0.0, cv)))
        for i, factor in enumerate((1.0, 0.9)):
            change = drift(float(values[0, 0]), factor * again)
            reported[i] += change is not None and exceeds(change, noise.limit)
    return reported[0] / count, reported[1] / count


def _compared(a: Floats, b: Floats, spread: object) -> Comparison:
    return compare_values(a.tolist(), b.tolist(), higher_is_better=True, spread=spread)  # type: ignore[arg-type]


def _percents(shares: tuple[float, ...]) -> list[str]:
    return [f"{grouped(100 * share, 1)} %" for share in shares]


def spread_rows(count: int, seed: int) -> Iterator[str]:
    yield SPREAD_HEADER
    for runs, cv, sd, sessions in SPREAD_CASES:
        held, width, *shares = _percents(spread_rates(runs, cv, sd, sessions, count, seed))
        side = f"{runs} | {exact(100 * cv)} % | {exact(100 * sd)} % | {sessions}"
        yield f"| {side} | {held} ({width}) | {' | '.join(shares)} |"


def table_rows(count: int, seed: int) -> Iterator[str]:
    yield TABLE_HEADER
    for comparisons, runs, cv in TABLE_CASES:
        shares = _percents(table_rates(comparisons, runs, cv, count, seed))
        yield f"| {comparisons} | {runs} | {exact(100 * cv)} % | {' | '.join(shares)} |"


def bracket_rows(count: int, seed: int) -> Iterator[str]:
    yield BRACKET_HEADER
    for cells, repeats, cv in BRACKET_CASES:
        shares = _percents(bracket_rates(cells, repeats, cv, count, seed))
        yield f"| {cells} | {repeats} | {exact(100 * cv)} % | {' | '.join(shares)} |"


TABLES: Final[dict[str, Callable[[int, int], Iterator[str]]]] = {
    "spreads": spread_rows,
    "tables": table_rows,
    "brackets": bracket_rows,
}

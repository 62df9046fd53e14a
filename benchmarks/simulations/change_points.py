"""How often change points are reported where nothing changed, and how often where something did: on made-up series.

Every row draws its series from a generator of its own, so that each can be computed again by itself.
`manage.py change_point_rates` prints the table that docs/evidence/change-points.md quotes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchsite.core import formatting
from reports.trends.analysis.changes import TAIL_LATENCY, THROUGHPUT, Rule, detect_changes
from reports.trends.analysis.edivisive import Floats, change_points

SEED: Final = 20_261
SERIES: Final = 1_000
BEFORE: Final = 30  # points before a drop
VARIATION: Final = 0.02  # coefficient of variation of throughput between runs
TAIL_VARIATION: Final = 0.10  # standard deviation of the logarithm of a p99
MEMORY: Final = 0.5  # how much each point of a series with memory resembles the one before
NEAR: Final = 1  # a drop is found where a change is reported at most one point away

Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of series. `at` is where it drops, None where nothing changes; `expected` is what analysis 7 says."""

    what: str
    points: str
    make: Callable[[Random], Floats]
    rule: Rule
    at: int | None = None
    expected: str = ""

    def fires(self, indices: Sequence[int]) -> bool:
        """Whether anything was reported; of a drop, whether it was found where it is."""
        return bool(indices) if self.at is None else any(abs(index - self.at) <= NEAR for index in indices)


@dataclass(frozen=True, slots=True)
class Rate:
    """In which share of its series a case fired: the algorithm alone, with the least magnitude, and as reported."""

    case: Case
    alone: float
    with_magnitude: float
    reported: float


def rate(case: Case, number: int, series: int = SERIES, seed: int = SEED) -> Rate:
    """One row of the table; `number` is its place in it."""
    random = np.random.default_rng([seed, number])
    fired = np.zeros(3, dtype=int)
    for _ in range(series):
        fired += _fires(case, case.make(random))
    alone, with_magnitude, reported = (fired / series).tolist()
    return Rate(case, alone, with_magnitude, reported)


def rates(series: int = SERIES, seed: int = SEED) -> Iterator[Rate]:
    """The whole table; one seed, one answer."""
    for number, case in enumerate(CASES):
        yield rate(case, number, series, seed)


def _fires(case: Case, values: Floats) -> list[bool]:
    rule = case.rule
    scaled = np.log(values) if rule.logarithms else values
    (alone, _), (with_magnitude, _) = (
        change_points(scaled, min_magnitude=least, logarithms=rule.logarithms) for least in (0.0, rule.min_magnitude)
    )
    reported = [change.index for change in detect_changes(values, rule).changes if change.counts]
    return [
        case.fires([split.index for split in alone]),
        case.fires([split.index for split in with_magnitude]),
        case.fires(reported),
    ]


HEADER: Final = (
    "| series | points | Otava's algorithm | with the least magnitude | as Benchsite reports | analysis 7, alone |\n"
    "|---|---|---|---|---|---|"
)


def row(rate: Rate) -> str:
    """A line of the table, in Markdown."""
    shares = (formatting.percent(share) for share in (rate.alone, rate.with_magnitude, rate.reported))
    return f"| {rate.case.what} | {rate.case.points} | {' | '.join(shares)} | {rate.case.expected} |"


# --- Made-up series ---


def _normal(random: Random, points: int) -> Floats:
    return random.normal(1000.0, 1000.0 * VARIATION, points)


def _with_memory(random: Random, points: int) -> Floats:
    """Normal, each point resembling the one before: a machine that is busy for some runs, then quiet again."""
    drawn = random.normal(0.0, 1.0, points)
    for index in range(1, points):
        drawn[index] = MEMORY * drawn[index - 1] + np.sqrt(1 - MEMORY**2) * drawn[index]
    return np.asarray(1000.0 * (1 + VARIATION * drawn))


def _tail(random: Random, points: int) -> Floats:
    return random.lognormal(np.log(2000.0), TAIL_VARIATION, points)


def _dropped(random: Random, after: int, share: float) -> Floats:
    values = _normal(random, BEFORE + after)
    values[BEFORE:] *= 1 - share
    return values


def _flat(series: str, make: Callable[[Random, int], Floats], rule: Rule, expected: Sequence[str]) -> list[Case]:
    return [
        Case(series, str(points), lambda random, points=points: make(random, points), rule, expected=rate)  # type: ignore[misc]
        for points, rate in zip((20, 30, 50), expected, strict=True)
    ]


def _drop(share: float, expected: Sequence[str]) -> list[Case]:
    return [
        Case(
            f"throughput falls by {formatting.grouped(100 * share)} %, CV {formatting.grouped(100 * VARIATION)} %",
            f"{BEFORE} + {after}",
            lambda random, after=after: _dropped(random, after, share),  # type: ignore[misc]
            THROUGHPUT,
            at=BEFORE,
            expected=rate,
        )
        for after, rate in zip((1, 2, 3, 5, 8), expected, strict=True)
    ]


CASES: Final[tuple[Case, ...]] = (
    *_flat("flat throughput, normal, CV 2 %", _normal, THROUGHPUT, ("1.3 %", "1.3 %", "5 %")),
    *_flat("flat throughput with memory (AR(1), 0.5), CV 2 %", _with_memory, THROUGHPUT, ("", "", "")),
    *_flat("flat p99, lognormal, sigma 0.1", _tail, TAIL_LATENCY, ("", "", "")),
    *_drop(0.05, ("16 %", "44 %", "70 %", "86 %", "89 %")),
    *_drop(0.10, ("", "", "", "", "")),
)

"""How often the comparison of two ladders is wrong, by simulation: databases of known laws on ladders drawn at random.

`manage.py interval_coverage ladders` prints the table that docs/evidence/comparisons.md quotes.
"""

import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from benchsite.core.formatting import exact, grouped
from reports.compare.analysis.points import spread
from reports.compare.analysis.repeat_comparison import Outcome
from reports.compare.curves import Curve, Operation, Point, Standing
from reports.compare.pages.baseline_ratios import Ratio, latency_ratio, throughput_ratio
from reports.compare.pages.equal_load import equal_load

PAIRS: Final = 6000
SEED: Final = 20261122
HEADER: Final = (
    "| the second side is | runs | CV | quantity | with an interval | faster or slower | false | interval holds |\n"
    "|---|---|---|---|---|---|---|---|"
)
MAX_THREADS: Final = 1 << 16
BISECTIONS: Final = 60


@dataclass(frozen=True, slots=True)
class Case:
    """Pairs of sides. The second does `ratio` times what the first does at every load; other ladders, other noise."""

    ratio: float
    runs: int
    cv: float
    same_law: bool = True  # False: the second side's law is drawn by itself, and nothing is known of the ratio

    @property
    def label(self) -> str:
        same = {1.0: "the same database"}.get(self.ratio, f"{exact(self.ratio)} times as fast")
        return f"{same if self.same_law else 'another database'} | {self.runs} | {grouped(100 * self.cv)} %"


CASES: Final = tuple(
    Case(ratio, runs, cv, same)
    for ratio, same in ((1.0, True), (1.2, True), (1.0, False))
    for runs, cv in ((3, 0.01), (3, 0.03), (3, 0.05), (5, 0.03))
)


@dataclass(frozen=True, slots=True)
class Law:
    """Throughput over threads: by the Universal Scalability Law, or up to a bottleneck of so many ops/s."""

    single_ops_s: float
    contention: float = 0.0
    coherency: float = 0.0
    bottleneck_ops_s: float = 0.0  # 0: none
    sharpness: float = 4.0  # of the bottleneck's bend
    scale: float = 1.0

    def throughput(self, threads: float) -> float:
        if self.bottleneck_ops_s:
            free, full = threads * self.single_ops_s, self.bottleneck_ops_s
            return self.scale * float(free / (1 + (free / full) ** self.sharpness) ** (1 / self.sharpness))
        slowed = 1 + self.contention * (threads - 1) + self.coherency * threads * (threads - 1)
        return self.scale * threads * self.single_ops_s / slowed

    @property
    def peak_threads(self) -> float:
        """Where throughput is highest; of a bottleneck far beyond its bend."""
        return math.sqrt((1 - self.contention) / self.coherency) if self.coherency else float(MAX_THREADS)

    @property
    def ceiling_ops_s(self) -> float:
        return self.throughput(max(self.peak_threads, 1.0))

    def latency_us(self, load_ops_s: float) -> float:
        """The mean latency where a closed loop reaches this load; infinite above the ceiling."""
        low, high = 1e-6, self.peak_threads
        if load_ops_s > self.throughput(high):
            return math.inf
        for _ in range(BISECTIONS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.throughput(middle) >= load_ops_s else (middle, high)
        return high / load_ops_s * 1e6


def draw_law(random: np.random.Generator) -> Law:
    """From hardly any contention to strong, with a peak between about 8 and 500 threads; or a bottleneck."""
    single = float(random.uniform(500, 5000))
    if random.random() < 0.5:
        peak = math.exp(random.uniform(math.log(8), math.log(500)))
        contention = float(random.uniform(0.0, 0.1))
        return Law(single, contention, (1 - contention) / peak**2)
    bottleneck = single * math.exp(random.uniform(math.log(4), math.log(100)))
    return Law(single, bottleneck_ops_s=bottleneck, sharpness=float(random.uniform(2, 8)))


def draw_rungs(random: np.random.Generator) -> list[int]:
    """Three to nine rungs from 1, 2, 3, 4 or 8 threads, doubled or four times as many each."""
    first, step = int(random.choice([1, 2, 3, 4, 8])), int(random.choice([2, 2, 4]))
    rungs = [first * step**i for i in range(int(random.integers(3, 10)))]
    return [threads for threads in rungs if threads <= 2048]


def draw_curve(law: Law, rungs: list[int], runs: int, cv: float, random: np.random.Generator) -> Curve:
    """A sweep whose runs scatter about the law, each run by one factor: a slow run has higher latencies."""
    factors = np.exp(random.normal(0.0, math.sqrt(math.log1p(cv**2)), (len(rungs), runs)))
    points = [made_point(threads, law.throughput(threads) * factors[i]) for i, threads in enumerate(rungs)]
    return made_curve(points, uuid.UUID(int=int(random.integers(1 << 62))))


def made_curve(points: Sequence[Point], sweep_id: uuid.UUID) -> Curve:
    return Curve(
        sweep_id, "sweep", "Database", "db", "Database", "mode", "Mode", {}, "A", "measured", tuple(points),
        rungs=tuple(point.threads for point in points),
    )  # fmt: skip


def made_point(threads: int, throughputs: np.ndarray) -> Point:
    values = spread(throughputs.tolist())
    latencies = spread((threads / throughputs * 1e6).tolist())
    assert values is not None and latencies is not None
    read = Operation("READ", "service", 1000, 0, {"mean": latencies})
    return Point(
        threads, None, values, (read,), Standing.COUNTED, "pass", 1, 1, 10.0, 2.0, mode_verified=True,
        run_ids=(), repeats=tuple(range(1, values.n + 1)),
    )  # fmt: skip


Quantity = Literal["ceiling", "ceiling, one-sided", "common rung", "latency at equal load"]


@dataclass(frozen=True, slots=True)
class Tally:
    """Of the pairs with a ratio of this quantity: how many said "faster" or "slower", how many of these were false,
    and how many intervals held the true ratio."""

    pairs: int = 0
    decided: int = 0
    false: int = 0
    held: int = 0


def tallies(case: Case, pairs: int = PAIRS, seed: int = SEED) -> Mapping[Quantity, Tally]:
    """What the rules say of so many pairs of sides."""
    random = np.random.default_rng([seed, CASES.index(case) if case in CASES else len(CASES)])
    counts: dict[Quantity, Tally] = {}
    for _ in range(pairs):
        for quantity, ratio, truth in _compared(case, random):
            if ratio.comparison is None or ratio.comparison.low is None:
                continue
            counts[quantity] = _counted(counts.get(quantity, Tally()), ratio, truth)
    return counts


def _compared(case: Case, random: np.random.Generator) -> Iterator[tuple[Quantity, Ratio, float]]:
    first = draw_law(random)
    other = first if case.same_law else draw_law(random)
    laws = Law(**{**{name: getattr(other, name) for name in Law.__slots__}, "scale": case.ratio}), first
    a, b = (draw_curve(law, draw_rungs(random), case.runs, case.cv, random) for law in laws)
    ratio = throughput_ratio(a, b, None)
    if ratio.at:
        threads = float(ratio.at.split()[0])
        yield "common rung", ratio, laws[0].throughput(threads) / laws[1].throughput(threads)
    else:
        bound = ratio.comparison.bound if ratio.comparison else ""
        yield "ceiling, one-sided" if bound else "ceiling", ratio, laws[0].ceiling_ops_s / laws[1].ceiling_ops_s
    equal = equal_load((a, b), ["READ"], statistic="mean")
    if equal:
        latencies = [law.latency_us(equal.load_ops_s) for law in laws]
        yield "latency at equal load", latency_ratio(a, b, None, equal, "READ"), latencies[1] / latencies[0]


def _counted(tally: Tally, ratio: Ratio, truth: float) -> Tally:
    comparison = ratio.comparison
    assert comparison is not None and comparison.low is not None and comparison.high is not None
    decided = comparison.outcome in (Outcome.FASTER, Outcome.SLOWER)
    false = truth <= 1 + 1e-9 if comparison.outcome is Outcome.FASTER else truth >= 1 - 1e-9
    return Tally(
        tally.pairs + 1, tally.decided + decided, tally.false + (decided and false),
        tally.held + (comparison.low <= truth * (1 + 1e-9) and truth * (1 - 1e-9) <= comparison.high),
    )  # fmt: skip


def rows(pairs: int = PAIRS, seed: int = SEED) -> Iterator[str]:
    """Every case, a line for each quantity: shares of all pairs, coverage of those with an interval."""
    for case in CASES:
        for quantity, tally in sorted(tallies(case, pairs, seed).items()):
            shares = (tally.pairs / pairs, tally.decided / pairs, tally.false / pairs, tally.held / tally.pairs)
            cells = " | ".join(f"{grouped(100 * share, 1)} %" for share in shares)
            yield f"| {case.label} | {quantity} | {cells} |"

"""How much of an ideal gain a larger cluster brings: the score of the study of 2014 (analysis 3)."""

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from reports.analysis.ratios import bound_sign

MIN_RUNGS = 6
MIN_R2 = 0.98
# A peak at more than this many times the most threads measured is a guess.
REACH = 2.0
# More than this share of the ideal gain is no scaling: something else changed with the number of nodes.
SUPER_LINEAR = 1.05
MIN_REPEATS = 10
RESAMPLES = 2000
SEED = 2014


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


# X(N) = lam · N / (1 + sigma (N - 1) + kappa N (N - 1)), throughput in ops/s (analysis 2.2). It predicts a peak; it is
# not the knee.
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


@dataclass(frozen=True, slots=True)
class Scalability:
    """Shares, not per cent; by number of nodes, without the base."""

    base: int  # nodes
    gains: Mapping[int, float]  # s_i = T_i / T_0 - 1
    ideals: Mapping[int, float]  # n_i / n_0 - 1
    score: float  # E, the mean of s_i / ideal_i: 1 is linear, 0 no gain; may be negative
    speedup_efficiency: Mapping[int, float]  # (T_i / T_0) / (n_i / n_0), the milder measure
    lower_bounds: frozenset[int] = frozenset()  # the sizes that reach as much at least

    @property
    def shares(self) -> Mapping[int, float]:
        """E_i = s_i / ideal_i of each size."""
        return {nodes: gain / self.ideals[nodes] for nodes, gain in self.gains.items()}

    def gain_sign(self, nodes: int) -> str | None:
        """Before the gain of a size; None: the gain may be anything, for both throughputs are lower bounds."""
        return bound_sign(nodes in self.lower_bounds, self.base in self.lower_bounds)

    @property
    def sign(self) -> str | None:
        """Before the score; None: it may be anything."""
        return bound_sign(bool(self.lower_bounds & self.gains.keys()), self.base in self.lower_bounds)

    @property
    def super_linear(self) -> tuple[int, ...]:
        """The sizes that gained more than the nodes account for: look for what else differs. None of an open base."""
        if self.base in self.lower_bounds:
            return ()
        return tuple(nodes for nodes, share in self.shares.items() if share > SUPER_LINEAR)


def score(throughputs: Mapping[int, float], lower_bounds: Collection[int] = ()) -> Scalability | None:
    """E = mean over sizes of (T_i / T_0 - 1) / (n_i / n_0 - 1) (analysis 3), from nodes -> ops/s.

    The base is the smallest size. None where it did nothing, and where there is no larger size.
    """
    start, *larger = sorted(nodes for nodes in throughputs if nodes > 0) or [0]
    if not larger or throughputs[start] <= 0:
        return None
    gains = {nodes: throughputs[nodes] / throughputs[start] - 1 for nodes in larger}
    ideals = {nodes: nodes / start - 1 for nodes in larger}
    return Scalability(
        base=start,
        gains=gains,
        ideals=ideals,
        score=sum(gains[nodes] / ideals[nodes] for nodes in larger) / len(larger),
        speedup_efficiency={nodes: (gains[nodes] + 1) / (nodes / start) for nodes in larger},
        lower_bounds=frozenset(lower_bounds),
    )


def score_interval(repeats: Mapping[int, Sequence[float]]) -> tuple[float, float] | None:
    """The percentile bootstrap interval (95 %) of the score, from nodes -> ops/s of the repeats.

    Each size's median is resampled. None unless every size has at least ten repeats: of fewer it is narrower than its
    level says (analysis 5).
    """
    point = score({nodes: float(np.median(values)) for nodes, values in repeats.items() if values})
    if point is None:
        return None
    used = [point.base, *point.gains]
    if any(len(repeats[nodes]) < MIN_REPEATS for nodes in used):
        return None
    random = np.random.default_rng(SEED)
    drawn = {nodes: _medians(repeats[nodes], random) for nodes in used}
    scores = np.mean([(drawn[n] / drawn[point.base] - 1) / point.ideals[n] for n in point.gains], axis=0)
    low, high = np.quantile(scores, [0.025, 0.975])
    return float(low), float(high)


def _medians(values: Sequence[float], random: np.random.Generator) -> np.ndarray:
    """The medians of as many resamples as are drawn."""
    known = np.asarray(values, dtype=np.float64)
    return np.asarray(np.median(random.choice(known, size=(RESAMPLES, known.size)), axis=1))


@dataclass(frozen=True, slots=True)
class Measured:
    """One sweep, or one printed result, on a cluster of one size. What was not measured is None."""

    row: tuple[str, ...]  # what makes it one line of the table: system, mode, workload
    nodes: int
    ceiling_ops_s: float | None
    knee_us: float | None = None  # the mean latency of all operations at the knee
    ladder: str = ""  # what its ladder shows
    lower_bound: bool = False
    knee_reached: bool = True
    repeats_ops_s: tuple[float, ...] = ()  # of the rung that reached the ceiling
    records: int | None = None
    disputed: str = ""  # why a printed result cannot be right
    key: Hashable = None  # what a page links to
    database: str = ""  # its name, which several of one line have
    others: int = 0  # results of the same line and size that it did more than


@dataclass(frozen=True, slots=True)
class PivotRow:
    """One line: a cell for each size of the table, None where it was not measured."""

    names: tuple[str, ...]
    cells: tuple[Measured | None, ...]
    score: Scalability | None  # None for fewer than two sizes
    interval: tuple[float, float] | None  # of the score, 95 %; None for fewer than ten repeats of a size
    others: int  # sweeps of sizes that another sweep did more on: not shown

    @property
    def gains(self) -> list[tuple[int, str | None, float]]:
        """Nodes, sign and gain of each size; the sign is None where the gain may be anything."""
        return [(n, self.score.gain_sign(n), gain) for n, gain in self.score.gains.items()] if self.score else []

    @property
    def disputed(self) -> str:
        return next((cell.disputed for cell in self.cells if cell and cell.disputed), "")


@dataclass(frozen=True, slots=True)
class Pivot:
    """Sizes ascend; rows are in the order in which they first came."""

    sizes: tuple[int, ...]
    rows: tuple[PivotRow, ...]

    @property
    def scored(self) -> bool:
        return any(row.score for row in self.rows)


def pivot(measured: Iterable[Measured]) -> Pivot:
    """Of several results of one line and size the highest ceiling stands; a size below 1 belongs nowhere.

    The score is that of the study (analysis 3): base the smallest size that the row has.
    """
    lines: dict[tuple[str, ...], dict[int, list[Measured]]] = {}
    for result in measured:
        if result.nodes > 0:
            lines.setdefault(result.row, {}).setdefault(result.nodes, []).append(result)
    sizes = tuple(sorted({nodes for by_size in lines.values() for nodes in by_size}))
    return Pivot(sizes, tuple(_row(names, by_size, sizes) for names, by_size in lines.items()))


def _row(names: tuple[str, ...], by_size: dict[int, list[Measured]], sizes: Sequence[int]) -> PivotRow:
    best = {
        nodes: replace(max(results, key=lambda result: result.ceiling_ops_s or 0.0), others=len(results) - 1)
        for nodes, results in by_size.items()
    }
    ceilings = {nodes: result.ceiling_ops_s for nodes, result in best.items() if result.ceiling_ops_s}
    return PivotRow(
        names=names,
        cells=tuple(best.get(nodes) for nodes in sizes),
        score=score(ceilings, lower_bounds=[nodes for nodes, result in best.items() if result.lower_bound]),
        interval=score_interval({nodes: best[nodes].repeats_ops_s for nodes in ceilings}),
        others=sum(len(results) - 1 for results in by_size.values()),
    )

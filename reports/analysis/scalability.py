"""How much of an ideal gain a larger cluster brings: the score of the study of 2014 (analysis 3)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reports.analysis.ratios import bound_sign

# More than this share of the ideal gain is no scaling: something else changed with the number of nodes.
SUPER_LINEAR = 1.05
MIN_REPEATS = 10
RESAMPLES = 2000
SEED = 2014


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


def score(
    throughputs: Mapping[int, float], base: int | None = None, lower_bounds: Collection[int] = ()
) -> Scalability | None:
    """E = mean over sizes of (T_i / T_0 - 1) / (n_i / n_0 - 1) (analysis 3), from nodes -> ops/s.

    The base is the smallest size unless named; smaller sizes are left out. None where the base is missing or did
    nothing, and where there is no larger size.
    """
    sizes = sorted(nodes for nodes in throughputs if nodes > 0)
    start = base if base is not None else next(iter(sizes), 0)
    larger = [nodes for nodes in sizes if nodes > start]
    if throughputs.get(start, 0.0) <= 0 or start <= 0 or not larger:
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


def score_interval(
    repeats: Mapping[int, Sequence[float]], base: int | None = None, level: float = 0.95
) -> tuple[float, float] | None:
    """The percentile bootstrap interval of the score, from nodes -> ops/s of the repeats, each size's median resampled.

    None unless every size has at least ten repeats: of fewer it is narrower than its level says (analysis 5).
    """
    point = score({nodes: float(np.median(values)) for nodes, values in repeats.items() if values}, base)
    if point is None:
        return None
    used = [point.base, *point.gains]
    if any(len(repeats[nodes]) < MIN_REPEATS for nodes in used):
        return None
    random = np.random.default_rng(SEED)
    drawn = {nodes: _medians(repeats[nodes], random) for nodes in used}
    scores = np.mean([(drawn[n] / drawn[point.base] - 1) / point.ideals[n] for n in point.gains], axis=0)
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _medians(values: Sequence[float], random: np.random.Generator) -> np.ndarray:
    """The medians of as many resamples as are drawn."""
    known = np.asarray(values, dtype=np.float64)
    return np.asarray(np.median(random.choice(known, size=(RESAMPLES, known.size)), axis=1))

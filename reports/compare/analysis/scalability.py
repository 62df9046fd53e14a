"""How much of an ideal gain a larger cluster brings: the score of the study of 2014 (analysis 3)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from reports.compare.analysis.ratios import bound_sign

# More than this share of the ideal gain is no scaling: something else changed with the number of nodes.
SUPER_LINEAR = 1.05


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

"""Several comparisons at once: of twenty tests of nothing one is below 5 % (analysis 5)."""

import math
from collections.abc import Sequence
from dataclasses import replace

from reports.analysis.repeat_comparison import Comparison, Outcome, judged


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted p-values for a family that was declared beforehand: no false one in it with 95 %. In their order.

    p(i) · (m - i + 1), never below the one before (Holm 1979). Raises ValueError for what is no p.
    """
    return _stepped(ps, [len(ps) - rank for rank in range(len(ps))], descending=False)


def benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """Adjusted p-values for exploring: below 0.1, one finding of ten is false. In their order.

    p(i) · m / i, never above the one behind (Benjamini and Hochberg 1995). Raises ValueError for what is no p.
    """
    return _stepped(ps, [len(ps) / (rank + 1) for rank in range(len(ps))], descending=True)


def _stepped(ps: Sequence[float], factors: Sequence[float], *, descending: bool) -> list[float]:
    if any(not (math.isfinite(p) and 0 <= p <= 1) for p in ps):
        raise ValueError("p-values lie between 0 and 1")
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    scaled = [min(ps[i] * factor, 1.0) for i, factor in zip(order, factors, strict=True)]
    ranks = range(len(ps) - 2, -1, -1) if descending else range(1, len(ps))
    for rank in ranks:
        scaled[rank] = min(scaled[rank], scaled[rank + 1]) if descending else max(scaled[rank], scaled[rank - 1])
    found = [0.0] * len(ps)
    for i, value in zip(order, scaled, strict=True):
        found[i] = value
    return found


def adjusted(comparisons: Sequence[Comparison], times: float = 1.0) -> list[Comparison]:
    """The comparisons of one table, judged by Holm's p: which ones stand in it was declared by the selection.

    `times` is by how many tables like this one the error is shared (Bonferroni).
    Those without an interval, and those that are not comparable, are no part of the family and stay as they are. An
    equivalence is no claim of a difference and stays too.
    """
    family = [i for i, one in enumerate(comparisons) if one.p is not None and one.outcome != Outcome.NOT_COMPARABLE]
    found = list(comparisons)
    for i, p in zip(family, holm([comparisons[i].p or 0.0 for i in family]), strict=True):
        found[i] = judged(replace(comparisons[i], adjusted_p=min(p * times, 1.0)))
    return found

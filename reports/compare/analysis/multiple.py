"""Several comparisons at once: of twenty tests of nothing one is below 5 % (analysis 5)."""

import math
from collections.abc import Sequence
from dataclasses import replace

from reports.compare.analysis.repeat_comparison import Comparison, Outcome, judged


def holm(ps: Sequence[float]) -> list[float]:
    """Adjusted p-values for a family that was declared beforehand: no false one in it with 95 %. In their order.

    p(i) · (m - i + 1), never below the one before (Holm 1979). Raises ValueError for what is no p.
    """
    if any(not (math.isfinite(p) and 0 <= p <= 1) for p in ps):
        raise ValueError("p-values lie between 0 and 1")
    adjusted_ps = [0.0] * len(ps)
    least = 0.0
    for rank, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        least = adjusted_ps[i] = max(least, min(ps[i] * (len(ps) - rank), 1.0))
    return adjusted_ps


def adjusted(comparisons: Sequence[Comparison], times: float = 1.0) -> list[Comparison]:
    """The comparisons of one table, judged by Holm's p: which ones stand in it was declared by the selection.

    `times` is by how many tables like this one the error is shared (Bonferroni).
    Those without an interval, and those that are not comparable, are no part of the family and stay as they are. An
    equivalence is no claim of a difference and stays too.
    """
    family = [
        i
        for i, comparison in enumerate(comparisons)
        if comparison.p is not None and comparison.outcome != Outcome.NOT_COMPARABLE
    ]
    judgements = list(comparisons)
    for i, p in zip(family, holm([comparisons[i].p or 0.0 for i in family]), strict=True):
        judgements[i] = judged(replace(comparisons[i], adjusted_p=min(p * times, 1.0)))
    return judgements

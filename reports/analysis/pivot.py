"""Cluster sizes against databases, as the study of 2014 printed them: one row per system, one column per size."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from reports.analysis.scalability import Scalability, score, score_interval


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

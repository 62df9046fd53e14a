"""The noise floor of a cluster: what the same test, repeated on the same machines, differs by (analysis 5)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runs.measures.repeats import LEAST_CELLS, repeatability


@dataclass(frozen=True, slots=True)
class Cell:
    """The runs of one test on one cluster: same sweep, threads and target. Throughput in ops/s."""

    values: Sequence[float]
    brackets: int = 0  # of them, repeated at the end of a matrix


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """A difference of less than `relative` (a share) is what two runs of the same test differ by in 19 of 20 cases."""

    relative: float
    pairs: int  # cells that were repeated
    repeats: int  # runs in them
    brackets: int  # of these, brackets


def noise_floor(cells: Iterable[Cell]) -> NoiseFloor | None:
    """The repeatability limit 1.96·√2·s, s pooled on ln(throughput) within the cells (ISO 5725-6).

    None, "unknown", with fewer than two repeated cells.
    """
    repeated = [cell for cell in cells if len(cell.values) > 1]
    found = repeatability([cell.values for cell in repeated])
    if found is None or found.cells < LEAST_CELLS:
        return None
    return NoiseFloor(
        relative=found.limit,
        pairs=found.cells,
        repeats=found.cells + found.degrees,
        brackets=sum(cell.brackets for cell in repeated),
    )


def largest_floor(names: Iterable[str], floors: Mapping[str, NoiseFloor]) -> NoiseFloor | None:
    """The largest of these clusters' that is known; None where none is.

    One that is not known lets no difference count that is below the other's.
    """
    return max((floors[name] for name in names if name in floors), key=lambda one: one.relative, default=None)

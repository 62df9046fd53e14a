"""What a matrix' bracket says: how far the machines drifted between its first cell and the same cell at its end."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from runs.models import Matrix, Phase, Run, Status, Verdict
from runs.results.measures.repeatability import MIN_CELLS, Repeatability, drift, exceeds, repeatability

# The newest runs of a cluster from which its noise is read; older ones tell of other days.
MAX_RUNS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Drift:
    """A bracket beside the first run of its cell. `change` is a share of that one; None while one of the two misses."""

    bracket: Run
    first: Run | None
    change: float | None
    noise: Repeatability | None  # of the cluster; None where fewer than two were repeated on it

    @property
    def floor(self) -> float | None:
        """As a share: repeats on this cluster differ by more in one case of twenty only."""
        return self.noise.limit if self.noise else None

    @property
    def above(self) -> bool:
        """Whether the drift is more than the noise of the cluster."""
        return self.change is not None and self.floor is not None and exceeds(self.change, self.floor)


def compute_drift(matrix: Matrix, measured: Sequence[Run]) -> Drift | None:
    """From the measured runs of a matrix, brackets among them; None for a matrix without. One query where it tells."""
    brackets = [run for run in measured if run.is_bracket]
    if not brackets:
        return None

    bracket = next((run for run in reversed(brackets) if usable(run)), brackets[-1])
    same_cell = [run for run in measured if not run.is_bracket and get_cell(run) == get_cell(bracket)]
    # The first repeat with a number, else the first one.
    first = min(same_cell, key=lambda run: (not usable(run), run.repeat), default=None)
    if first is None or not usable(first) or not usable(bracket):
        return Drift(bracket=bracket, first=first, change=None, noise=None)

    assert first.throughput_ops_s is not None and bracket.throughput_ops_s is not None
    change = drift(first.throughput_ops_s, bracket.throughput_ops_s)
    return Drift(bracket=bracket, first=first, change=change, noise=estimate_noise(matrix, bracket))


def usable(run: Run) -> bool:
    """Whether it has a number that counts."""
    return run.counts and run.throughput_ops_s is not None


def get_cell(run: Run) -> tuple[object, ...]:
    return (run.sweep_id, run.threads, run.target_ops_s)


def estimate_noise(matrix: Matrix, bracket: Run) -> Repeatability | None:
    """The noise of a cluster by the repeats and the brackets of its newest runs; this matrix' own bracket is judged by
    it, and is no part of it."""
    runs = Run.objects.filter(
        cluster=bracket.cluster_id, phase=Phase.MEASURE, status=Status.SUCCEEDED, throughput_ops_s__isnull=False,
        excluded_reason="", matrix__trial_of__isnull=True,
    ).exclude(Q(verdict=Verdict.REJECT, verdict_override="") | Q(matrix=matrix, is_bracket=True))  # fmt: skip
    cells: dict[tuple[object, ...], list[float]] = defaultdict(list)
    columns = runs.order_by("-created_at").values_list("sweep_id", "threads", "target_ops_s", "throughput_ops_s")
    for *cell, throughput_ops_s in columns[:MAX_RUNS]:
        cells[tuple(cell)].append(throughput_ops_s or 0.0)

    noise = repeatability(cells.values())
    if noise is None or noise.cells < MIN_CELLS:
        return None
    return noise

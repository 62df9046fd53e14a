"""The page of a submitted matrix: a grid of sweeps x rungs that fills in, and how far it has come."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from runs.checks.short_windows import find_min_window_s, select_too_short
from runs.checks.team_thresholds import get_thresholds
from runs.models import Matrix, MatrixEntry, Phase, Purpose, Run, Status, Sweep, Verdict
from runs.plans.drafts import stored_plan
from runs.plans.expansion import ExcludedCell, expand
from runs.plans.plan import next_look
from runs.queue.lifecycle import rejected_runs
from runs.queue.pages.progress import timed_progress
from runs.queue.pages.queue import QueueRow, silent_parts
from runs.queue.reasons import Reason
from runs.queue.reruns import find_replaced
from runs.results.measures.repeatability import compute_geomean
from runs.results.pages.drift import compute_drift
from runs.results.pages.run_list import HEAVY, count_rejections
from runs.ycsb.errors import PropertyError

ORDER: Final = ("position", "id")  # of the runs of a matrix
# What people and later runs change of a matrix that has finished.
CHANGING: Final = ("pk", "name", "status", "verdict", "verdict_override", "excluded_reason", "throughput_ops_s")


@dataclass(frozen=True, slots=True)
class Mark:
    """One repeat in a cell: its shape, its word, and where it leads."""

    run: Run
    tone: str
    word: str


@dataclass(frozen=True, slots=True)
class GridCell:
    """One rung of one sweep: all its repeats, and the mean of those that count, or of the rejected if none does."""

    rung: int
    runs: Sequence[Run]
    not_run: str = ""  # the reason of an exclusion
    highest_ops_s: float = 0.0  # of the matrix

    @property
    def counting(self) -> list[Run]:
        return [run for run in self.runs if run.counts]

    @property
    def share(self) -> float:
        """Of the highest throughput, for the bar in the cell."""
        if not self.counting or not self.highest_ops_s:
            return 0.0
        return (self.throughput_ops_s or 0.0) / self.highest_ops_s

    @property
    def is_rejected(self) -> bool:
        """Whether its number is of rejected repeats alone."""
        return not self.counting and self.throughput_ops_s is not None

    @property
    def is_accepted(self) -> bool:
        """Whether its number has repeats that a person counts although a check rejects them."""
        return any(run.counts_although_rejected for run in self.counting)

    @property
    def throughput_ops_s(self) -> float | None:
        return _mean(self.counting or self.runs)

    @property
    def passed_ops_s(self) -> float | None:
        """The same over the repeats that the checks did not reject, whatever a person made of the others."""
        return _mean(run for run in self.runs if run.verdict != Verdict.REJECT)

    @property
    def tone(self) -> str:
        if not self.runs:
            return "none"
        return get_mark(self.runs[0]).tone

    @property
    def word(self) -> str:
        """The badge's word, or for several repeats how many count of those that no later run replaced."""
        if len(self.runs) == 1:
            return get_mark(self.runs[0]).word
        replaced = find_replaced(self.runs)
        expected = sum(
            run.status == Status.SUCCEEDED or (run.pk not in replaced and run.reason not in Reason.skipped())
            for run in self.runs
        )
        if not expected:
            return "skipped"
        counting = len(self.counting)
        verb = "counts" if counting == 1 else "count"
        text = f"{counting} of {expected} repeats {verb}"
        if rejected := sum(map(_is_rejected, self.runs)):
            text = f"{text}, {rejected} rejected"
        return text

    @property
    def marks(self) -> list[Mark]:
        return [get_mark(run) for run in self.runs]

    @property
    def only(self) -> Run | None:
        if len(self.runs) != 1:
            return None
        return self.runs[0]


def _is_rejected(run: Run) -> bool:
    """Whether nothing but a check keeps it from counting."""
    return run.status == Status.SUCCEEDED and not run.excluded_reason and not run.counts


def _mean(runs: Iterable[Run]) -> float | None:
    values = [run.throughput_ops_s for run in runs if run.throughput_ops_s is not None and not run.excluded_reason]
    if not values:
        return None
    return compute_geomean(values)


@dataclass(frozen=True, slots=True)
class GridRow:
    """One sweep, or one entry that was excluded as a whole (`sweep` is None)."""

    name: str
    database: str
    mode: str
    workload: str
    sweep: Sweep | None
    cells: Sequence[GridCell | None]  # None: not a rung of this sweep

    @property
    def highest(self) -> float | None:
        """The highest throughput of the row so far that passed; the ceiling itself is the sweep page's business."""
        return max((c.passed_ops_s for c in self.cells if c and c.passed_ops_s is not None), default=None)

    @property
    def highest_accepted(self) -> float | None:
        """The highest throughput of accepted points; None where it is not above `highest`."""
        accepted = (cell.throughput_ops_s or 0.0 for cell in self.cells if cell and cell.is_accepted)
        return max((value for value in accepted if value > (self.highest or 0.0)), default=None)


def matrix_page(matrix: Matrix, queue: Sequence[QueueRow]) -> dict[str, Any]:
    """Everything that the page of a submitted matrix shows, in a constant number of queries."""
    runs = list(
        matrix.runs.defer(*HEAVY).select_related("sweep__database__cluster", "sweep__workload").order_by(*ORDER)
    )
    timed = [run for run in runs if run.phase == Phase.MEASURE]
    measured = [run for run in timed if not run.is_bracket]  # A bracket is part of no point.
    replaced = find_replaced(runs)
    excluded = excluded_cells(matrix)
    skipped = [run for run in timed if run.reason == Reason.BEYOND_CEILING and run.pk not in replaced]
    rungs = sorted({run.load for run in measured} | {cell.rung for cell in excluded})
    entries = list(MatrixEntry.objects.filter(matrix=matrix).values_list("database_id", "mode"))
    rows = list(_rows(entries, measured, excluded, rungs))
    rejected = {run.pk for run in measured if _is_rejected(run)} - replaced
    rejections: Sequence[Any] = ()
    too_short = None
    if rejected:
        rejections = count_rejections(rejected_runs(matrix))
        too_short = _find_too_short(matrix, runs, rejected)
    silent = silent_parts([run for run in runs if run.status == Status.QUEUED])
    cells = [cell for row in rows for cell in row.cells if cell]
    repeated = chain.from_iterable(cell.marks for cell in cells if cell.only is None)
    return {
        "databases": len({database for database, _ in entries}),
        "entries": len(entries),
        "rungs": rungs,
        "rows": rows,
        "repeats": max((len(cell.runs) for cell in cells), default=1),
        # One of each kind that cells of several repeats have, to explain their shapes.
        "marks": list({mark.word: mark for mark in repeated}.values()),
        "loads": [run for run in runs if run.phase == Phase.LOAD],
        "failures": [run for run in runs if run.status == Status.FAILED and run.pk not in replaced],
        "retries": _list_retries(runs),
        # Parts of the site for which its runs wait in vain.
        "silent": sorted(set(chain.from_iterable(silent.values()))),
        # Measured points that did not succeed and have not been run again.
        "missing": sum(
            run.status in (Status.FAILED, Status.CANCELLED)
            and run.reason not in Reason.skipped()
            and run.pk not in replaced
            for run in timed
        ),
        "now": [run for run in runs if run.status in (Status.RUNNING, Status.DISPATCHED)],
        "progress": timed_progress(matrix, runs, queue, len(excluded)),
        "drift": compute_drift(matrix, timed),
        # Up to which repeats can be added.
        "next_look": next_look(matrix.looks, (run.repeat for run in measured)) if measured else None,
        "skipped": len(skipped),
        "saved_s": sum(run.expected_s for run in skipped),
        # Runs that do not count and were not run again, and others that were.
        "rejected": len(rejected),
        "rejected_before": sum(_is_rejected(run) for run in measured if run.pk in replaced),
        # Reason -> the runs that count by it although a check rejects them.
        "accepted": dict(Counter(run.verdict_override for run in runs if run.counts and run.counts_although_rejected)),
        "too_short": too_short,
        # Its windows are shorter than those that V05 passes of runs to publish.
        "is_short": matrix.min_measure_s < get_thresholds(matrix.team_id, Purpose.MEASURED).duration_warn_s,
        "has_points": any(run.status == Status.SUCCEEDED for run in measured),
        "nothing_counts": not any(run.counts for run in measured),
        "rejections": rejections,
        # What a server was that is not the product; empty: all were.
        "stand_in": next((run.stand_in for run in measured if run.stand_in), ""),
        "version": _build_version(matrix, map(attrgetter(*CHANGING), runs)),
    }


def read_version(matrix: Matrix) -> str:
    """Changes with what the page shows of a finished matrix. One query."""
    return _build_version(matrix, matrix.runs.order_by(*ORDER).values_list(*CHANGING))


def _build_version(matrix: Matrix, rows: Iterable[tuple[Any, ...]]) -> str:
    values = [matrix.archived_at is None, *map(tuple, rows)]
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def _find_too_short(matrix: Matrix, runs: Iterable[Run], rejected: Collection[UUID]) -> dict[str, float] | None:
    """How many rejected runs have a window that V05 rejects however often it is measured, the shortest one that it
    does not reject, and how long the whole plan takes with that.
    """
    too_short = select_too_short(Run.objects.filter(pk__in=rejected), matrix.team_id).count()
    if not too_short:
        return None
    min_window_s = find_min_window_s(matrix.team_id, matrix.purpose)
    planned = [run for run in runs if run.rerun_of_id is None]
    measured = sum(run.phase == Phase.MEASURE for run in planned)
    longer_s = measured * (min_window_s - matrix.min_measure_s)
    seconds = sum(run.expected_s for run in planned) + longer_s
    return {"runs": too_short, "min_window_s": min_window_s, "seconds": seconds}


def _list_retries(runs: Sequence[Run]) -> list[Run]:
    """Each with the run that it repeats, which is in the same matrix."""
    by_id = {run.pk: run for run in runs}
    retries = [run for run in runs if run.is_retry and run.rerun_of_id in by_id]
    for run in retries:
        assert run.rerun_of_id is not None
        run.rerun_of = by_id[run.rerun_of_id]
    return retries


def excluded_cells(matrix: Matrix) -> tuple[ExcludedCell, ...]:
    """The cells that the plan left out, with their reasons."""
    if not matrix.exclusions:
        return ()
    try:
        return expand(stored_plan(matrix)).excluded
    except PropertyError:
        # Somebody changed a workload after the matrix was submitted; what ran is in the runs themselves.
        return ()


def get_mark(run: Run) -> Mark:
    """An ended run shows what it is worth: its verdict, that it is excluded, or why there is none."""
    if run.excluded_reason:
        return Mark(run, "none", "excluded")
    if run.counts_although_rejected:
        return Mark(run, run.verdict, "rejected, counted")
    if run.status == Status.SUCCEEDED:
        return Mark(run, run.verdict or "succeeded", run.verdict or "not judged")
    if run.reason == Reason.BEYOND_CEILING:
        return Mark(run, "none", "skipped")
    return Mark(run, run.display_status, run.display_status)


def _rows(
    entries: Sequence[tuple[UUID, str]],
    measured: Sequence[Run],
    excluded: Sequence[ExcludedCell],
    rungs: Sequence[int],
) -> Iterator[GridRow]:
    by_sweep: dict[Sweep, dict[int, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in measured:
        assert run.sweep is not None  # Every scheduled run has one.
        by_sweep[run.sweep][run.load].append(run)
    planned = {cell.sweep.key[1:4]: cell.sweep for cell in excluded}
    reasons: dict[tuple[str, ...], dict[int, str]] = defaultdict(dict)
    for cell in excluded:
        reasons[cell.sweep.key[1:4]][cell.rung] = cell.reason
    highest = max((run.throughput_ops_s or 0 for run in measured if run.counts), default=0)
    order = {entry: position for position, entry in enumerate(entries)}

    def rank(sweep: Sweep) -> tuple[int, str]:
        return order.get((sweep.database_id, sweep.mode), len(order)), sweep.name  # type: ignore[arg-type]

    for sweep in sorted(by_sweep, key=rank):
        database = sweep.database.name if sweep.database else sweep.database_name
        workload = sweep.workload.name if sweep.workload else sweep.workload_name
        not_run = reasons.pop((str(sweep.database_id), sweep.mode, str(sweep.workload_id)), {})
        cells = _build_cells(rungs, by_sweep[sweep], not_run, highest)
        yield GridRow(sweep.name, database, sweep.mode, workload, sweep, cells)
    for axes, not_run in reasons.items():
        entry, left_out = planned[axes].entry, planned[axes].workload
        name = f"{entry.database.name} {entry.mode} {left_out.short_name}"
        yield GridRow(name, entry.database.name, entry.mode, left_out.name, None, _build_cells(rungs, {}, not_run, 0))


def _build_cells(
    rungs: Iterable[int], runs: Mapping[int, list[Run]], not_run: Mapping[int, str], highest: float
) -> list[GridCell | None]:
    cells: list[GridCell | None] = []
    for rung in rungs:
        repeats = sorted(runs.get(rung, ()), key=lambda run: run.repeat)
        if repeats:
            cells.append(GridCell(rung, repeats, highest_ops_s=highest))
        elif rung in not_run:
            cells.append(GridCell(rung, [], not_run[rung]))
        else:
            cells.append(None)
    return cells

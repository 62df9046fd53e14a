"""Which runs of a fixed ladder are not run any more, or once more: beyond saturation, after two failures, contradicted.

The rest of a curve is given up after two of its rungs failed in a row. Decided from rows, under a lock on the sweep.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.text import capfirst

from runs.models import Matrix, Phase, Run, Status, Sweep, Verdict
from runs.queue import lifecycle
from runs.queue.reasons import Reason
from runs.queue.reruns import find_replaced
from runs.results.measures.sustained_load import MARGINAL, SUSTAINED

# A run that infrastructure broke may still be completed by late output, or be retried.
TO_COME: Final = Q(status__in=Status.unfinished()) | Q(status=Status.FAILED, late_output_at__isnull=False)
RUNGS_BEYOND: Final = 2


def stop_early(matrix: Matrix, sweep_id: UUID) -> None:
    """Cancel the queued rungs of a sweep that show nothing more, or all of them after two failed rungs in a row."""
    sweep = Sweep.lock(sweep_id)
    runs = list(sweep.measured_runs.defer("spec", "evidence"))
    replaced = find_replaced(runs)
    ended = [run for run in runs if run.finished_at and run.pk not in replaced and run.status != Status.CANCELLED]
    ended.sort(key=lambda run: (run.finished_at, run.pk))
    queued = sweep.measured_runs.filter(status=Status.QUEUED)
    # What a person has asked for since is run.
    failure = _explain_two_failures(ended)
    if failure:
        queued = queued.filter(created_at__lte=ended[-1].finished_at)
        _cancel(queued, Reason.CELL_PAUSED, f"{capfirst(failure)}. Resume runs what is left.")
        return

    rungs = rungs_beyond(sweep.ladder, ended, runs)
    if matrix.stops_early and rungs:
        column = "target_ops_s" if sweep.ladder == Matrix.Ladder.TARGET else "threads"
        queued = queued.filter(**{f"{column}__in": rungs}, created_at__lte=ended[0].finished_at)
        _cancel(queued, Reason.BEYOND_CEILING, "Two rungs beyond saturation were measured.")


def repeat_missed_targets(matrix: Matrix) -> None:
    """Queue one more run of each target that was missed below one that was met: the two contradict each other."""
    if matrix.search is not None or matrix.looks or matrix.trial_of_id:
        return
    open_or_stopped = Run.objects.filter(TO_COME | Q(reason=Reason.CANCELLED_BY_USER), matrix=matrix).values("sweep")
    sweeps = Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE, ladder=Matrix.Ladder.TARGET)
    for sweep_id in sweeps.exclude(pk__in=open_or_stopped).values_list("pk", flat=True):
        with transaction.atomic():
            sweep = Sweep.lock(sweep_id)
            runs = sweep.measured_runs.defer("spec", "evidence")
            for run in missed_below_met(runs, matrix.repeats):
                text = "This target was missed, and a higher one was met."
                lifecycle.run_at(run, run.threads, run.target_ops_s, text, queued_at=None)


def missed_below_met(runs: Iterable[Run], repeats: int) -> list[Run]:
    """A run of each target that was missed below one that was met, where no run has been added to the planned ones."""
    by_target: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        by_target[run.load].append(run)

    met, missed = [], []
    for target, target_runs in by_target.items():
        values = [run.throughput_ops_s for run in target_runs if run.throughput_ops_s and not run.excluded_reason]
        rejected = any(run.verdict == Verdict.REJECT and not run.verdict_override for run in target_runs)
        if values and statistics.median(values) < SUSTAINED * target:
            missed.append(target)
        elif values and not rejected:
            met.append(target)

    contradicted = [target for target in sorted(missed) if target < max(met, default=0)]
    return [by_target[target][-1] for target in contradicted if len(by_target[target]) <= repeats]


def _explain_two_failures(ended: Sequence[Run]) -> str:
    """Why the last rung failed, where the last two that ended are different rungs and failed, not by infrastructure."""
    last_two = ended[-2:]
    failed = all(run.status == Status.FAILED and run.reason not in lifecycle.INFRASTRUCTURE for run in last_two)
    if not failed or len({run.load for run in last_two}) < 2:
        return ""
    return str(ended[-1].get_reason_display())


def rungs_beyond(ladder: str, ended: Iterable[Run], runs: Iterable[Run]) -> set[int]:
    """The rungs that no run has measured yet and that lie beyond two measured ones that are beyond saturation.

    Saturation is the lowest rung within 5 % of the highest throughput (analysis 1.b); of targets the highest that
    reached 95 % of itself. Values are medians of the runs that count.
    """
    values: dict[int, list[float]] = defaultdict(list)
    for run in ended:
        rejected = run.verdict == Verdict.REJECT and not run.verdict_override
        is_target = ladder == Matrix.Ladder.TARGET
        if run.throughput_ops_s and not run.excluded_reason and (is_target or not rejected):
            values[run.load].append(min(run.throughput_ops_s, run.target_ops_s or math.inf))

    medians = {load: statistics.median(values[load]) for load in sorted(values)}
    if ladder == Matrix.Ladder.TARGET:
        saturation = max((load for load, ops_s in medians.items() if ops_s >= MARGINAL * load), default=0)
    else:
        highest = max(medians.values(), default=math.inf)
        saturation = next((load for load, ops_s in medians.items() if ops_s >= MARGINAL * highest), 0)

    measured_beyond = [load for load in medians if load > saturation]
    if len(measured_beyond) < RUNGS_BEYOND:
        return set()
    fastest = max(medians, key=medians.__getitem__)
    last = max(fastest, measured_beyond[RUNGS_BEYOND - 1])
    started = {run.load for run in runs if run.status in (Status.DISPATCHED, Status.RUNNING)}
    unmeasured = {run.load for run in runs} - values.keys() - started
    return {load for load in unmeasured if load > last}


def _cancel(runs: QuerySet[Run], reason: Reason, text: str) -> None:
    lifecycle.transition_all(runs, Status.CANCELLED, actor="scheduler", reason=reason, reason_detail=text)

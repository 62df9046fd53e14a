"""Two more rungs of a sweep, where they tell most of its ceiling."""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from django.db import transaction
from django.db.models import Max

from benchsite.accounts.models import User
from runs.models import Matrix, Run, Status, Sweep
from runs.queue import lifecycle
from runs.results.measures.search import State
from runs.results.measures.sustained_load import MARGINAL

MAX_STEP: Final = 2.0
MIN_STEP: Final = 1.1


class ExtensionRefused(Exception):
    """No rung is added. The message says why and what to do."""


def more_rungs(values: Mapping[int, float], *, lowest: int = 1) -> tuple[int, ...]:
    """The next two loads to measure, from the throughput at each load: above the last one while that is the highest,
    below the first one while that is and lower ones are possible, else within the wider gap beside the highest. Empty:
    no whole number is left.
    """
    loads = sorted(values)
    best = max(loads, key=values.__getitem__)
    position = loads.index(best)
    if best == loads[-1]:
        step = MAX_STEP
        if len(loads) > 1:
            step = best / loads[-2]
        step = min(max(step, MIN_STEP), MAX_STEP)
        return math.ceil(best * step), math.ceil(best * step**2)

    if best == loads[0]:
        below = {max(round(best / MAX_STEP), lowest), max(round(best / MAX_STEP**2), lowest)} - {best}
        if below:
            return tuple(sorted(below))

    gaps = list(pairwise(loads[max(position - 1, 0) : position + 2]))
    gaps.sort(key=lambda gap: gap[1] / gap[0], reverse=True)
    rungs: list[int] = []
    for low, high in gaps:
        rungs += _thirds(low, high)

    return tuple(sorted(rungs[:2]))


def more_targets(values: Mapping[int, float]) -> tuple[int, ...]:
    """The next two targets, from the throughput at each: between the highest one that was reached below every missed
    one, and what was reached under the missed ones, as no target above that is reached. Empty: no whole number is left.
    """
    missed = {target: ops_s for target, ops_s in values.items() if ops_s < MARGINAL * target}
    if not missed:
        return more_rungs(values)
    low = float(max((target for target in values if target < min(missed)), default=0))
    high = max(missed.values())
    if high <= low:
        high = min(missed)
    return _thirds(low or high / MAX_STEP**2, high)


def _thirds(low: float, high: float) -> tuple[int, ...]:
    """Whole numbers strictly between two loads, at a third and two thirds of the way on a logarithmic axis."""
    thirds = (round(low * (high / low) ** (part / 3)) for part in (1, 2))
    return tuple(load for load in dict.fromkeys(thirds) if low < load < high)


def next_rungs(sweep: Sweep) -> tuple[Run, tuple[int, ...]]:
    """The run of a sweep that was measured last, and the next two loads. Raises ExtensionRefused where none is left."""
    runs = sweep.measured_runs.filter(throughput_ops_s__gt=0)
    last = runs.filter(status=Status.SUCCEEDED).order_by("-finished_at", "pk").first()
    if last is None:
        raise ExtensionRefused("No run of this sweep has succeeded: there is nothing to extend.")

    is_target = sweep.ladder == Matrix.Ladder.TARGET
    values: dict[int, list[float]] = defaultdict(list)
    for run in runs.filter(excluded_reason=""):
        if run.target_ops_s or (run.threads and not is_target):
            values[run.load].append(run.throughput_ops_s or 0.0)

    clients = max(len(last.spec["generators"]), 1) * last.spec["load"]["processes"]
    medians = {load: statistics.median(rates) for load, rates in values.items()}
    rungs: tuple[int, ...] = ()
    if medians:
        rungs = more_targets(medians) if is_target else more_rungs(medians, lowest=clients)
    if not rungs:
        raise ExtensionRefused("The rungs beside the highest are neighbours: repeat them instead.")

    return last, rungs


@transaction.atomic
def extend(sweep: Sweep, user: User) -> list[Run]:
    """Queue two more rungs of an ended sweep with the repeats of its plan. Raises ExtensionRefused."""
    locked = Sweep.lock(sweep.pk)
    matrix = locked.matrix
    if matrix is None:
        _, rungs = next_rungs(locked)
        unit = "threads"
        if locked.ladder == Matrix.Ladder.TARGET:
            unit = "ops/s"
        raise ExtensionRefused(
            f"This sweep was measured elsewhere. Submit a matrix with its next rungs ({', '.join(map(str, rungs))} "
            f"{unit}) on a database of yours: “Plan two more rungs” on the sweep's page begins one."
        )
    if matrix.trial_of_id is not None:
        raise ExtensionRefused("This is a trial run: submit its plan, then extend the plan's sweep.")

    runs = locked.measured_runs
    decision = locked.decisions.last()
    if runs.filter(status__in=Status.unfinished()).exists() or (decision and decision.state == State.SEARCHING):
        raise ExtensionRefused("This sweep is not finished: extend it when its last run has ended.")

    last, rungs = next_rungs(locked)
    text = f"Two more rungs, by {user.get_username()}."
    repeats = 1
    if matrix.search is None:
        foreseen = runs.filter(repeat__lte=max(matrix.looks, default=0))
        repeats = foreseen.aggregate(last=Max("repeat"))["last"] or matrix.repeats

    queued = []
    for rung in rungs:
        threads, target_ops_s = rung, None
        if locked.ladder == Matrix.Ladder.TARGET:
            threads, target_ops_s = last.threads, rung
        for _ in range(repeats):
            queued.append(lifecycle.run_at(last, threads, target_ops_s, text, queued_at=None))
    return queued

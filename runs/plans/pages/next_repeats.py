"""What the next look of a plan costs: how many repeats, and how long they take."""

from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from uuid import UUID

from runs.models import Matrix, Status
from runs.plans import next_look
from runs.queue.lifecycle import repeats_of_plan
from runs.queue.reasons import Reason


@dataclass(frozen=True, slots=True)
class NextRepeats:
    matrix_id: UUID
    look: int  # number of repeats after which the plan takes its next verdicts
    repeats: int  # that each rung lacks up to this look
    duration_s: float  # of all runs that are added, by the median of those that succeeded


def next_repeats(matrix: Matrix) -> NextRepeats | None:
    """None without a further look, while runs of the plan are going, and where none succeeded."""
    if not matrix.looks:
        return None
    rows = repeats_of_plan(matrix).values_list(
        "sweep_id", "threads", "target_ops_s", "repeat", "status", "reason", "started_at", "finished_at"
    )
    rungs: dict[tuple[object, ...], int] = defaultdict(int)
    durations_s = []
    for *rung, repeat, status, reason, started_at, finished_at in rows:
        if status in (Status.QUEUED, Status.DISPATCHED, Status.RUNNING):
            return None
        if reason not in Reason.skipped():
            rungs[*rung] = max(rungs[*rung], repeat)
        if status == Status.SUCCEEDED and started_at and finished_at:
            durations_s.append((finished_at - started_at).total_seconds())
    look = next_look(matrix.looks, rungs.values())
    if look is None or not durations_s:
        return None
    added = sum(look - repeat for repeat in rungs.values())
    return NextRepeats(matrix.pk, look, look - min(rungs.values()), added * median(durations_s))

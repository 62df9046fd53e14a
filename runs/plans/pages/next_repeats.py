"""What the next look of a plan costs: how many repeats, and how long they take."""

from collections import defaultdict
from statistics import median

from runs.models import Matrix, Status
from runs.plans import next_look
from runs.queue.lifecycle import repeats_of_plan
from runs.queue.reasons import Reason


def next_repeats(matrix: Matrix) -> dict[str, object] | None:
    """How many repeats each rung lacks up to the next look, and how long all added runs take.

    None without a further look, while runs of the plan are going, and where none succeeded.
    """
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
    return {
        "matrix_id": matrix.pk,
        "look": look,
        "repeats": look - min(rungs.values()),
        "duration_s": added * median(durations_s),
    }

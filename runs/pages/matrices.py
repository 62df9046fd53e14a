"""The list of matrices: how far each of them is."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Q

from runs.models import Matrix
from runs.models.run import Status

COUNTED = {
    "total": Q(),
    "succeeded": Q(runs__status=Status.SUCCEEDED),
    "failed": Q(runs__status=Status.FAILED),
    "cancelled": Q(runs__status=Status.CANCELLED),
    "active": Q(runs__status__in=[Status.RUNNING, Status.DISPATCHED]),
    "queued": Q(runs__status=Status.QUEUED),
}


@dataclass(frozen=True, slots=True)
class State:
    """Where a submitted matrix is, in one word with a badge."""

    word: str
    badge: str
    ended: int  # runs that ended, whichever way


def counted(matrices: Iterable[Matrix]) -> list[Matrix]:
    """The matrices with their runs counted; only those of the page, for all together may have a million."""
    counts = {name: Count("runs", filter=condition) for name, condition in COUNTED.items()}
    keys = [matrix.pk for matrix in matrices]
    rows = Matrix.objects.filter(pk__in=keys).select_related("created_by").annotate(**counts).in_bulk()
    return [rows[key] for key in keys if key in rows]


def state_of(matrix: Matrix) -> State:
    """The state of a matrix whose runs were counted."""
    count = {name: getattr(matrix, name) for name in COUNTED}
    if matrix.submitted_at is None:
        return State("not submitted", "none", 0)
    ended = count["succeeded"] + count["failed"] + count["cancelled"]
    if count["active"]:
        return State("running", "running", ended)
    if count["queued"] and matrix.by_hand:
        return State("waits for outputs", "queued", ended)
    if count["queued"]:
        # Between two runs nothing is active, and the matrix is still under way.
        return State("under way" if ended else "queued", "running" if ended else "queued", ended)
    if count["failed"]:
        return State(f"{count['failed']} failed", "failed", ended)
    if count["cancelled"]:
        return State("cancelled", "cancelled", ended)
    return State("done", "succeeded", ended)

"""How far a matrix is: its runs counted by state, its status in one word, and its predicted end."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.utils import timezone

from runs.models import Matrix, Phase, Run
from runs.models.run import CANCELLING, Status
from runs.queue.pages.queue import QueueRow
from runs.queue.reasons import Reason
from runs.queue.reruns import CALLED_OFF, is_repeated

PARTS = ("succeeded", "failed", "cancelled", "running", CANCELLING, "queued")
COUNTS = ("total", "succeeded", "failed", "cancelled", "active", "queued", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The runs of a matrix by state, load phases included. A run that holds its machines is running; from the request
    to cancel it until its end it is cancelling.
    """

    submitted: bool
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    running: int = 0
    cancelling: int = 0
    queued: int = 0
    skipped: int = 0  # beyond the ceiling; not counted otherwise
    replaced: int = 0  # failed or cancelled, and another run is there instead; not counted otherwise
    reloaded: int = 0  # loads that succeeded and were run again, as their data was gone; not counted otherwise
    excluded: int = 0  # cells that the plan leaves out; no runs
    elapsed_s: int | None = None  # of the wall clock
    ends_at: datetime | None = None  # predicted; None when nothing is left, or nothing is known

    @property
    def total(self) -> int:
        return sum(number for _, number in self.parts)

    @property
    def parts(self) -> list[tuple[str, int]]:
        """(state, number of runs) of the states that occur, in the order of the progress bar."""
        return [(name, getattr(self, name)) for name in PARTS if getattr(self, name)]

    @property
    def active(self) -> int:
        """Runs that hold their machines."""
        return self.running + self.cancelling

    @property
    def unfinished(self) -> int:
        return self.active + self.queued

    @property
    def can_cancel(self) -> int:
        """Runs that a cancel of the matrix would stop."""
        return self.running + self.queued

    @property
    def status(self) -> str:
        """One word for the whole matrix, as statuses of runs are; empty: it has no runs."""
        if self.cancelling and not self.can_cancel:
            return CANCELLING
        if self.unfinished:
            # Between two runs none is running, and the matrix is.
            if self.queued == self.total:
                return "queued"
            return "running"
        return next((name for name in ("failed", "cancelled", "succeeded") if getattr(self, name)), "")

    @property
    def status_word(self) -> str:
        if not self.submitted:
            return "not submitted"
        return self.status or "no runs"

    @property
    def counts(self) -> dict[str, int]:
        """For programs."""
        return {name: getattr(self, name) for name in COUNTS}


def get_progress(matrices: Iterable[Matrix]) -> dict[UUID, Progress]:
    """By matrix, without times, in one query. Only for those of a page: all together may have a million runs."""
    rows = list(matrices)
    runs = annotate_state(Run.objects.filter(matrix__in=[row.pk for row in rows]).order_by())
    counts: dict[UUID, dict[str, Any]] = {row.pk: {} for row in rows}
    for matrix_id, name, number in runs.values_list("matrix_id", "state").annotate(number=Count("pk")):
        counts[matrix_id][name] = number
    return {row.pk: Progress(submitted=row.submitted_at is not None, **counts[row.pk]) for row in rows}


def with_progress(matrices: Iterable[Matrix]) -> list[Matrix]:
    """The matrices, each with its `progress`; one query."""
    rows = list(matrices)
    progress = get_progress(rows)
    for row in rows:
        row.progress = progress[row.pk]  # type: ignore[attr-defined]
    return rows


def annotate_state(runs: QuerySet[Run]) -> QuerySet[Any]:
    """Each run with `state`, the name of the field of `Progress` that counts it."""
    cancelling = When(status__in=Status.unfinished(), cancel_requested_at__isnull=False, then=Value(CANCELLING))
    skipped = When(reason=Reason.BEYOND_CEILING, then=Value("skipped"))
    is_replaced = CALLED_OFF | Q(is_repeated(), status__in=(Status.FAILED, Status.CANCELLED))
    replaced = When(is_replaced, then=Value("replaced"))
    # A load of which one run alone made use is followed by those of that run's repeats, which count beside it.
    others = Run.objects.filter(needs=OuterRef("needs")).exclude(pk=OuterRef("pk"))
    has_own_run = Exists(Run.objects.filter(~Exists(others), needs=OuterRef("pk"), status=Status.SUCCEEDED))
    is_reloaded = Q(Q(phase=Phase.LOAD, status=Status.SUCCEEDED), is_repeated(), ~has_own_run)
    reloaded = When(is_reloaded, then=Value("reloaded"))
    running = When(status=Status.DISPATCHED, then=Value("running"))
    return runs.annotate(state=Case(skipped, replaced, reloaded, cancelling, running, default=F("status")))


def timed_progress(matrix: Matrix, runs: Collection[Run], queue: Sequence[QueueRow], excluded: int) -> Progress:
    """With elapsed time and predicted end, of all runs of the matrix and their rows of the queue. One query."""
    keys = {run.pk for run in runs}
    ends = [row.ends_at for row in queue if row.run.pk in keys]
    started_at = min((run.started_at for run in runs if run.started_at), default=None)
    finished = [run.finished_at for run in runs if run.finished_at]
    until = timezone.now() if ends else max(finished, default=None)
    elapsed_s = None
    if started_at and until:
        elapsed_s = max(round((until - started_at).total_seconds()), 0)

    progress = get_progress([matrix])[matrix.pk]
    return replace(progress, excluded=excluded, elapsed_s=elapsed_s, ends_at=max(ends, default=None))

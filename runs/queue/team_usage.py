"""How much of its limits a team uses: runs that wait, and bytes that are kept."""

import math
import time
from typing import Final
from uuid import UUID

from django.db.models import Sum

from benchsite.accounts.limits import refuse_beyond
from benchsite.accounts.models import Team
from runs.models import Artifact, Run, Status, UploadedFile

COUNTED_FOR_S: Final = 60.0  # as long as a sum of bytes is good enough
_counted: dict[UUID, tuple[float, int]] = {}  # by team: when it was counted, and the bytes


def queued_runs(team: Team) -> int:
    return Run.objects.filter(team=team, status=Status.QUEUED).count()


def stored_bytes(team: Team) -> int:
    """The bytes of its artifacts and uploaded files before compression, at most a minute old.

    Each process keeps its own sums: every upload asks for one, and asking Redis costs 2 % of an upload.
    """
    counted_at, size = _counted.get(team.pk, (-math.inf, 0))
    if time.monotonic() - counted_at >= COUNTED_FOR_S:
        sizes = (Artifact.objects.filter(team=team), UploadedFile.objects.filter(upload__team=team))
        size = sum(rows.aggregate(bytes=Sum("size"))["bytes"] or 0 for rows in sizes)
        _counted[team.pk] = time.monotonic(), size
    return size


def refuse_full_storage(team: Team, arriving: int = 0) -> None:
    """Raises LimitReached where these bytes more have no room."""
    refuse_beyond("storage-per-team", stored_bytes(team) + arriving)


def refuse_more_queued_runs(team: Team) -> None:
    """Raises LimitReached where too many runs wait, in the transaction that added some."""
    refuse_beyond("queued-runs-per-team", queued_runs(team))

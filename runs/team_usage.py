"""How much of its limits a team uses: runs that wait, and bytes that are kept."""

from typing import Final

from django.core.cache import cache
from django.db.models import Sum

from benchsite.teams.limits import refuse_beyond
from benchsite.teams.models import Team
from runs.models import Artifact, Run, UploadedFile
from runs.models.run import Status

COUNTED_FOR_S: Final = 60  # as long as a sum of bytes is good enough


def queued_runs(team: Team) -> int:
    return Run.objects.filter(team=team, status=Status.QUEUED).count()


def stored_bytes(team: Team) -> int:
    """Of its artifacts and uploaded files before compression, at most a minute old."""
    return int(cache.get_or_set(f"stored-bytes:{team.pk}", lambda: _stored_bytes(team), COUNTED_FOR_S) or 0)


def _stored_bytes(team: Team) -> int:
    sizes = (Artifact.objects.filter(team=team), UploadedFile.objects.filter(upload__team=team))
    return sum(rows.aggregate(bytes=Sum("size"))["bytes"] or 0 for rows in sizes)


def refuse_full_storage(team: Team, arriving: int = 0) -> None:
    """Raises LimitReached where these bytes more have no room."""
    refuse_beyond("storage-per-team", stored_bytes(team) + arriving)


def refuse_more_queued_runs(team: Team) -> None:
    """Raises LimitReached where too many runs wait, in the transaction that added some."""
    refuse_beyond("queued-runs-per-team", queued_runs(team))

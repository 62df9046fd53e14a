"""Which load generators give no sign of life, and which runs wait for them in vain."""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from runs.models import Run

# A load generator beats every 5 s; runs wait for one that has been silent longer than this.
SILENT_AFTER = timedelta(seconds=20)


def waited_for_in_vain(runs: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Run -> the names of its load generators that are silent, were never seen, or are switched off. One query.

    By PostgreSQL's clock alone, as liveness always is.
    """
    links = Run.load_generators.through.objects.filter(run__in=list(runs)).filter(
        Q(loadgenerator__enabled=False)
        | Q(loadgenerator__last_seen_at=None)
        | Q(loadgenerator__last_seen_at__lt=Now() - SILENT_AFTER)
    )
    found: dict[UUID, list[str]] = {}
    for run, name in links.order_by("loadgenerator__name").values_list("run_id", "loadgenerator__name"):
        found.setdefault(run, []).append(name)
    return found

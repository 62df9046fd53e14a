"""Sets of load generators, which of them can get no run, and which runs wait for them in vain."""

import hashlib
from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce, Now

from runs import client_lifecycle
from runs.models import ClientRun, LoadGenerator, Run

# A load generator beats every 5 s; runs wait for one that has been silent longer than this.
SILENT_AFTER = timedelta(seconds=20)


def generator_key(generator_ids: Iterable[UUID | str]) -> str:
    """A digest of a set of load generators: runs with the same key need the same ones."""
    return hashlib.md5(",".join(sorted(map(str, generator_ids))).encode(), usedforsecurity=False).hexdigest()


def unusable() -> QuerySet[LoadGenerator]:
    """Those that are silent, quarantined, were never seen, or are switched off: no run starts on them.

    By PostgreSQL's clock alone, as liveness always is.
    """
    return LoadGenerator.objects.filter(
        Q(enabled=False)
        | Q(quarantined_at__isnull=False)
        | Q(last_seen_at=None)
        | Q(last_seen_at__lt=Now() - SILENT_AFTER)
    )


def waited_for_in_vain(runs: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Run -> the names of its load generators that are unusable. One query."""
    links = Run.load_generators.through.objects.filter(run__in=list(runs), loadgenerator__in=unusable())
    found: dict[UUID, list[str]] = {}
    for run, name in links.order_by("loadgenerator__name").values_list("run_id", "loadgenerator__name"):
        found.setdefault(run, []).append(name)
    return found


def quarantine(client_run: ClientRun) -> None:
    """The load generator of this client run could not or did not start it, or fell silent with it: it gets no run for
    now.
    """
    client = f"Client {client_run.number} of {client_run.run.name}"
    if client_run.state == ClientRun.State.FAILED:
        reason = f"{client} could not be started: {client_run.reason_detail}"
    elif client_run.state == ClientRun.State.WAITING:
        reason = f"{client} was not started within {client_lifecycle.UNCLAIMED_AFTER.seconds} s."
    else:
        reason = f"{client} gave no sign of life for {client_lifecycle.SILENT_AFTER.seconds} s."
    LoadGenerator.objects.filter(client_runs=client_run).update(
        quarantined_at=Coalesce("quarantined_at", Now()), quarantine_reason=reason
    )


def release(name: str) -> bool:
    """End the quarantine of this load generator; False where it is in none."""
    rows = LoadGenerator.objects.filter(name=name, quarantined_at__isnull=False)
    return bool(rows.update(quarantined_at=None, quarantine_reason=""))


def allow_move(name: str) -> bool:
    """Let the next host that registers this name have it; False where there is no such load generator."""
    return bool(LoadGenerator.objects.filter(name=name).update(may_move=True))

"""The life of a client run: claimed once by its load generator, fenced by its claim, ended by evidence or a reason."""

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from runs.models import ClientRun, Run
from runs.models.run import Reason
from runs.ycsb.redact import HIDDEN, is_secret

State = ClientRun.State
ACTIVE = (State.STARTING, State.READY, State.RUNNING)
# No join, for the sake of the swaps below: an update with a join asks for its rows in a subquery, which PostgreSQL does
# not ask again after it has waited for another update of the row, so that all who waited would win.
RUN_GOES_ON = Exists(Run.objects.filter(pk=OuterRef("run_id"), status="running", cancel_requested_at__isnull=True))
# A client run that its load generator did not claim within this time fails the run.
UNCLAIMED_AFTER = timedelta(seconds=15)
# Load generators beat every 5 s; one that missed so many beats is taken for dead.
SILENT_AFTER = timedelta(seconds=30)


def claim(client_run_id: uuid.UUID) -> uuid.UUID | None:
    """WAITING -> STARTING with a fresh claim; None where the message came twice or the run is over."""
    mine = uuid.uuid4()
    won = ClientRun.objects.filter(RUN_GOES_ON, pk=client_run_id, state=State.WAITING).update(
        state=State.STARTING, claim=mine, claimed_at=Now(), heartbeat_at=Now()
    )
    return mine if won else None


def advance(client_run_id: uuid.UUID, claim: uuid.UUID, state: State, **fields: Any) -> bool:
    """Move on to READY or RUNNING; False where this generator no longer owns the client run."""
    moment = {State.READY: "ready_at", State.RUNNING: "started_at"}[state]
    rows = ClientRun.objects.filter(pk=client_run_id, claim=claim, state__in=ACTIVE)
    return bool(rows.update(state=state, heartbeat_at=Now(), **{moment: Now()}, **fields))


def beat(client_run_id: uuid.UUID, claim: uuid.UUID, **fields: Any) -> bool:
    """A sign of life that reads the cancel flag with the same query: False means stop."""
    rows = ClientRun.objects.filter(RUN_GOES_ON, pk=client_run_id, claim=claim, state__in=ACTIVE)
    return bool(rows.update(heartbeat_at=Now(), **fields))


def start_instant(client_run_id: uuid.UUID, claim: uuid.UUID) -> tuple[bool, datetime | None]:
    """Whether to go on waiting, and the agreed instant once the conductor has named it."""
    row = ClientRun.objects.filter(pk=client_run_id, claim=claim, state=State.READY).values_list(
        "run__status", "run__cancel_requested_at", "run__starts_at"
    )
    found = row.first()
    if found is None or found[0] != "running" or found[1] is not None:
        return False, None
    return True, found[2]


def finish(client_run_id: uuid.UUID, claim: uuid.UUID, **fields: Any) -> bool:
    """Its output is stored: FINISHED. Whether the run succeeded is for the conductor to judge, by evidence."""
    rows = ClientRun.objects.filter(pk=client_run_id, claim=claim, state__in=ACTIVE)
    return bool(rows.update(state=State.FINISHED, finished_at=Now(), **fields))


def fail(client_run_id: uuid.UUID, claim: uuid.UUID, reason: Reason, detail: str, **fields: Any) -> bool:
    """FAILED, with its reason; what it had written by then is kept."""
    rows = ClientRun.objects.filter(pk=client_run_id, claim=claim, state__in=ACTIVE)
    return bool(rows.update(state=State.FAILED, finished_at=Now(), reason=reason, reason_detail=detail, **fields))


def abandon(run_id: uuid.UUID, reason: Reason, detail: str) -> None:
    """End every client run of an ended run, whoever has it: a generator that still works on one finds itself fenced."""
    ClientRun.objects.filter(run=run_id, state__in=[State.WAITING, *ACTIVE]).update(
        state=State.FAILED, finished_at=Now(), reason=reason, reason_detail=detail
    )


def forget_secrets(run_id: uuid.UUID) -> None:
    """A client's order carries the server's password for as long as the client may need it, and no longer."""
    for client in ClientRun.objects.filter(run=run_id).only("order"):
        properties = client.order["properties"]
        kept = {name: HIDDEN if is_secret(name) else value for name, value in properties.items()}
        if kept != properties:
            ClientRun.objects.filter(pk=client.pk).update(order={**client.order, "properties": kept})


def troubled(run_id: uuid.UUID) -> ClientRun | None:
    """A client run that keeps its run from succeeding: failed, silent, or never claimed."""
    return (
        ClientRun.objects.filter(run=run_id)
        .filter(
            Q(state=State.FAILED)
            | Q(state=State.WAITING, created_at__lt=Now() - UNCLAIMED_AFTER)
            | Q(state__in=ACTIVE, heartbeat_at__lt=Now() - SILENT_AFTER)
        )
        .select_related("load_generator")
        .first()
    )

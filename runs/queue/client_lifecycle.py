"""The life of a client run: claimed once by its load generator, fenced by its claim, ended by evidence or a reason."""

import uuid
from typing import Any

from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce, Now

from runs.models import ClientRun, Run
from runs.models.client_properties import without_secrets
from runs.queue.reasons import Reason
from runs.timeouts import CLIENT_SILENT_AFTER, CLIENT_UNCLAIMED_AFTER

State = ClientRun.State
ACTIVE = (State.STARTING, State.READY, State.RUNNING, State.STORING)


def _run_goes_on() -> Exists:
    """No join, for the sake of the swaps below: an update with a join asks for its rows in a subquery, which PostgreSQL
    does not ask again after it has waited for another update of the row, so that all who waited would win.
    """
    return Exists(Run.objects.filter(pk=OuterRef("run_id"), status="running", cancel_requested_at__isnull=True))


def claim(client_run_id: uuid.UUID, claim: uuid.UUID) -> bool:
    """WAITING -> STARTING with the caller's fresh claim; False where the message came twice or the run is over.

    Can be repeated with the same claim, by a caller that did not hear the answer.
    """
    won = ClientRun.objects.filter(_run_goes_on(), pk=client_run_id, state=State.WAITING).update(
        state=State.STARTING, claim=claim, claimed_at=Now(), heartbeat_at=Now()
    )
    return bool(won) or ClientRun.objects.filter(pk=client_run_id, claim=claim, state=State.STARTING).exists()


def advance(client_run_id: uuid.UUID, claim: uuid.UUID, state: State, **fields: Any) -> bool:
    """Move on to READY or RUNNING; False where this generator no longer owns the client run."""
    moment = {State.READY: "ready_at", State.RUNNING: "started_at"}[state]
    rows = ClientRun.objects.filter(pk=client_run_id, claim=claim, state__in=ACTIVE)
    return bool(rows.update(state=state, heartbeat_at=Now(), **{moment: Now()}, **fields))


def beat(client_run_id: uuid.UUID, claim: uuid.UUID, **fields: Any) -> bool:
    """A sign of life that reads the cancel flag with the same query: False means stop."""
    rows = ClientRun.objects.filter(_run_goes_on(), pk=client_run_id, claim=claim, state__in=ACTIVE)
    return bool(rows.update(heartbeat_at=Now(), **fields))


def begin_storing(client_run_id: uuid.UUID, claim: uuid.UUID) -> None:
    """The process group is gone: STORING, unless the run has ended already. Its conductor waits for `stopped_at`,
    so that is written in either case.
    """
    still_active = When(claim=claim, state__in=ACTIVE, then=Value(State.STORING.value))
    ClientRun.objects.filter(pk=client_run_id).update(
        state=Case(still_active, default=F("state")), stopped_at=Coalesce(F("stopped_at"), Now()), heartbeat_at=Now()
    )


def complete(client_run_id: uuid.UUID, claim: uuid.UUID, reason: Reason, detail: str, **fields: Any) -> None:
    """Every file that the client wrote is an artifact of its run: FINISHED, or FAILED where there is a reason.

    A client run that was ended while its output was on the way becomes FINISHED too: its output is whole. Whether the
    run succeeded is for the conductor to judge, by evidence. Can be repeated.
    """
    state = State.FAILED if reason else State.FINISHED
    outcome = {"state": state, "reason": reason, "reason_detail": detail}
    rows = ClientRun.objects.filter(pk=client_run_id, claim=claim, output_stored_at__isnull=True)
    if rows.filter(state__in=ACTIVE).update(**outcome, finished_at=Now(), output_stored_at=Now(), **fields):
        return
    if rows.update(**({} if reason else outcome), output_stored_at=Now(), **fields):
        Run.objects.filter(client_runs=client_run_id).update(late_output_at=Now())


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
    """A client's order carries the server's password, encrypted, while the client may need it, and no longer."""
    for client in ClientRun.objects.filter(run=run_id).only("order"):
        cleaned = without_secrets(client.order["properties"])
        if cleaned != client.order["properties"]:
            ClientRun.objects.filter(pk=client.pk).update(order={**client.order, "properties": cleaned})


def troubled(run_id: uuid.UUID) -> ClientRun | None:
    """A client run that keeps its run from succeeding: failed, silent, or never claimed."""
    return (
        ClientRun.objects.filter(run=run_id)
        .filter(
            Q(state=State.FAILED)
            | Q(state=State.WAITING, created_at__lt=Now() - CLIENT_UNCLAIMED_AFTER)
            | Q(state__in=ACTIVE, heartbeat_at__lt=Now() - CLIENT_SILENT_AFTER)
        )
        .select_related("load_generator")
        .first()
    )

"""One run from claim to verdict: provision, load, settle, measure, collect, merge, judge, release.

The conductor reads rows while it waits, never a Celery result. It ends a run by evidence: operations done, return
codes, rows counted, the window complete; an exit code proves nothing.
"""

import logging
import socket
import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import cast

from celery import current_app
from django.db.models import Q
from django.db.models.functions import Now

from runs import client_lifecycle, lifecycle, recording
from runs.lifecycle import ClaimLost
from runs.models import ClientRun, Run
from runs.models.run import Phase, Reason, Stage, Status
from runs.planning.submission import wake_scheduler
from runs.spec import RunSpec
from workers import scheduling
from workers.heartbeat import Heartbeat, RunCancelled
from workers.orders import client_orders
from workers.standing import Standing, stand
from workers.trouble import RunFailed

log = logging.getLogger(__name__)
# How often the conductor looks at its rows: quickly while clients get ready, once a second while they measure.
READY_POLL_S = 0.1
MEASURE_POLL_S = 1.0
# Clients must be connected within this time, else the run fails.
READY_DEADLINE_S = 60
# The instant at which all clients begin lies so far ahead that each has time to read it.
START_LEAD = timedelta(milliseconds=400)
# After an end that was not planned, the clients get this long to stop before the machines are given back.
STOP_DEADLINE_S = 12


def conduct_run(run_id: uuid.UUID) -> None:
    """Carry out a dispatched run. A second delivery of its message finds it claimed, and returns."""
    claim = lifecycle.claim(run_id, actor=f"conductor@{socket.gethostname()}")
    if claim is None:
        return
    run = Run.objects.select_related("cluster", "sweep", "needs").get(pk=run_id)
    try:
        with Heartbeat(run.pk, claim) as heartbeat:
            Conductor(run, claim, heartbeat).carry_out()
    except ClaimLost:
        log.warning("Run %s was taken from this conductor.", run_id)
        client_lifecycle.abandon(run_id, Reason.WORKER_LOST, "The run was ended by somebody else.")
    finally:
        client_lifecycle.forget_secrets(run_id)
        scheduling.release([run_id])
        wake_scheduler()


class Conductor:
    """The steps of one run; each raises RunFailed with a reason and what to do."""

    def __init__(self, run: Run, claim: uuid.UUID, heartbeat: Heartbeat) -> None:
        self.run, self.claim, self.heartbeat = run, claim, heartbeat
        self.spec = cast(RunSpec, run.spec)
        self.standing: Standing | None = None

    def carry_out(self) -> None:
        """Every way in which a run can end, in one place."""
        try:
            if self.run.cancel_requested_at:
                raise RunCancelled
            self._steps()
        except RunCancelled:
            self._end(Status.CANCELLED, Reason.CANCELLED_BY_USER, "Cancelled while it ran; its output so far is kept.")
        except RunFailed as failure:
            self._end(Status.FAILED, failure.reason, failure.detail)
        except ClaimLost:
            raise
        except Exception as error:
            log.exception("Run %s failed inside Benchsite.", self.run.pk)
            detail = f"{type(error).__name__}: {error}. See the conductor's log; the run can be run again."
            self._end(Status.FAILED, Reason.INTERNAL_ERROR, detail)

    def _steps(self) -> None:
        self._note(Stage.PROVISIONING)
        self.standing = standing = stand(self.run, self.heartbeat.check)
        standing.prepare_data_set(self.run)
        self._evidence(server_version=standing.server_version, disk=standing.disk)
        if standing.container:
            self._evidence(container=standing.container)
        self._verify(standing, "before")
        self._note(Stage.LOADING if self.run.phase == Phase.LOAD else Stage.PREPARING)
        clients = self._order_clients(standing)
        self._wait_until_ready(len(clients))
        self._wait_until_finished(clients)
        standing.check_alive()
        rows = standing.rows_after(self.run)
        self._evidence(rows=rows)
        self._verify(standing, "after")
        self._note(Stage.COLLECTING)
        standing.keep_evidence(self.run)
        merged = recording.collect(self.run)
        standing.remember_data_set(self.run, rows)
        self._note(Stage.JUDGING)
        recording.record(self.run, self.claim, merged, rows=rows)
        lifecycle.finish(self.run.pk, self.claim, Status.SUCCEEDED)

    def _note(self, stage: Stage) -> None:
        self.heartbeat.check()
        lifecycle.note(self.run.pk, self.claim, stage=stage)

    def _evidence(self, **found: object) -> None:
        self.run.evidence = {**self.run.evidence, **found}
        lifecycle.note(self.run.pk, self.claim, evidence=self.run.evidence)

    def _verify(self, standing: Standing, when: str) -> None:
        """Store what the server says of its mode, then fail the run if that is not what the plan says."""
        found = standing.read_mode()
        self._evidence(**{when: found.as_dict()})
        if not found.in_force:
            raise RunFailed(Reason.MODE_NOT_IN_FORCE, " ".join(found.differences))

    def _order_clients(self, standing: Standing) -> list[ClientRun]:
        """One row and one message per client process, each on its load generator's own queue."""
        generators = {str(g.pk): g for g in self.run.load_generators.all()}
        orders = client_orders(self.spec, standing.client_properties(self.run))
        clients = [
            ClientRun(
                run=self.run,
                load_generator=generators[order.generator_id],
                number=order.number,
                process_number=order.process_number,
                order=order.order,
            )
            for order in orders
        ]
        ClientRun.objects.bulk_create(clients)
        for client in clients:
            assert client.load_generator is not None
            current_app.send_task("load.client", args=[str(client.pk)], queue=client.load_generator.queue)
        return clients

    def _wait_until_ready(self, expected: int) -> None:
        """All clients are connected; then name the instant, on PostgreSQL's clock, at which they begin together."""
        ready = ClientRun.objects.filter(run=self.run, state=ClientRun.State.READY)
        self._wait(lambda: ready.count() == expected, READY_POLL_S, READY_DEADLINE_S, "to connect")
        lifecycle.note(self.run.pk, self.claim, starts_at=Now() + START_LEAD)
        if self.run.phase == Phase.MEASURE:
            self._note(Stage.MEASURING)

    def _wait_until_finished(self, clients: list[ClientRun]) -> None:
        unfinished = ClientRun.objects.filter(run=self.run).exclude(state=ClientRun.State.FINISHED)
        deadline = max(client.order["deadline_s"] for client in clients) + READY_DEADLINE_S
        # The rows are of no interest before the clients' time is up, and reading them costs the machine something.
        expected_s = clients[0].order["duration_s"] or 0
        self._sleep(max(0.0, expected_s - 1.0))
        self._wait(lambda: not unfinished.exists(), 0.25, deadline, "to finish")

    def _sleep(self, seconds: float) -> None:
        """Wait, but notice trouble and cancelling."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, MEASURE_POLL_S))
            self._notice()

    def _notice(self) -> None:
        self.heartbeat.check()
        if Run.objects.filter(pk=self.run.pk, cancel_requested_at__isnull=False).exists():
            raise RunCancelled
        client = client_lifecycle.troubled(self.run.pk)
        if client is not None:
            # Clients fail when their server does: that is then the reason to be told.
            if self.standing is not None:
                self.standing.check_alive()
            raise _client_trouble(client)

    def _wait(self, done: Callable[[], bool], poll_s: float, deadline_s: float, what: str) -> None:
        end = time.monotonic() + deadline_s
        while not done():
            self._notice()
            if time.monotonic() > end:
                raise RunFailed(Reason.TIMEOUT, f"The clients took longer than {deadline_s:.0f} s {what}.")
            time.sleep(poll_s)

    def _end(self, to: Status, reason: Reason, detail: str) -> None:
        """Stop the clients, wait until they are gone, keep what they wrote, and end the run."""
        client_lifecycle.abandon(self.run.pk, reason, detail)
        end = time.monotonic() + STOP_DEADLINE_S
        going = ClientRun.objects.filter(run=self.run, claimed_at__isnull=False, stopped_at__isnull=True)
        alive = Q(load_generator__last_seen_at__gt=Now() - scheduling.GENERATOR_SILENT_AFTER)
        while going.filter(alive).exists() and time.monotonic() < end:
            time.sleep(READY_POLL_S)
        if self.standing is not None:
            try:
                self.standing.keep_evidence(self.run)
            except Exception:
                # The run's own reason is worth more than its server's log.
                log.exception("The evidence of run %s could not be kept.", self.run.pk)
        lifecycle.finish(self.run.pk, self.claim, to, reason=reason, detail=detail)


def _client_trouble(client: ClientRun) -> RunFailed:
    """The reason for which one client run brings down its run."""
    name = client.load_generator.name if client.load_generator else "a load generator"
    if client.state == ClientRun.State.FAILED:
        reason = Reason(client.reason or Reason.CLIENT_FAILED)
        return RunFailed(reason, f"Client {client.number} on {name}: {client.reason_detail}")
    if client.state == ClientRun.State.WAITING:
        return RunFailed(
            Reason.LOAD_GENERATOR_SILENT,
            f"{name} did not take up client {client.number} within {client_lifecycle.UNCLAIMED_AFTER.seconds} s: "
            "see whether its worker runs, then run this again.",
        )
    return RunFailed(
        Reason.WORKER_LOST,
        f"{name} gave no sign of life for {client_lifecycle.SILENT_AFTER.seconds} s while client {client.number} ran: "
        "its worker died or lost the database. What the client had written is kept on that machine only.",
    )

"""One run from claim to verdict: provision, load, settle, measure, collect, merge, judge, release.

The conductor reads rows while it waits, never a Celery result. It ends a run by evidence: operations done, return
codes, rows counted, the window complete; an exit code proves nothing.
"""

import logging
import math
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import cast

from celery import current_app
from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Now
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from benchsite.core.database_clock import database_now
from benchsite.core.formatting import grouped
from runs.builds import add_statement, is_same_commit, read_commit_time
from runs.catalog import generators
from runs.models import ClientRun, Cluster, Ending, Phase, Run, Stage, Status
from runs.plans.submission import wake_scheduler
from runs.queue import client_lifecycle, lifecycle
from runs.queue.database_retries import STORAGE_ERRORS, is_transient, retry
from runs.queue.lifecycle import ClaimLost, TransitionRefused
from runs.queue.reasons import Reason
from runs.queue.spec import BuildSpec, RunSpec, is_open_ended, max_warmup_s
from runs.results import artifacts, pushed_metrics
from runs.results.measures.exporters import KIND as EXPORTER_KIND
from runs.results.measures.host import COUNTERS_KIND, KIND
from runs.results.recording import scheduled_runs as recording
from runs.results.recording.client_merge import Collected
from runs.timeouts import (
    CLIENT_SILENT_AFTER,
    CLIENT_STOP_TIMEOUT_S,
    CLIENT_UNCLAIMED_AFTER,
    OUTPUT_TIMEOUT_S,
    SERVER_FILES_TIMEOUT_S,
)
from runs.ycsb.command import TAIL_S
from runs.ycsb.errors import YcsbError
from runs.ycsb.properties import inserts
from workers.conductor import scheduling
from workers.conductor.deployment import Standing, stand
from workers.conductor.heartbeat import Heartbeat, OutageGrace, RunCancelled, RunInterrupted
from workers.conductor.page_caches import drop_page_caches
from workers.conductor.run_faults import FaultInjector
from workers.conductor.settling import await_settled
from workers.conductor.upload_reader import measuring_here
from workers.errors import RunFailed
from workers.generator.client_commands import check_slots, order_clients, ready_deadline_s
from workers.generator.clock import Clock
from workers.probe.exporter_sampler import ExporterSampler, PushSampler
from workers.probe.host_sampler import FILE_NAME, HostSampler
from workers.probe.server_counters import FILE_NAME as COUNTERS_FILE, CounterSampler
from workers.provision.administration import AdministrationError
from workers.provision.administration.base import plain_text
from workers.provision.docker_provisioner import DockerProvisioner
from workers.provision.process_provisioner import ProcessProvisioner

log = logging.getLogger(__name__)
# How often the conductor looks at its rows: quickly while clients get ready, once a second while they measure.
READY_POLL_S = 0.1
MEASURE_POLL_S = 1.0
FINISH_POLL_S = 0.1
MAX_NAMED_CLIENTS = 8
# The instant at which all clients begin lies so far ahead that each has time to ask the site for it.
START_LEAD = timedelta(seconds=0.6)
# The instant at which clients end is named so long before, in seconds: longer than between two of their reports.
END_LEAD_S = 4
# A message to a load generator may be lost with Redis: it is sent again while its client is not claimed.
HINT_INTERVAL_S = 3.0
FOLLOW_INTERVAL_S = 10.0
PHASE_STAGES: dict[str, Stage] = {Phase.LOAD: Stage.LOADING, Phase.MEASURE: Stage.PREPARING}
# The first key of the advisory locks under which runs are completed.
COMPLETION_LOCKS = 7305067


def conduct_claimed_run(run_id: uuid.UUID, claim: uuid.UUID) -> None:
    """Carry out a run that this process holds."""
    run = retry(lambda: Run.objects.select_related("cluster", "sweep", "needs").get(pk=run_id))
    try:
        with Heartbeat(run.pk, claim) as heartbeat:
            Conductor(run, claim, heartbeat).carry_out()
    except ClaimLost:
        log.warning("Run %s was taken from this conductor.", run_id)
        retry(lambda: client_lifecycle.abandon(run_id, Reason.WORKER_LOST, "The run was ended by somebody else."))
    finally:
        retry(lambda: _clean_up(run_id))


def complete_run(run_id: uuid.UUID) -> None:
    """Look whether the output of a run that infrastructure broke is complete by now: it succeeds then, or is retried.

    Merging would disturb what is measured on this host: the run is then left for another look. So is a run that another
    conductor is looking at, and one whose output cannot be read at the moment.
    """
    if measuring_here():
        return
    with _lock_completion(run_id) as is_locked:
        if is_locked:
            _complete_locked(run_id)


@contextmanager
def _lock_completion(run_id: uuid.UUID) -> Iterator[bool]:
    """Whether this process may complete the run. The lock goes when its connection goes."""
    key = (COMPLETION_LOCKS, str(run_id))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", key)
        is_locked = bool(cursor.fetchone()[0])
        try:
            yield is_locked
        finally:
            if is_locked:
                cursor.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", key)


def _complete_locked(run_id: uuid.UUID) -> None:
    run = Run.objects.get(pk=run_id)
    if run.status not in Status.terminal():
        return
    try:
        recording.complete(run)
        log.info("Run %s was completed from late output.", run_id)
    except TransitionRefused as error:
        log.info("%s", error)  # Somebody else was first, so nothing is to be retried.
    except Exception as error:
        is_gone = isinstance(error, OSError) and not is_transient(error)
        if not is_gone and not isinstance(error, recording.Incomplete | YcsbError):
            log.exception("Run %s cannot be looked at now; it is looked at again after the others.", run_id)
            Run.objects.filter(pk=run_id, late_output_at__isnull=False).update(late_output_at=Now())
            return
        log.info("Run %s is not completed: %s.", run_id, error)
        lifecycle.queue_retry(run)
    # Unless more output came meanwhile.
    is_over = Run.objects.filter(pk=run_id, late_output_at=run.late_output_at).update(late_output_at=None)
    if is_over and run.matrix_id:
        Ending.objects.create(matrix_id=run.matrix_id)


def _clean_up(run_id: uuid.UUID) -> None:
    client_lifecycle.forget_secrets(run_id)
    scheduling.release([run_id])
    wake_scheduler()


class Conductor:
    """The steps of one run; each raises RunFailed with a reason and what to do."""

    def __init__(self, run: Run, claim: uuid.UUID, heartbeat: Heartbeat) -> None:
        self.run, self.claim, self.heartbeat = run, claim, heartbeat
        self.spec = cast(RunSpec, run.spec)
        self._standing: Standing | None = None
        self._rows: int | None = None  # records counted in the data set
        self._collected: Collected | None = None
        self._expected_end = 0.0  # of the clients, on this process's clock
        self._hinted_at = 0.0
        self._sampler: HostSampler | None = None
        self._followed_at = 0.0
        self._counters: CounterSampler | None = None
        self._exporters: list[ExporterSampler] = []
        self._faults: FaultInjector | None = None
        self._grace = OutageGrace()

    def carry_out(self) -> None:
        """Every way in which a run can end, in one place."""
        try:
            if self.run.cancel_requested_at:
                raise RunCancelled
            for step in self._list_steps():
                retry(step, check=self.heartbeat.check)
        except RunCancelled:
            self._end(Status.CANCELLED, Reason.CANCELLED_BY_USER, "Cancelled while it ran; its output so far is kept.")
        except RunInterrupted:
            stage = self.run.get_stage_display()
            detail = f"Its conductor was stopped by an operator (SIGTERM or `make down`) at: {stage}."
            self._end(Status.FAILED, Reason.INTERRUPTED, detail)
        except RunFailed as failure:
            self._end(Status.FAILED, failure.reason, failure.detail)
        except ClaimLost:
            raise
        except Exception as error:
            log.exception("Run %s failed inside Benchsite.", self.run.pk)
            detail = f"{type(error).__name__}: {error}. See the conductor's log; the run can be run again."
            self._end(Status.FAILED, Reason.INTERNAL_ERROR, detail)
        finally:
            self._stop_counters()
            self._cancel_faults()

    def _list_steps(self) -> tuple[Callable[[], None], ...]:
        """In order. Each can be repeated: `retry` does so when PostgreSQL was away in the middle of it."""
        return (
            self._provision,
            # Before the data set is touched: in another mode nothing is written, and the earlier data set stays.
            lambda: self._verify("before"),
            self._prepare_data_set,
            self._order_clients,
            self._start_clients,
            self._wait_until_finished,
            self._count_rows,
            lambda: self._verify("after"),
            self._keep_evidence,
            self._collect,
            self._record,
            lambda: lifecycle.finish(self.run.pk, self.claim, Status.SUCCEEDED),
        )

    @property
    def standing(self) -> Standing:
        assert self._standing is not None  # The first step sets it.
        return self._standing

    def _provision(self) -> None:
        self._note(Stage.PROVISIONING)
        check_slots(self.run.load_generators.all(), self.spec)
        self._standing = stand(self.run, self.heartbeat.check)
        server = self.standing.server
        self._evidence(server_version=server.version)
        if server.container:
            self._evidence(container=server.container)
        build = self.spec.get("build")
        if build:
            self._note_build(build)
        if self.standing.cpus:
            self._evidence(cpus=self.standing.cpus)

    def _note_build(self, build: BuildSpec) -> None:
        """Which code is measured, as stated and as the server says. Raises RunFailed where both or two runs differ."""
        server, commit = self.standing.server, self.standing.read_commit()
        server_statement = {name: text for name, text in server.build.items() if text}
        stated = add_statement(build, {"commit": commit, **server_statement})
        if commit and not is_same_commit(commit, stated["commit"]):
            detail = f"The server says it was built of commit {commit}, and {stated['commit']} is stated."
            raise RunFailed(Reason.BAD_PLAN, detail)
        digest = server.build.get("digest", "")
        runs = Run.objects.filter(matrix=self.run.matrix_id, spec__build__name=build["name"])
        others = runs.filter(evidence__has_key="build").exclude(evidence__build__digest=digest)
        if digest and others.exists():
            detail = f"Build “{build['name']}” has changed since other runs of this plan: submit the plan again."
            raise RunFailed(Reason.BAD_PLAN, detail)
        self._evidence(build={**stated, "digest": digest})
        lifecycle.note(
            self.run.pk,
            self.claim,
            commit=stated["commit"],
            branch=stated["branch"],
            committed_at=read_commit_time(stated["committed_at"]),
        )

    def _verify(self, when: str) -> None:
        """Store what the server says of its mode, then fail the run if that is not what the plan says."""
        answer = self.standing.read_mode()
        if answer is None:
            self._evidence(mode_stated=True)
            return
        self._evidence(**{when: answer.as_dict()})
        stand_in = answer.topology.get("stand_in")
        if stand_in:
            lifecycle.note_stand_in(self.run.pk, self.claim, stand_in)
        if not answer.in_force:
            raise RunFailed(Reason.MODE_NOT_IN_FORCE, " ".join(answer.differences))
        before = self.run.evidence["before"].get("topology", answer.topology)
        changes = []
        for name in sorted(before | answer.topology):
            earlier, now = before.get(name), answer.topology.get(name)
            if earlier != now:
                label = plain_text(name.replace("_", " "))
                changes.append(f"{label} was {plain_text(earlier)} and is {plain_text(now)}")
        if changes:
            raise RunFailed(Reason.MODE_NOT_IN_FORCE, f"The cluster changed during the run: {'; '.join(changes)}.")

    def _prepare_data_set(self) -> None:
        remains = self.standing.prepare_data_set(self.run)
        if remains:
            lifecycle.note(self.run.pk, self.claim, text=remains)
        self._evidence(disk=self.standing.deployment.disk)
        limit_s = self.spec["window"].get("settle_s")
        if limit_s:
            settled = await_settled(self.standing.server.administration, limit_s, self.heartbeat.check)
            self._evidence(settled=settled)
        dropped_s = drop_page_caches(self.run)
        if dropped_s is not None:
            self._evidence(caches_dropped_s=dropped_s)
        self._note(PHASE_STAGES[self.run.phase])

    def _count_rows(self) -> None:
        if self._faults is not None:  # Wait until the last one is undone, and store what became of them.
            while not self._faults.join(MEASURE_POLL_S):
                self.heartbeat.check()
            self._evidence(faults=self._faults.records)
        self._stop_counters()
        self.standing.check_alive()
        self._rows = self.standing.rows_after(self.run)
        self._evidence(rows=self._rows)
        new_records = self.standing.count_inserts(self.run, self._inserts_by_client())
        if new_records is not None:
            self._evidence(inserted_records=new_records)

    def _keep_evidence(self) -> None:
        if self._exporters:
            self._evidence(
                exporters=[
                    {"url": exporter.url, "samples": exporter.samples, "problem": exporter.problem}
                    for exporter in self._exporters
                ]
            )
        self._keep_server_files()
        self.standing.remember_data_set(self.run, self._rows)
        self.standing.note_inserts(self.run, self._inserts_by_client())

    def _inserts_by_client(self) -> list[int | None]:
        return [client.facts.get("inserts") for client in self._select_clients() if inserts(client.order["properties"])]

    def _collect(self) -> None:
        """Merge the clients' output, once it can be read."""
        self._note(Stage.COLLECTING)
        # Merging would disturb what is measured on this host next, so its machines are only free after that.
        if not measuring_here():
            scheduling.release([self.run.pk])
            wake_scheduler()
        try:
            self._collected = retry(
                lambda: recording.collect(self.run), errors=STORAGE_ERRORS, check=self.heartbeat.check
            )
        except YcsbError as error:
            raise RunFailed(Reason.OUTPUT_NOT_MERGED, str(error)) from error

    def _record(self) -> None:
        self._note(Stage.JUDGING)
        collected = self._collected
        assert collected is not None  # The step before sets it.
        retry(
            lambda: recording.record(self.run, self.claim, collected, rows=self._rows),
            errors=STORAGE_ERRORS,
            check=self.heartbeat.check,
        )

    def _note(self, stage: Stage) -> None:
        self.heartbeat.check()
        self.run.stage = stage
        lifecycle.note(self.run.pk, self.claim, stage=stage)

    def _evidence(self, **values: object) -> None:
        self.run.evidence = {**self.run.evidence, **values}
        lifecycle.note(self.run.pk, self.claim, evidence=self.run.evidence)

    def _order_clients(self) -> None:
        """One row per client process; the message to its load generator is sent while it is not claimed."""
        if self._select_clients().exists():
            return  # An earlier attempt was committed although its answer was lost.
        orders = order_clients(
            self.spec,
            self.standing.server.client_properties,
            seed=str(self.run.pk),
            nodes_are_sampled=bool(self.standing.process_ids),
            node_cpus=self.standing.cpus.get("clients", ()),
            first_insert=self.standing.first_insert,
        )
        for order in orders:
            order.run = self.run
            order.order["servers"] = list(self.standing.server.nodes)
        ClientRun.objects.bulk_create(orders)

    def _select_clients(self) -> QuerySet[ClientRun]:
        return ClientRun.objects.filter(run=self.run).select_related("load_generator")

    def _start_clients(self) -> None:
        """Once all clients are connected, name the instant, on PostgreSQL's clock, at which they begin together."""
        clients = list(self._select_clients())
        self._hinted_at = -HINT_INTERVAL_S
        # The instant that was named before an outage stays: clients may have read it.
        self.run.refresh_from_db(fields=["starts_at"])
        if self.run.starts_at is None:
            deadline = ready_deadline_s(self.spec)
            self._wait(lambda: self._are_ready(len(clients)), READY_POLL_S, deadline, "to connect")
            lifecycle.note(self.run.pk, self.claim, starts_at=Now() + START_LEAD)
            self.run.refresh_from_db(fields=["starts_at"])
            left_s = 0.0
        else:
            left_s = (self.run.starts_at - database_now()).total_seconds()
        self._expected_end = time.monotonic() + left_s + (clients[0].order["duration_s"] or 0)
        self._sample_servers()
        self._apply_faults()
        if self.run.phase == Phase.MEASURE:
            self._note(Stage.MEASURING)

    def _sample_servers(self) -> None:
        """From now on: this host, where it runs the servers, and the counters of servers that can be asked."""
        duration_s = self._expected_end - time.monotonic()
        clock = Clock(database_now().timestamp() - time.time())
        servers = self.standing.process_ids if self._sampler is None else []
        if servers:
            self._sampler = HostSampler(
                service=os.getpid(),
                registry=settings.GUARDED_DIR,
                servers=servers,
                duration_s=duration_s,
                clock=clock,
            )
        if self._counters is None and self.standing.system.administered:
            administration = self.standing.server.administration
            self._counters = CounterSampler(administration, duration_s=duration_s, clock=clock)
        if not self._exporters and self.run.cluster is not None:
            networks = self.run.team.external_networks
            self._exporters = [
                ExporterSampler(url, networks=networks, duration_s=duration_s, clock=clock)
                for url in self.run.cluster.exporters
            ]
            self._exporters += self._sample_pushed(self.run.cluster, duration_s)

    def _sample_pushed(self, cluster: Cluster, duration_s: float) -> list[PushSampler]:
        machines = {node.machine_id: node.machine for node in cluster.nodes.select_related("machine")}
        try:
            pushing = pushed_metrics.find_pushing(cluster.pk, machines)
        except RedisError as error:
            log.warning("Run %s: metrics that machines push are left out. %s", self.run.pk, error)
            return []
        return [PushSampler(cluster.pk, machines[machine], duration_s=duration_s) for machine in pushing]

    def _apply_faults(self) -> None:
        """From now on, in a thread of its own: the planned faults of the run."""
        faults = self.spec.get("faults")
        if not faults or self._faults is not None:
            return
        provisioner = self.standing.provisioner
        assert self.run.starts_at is not None and isinstance(provisioner, ProcessProvisioner | DockerProvisioner)
        clock = Clock(database_now().timestamp() - time.time())
        begins_at = self.run.starts_at.timestamp() + self.spec["window"]["warmup_s"]
        self._faults = FaultInjector(
            faults,
            self.standing,
            provisioner,
            self._note_fault,
            begins_in_s=begins_at - clock.now_s(),
            clock=clock,
        )

    def _note_fault(self, text: str) -> None:
        try:
            lifecycle.note(self.run.pk, self.claim, text=text)
        except Exception:
            log.exception("Run %s: %s", self.run.pk, text)
        finally:
            connection.close()  # that of the injector's thread

    def _cancel_faults(self) -> None:
        if self._faults is not None:
            self._faults.cancel()

    def _stop_counters(self) -> None:
        readers = [sampler.reader for sampler in (self._counters, *self._exporters) if sampler is not None]
        for reader in readers:  # All of them first: each may be waiting for its server.
            reader.cancel()
        for reader in readers:
            reader.stop()

    def _are_ready(self, expected: int) -> bool:
        """Whether all clients are connected. Clients that no generator has claimed get another message now and then."""
        if time.monotonic() - self._hinted_at >= HINT_INTERVAL_S:
            for client in self._select_clients().filter(state=ClientRun.State.WAITING):
                assert client.load_generator is not None
                try:
                    current_app.send_task("load.client", args=[str(client.pk)], queue=client.load_generator.queue)
                except BrokerError as error:
                    log.warning("Redis does not answer (%s); trying again.", error)
            self._hinted_at = time.monotonic()
        return self._select_clients().filter(state=ClientRun.State.READY).count() == expected

    def _await_operations(self) -> None:
        """Where the window lasts until its operations are done: once they are, name the instant at which all clients
        end.
        """
        window = self.spec["window"]
        min_s, max_s = window["min_measure_s"], window["max_measure_s"]
        assert min_s is not None and max_s is not None and self.run.starts_at is not None
        clients = self._select_clients().filter(group="")
        # The instant that was named before an outage stays: clients may have read it.
        self.run.refresh_from_db(fields=["ends_at"])
        while self.run.ends_at is None:
            elapsed_s = max_s - (self._expected_end - time.monotonic())
            measured_s = max(min_s, math.ceil(elapsed_s) + END_LEAD_S)
            if measured_s >= max_s:
                return
            if (clients.aggregate(done=Sum("operations"))["done"] or 0) < window["min_operations"]:
                self._sleep(MEASURE_POLL_S)
                continue
            lasts_s = max_warmup_s(window) + measured_s + TAIL_S
            lifecycle.note(self.run.pk, self.claim, ends_at=self.run.starts_at + timedelta(seconds=lasts_s))
            self.run.refresh_from_db(fields=["ends_at"])

        left_s = (self.run.ends_at - database_now()).total_seconds()
        self._expected_end = time.monotonic() + left_s

    def _wait_until_finished(self) -> None:
        if self.run.phase == Phase.MEASURE and is_open_ended(self.spec["window"]):
            self._await_operations()
        # The rows are of no interest before the clients' time is up, and reading them costs the machine something.
        self._sleep(max(0.0, self._expected_end - time.monotonic() - 1.0))
        deadline = max(client.order["deadline_s"] for client in self._select_clients()) + ready_deadline_s(self.spec)
        unfinished = self._select_clients().exclude(state=ClientRun.State.FINISHED)
        working = unfinished.exclude(state=ClientRun.State.STORING)
        self._wait(lambda: not working.exists(), FINISH_POLL_S, deadline, "to finish")
        # What was measured is worth the wait: the clients go on beating while the artifact store is full or away.
        self._wait(
            lambda: not unfinished.exists(),
            FINISH_POLL_S,
            OUTPUT_TIMEOUT_S,
            "to store their output",
            Reason.OUTPUT_NOT_STORED,
        )

    def _sleep(self, seconds: float) -> None:
        """Wait, but notice trouble and cancelling."""
        end = time.monotonic() + seconds
        left_s = seconds
        while left_s > 0:
            time.sleep(min(left_s, MEASURE_POLL_S))
            self._notice()
            left_s = end - time.monotonic()

    def _notice(self) -> None:
        self.heartbeat.check()
        if self._sampler is not None:
            self._follow_servers(self._sampler)
            self._sampler.tick()
        if self._standing is not None:
            self._standing.check_disk()
        if Run.objects.filter(pk=self.run.pk, cancel_requested_at__isnull=False).exists():
            raise RunCancelled
        client = client_lifecycle.troubled(self.run.pk)
        silence_counts = self._grace.is_over()
        if client is None or (client.state != ClientRun.State.FAILED and not silence_counts):
            return
        # Clients fail when their server does: that is then the reason of the run.
        self.standing.check_alive()
        if client.state != ClientRun.State.FAILED or client.reason in generators.UNFIT:
            generators.quarantine(client)
        raise _describe_client_trouble(client)

    def _follow_servers(self, sampler: HostSampler) -> None:
        """Faults start servers again, and whoever runs an external one may: finding it reads every process's files."""
        if self._faults is not None or time.monotonic() - self._followed_at >= FOLLOW_INTERVAL_S:
            sampler.follow(self.standing.process_ids)
            self._followed_at = time.monotonic()

    def _wait(
        self, is_done: Callable[[], bool], poll_s: float, deadline_s: float, goal: str, reason: Reason = Reason.TIMEOUT
    ) -> None:
        end = time.monotonic() + deadline_s
        while not is_done():
            self._notice()
            if time.monotonic() > end:
                states = [
                    f"client {client.number} on {client.load_generator}: {client.get_state_display()}"
                    for client in self._select_clients()[:MAX_NAMED_CLIENTS]
                ]
                detail = f"The clients took longer than {grouped(deadline_s)} s {goal} ({'; '.join(states)})."
                raise RunFailed(reason, detail)
            time.sleep(poll_s)

    def _end(self, to: Status, reason: Reason, detail: str) -> None:
        """Stop the clients, wait until they are gone, keep what they wrote, and end the run."""
        self._cancel_faults()
        retry(lambda: client_lifecycle.abandon(self.run.pk, reason, detail))
        retry(self._wait_until_stopped)
        # While it is collected or judged, the cluster is free for the next run, and its evidence is kept already.
        if self._standing is not None and self.run.stage not in (Stage.COLLECTING, Stage.JUDGING):
            is_started = self.run.starts_at is not None
            if reason in lifecycle.INFRASTRUCTURE and is_started and "after" not in self.run.evidence:
                # Output that comes after the end is worth something only with what the server says now.
                try:
                    retry(self._count_rows)
                    retry(lambda: self._verify("after"))
                except (RunFailed, AdministrationError) as error:
                    log.warning("Run %s cannot be completed by late output: %s", self.run.pk, error)
            self._keep_server_files()
        if reason in lifecycle.INFRASTRUCTURE:
            missing = retry(lambda: recording.missing_output(self.run))
            if missing:
                detail = f"{detail} Missing: {'; '.join(missing)}."
        retry(lambda: lifecycle.finish(self.run.pk, self.claim, to, reason=reason, detail=detail))

    def _wait_until_stopped(self) -> None:
        end = time.monotonic() + CLIENT_STOP_TIMEOUT_S
        running = self._select_clients().filter(claimed_at__isnull=False, output_stored_at__isnull=True)
        alive = Q(load_generator__last_seen_at__gt=generators.silent_before("load_generator__"))
        while running.filter(alive).exists() and time.monotonic() < end:
            time.sleep(READY_POLL_S)

    def _keep_server_files(self) -> None:
        """The server's configuration and log, its host's samples and its counters. What was measured is worth more:
        without them the run goes on.
        """
        try:
            retry(
                lambda: self.standing.keep_evidence(self.run), errors=STORAGE_ERRORS, timeout_s=SERVER_FILES_TIMEOUT_S
            )
            exporters = [
                (EXPORTER_KIND, f"exporter-{number}.csv", exporter)
                for number, exporter in enumerate(self._exporters, 1)
            ]
            samplers = [
                (KIND, FILE_NAME, self._sampler),
                (COUNTERS_KIND, COUNTERS_FILE, self._counters),
                *exporters,
            ]
            for kind, name, sampler in samplers:
                if sampler is not None and sampler.text:
                    store = partial(artifacts.store, self.run, kind, name, sampler.text.encode())
                    retry(store, errors=STORAGE_ERRORS, timeout_s=SERVER_FILES_TIMEOUT_S)
        except Exception as error:
            log.exception("The server's files of run %s could not be stored.", self.run.pk)
            problem = f"The server's configuration and log, or its samples, could not be stored: {error}."
            retry(lambda: lifecycle.note(self.run.pk, self.claim, text=problem))


def _describe_client_trouble(client: ClientRun) -> RunFailed:
    name = client.load_generator or "a load generator"
    if client.state == ClientRun.State.FAILED:
        reason = Reason(client.reason or Reason.CLIENT_FAILED)
        return RunFailed(reason, f"Client {client.number} on {name}: {client.reason_detail}")
    if client.state == ClientRun.State.WAITING:
        return RunFailed(
            Reason.LOAD_GENERATOR_SILENT,
            f"{name} did not take up client {client.number} within {CLIENT_UNCLAIMED_AFTER.seconds} s: "
            "see whether its worker runs, then run this again.",
        )
    return RunFailed(
        Reason.WORKER_LOST,
        f"{name} gave no sign of life for {CLIENT_SILENT_AFTER.seconds} s while client {client.number} ran: "
        "its worker died or its machine is cut off. What the client wrote stays there until it can be stored.",
    )

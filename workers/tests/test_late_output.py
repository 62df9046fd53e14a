"""A run that infrastructure broke succeeds where its clients' output turns out complete, however late it came."""

import datetime as dt
import io
import shutil
import uuid

import psycopg
import pytest
from django.core.management import call_command
from django.db.models import F

from benchsite.tests.databases import database_url
from runs.models import ClientRun, MeasurementSet, Run
from runs.models.run import Status, Verdict
from runs.queue import client_lifecycle, lifecycle
from runs.queue.reasons import Reason
from runs.results import artifacts
from runs.results.recording import scheduled_runs as recording
from runs.tests.factories import make_machine, make_run
from runs.tests.pages import artifact_folder
from runs.tests.recorded import recorded_run
from workers.conductor.conductor import COMPLETION_LOCKS, Conductor, complete_run
from workers.conductor.heartbeat import Heartbeat
from workers.errors import RunFailed
from workers.generator.host_identity import host_key
from workers.models import Lease

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db]
IN_FORCE = {"in_force": True, "found": {"appendfsync": "always"}}


@pytest.fixture
def run(team, artifact_folder):
    """Broken by infrastructure while its second client stored its output."""
    artifacts.mark_storage()
    run = recorded_run(team)
    run.measurement_sets.all().delete()
    claim = uuid.uuid4()
    Run.objects.filter(pk=run.pk).update(
        status=Status.RUNNING, finished_at=None, claim=claim, heartbeat_at=run.started_at, verdict="",
        throughput_ops_s=None, evidence={"before": IN_FORCE, "after": IN_FORCE},
    )  # fmt: skip
    run.client_runs.update(claim=claim, output_stored_at=F("finished_at"))
    run.client_runs.filter(number=1).update(state="storing", finished_at=None, output_stored_at=None)
    client_lifecycle.abandon(run.pk, Reason.OUTPUT_NOT_STORED, "The artifact store is full.")
    lifecycle.finish(run.pk, claim, Status.FAILED, reason=Reason.OUTPUT_NOT_STORED, detail="The store is full.")
    run.refresh_from_db()
    return run


def store_late(run):
    """The generator delivers what was left, 40 s after the run had ended."""
    client = run.client_runs.get(number=1)
    client_lifecycle.complete(client.pk, client.claim, Reason.NONE, "")
    Run.objects.filter(pk=run.pk).update(finished_at=F("finished_at") - dt.timedelta(seconds=40))


def test_late_output_completes_the_run_and_cancels_its_retry(run):
    retry = Run.objects.get(rerun_of=run)
    complete_run(run.pk)
    run.refresh_from_db()
    assert (run.status, run.late_output_at) == (Status.FAILED, None)

    store_late(run)
    run.refresh_from_db()
    assert run.late_output_at is not None
    complete_run(run.pk)
    run.refresh_from_db()
    retry.refresh_from_db()
    assert (run.status, run.reason, run.reason_detail, run.late_output_at) == (Status.SUCCEEDED, "", "", None)
    assert run.verdict in (Verdict.PASS, Verdict.WARN)
    assert run.throughput_ops_s == run.measurement_sets.get().throughput_ops_s
    assert run.measurement_sets.get().clients_merged == 2
    last = run.events.last()
    assert (last.old, last.new, last.text) == (
        "failed", "succeeded", "Completed from the clients' output, stored 40 s late.",
    )  # fmt: skip
    assert (retry.status, retry.reason) == (Status.CANCELLED, Reason.NOT_NEEDED)
    assert lifecycle.resume(run.matrix, None) == 0


def test_recompute_completes_it_and_lists_what_is_missing(run):
    out, errors = io.StringIO(), io.StringIO()
    run.artifacts.filter(client_run__number=1, kind="summary").delete()
    with pytest.raises(SystemExit):
        call_command("recompute", str(run.pk), stdout=out, stderr=errors)
    generator = run.client_runs.get(number=1).load_generator.name
    assert f"cannot be completed: client 1 on {generator}: summary.txt" in errors.getvalue()
    store_late(run)
    call_command("recompute", str(run.pk), stdout=out, stderr=errors)
    assert "completed from its output" in out.getvalue()
    run.refresh_from_db()
    assert run.status == Status.SUCCEEDED
    call_command("recompute", str(run.pk), stdout=out, stderr=errors)
    assert "1 as stored" in out.getvalue()


@pytest.mark.parametrize("when", ["before", "after"])
def test_without_the_mode_read_back_it_stays_failed(run, when):
    store_late(run)
    Run.objects.filter(pk=run.pk).update(evidence={key: IN_FORCE for key in ("before", "after") if key != when})
    run.refresh_from_db()
    with pytest.raises(recording.Incomplete, match=f"was not read back {when} the clients ran"):
        recording.complete(run)
    assert not MeasurementSet.objects.exists()


def test_run_that_its_server_failed_is_never_completed(run):
    store_late(run)
    Run.objects.filter(pk=run.pk).update(reason=Reason.SERVER_LOST)
    run.refresh_from_db()
    with pytest.raises(recording.Incomplete, match="not a run that infrastructure broke"):
        recording.complete(run)


def test_completes_run_of_finished_clients_before_a_retry(run):
    Run.objects.filter(rerun_of=run).delete()
    ClientRun.objects.filter(run=run).update(state="finished")
    claim = uuid.uuid4()
    Run.objects.filter(pk=run.pk).update(
        status=Status.RUNNING, reason="", finished_at=None, claim=claim, heartbeat_at=run.started_at
    )
    lifecycle.finish(run.pk, claim, Status.FAILED, reason=Reason.WORKER_LOST)
    assert not Run.objects.filter(rerun_of=run).exists()
    hdr = run.artifacts.filter(kind="hdr", client_run__number=1)
    hdr.update(sha256="0" * 64)  # Its content is gone.
    complete_run(run.pk)
    assert Run.objects.get(rerun_of=run).is_retry
    complete_run(run.pk)  # Once.
    assert Run.objects.filter(rerun_of=run).count() == 1


def test_run_without_mergeable_output_names_cause_and_retries(run):
    Run.objects.filter(rerun_of=run).delete()
    store_late(run)
    run.artifacts.filter(kind="hdr").delete()
    claim = uuid.uuid4()
    Run.objects.filter(pk=run.pk).update(
        status=Status.RUNNING, reason="", finished_at=None, claim=claim, heartbeat_at=run.started_at
    )
    run.refresh_from_db()
    with Heartbeat(run.pk, claim) as heartbeat:
        conductor = Conductor(run, claim, heartbeat)
        with pytest.raises(RunFailed, match="Nothing can be merged") as failure:
            conductor._collect()
    lifecycle.finish(run.pk, claim, Status.FAILED, reason=failure.value.reason, detail=failure.value.detail)
    run.refresh_from_db()
    assert run.get_reason_display() == "the clients' output cannot be merged"
    complete_run(run.pk)
    assert Run.objects.get(rerun_of=run).is_retry


def test_nothing_is_merged_where_a_run_measures(run):
    store_late(run)
    Lease.objects.create(machine=make_machine(host_key=host_key()), run=make_run(run.sweep, threads=64))
    complete_run(run.pk)
    run.refresh_from_db()
    assert run.status == Status.FAILED
    assert run.late_output_at is not None


def test_run_that_another_conductor_completes_is_left_to_it(run):
    store_late(run)
    with psycopg.connect(database_url(), autocommit=True) as other:
        other.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", [COMPLETION_LOCKS, str(run.pk)])
        complete_run(run.pk)
        run.refresh_from_db()
        assert (run.status, run.late_output_at is None) == (Status.FAILED, False)
        other.execute("SELECT pg_advisory_unlock_all()")
    assert is_completed(run)


def is_completed(run):
    complete_run(run.pk)
    run.refresh_from_db()
    return run.status == Status.SUCCEEDED


def test_run_completed_since_it_was_read_is_not_retried(run):
    Run.objects.filter(rerun_of=run).delete()
    store_late(run)
    stale = Run.objects.get(pk=run.pk)
    recording.complete(run)
    lifecycle.queue_retry(stale)
    assert not Run.objects.filter(rerun_of=run).exists()


def test_store_that_is_away_puts_the_run_behind_the_others(run, artifact_folder):
    Run.objects.filter(rerun_of=run).delete()
    store_late(run)
    Run.objects.filter(pk=run.pk).update(late_output_at=run.started_at)
    away = artifact_folder.with_name("away")
    shutil.move(artifact_folder, away)
    complete_run(run.pk)
    shutil.move(away, artifact_folder)
    run.refresh_from_db()
    assert (run.status, run.late_output_at > run.started_at) == (Status.FAILED, True)
    assert not Run.objects.filter(rerun_of=run).exists()
    assert is_completed(run)


def test_output_without_its_time_of_storing_is_completed(run):
    store_late(run)
    run.client_runs.update(output_stored_at=None)  # As the previous release left it.
    assert is_completed(run)
    assert run.events.last().text == "Completed from the clients' output, stored in time."

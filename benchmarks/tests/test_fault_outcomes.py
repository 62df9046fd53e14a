"""What fault injection counts: lost results, doubled work, what has not ended, and the row that it appends."""

from datetime import timedelta

import pytest

from benchmarks.faults.outcome import Outcome, append, doubled_work, lost_results, row, unfinished_work, user_message
from benchmarks.faults.registry import FAULTS
from runs.models import Artifact, ClientRun, Run, RunEvent, Series
from runs.models.run import Status
from runs.queue.reasons import Reason
from runs.tests.factories import make_client_run, make_machine, make_measurement_set, make_run, make_sweep
from workers.models import Lease

pytestmark = pytest.mark.django_db
FAULT, DESTRUCTIVE_FAULT = FAULTS["kill-conductor"], FAULTS["kill-server"]
LIFE = [("", "queued"), ("queued", "dispatched"), ("dispatched", "running"), ("running", "succeeded")]


def add_events(run: Run, changes=LIFE, stages=("provisioning", "measuring")) -> None:
    for old, new in changes:
        RunEvent.objects.create(run=run, kind="status", old=old, new=new)
        for stage in stages if new == "running" else ():
            RunEvent.objects.create(run=run, kind="stage", new=stage)


def measured(sweep=None, **fields) -> Run:
    """A run that succeeded, with everything that its two clients left."""
    run = make_run(sweep, **fields)
    Series.objects.create(run=run, operation="READ", points=1, data=b"")
    for number in range(2):
        client = make_client_run(run, number=number, state="finished", started_at=run.started_at)
        for kind in ("hdr", "stderr", "summary"):
            Artifact.objects.create(
                team=run.team, run=run, client_run=client, kind=kind, name=kind, sha256="0" * 64, size=1
            )
    add_events(run)
    return run


def test_whole_matrix_counts_nothing():
    matrix = measured().matrix
    assert (lost_results(FAULT, matrix), doubled_work(matrix), unfinished_work(matrix)) == ([], [], [])
    assert user_message(matrix) == "every run succeeded"


def test_counts_failed_run_as_lost():
    run = make_run(status=Status.FAILED, reason=Reason.WORKER_LOST, reason_detail="Its conductor was lost.\nLog.")
    (lost,) = lost_results(FAULT, run.matrix)
    assert "worker_lost" in lost
    assert user_message(run.matrix) == "a worker died: Its conductor was lost."


def test_retry_that_succeeds_replaces_failed_run():
    failed = make_run(status=Status.FAILED, reason=Reason.WORKER_LOST)
    measured(failed.sweep, repeat=2, rerun_of=failed, position=1)
    assert lost_results(FAULT, failed.matrix) == []
    assert doubled_work(failed.matrix) == []


def test_second_retry_counts_as_doubled():
    runs = [make_run(status=Status.FAILED)]
    for repeat in (2, 3):
        retried = {"rerun_of": runs[-1], "is_retry": True, "repeat": repeat, "position": repeat}
        runs.append(make_run(runs[0].sweep, status=Status.FAILED, **retried))
    assert doubled_work(runs[0].matrix) == [f"{runs[0].name}: 2 retries"]


def test_fault_excuses_run_that_it_destroys():
    run = make_run(status=Status.FAILED, reason=Reason.SERVER_LOST)
    assert lost_results(DESTRUCTIVE_FAULT, run.matrix) == []
    assert len(lost_results(FAULT, run.matrix)) == 1


def test_counts_output_that_is_not_stored():
    run = measured()
    run.artifacts.filter(kind="hdr", client_run__number=1).delete()
    (lost,) = lost_results(FAULT, run.matrix)
    assert "client 1" in lost and "hdr" in lost


def test_expects_no_interval_of_client_that_ended_at_once():
    run = make_run(status=Status.FAILED, reason=Reason.SERVER_LOST)
    client = make_client_run(run, state="failed", started_at=run.started_at, stopped_at=run.started_at)
    Artifact.objects.create(
        team=run.team, run=run, client_run=client, kind="stderr", name="stderr", sha256="0" * 64, size=1
    )
    assert lost_results(DESTRUCTIVE_FAULT, run.matrix) == []
    ClientRun.objects.update(stopped_at=run.started_at + timedelta(seconds=4))
    (lost,) = lost_results(DESTRUCTIVE_FAULT, run.matrix)
    assert "output not stored (hdr)" in lost


def test_counts_success_without_measurements_as_lost():
    run = measured()
    run.series.all().delete()
    assert len(lost_results(FAULT, run.matrix)) == 1


def test_counts_second_measurement_set():
    run = measured()
    make_measurement_set(run, number=2, is_current=False)
    assert doubled_work(run.matrix) == [f"{run.name}: 2 measurement sets"]


@pytest.mark.parametrize(
    ("changes", "stages", "repeated"),
    [
        ([*LIFE[:2], *LIFE[1:]], (), "event queued to dispatched after dispatched"),
        ([*LIFE[:3], ("running", "queued"), *LIFE[1:]], (), "carried out 2 times"),
        (LIFE, ("measuring", "measuring"), "stage measuring twice"),
    ],
)
def test_counts_repeated_events(changes, stages, repeated):
    run = make_run()
    add_events(run, changes, stages)
    assert doubled_work(run.matrix) == [f"{run.name}: {repeated}"]


def test_counts_what_has_not_ended():
    run = make_run(status=Status.RUNNING)
    make_client_run(run, state="running")
    Lease.objects.create(machine=make_machine(), run=run)
    status, client, lease = unfinished_work(make_sweep(matrix=run.matrix).matrix)
    assert ("running measuring" in status, "client 0" in client, "holds 1 machines" in lease) == (True, True, True)


def test_row_sums_the_tries(tmp_path):
    outcomes = [
        Outcome(lost=["a run"], free_after_s=2.0, message="a | b"),
        Outcome(stuck=["a run", "a lease"], free_after_s=60.0, message="a | b"),
        Outcome(free_after_s=4.0, message="every run succeeded"),
    ]
    append(tmp_path / "faults.md", row(FAULT, "abc1234", outcomes))
    append(tmp_path / "faults.md", row(FAULT, "abc1234", outcomes[:1]))
    assert (tmp_path / "faults.md").read_text().splitlines() == [
        "| kill-conductor | abc1234 | 3 | 1 | 0 | 2 | 0 | 4.0, 60.0 | a / b |",
        "| kill-conductor | abc1234 | 1 | 1 | 0 | 0 | 0 | 2.0, 2.0 | a / b |",
    ]

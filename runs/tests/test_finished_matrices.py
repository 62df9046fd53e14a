"""A matrix that has finished is told of once, with its numbers, however many runs end at the same moment."""

import pytest
from django.db import transaction

from benchsite.accounts.models import Notice
from runs.models import Ending, Run
from runs.models.run import Status
from runs.queue import lifecycle, run_completion
from runs.tests.factories import claim_run, make_run, make_sweep

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def sweep(team):
    return make_sweep(team=team, name="redis always A")


def waiting(sweep, **fields):
    return make_run(sweep, status="queued", **fields).pk


def end(run, to=Status.SUCCEEDED):
    lifecycle.dispatch([run])
    reason = "" if to == Status.SUCCEEDED else "client_failed"
    lifecycle.finish(run, claim_run(run, "test"), to, reason=reason)


def test_it_waits_for_the_last_run(sweep):
    first, last = waiting(sweep, threads=1), waiting(sweep, threads=2)
    end(first)
    assert run_completion.look() == 0
    assert not Ending.objects.exists()
    end(last)
    assert run_completion.look() == 1
    assert not Ending.objects.exists()
    assert run_completion.look() == 0
    assert Notice.objects.count() == 1


def test_waits_for_late_output_and_counts_what_it_completed(sweep):
    good, late = waiting(sweep, threads=1), waiting(sweep, threads=2)
    end(good)
    lifecycle.dispatch([late])
    claim = claim_run(late, "test")
    lifecycle.finish(late, claim, Status.FAILED, reason="worker_lost")
    Run.objects.filter(rerun_of=late, is_retry=True).delete()
    assert Run.objects.get(pk=late).late_output_at is not None
    assert run_completion.look() == 0
    lifecycle.complete(late, "Completed.")
    assert run_completion.look() == 1
    assert Notice.objects.get().subject == f"{sweep.matrix.name}: 2 runs succeeded"


@pytest.mark.parametrize("is_needed", [True, False])
def test_completed_load_keeps_retry_only_for_waiting_runs(sweep, is_needed):
    loading = make_sweep(team=sweep.team, matrix=sweep.matrix, phase="load", name="load redis")
    load = waiting(loading, name="load redis")
    if is_needed:
        make_run(sweep, status="queued", needs_id=load)
    lifecycle.dispatch([load])
    lifecycle.finish(load, claim_run(load, "test"), Status.FAILED, reason="worker_lost")
    retry = Run.objects.get(rerun_of=load, is_retry=True)
    lifecycle.complete(load, "Completed.")
    retry.refresh_from_db()
    assert retry.status == (Status.QUEUED if is_needed else Status.CANCELLED)


def test_it_says_how_the_runs_ended_and_what_they_reached(sweep):
    good, bad = waiting(sweep, threads=1), waiting(sweep, threads=2)
    Run.objects.filter(pk=good).update(throughput_ops_s=12345.6, verdict="pass")
    end(good)
    end(bad, Status.FAILED)
    run_completion.look()
    notice = Notice.objects.get()
    assert notice.subject == f"{sweep.matrix.name}: 1 run succeeded, 1 failed"
    assert "redis always A: 12.3k ops/s" in notice.text
    assert notice.path == f"/matrices/{sweep.matrix_id}/"
    assert notice.data["runs"] == {"succeeded": 1, "failed": 1, "cancelled": 0, "rejected": 0}
    assert notice.data["highest"] == [{"sweep": "redis always A", "throughput_ops_s": 12345.6}]


def test_a_load_that_failed_is_counted_and_its_cause_said(sweep):
    loading = make_sweep(team=sweep.team, matrix=sweep.matrix, phase="load", name="load redis")
    load = make_run(loading, status="queued", name="load redis")
    make_run(sweep, status="queued", needs=load)
    lifecycle.dispatch([load.pk])
    detail = "There is no image “redis:7.2”.\nPull it on the machine of the worker."
    claim = claim_run(load.pk, "test")
    lifecycle.finish(load.pk, claim, Status.FAILED, reason="server_did_not_start", detail=detail)
    assert run_completion.look() == 1
    notice = Notice.objects.get()
    assert notice.subject.endswith("0 runs succeeded, 1 cancelled, 1 load failed")
    cause = notice.text.splitlines()[0]
    assert cause == (
        "Failed first: “load redis”, the server cannot be used: "
        "There is no image “redis:7.2”. Pull it on the machine of the worker."
    )
    assert notice.data["runs"] == {"succeeded": 0, "failed": 0, "cancelled": 1, "rejected": 0}
    assert notice.data["loads"] == {"failed": 1}
    first = notice.data["first_failure"]
    assert (first["run"], first["phase"], first["reason"]) == (str(load.pk), "load", "server_did_not_start")
    assert first["text"] == cause


def test_notice_names_first_failure_and_cuts_its_output(sweep):
    first, last = waiting(sweep, threads=1), waiting(sweep, threads=2)
    lifecycle.dispatch([first])
    lifecycle.finish(first, claim_run(first, "test"), Status.FAILED, reason="client_failed", detail="x" * 9000)
    end(last, Status.FAILED)
    run_completion.look()
    notice = Notice.objects.get()
    assert notice.data["first_failure"]["run"] == str(first) and notice.data["loads"] == {"failed": 0}
    assert notice.subject.endswith("0 runs succeeded, 2 failed")
    assert "a YCSB client failed: xxx" in notice.text and len(notice.text) < 500


def test_a_rejected_run_reaches_nothing(sweep):
    run = waiting(sweep)
    Run.objects.filter(pk=run).update(throughput_ops_s=99.0, verdict="reject")
    end(run)
    run_completion.look()
    notice = Notice.objects.get()
    assert "1 run succeeded (1 rejected)" in notice.subject
    assert notice.text == "No run has a result that counts." and notice.data["first_failure"] is None


def test_a_matrix_that_was_cancelled_has_finished_too(sweep, user):
    make_run(sweep, status="queued")
    lifecycle.request_cancel_matrix(sweep.matrix, user)
    assert run_completion.look() == 1
    assert Notice.objects.get().subject.endswith("0 runs succeeded, 1 cancelled")


def test_it_tells_again_once_runs_were_added(sweep, user):
    run = waiting(sweep)
    end(run, Status.FAILED)
    run_completion.look()
    again = lifecycle.run_again(Run.objects.get(pk=run), user)
    assert run_completion.look() == 0
    lifecycle.request_cancel(again, user)
    assert run_completion.look() == 1
    assert Notice.objects.count() == 2


def test_an_end_that_was_rolled_back_leaves_no_word(sweep):
    run = waiting(sweep)
    with pytest.raises(RuntimeError), transaction.atomic():
        end(run)
        raise RuntimeError
    assert not Ending.objects.exists()


def test_an_uploaded_run_finishes_no_matrix(team):
    assert run_completion.look() == 0
    assert not Notice.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_runs_that_end_at_the_same_moment_are_told_of_once(team, user, race):
    sweep = make_sweep(team=team)
    runs = [make_run(sweep, status="queued", threads=threads) for threads in range(1, 9)]

    def one():
        lifecycle.request_cancel(runs.pop(), user)
        return run_completion.look()

    results = race(one, times=8)
    assert sum(results) + run_completion.look() == 1
    assert Notice.objects.count() == 1
    assert not Ending.objects.exists()

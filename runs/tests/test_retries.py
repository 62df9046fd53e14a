"""A run that infrastructure broke is queued again, once, with an event on both runs."""

import pytest

from runs.models import Conductor, Run
from runs.models.run import Status
from runs.plans.pages.matrix import matrix_page
from runs.queue import lifecycle
from runs.queue.reasons import Reason
from runs.tests.factories import claim_run, make_load_generator, make_run, make_sweep
from runs.tests.pages import get_text
from runs.timeouts import RUN_SILENT_AFTER

pytestmark = pytest.mark.django_db
BROKEN = sorted(lifecycle.INFRASTRUCTURE)
ITS_OWN = [
    Reason.SERVER_DID_NOT_START, Reason.SERVER_LOST, Reason.MODE_NOT_IN_FORCE, Reason.LOAD_FAILED,
    Reason.DATA_NOT_OWNED, Reason.BINDING_MISMATCH, Reason.CLIENT_FAILED, Reason.TIMEOUT,
    Reason.NO_EVIDENCE, Reason.BAD_PLAN, Reason.NO_PROGRESS, Reason.TOO_MANY_ERRORS, Reason.DISK_FULL,
    Reason.WRONG_ROW_COUNT,
]  # fmt: skip


def fail(run: Run, reason: Reason) -> None:
    Run.objects.filter(pk=run.pk).update(status=Status.DISPATCHED)
    claim = claim_run(run.pk, "test")
    assert claim is not None
    lifecycle.finish(run.pk, claim, Status.FAILED, reason=reason, detail="It broke.")


@pytest.fixture
def run() -> Run:
    return make_run(make_sweep(), status=Status.QUEUED, generators=[make_load_generator()])


@pytest.mark.parametrize("reason", BROKEN)
def test_retries_what_infrastructure_broke(run, reason):
    fail(run, reason)
    again = Run.objects.get(rerun_of=run)
    assert (again.is_retry, again.status, again.spec) == (True, Status.QUEUED, run.spec)
    assert (again.created_at, again.priority) == (run.created_at, run.priority)  # Its place in the queue.
    assert list(again.load_generators.all()) == list(run.load_generators.all())
    assert run.events.get(kind="retry").text == f"Queued again as {again.name}."
    assert again.events.get().text == f"Retry of {run.name}: {reason.label}."


@pytest.mark.parametrize("reason", ITS_OWN)
def test_does_not_retry_other_failures(run, reason):
    fail(run, reason)
    assert not Run.objects.filter(rerun_of=run).exists()


def test_retries_only_once(run):
    fail(run, Reason.WORKER_LOST)
    fail(Run.objects.get(rerun_of=run), Reason.WORKER_LOST)
    assert Run.objects.count() == 2


def test_dependants_move_to_the_retried_load():
    sweep = make_sweep()
    load = make_run(make_sweep(matrix=sweep.matrix, phase="load"), status=Status.QUEUED, phase="load")
    needy = make_run(sweep, status=Status.QUEUED, needs=load)
    fail(load, Reason.INTERRUPTED)
    needy.refresh_from_db()
    again = Run.objects.get(rerun_of=load)
    assert (needy.status, needy.needs_id) == (Status.QUEUED, again.pk)
    fail(again, Reason.INTERRUPTED)
    needy.refresh_from_db()
    assert (needy.status, needy.reason) == (Status.CANCELLED, Reason.LOAD_FAILED)


@pytest.mark.parametrize("ended_by", ["the reaper", "the conductor's next life"])
def test_cancelled_run_whose_conductor_is_lost_stays_cancelled(run, user, ended_by):
    conductor = Conductor.objects.create(pk=run.pk, name="lab-1", host_key="lab")
    Run.objects.filter(pk=run.pk).update(status=Status.DISPATCHED)
    lifecycle.claim_first(Run.objects.filter(pk=run.pk), "test", conductor)
    run.refresh_from_db()
    lifecycle.request_cancel(run, user)
    if ended_by == "the reaper":
        Run.objects.filter(pk=run.pk).update(heartbeat_at=run.created_at - 2 * RUN_SILENT_AFTER)
        lost = lifecycle.reap()
    else:
        lost = lifecycle.end_conductor_claims(conductor.pk)
    run.refresh_from_db()
    assert (lost, run.status, run.reason) == ([run.pk], Status.CANCELLED, Reason.CANCELLED_BY_USER)
    assert not Run.objects.filter(rerun_of=run).exists()


def test_matrix_page_lists_retries(run):
    fail(run, Reason.INTERRUPTED)
    page = matrix_page(run.matrix, [])
    assert [(retry.is_retry, retry.rerun_of) for retry in page["retries"]] == [(True, run)]
    assert page["failures"] == []


def test_pages_name_the_retry(client_in, team):
    run = make_run(make_sweep(team=team), status=Status.QUEUED)
    fail(run, Reason.INTERRUPTED)
    again = Run.objects.get(rerun_of=run)
    assert f"retried automatically as {again.name}" in client_in.get(f"/runs/{run.pk}/").text
    assert f"automatic retry of {run.name}" in client_in.get(f"/runs/{again.pk}/").text
    assert "1 run retried automatically" in get_text(client_in.get(f"/matrices/{run.matrix_id}/"))

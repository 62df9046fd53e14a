"""A run moves by compare-and-swap along the allowed transitions only, each with its event."""

import threading
import uuid
from itertools import product

import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from runs.models import Ending, Run, RunEvent
from runs.models.run import Status
from runs.queue import lifecycle
from runs.queue.reasons import Reason
from runs.tests.factories import claim_run, make_run, make_sweep, make_user

pytestmark = pytest.mark.django_db
ENDS = set(Status.terminal())


def run_in(status: Status) -> Run:
    return make_run(make_sweep(), threads=2, status=status)


@pytest.mark.parametrize(("old", "new"), list(product(Status, Status)))
def test_it_allows_exactly_the_listed_transitions(old, new):
    run = run_in(old)
    fields = {"reason": Reason.TIMEOUT} if new in (Status.FAILED, Status.CANCELLED) else {}
    if new == Status.RUNNING:
        fields = {"claim": uuid.uuid4(), "heartbeat_at": Now()}
        move = lambda: claim_run(run.pk, "test")  # noqa: E731
    else:
        move = lambda: lifecycle.transition(run.pk, new, actor="test", **fields)  # noqa: E731
    events = RunEvent.objects.filter(run=run, kind="status", actor="test")
    before = events.count()
    if old in lifecycle.ALLOWED[new]:
        assert move() is not None or new != Status.RUNNING
        run.refresh_from_db()
        assert run.status == new
        assert (run.finished_at is not None) == (new in ENDS)
        assert events.count() == before + 1
        assert (events.last().old, events.last().new) == (old, new)
    else:
        if new == Status.RUNNING:
            assert move() is None
        else:
            with pytest.raises(lifecycle.TransitionRefused):
                move()
        run.refresh_from_db()
        assert run.status == old
        assert events.count() == before


def test_it_refuses_a_finish_with_another_claim():
    run = run_in(Status.DISPATCHED)
    mine = claim_run(run.pk, "first")
    assert mine
    with pytest.raises(lifecycle.ClaimLost):
        lifecycle.finish(run.pk, uuid.uuid4(), Status.SUCCEEDED)
    lifecycle.finish(run.pk, mine, Status.SUCCEEDED)
    run.refresh_from_db()
    assert run.status == Status.SUCCEEDED


def test_it_tells_a_reaped_conductor_that_its_claim_is_lost():
    run = run_in(Status.DISPATCHED)
    mine = claim_run(run.pk, "first")
    Run.objects.filter(pk=run.pk).update(heartbeat_at=Now() - 2 * lifecycle.CLAIM_SILENT_AFTER)
    assert lifecycle.reap() == [run.pk]
    run.refresh_from_db()
    assert (run.status, run.reason) == (Status.FAILED, Reason.WORKER_LOST)
    with pytest.raises(lifecycle.ClaimLost):
        lifecycle.beat(run.pk, mine)
    with pytest.raises(lifecycle.ClaimLost):
        lifecycle.note(run.pk, mine, text="still here")


def test_it_gives_back_a_run_that_nobody_claimed():
    run = run_in(Status.DISPATCHED)
    Run.objects.filter(pk=run.pk).update(dispatched_at=Now() - 2 * lifecycle.UNCLAIMED_AFTER, reserved_at=Now())
    lifecycle.reap()
    run.refresh_from_db()
    # With its old reservation it would come before the runs of all other teams.
    assert (run.status, run.dispatched_at, run.reserved_at) == (Status.QUEUED, None, None)


def test_it_leaves_a_living_claim_alone():
    run = run_in(Status.DISPATCHED)
    claim_run(run.pk, "first")
    assert lifecycle.reap() == []


def test_it_cancels_at_once_what_waits_and_asks_for_what_runs():
    user = make_user()
    waiting, running = run_in(Status.QUEUED), run_in(Status.RUNNING)
    lifecycle.request_cancel(waiting, user)
    lifecycle.request_cancel(running, user)
    waiting.refresh_from_db()
    running.refresh_from_db()
    assert (waiting.status, waiting.reason) == (Status.CANCELLED, Reason.CANCELLED_BY_USER)
    assert running.status == Status.RUNNING
    assert running.cancel_requested_at


@pytest.mark.parametrize("dependants", [1, 20])
def test_cancels_whole_matrix_in_constant_queries(dependants, django_assert_max_num_queries):
    """A load, the runs that need it, and a run that is being measured on another cluster."""
    user, sweep = make_user(), make_sweep()
    load = make_run(make_sweep(matrix=sweep.matrix, phase="load"), status=Status.QUEUED, phase="load")
    runs = [make_run(sweep, status=Status.QUEUED, needs=load, repeat=n + 1) for n in range(dependants)]
    active = make_run(make_sweep(matrix=sweep.matrix), status=Status.RUNNING)
    with django_assert_max_num_queries(20):
        assert lifecycle.request_cancel_matrix(sweep.matrix, user) == dependants + 2
    for run in [load, *runs]:
        run.refresh_from_db()
        assert (run.status, run.events.last().actor) == (Status.CANCELLED, user.get_username())
    active.refresh_from_db()
    assert active.cancel_requested_at
    assert Ending.objects.filter(matrix=sweep.matrix).count() == 1


@pytest.mark.parametrize("dependants", [1, 20])
def test_ends_dependants_in_constant_queries(dependants, django_assert_max_num_queries):
    sweep = make_sweep()
    load = make_run(make_sweep(matrix=sweep.matrix, phase="load"), status=Status.RUNNING, phase="load")
    for number in range(dependants):
        make_run(sweep, status=Status.QUEUED, needs=load, repeat=number + 1)
    with django_assert_max_num_queries(20):
        lifecycle.transition(load.pk, Status.FAILED, actor="test", reason=Reason.LOAD_FAILED)
    assert Run.objects.filter(needs=load, status=Status.CANCELLED, reason=Reason.LOAD_FAILED).count() == dependants


def test_it_ends_what_needs_a_failed_load():
    sweep = make_sweep()
    load = make_run(make_sweep(matrix=sweep.matrix, phase="load"), threads=2, status=Status.RUNNING, phase="load")
    needy = make_run(sweep, threads=2, status=Status.QUEUED, needs=load)
    lifecycle.transition(load.pk, Status.FAILED, actor="test", reason=Reason.LOAD_FAILED)
    needy.refresh_from_db()
    assert (needy.status, needy.reason) == (Status.CANCELLED, Reason.LOAD_FAILED)


def test_the_database_keeps_the_spec_as_it_was_submitted():
    run = run_in(Status.QUEUED)
    with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(spec={**run.spec, "purpose": "measured"})


def test_the_database_refuses_a_second_active_run_on_a_cluster():
    sweep = make_sweep()
    make_run(sweep, threads=2, status=Status.RUNNING)
    with pytest.raises(IntegrityError), transaction.atomic():
        make_run(sweep, threads=4, status=Status.DISPATCHED)


@pytest.mark.django_db(transaction=True)
def test_one_of_many_conductors_wins_a_claim():
    run = run_in(Status.DISPATCHED)
    start, won = threading.Barrier(8), []

    def race() -> None:
        try:
            start.wait()
            if claim_run(run.pk, "racer"):
                won.append(1)
        finally:
            connection.close()

    racers = [threading.Thread(target=race) for _ in range(8)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert len(won) == 1


def test_only_the_life_cycle_writes_the_status():
    """No other module updates `status` of a run: found by reading the code."""
    root = settings.BASE_DIR
    sources = [
        p for name in ("runs", "workers", "reports", "benchsite", "benchmarks") for p in (root / name).rglob("*.py")
    ]
    offenders = [
        str(path.relative_to(root))
        for path in sources
        if "tests" not in path.parts and "migrations" not in path.parts and path.name != "lifecycle.py"
        for line in path.read_text().splitlines()
        if ".update(status=" in line or "run.status =" in line.replace("run.status ==", "")
    ]
    assert len(sources) > 500
    assert offenders == []

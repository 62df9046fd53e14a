"""The queue is read in several queries: a run may move on between any two of them."""

import pytest
from django.db import connection
from django.utils import timezone

from runs.models import Run
from runs.models.run import Status
from runs.queue.pages.queue import queue, waiting_runs
from runs.tests.factories import make_load_generator, make_run, make_sweep

pytestmark = pytest.mark.django_db
MAX_QUERIES = 8
QUEUED = {"status": Status.QUEUED, "dispatched_at": None}
DISPATCHED = {"status": Status.DISPATCHED}


@pytest.fixture
def moving_run():
    """The middle one of three runs, the only one of its lane; it was dispatched once and then given back."""
    sweep, generator = make_sweep(), make_load_generator()
    make_run(sweep, status=Status.QUEUED, repeat=2, position=1)
    make_run(sweep, status=Status.QUEUED, repeat=3, position=3)
    run = make_run(make_sweep(), status=Status.QUEUED, position=2, generators=[generator])
    Run.objects.filter(pk=run.pk).update(dispatched_at=timezone.now())
    return run


@pytest.mark.parametrize("moment", range(1, MAX_QUERIES + 1))
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (QUEUED, DISPATCHED | {"dispatched_at": timezone.now()}),
        (QUEUED, {"status": Status.CANCELLED, "reason": "cancelled_by_user", "finished_at": timezone.now()}),
        (QUEUED, {"priority": 5}),
        (DISPATCHED, QUEUED),
    ],
    ids=["dispatched", "cancelled", "moved", "given-back"],
)
def test_run_may_change_between_queries(moving_run, moment, before, after):
    rows = Run.objects.filter(pk=moving_run.pk)
    rows.update(**before)
    count = 0

    def change_run_before(execute, *arguments):
        nonlocal count
        count += 1
        if count == moment:
            count += 1  # The change is a query itself.
            rows.update(**after)
        return execute(*arguments)

    with connection.execute_wrapper(change_run_before):
        read = queue(waiting_runs() | rows)
    assert count > moment
    ids = [row.run.pk for row in read.rows]
    assert len(ids) == len(set(ids)) and len(ids) in (2, 3)
    assert all(row.machines for row in read.rows)

"""Runs by hand wait for people: the scheduler passes over them, and the queue does not show them."""

import pytest

from runs.kits.by_hand import Place, plan_by_hand
from runs.kits.plan_export import plan_file_of
from runs.models.run import Status
from runs.pages.queue import queue, waiting_runs
from runs.planning import submit
from runs.tests.factories import make_conductors
from runs.tests.planning_world import a_matrix
from workers import scheduling

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_it_never_starts_a_run_by_hand():
    scheduled = a_matrix()
    matrix = plan_by_hand(scheduled.team, plan_file_of(scheduled), Place(), None)
    assert scheduling.tick() == [] and queue(waiting_runs()).rows == ()
    submit(scheduled, None)
    make_conductors()
    (started,) = scheduling.tick()
    assert scheduled.runs.filter(pk=started).exists()
    assert set(matrix.runs.values_list("status", flat=True)) == {Status.QUEUED}

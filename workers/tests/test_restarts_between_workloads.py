"""The server is started again where the plan says so and the workload has changed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runs.tests.factories import make_matrix, make_run, make_spec, make_sweep, make_workload
from workers.conductor.deployment import needs_restart

pytestmark = pytest.mark.django_db


def add_run(sweep, resets, second):
    spec = {**make_spec(sweep, threads=second), "resets": resets}
    return make_run(sweep, threads=second, spec=spec, started_at=timezone.now() + timedelta(seconds=second))


@pytest.mark.parametrize(
    ("resets", "expected"),
    [
        ({"rung": "keep"}, [False, False, False, False]),
        ({"rung": "keep", "workload": "reload"}, [False, False, False, False]),
        ({"rung": "keep", "workload": "restart"}, [False, False, True, True]),
        ({"rung": "restart"}, [True, True, True, True]),
    ],
    ids=str,
)
def test_last_run_of_the_cluster_decides(resets, expected):
    first = make_sweep(workload=make_workload(name="A"))
    workload = make_workload(team=first.team, name="B")
    second = make_sweep(team=first.team, matrix=first.matrix, database=first.database, workload=workload)
    sweeps = [first, first, second, first]
    assert [needs_restart(add_run(sweep, resets, number)) for number, sweep in enumerate(sweeps, 2)] == expected


def test_runs_of_other_plans_do_not_count():
    resets = {"rung": "keep", "workload": "restart"}
    first = make_sweep(workload=make_workload(name="A"))
    workload = make_workload(team=first.team, name="B")
    other = make_sweep(
        team=first.team, matrix=make_matrix(team=first.team, entries=[]), database=first.database, workload=workload
    )
    add_run(first, resets, 2)
    assert not needs_restart(add_run(other, resets, 3))

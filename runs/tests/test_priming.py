"""Clients work on the database, unmeasured, before the first run of a ladder and after a load or a start."""

import pytest

from runs.models import Provisioner
from runs.plans import expand, preview, stored_plan
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_team,
    make_workload,
)
from runs.ycsb.properties import WARM_UP, WARM_UP_READS

pytestmark = pytest.mark.django_db


def make_plan(modes=("always",), provisioner=Provisioner.PROCESS, **fields):
    team, machine = make_team(), make_machine()
    cluster = make_cluster(team=team, machines=[machine], provisioner=provisioner)
    database = make_database(team=team, cluster=cluster, system="redis")
    generator = make_load_generator(machine=machine, bindings={"redis": "d" * 64})
    entries = [(database, mode) for mode in modes]
    workloads = [make_workload(team=team)]
    return stored_plan(
        make_matrix(
            team=team, entries=entries, workloads=workloads, load_generators=[generator], submitted_at=None, **fields
        )
    )


def list_primed(plan):
    return [run.name for run in expand(plan).runs if run.phase == "measure" and run.properties.get(WARM_UP)]


def test_first_run_of_each_ladder_is_primed():
    plan = make_plan(("off", "always"), rungs=[2, 4], priming_s=600)

    assert list_primed(plan) == ["redis off A 2t r1", "redis always A 2t r1"]
    assert {run.properties[WARM_UP] for run in expand(plan).runs if WARM_UP in run.properties} == {"600000"}


def test_priming_by_reads_is_one_of_its_property():
    plan = make_plan(rungs=[2, 4], priming_s=600, priming_reads=True)

    reads = [run.properties.get(WARM_UP_READS) for run in expand(plan).runs if run.phase == "measure"]
    assert reads == ["true", None]


def test_priming_takes_its_time():
    with_priming, without = (
        sum(run.expected_s for run in expand(make_plan(rungs=[2, 4], priming_s=seconds)).runs) for seconds in (60, 0)
    )

    assert with_priming - without == 60


def test_started_server_is_primed_again():
    plan = make_plan(("off", "always"), rungs=[2, 4], order="interleaved", priming_s=5)

    assert len(list_primed(plan)) == 4


def test_external_server_keeps_its_caches_between_ladders():
    plan = make_plan(("off", "always"), Provisioner.EXTERNAL, rungs=[2, 4], order="interleaved", priming_s=5)

    assert list_primed(plan) == ["redis off A 2t r1", "redis always A 2t r1"]


@pytest.mark.parametrize("reset", ["restart", "reload"])
def test_each_rung_is_primed_where_caches_are_lost_before_it(reset):
    plan = make_plan(rungs=[2, 4], resets={"rung": reset}, priming_s=5)

    assert len(list_primed(plan)) == 2


def test_longer_work_of_the_workload_stays():
    plan = make_plan(rungs=[2], priming_s=5)
    (workload,) = plan.workloads
    longer = {**workload.properties, WARM_UP: "9000"}
    plan = plan.model_copy(update={"workloads": (type(workload)(workload.id, workload.name, "A", longer),)})

    assert {run.properties[WARM_UP] for run in expand(plan).runs} == {"9000"}


def test_search_refuses_priming():
    plan = make_plan(priming_s=5).model_copy(update={"search": {"slo": None, "max_trials": 3}})

    assert [problem.field for problem in preview(plan).problems] == ["priming_s"]

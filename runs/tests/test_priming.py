"""Clients work on the database, unmeasured, before the first run of a ladder and after a load or a start."""

import pytest

from runs.models import Provisioner
from runs.plans import expand, preview, stored_plan, submit
from runs.queue.lifecycle import run_at
from runs.queue.spec import build_client_properties
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_team,
    make_workload,
)
from runs.ycsb.properties import WARM_UP, WARM_UP_READS, prime

pytestmark = pytest.mark.django_db


def make_plan(*args, **fields):
    return stored_plan(make_stored(*args, **fields))


def make_stored(modes=("always",), provisioner=Provisioner.PROCESS, system="redis", **fields):
    team, machine = make_team(), make_machine()
    cluster = make_cluster(team=team, machines=[machine], provisioner=provisioner)
    database = make_database(team=team, cluster=cluster, system=system)
    generator = make_load_generator(machine=machine, bindings={system: "d" * 64})
    entries = [(database, mode) for mode in modes]
    workloads = [make_workload(team=team)]
    return make_matrix(
        team=team, entries=entries, workloads=workloads, load_generators=[generator], submitted_at=None, **fields
    )


def list_primed(plan):
    return [run.name for run in expand(plan).runs if run.phase == "measure" and run.priming_s]


def test_first_run_of_each_ladder_is_primed():
    plan = make_plan(("off", "always"), rungs=[2, 4], priming_s=600)

    assert list_primed(plan) == ["redis off A 2t r1", "redis always A 2t r1"]
    assert {run.priming_s for run in expand(plan).runs} == {600, 0}


def test_clients_of_a_primed_run_alone_get_the_priming():
    matrix = make_stored(rungs=[2, 4], priming_s=600, priming_reads=True)

    submit(matrix, None)

    first, second = (run.spec for run in matrix.runs.filter(phase="measure").order_by("position"))
    primed = build_client_properties(first)
    assert (primed[WARM_UP], primed[WARM_UP_READS]) == ("600000", "true")
    assert WARM_UP not in build_client_properties(second)


def test_primed_runs_are_of_the_same_test_as_their_repeats():
    matrix = make_stored(rungs=[2], repeats=2, priming_s=600)

    submit(matrix, None)

    assert len(set(matrix.runs.filter(phase="measure").values_list("config_key", flat=True))) == 1


@pytest.mark.parametrize(
    ("system", "mode", "settle_s", "seconds"),
    [("cassandra", "one-periodic", 20, 120), ("cassandra", "one-periodic", 0, 0), ("redis", "always", 20, 0)],
)
def test_servers_that_compile_are_primed_where_a_plan_settles(system, mode, settle_s, seconds):
    plan = make_plan((mode,), system=system, rungs=[2, 4], settle_s=settle_s)

    assert [run.priming_s for run in expand(plan).runs if run.phase == "measure"] == [seconds, 0]
    assert preview(plan).settling_s == 3 * settle_s + seconds


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
    assert prime({WARM_UP: "9000"}, 5, reads_only=True) == {WARM_UP: "9000"}


def test_first_trial_of_a_search_alone_is_primed():
    search = {"width": 0.05, "max_trials": 3, "max_error_rate": 0.001, "slo": None}
    matrix = make_stored(ladder="target", threads=8, rungs=[], search=search, priming_s=60)
    seconds, unprimed_s = (
        preview(stored_plan(matrix).model_copy(update={"priming_s": priming_s})).seconds for priming_s in (60, 0)
    )
    assert seconds - unprimed_s == 60

    submit(matrix, None)

    probe = matrix.runs.get(phase="measure")
    trial = run_at(probe, 8, 1000, "", queued_at=probe.created_at)
    assert probe.spec["primed"]["seconds"] == 60 and "primed" not in trial.spec

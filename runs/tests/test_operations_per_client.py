"""Runs in which a client would do more operations than YCSB counts are split over more clients, or refused."""

import pytest

from runs.models import Database, LoadGenerator, Run
from runs.plans import PlanError, expand, preview, stored_plan, submit
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_run,
    make_sweep,
    make_team,
    make_workload,
)
from runs.ycsb.properties import check_workload

pytestmark = pytest.mark.django_db
HALF_DAY_S = 12 * 3600
INSERTS = {"recordcount": "1000", "readproportion": "0.5", "updateproportion": "0", "insertproportion": "0.5"}


@pytest.fixture
def soak():
    """A maker of unsubmitted matrices: one Redis, one generator, 12 hours."""

    def make(*, slots=8, properties=None, **fields):
        team = make_team()
        database = make_database(team=team, cluster=make_cluster(team=team, machines=[make_machine()]))
        generator = make_load_generator(machine=make_machine(), bindings={"redis": "d" * 64}, slots=slots)
        workload = make_workload(team=team, **({"properties": check_workload(properties)} if properties else {}))
        usual = {"rungs": [64], "min_measure_s": HALF_DAY_S, "max_measure_s": HALF_DAY_S, "submitted_at": None}
        return make_matrix(
            team=team, entries=[(database, "off")], workloads=[workload], load_generators=[generator], **usual | fields
        )

    return make


def target(ops_s):
    return {"ladder": "target", "rungs": [ops_s], "threads": 64}


def measure(matrix, *, threads, throughput):
    """An earlier run of the matrix's only cell."""
    entry, workload = matrix.entries.get(), matrix.workloads.get()
    earlier = make_matrix(team=matrix.team, entries=[(entry.database, entry.mode)], workloads=[workload])
    sweep = make_sweep(team=matrix.team, matrix=earlier, database=entry.database, workload=workload, mode=entry.mode)
    make_run(sweep, threads=threads, throughput=throughput)


def measured_runs(matrix):
    return [run for run in expand(stored_plan(matrix)).runs if run.phase == "measure"]


def test_splits_by_the_target(soak):
    matrix = soak(**target(205_000))
    [run] = measured_runs(matrix)
    assert run.processes == 6
    result = preview(stored_plan(matrix))
    assert result.problems == ()
    assert any("6 clients per generator (its target is 205k" in warning for warning in result.warnings)


def test_splits_by_earlier_runs_of_the_cell(soak):
    matrix = soak(rungs=[2, 16, 64])
    measure(matrix, threads=2, throughput=10_000)
    measure(matrix, threads=16, throughput=100_000)
    # 64 threads were never measured: the highest figure counts.
    assert [run.processes for run in measured_runs(matrix)] == [1, 3, 3]


def test_assumes_a_rate_where_nothing_was_measured(soak):
    matrix = soak(slots=2)
    assert [run.processes for run in measured_runs(matrix)] == [2]
    result = preview(stored_plan(matrix))
    assert result.problems == ()
    [message] = [warning for warning in result.warnings if "2,147,483,647" in warning]
    assert "205k\N{NARROW NO-BREAK SPACE}ops/s are assumed" in message
    assert "needs 6 clients and has 2" in message


def test_refuses_what_the_slots_cannot_hold(soak):
    matrix = soak(slots=1, **target(205_000))
    [problem] = preview(stored_plan(matrix)).problems
    assert problem.field == "min_measure_s"
    assert "would end after 2 h 55 min of 12 h" in problem.message.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "needs 6 clients and has 1" in problem.message
    with pytest.raises(PlanError, match="BENCHSITE_GENERATOR_SLOTS"):
        submit(matrix, None)
    LoadGenerator.objects.update(slots=6)
    submit(matrix, None)
    assert Run.objects.get(phase="measure").spec["load"]["processes"] == 6


def test_never_splits_stock_clients_that_insert(soak):
    matrix = soak(properties=INSERTS, **target(205_000))
    assert [run.processes for run in measured_runs(matrix)] == [6]
    Database.objects.update(flavour="ycsb", client="ycsb-0.17.0/redis")
    assert [run.processes for run in measured_runs(matrix)] == [1]


def test_gives_every_client_a_thread(soak):
    matrix = soak(rungs=[2])
    measure(matrix, threads=2, throughput=200_000)
    assert [run.processes for run in measured_runs(matrix)] == [2]


@pytest.mark.parametrize("changes", [{"processes_per_generator": 7}, {}], ids=["more by plan", "short"])
def test_leaves_other_runs_as_planned(soak, changes):
    matrix = soak(**changes) if changes else soak(min_measure_s=600, max_measure_s=600)
    assert [run.processes for run in measured_runs(matrix)] == [changes.get("processes_per_generator", 1)]
    assert not any("31 bits" in warning for warning in preview(stored_plan(matrix)).warnings)

"""Each workload begins with reloaded data or restarted servers, where the plan says so."""

import pytest

from runs.plans import expand, preview, stored_plan
from runs.plans.plan_spec import PlanRequest
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_team,
    make_workload,
)

pytestmark = pytest.mark.django_db


def make_plan(system="redis", mode="always", **fields):
    team, machine = make_team(), make_machine()
    database = make_database(team=team, cluster=make_cluster(team=team, machines=[machine]), system=system)
    workloads = [make_workload(team=team, name=name, short_name=name) for name in ("A", "B")]
    generator = make_load_generator(machine=machine, bindings={system: "d" * 64})
    return stored_plan(
        make_matrix(
            team=team, entries=[(database, mode)], workloads=workloads, load_generators=[generator],
            submitted_at=None, rungs=[2, 4], **fields,
        )
    )  # fmt: skip


def list_names(plan):
    return [run.name.removeprefix("redis always ") for run in expand(plan).runs]


@pytest.mark.parametrize("order", ["as_listed", "interleaved", "randomised"])
def test_data_is_loaded_before_each_workload(order):
    names = list_names(make_plan(order=order, resets={"rung": "keep", "workload": "reload"}))

    assert [name for name in names if "load" in name] == ["load r1", "load r2"]
    assert names.index("load r2") == 3
    assert {name[0] for name in names[4:]} == {"B"}


@pytest.mark.parametrize("order", ["as_listed", "interleaved"])
def test_data_is_loaded_once_without_it(order):
    assert sum("load" in name for name in list_names(make_plan(order=order))) == 1


@pytest.mark.parametrize("order", ["interleaved", "randomised"])
def test_restarts_keep_the_data_and_part_the_workloads(order):
    names = list_names(make_plan(order=order, resets={"workload": "restart"}))

    assert [name[0] for name in names] == ["l", "A", "A", "B", "B"]


def test_restarts_between_workloads_take_their_time():
    def expected_s(**fields):
        return sum(run.expected_s for run in expand(make_plan("mariadb", "flush-1", **fields)).runs)

    assert expected_s(resets={"workload": "restart"}) == expected_s() + 4


def test_nothing_else_is_reset_between_workloads():
    plan = make_plan(resets={"workload": "drop_caches"})

    (problem,) = preview(plan).problems
    assert problem.message == "Between workloads this release can keep or restart or reload, not drop_caches."


def test_request_states_it_only_where_data_is_reloaded():
    assert PlanRequest().columns["resets"] == {"rung": "keep"}
    assert PlanRequest(between_workloads="reload").columns["resets"] == {"rung": "keep", "workload": "reload"}

"""Programs give some databases or workloads other values, as the builder does."""

import pytest

from benchsite.tests.asking import make_program
from runs.models import Matrix
from runs.plans import expand, stored_plan
from runs.tests.factories import make_cluster, make_database, make_load_generator, make_machine, make_workload

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def program(team, settings):
    settings.API_REQUESTS_PER_MINUTE = 0
    cluster = make_cluster(team=team, machines=[make_machine()])
    make_database(team=team, cluster=cluster, name="Redis", system="redis")
    make_workload(team=team, name="A")
    make_load_generator(bindings={"redis": "d"})
    return make_program(team)


def make_body(**override):
    return {
        "name": "nightly", "entries": [{"database": "Redis", "mode": "always"}], "workloads": ["A"], "rungs": [2],
        "overrides": [override],
    }  # fmt: skip


def test_plan_has_the_stated_value(program):
    answer = program.ask("POST", "/matrices", make_body(database="Redis", property="fieldlength", value="20"))

    assert answer.status_code == 201, answer.content
    runs = expand(stored_plan(Matrix.objects.get())).runs
    assert {run.properties["fieldlength"] for run in runs} == {"20"}


@pytest.mark.parametrize(
    "override",
    [
        {"workload": "A", "property": "recordcount", "value": "-1"},
        {"database": "Redis", "property": "recordcnt", "value": "5"},
        {"property": "recordcount", "value": "5"},
    ],
)
def test_refusal_points_at_the_override(program, override):
    answer = program.ask("POST", "/matrices", make_body(**override))

    assert answer.status_code == 400
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["#/overrides/0"]


def test_plan_has_the_stated_numbers_of_generators(program):
    make_load_generator(bindings={"redis": "d"})
    body = {**make_body(), "overrides": [], "generator_counts": [1, 2]}

    answer = program.ask("POST", "/matrices", body)

    assert answer.status_code == 201, answer.content
    runs = expand(stored_plan(Matrix.objects.get())).runs
    assert {len(run.generators) for run in runs if run.phase == "measure"} == {1, 2}

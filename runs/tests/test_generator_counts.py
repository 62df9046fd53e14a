"""The number of load generators is an axis of a plan, in the builder, over REST and in plan files."""

import pytest
from django.urls import reverse

from runs.models import Matrix, Run
from runs.plans import expand, stored_plan
from runs.plans.files.plan_export import export_plan
from runs.plans.files.plan_file import read_plan
from runs.tests.factories import make_load_generator, make_machine
from runs.tests.planning_world import a_matrix, list_refusals, make_form, make_parts

pytestmark = pytest.mark.django_db


def test_each_number_has_sweeps_of_its_own():
    matrix = a_matrix(generator_counts=[1, 2], repeats=1, bracket=False, exclusions=[], overrides=[])

    expansion = expand(stored_plan(matrix))

    measured = [run for run in expansion.runs if run.phase == "measure"]
    assert {len(run.generators) for run in measured if run.name.startswith("redis always A 1 generator ")} == {1}
    assert {len(run.generators) for run in measured if run.name.startswith("redis always A 2 generators ")} == {2}
    assert len(measured) == 2 * 3 * 3 * 2  # numbers, entries, rungs, workloads


def test_numbers_share_their_loads():
    fields = {"repeats": 1, "bracket": False, "resets": {}, "order": "as_listed", "overrides": [], "exclusions": []}
    loads = [
        sum(run.phase == "load" for run in expand(stored_plan(a_matrix(generator_counts=counts, **fields))).runs)
        for counts in ([], [1, 2])
    ]

    assert loads[0] == loads[1]


@pytest.mark.parametrize(
    ("counts", "message"),
    [([2, 3], "The ladder has 2 load generators, and 3 are asked for"), ([1, 1], "1 stands twice")],
)
def test_it_refuses_numbers_that_cannot_be(counts, message):
    (refusal,) = list_refusals(a_matrix(generator_counts=counts), "generator_counts")

    assert message in refusal


def test_plan_file_has_the_numbers():
    matrix = a_matrix(generator_counts=[1, 2])

    assert read_plan(export_plan(matrix)).matrix.generator_counts == [1, 2]


@pytest.mark.slow
def test_builder_plans_the_numbers(client_in, team):
    parts = make_parts(team)
    second = make_load_generator(machine=make_machine(), bindings={"redis": "d", "postgresql": "d"})
    fields = {"generator_counts": "1, 2", "load_generators": [str(parts["generator"].pk), str(second.pk)]}

    answer = client_in.post(reverse("matrix-add"), make_form(parts, submit="1", **fields))

    assert answer.status_code == 302
    runs = Run.objects.filter(matrix=Matrix.objects.get(), phase="measure")
    assert sorted(len(run.spec["generators"]) for run in runs) == [1, 1, 2, 2]
    assert "with 1, 2 load generators" in client_in.get(answer.url).content.decode()

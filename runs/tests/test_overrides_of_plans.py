"""A plan gives some databases or workloads other records, sizes or mixes, row by row in the builder."""

import pytest
from django.urls import reverse

from runs.models import Matrix, Run
from runs.plans.files.plan_export import export_plan
from runs.plans.files.plan_file import read_plan
from runs.plans.forms.rows import Override, get_overrides
from runs.tests.planning_world import make_form, make_parts

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def parts(team):
    return make_parts(team)


def make_row(parts, value="5000", name="recordcount"):
    return {
        "override_database": [str(parts["redis"].pk), ""], "override_workload": ["", ""],
        "override_name": [name, "recordcount"], "override_value": [value, ""],
    }  # fmt: skip


def list_records(matrix):
    runs = Run.objects.filter(matrix=matrix, phase="measure")
    return {run.system: run.spec["dataset"]["records"] for run in runs}


def test_builder_changes_the_records_of_one_database(client_in, parts):
    answer = client_in.post(reverse("matrix-add"), make_form(parts, submit="1", **make_row(parts)))

    assert answer.status_code == 302
    records = list_records(Matrix.objects.get())
    assert records["redis"] == 5000 != records["postgresql"]


def test_copy_of_a_plan_begins_with_its_rows(client_in, parts):
    client_in.post(reverse("matrix-add"), make_form(parts, submit="1", **make_row(parts)))
    matrix = Matrix.objects.get()

    page = client_in.get(reverse("matrix-add"), {"from": matrix.pk}).content.decode()

    assert 'name="override_value" value="5000"' in page
    assert [(row.name, row.value) for row in get_overrides(matrix.overrides)] == [("recordcount", "5000")]


def test_row_that_is_emptied_changes_nothing(client_in, parts):
    client_in.post(reverse("matrix-add"), make_form(parts, submit="1", **make_row(parts)))
    source = Matrix.objects.get()

    client_in.post(reverse("matrix-add"), make_form(parts, submit="1", **{"from": str(source.pk)}))

    assert Matrix.objects.exclude(pk=source.pk).get().overrides == []


def test_rules_that_no_row_can_say_stay(client_in, parts):
    client_in.post(reverse("matrix-add"), make_form(parts, submit="1"))
    source = Matrix.objects.get()
    rule = {"match": {"database": str(parts["redis"].pk)}, "set": {"rungs": [4]}}
    Matrix.objects.filter(pk=source.pk).update(overrides=[rule])

    client_in.post(reverse("matrix-add"), make_form(parts, submit="1", **{"from": str(source.pk)}, **make_row(parts)))

    assert Matrix.objects.exclude(pk=source.pk).get().overrides[0] == rule


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("recordcount", "0", "recordcount"), ("recordcnt", "5", "Did you mean"), ("recordcount", "many", "whole number")],
)
def test_builder_says_what_is_wrong_with_a_row(client_in, parts, name, value, message):
    page = client_in.post(reverse("matrix-add"), make_form(parts, submit="1", **make_row(parts, value, name)))

    assert page.status_code == 422 and message in page.content.decode()
    assert not Matrix.objects.exists()


def test_row_names_what_it_changes():
    assert "Choose the database or the workload" in Override(value="5").find_problem((), ())
    assert "no longer there" in Override("gone", "", "recordcount", "5").find_problem(("here",), ())


def test_one_database_has_operations_of_its_own(client_in, parts):
    target = {"ladder": "target", "rungs": "100", "threads": "4", "min_measure_s": "30"}
    row = make_row(parts, "6000", "min_operations")

    answer = client_in.post(reverse("matrix-add"), make_form(parts, submit="1", **target, **row))

    assert answer.status_code == 302
    matrix = Matrix.objects.get()
    windows = {run.system: run.spec["window"] for run in Run.objects.filter(matrix=matrix, phase="measure")}
    assert (windows["redis"]["min_measure_s"], windows["redis"]["min_operations"]) == (60, 6000)
    assert (windows["postgresql"]["min_measure_s"], windows["postgresql"]["min_operations"]) == (30, 0)
    assert read_plan(export_plan(matrix)).overrides[0].set.min_operations == 6000


def test_operations_of_a_database_need_targets(client_in, parts):
    page = client_in.post(
        reverse("matrix-add"), make_form(parts, submit="1", **make_row(parts, "6000", "min_operations"))
    )

    assert page.status_code == 422 and "how long threads take" in page.content.decode()

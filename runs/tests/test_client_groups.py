"""Client groups in plans: what is refused, and that builder, REST, plan file and runs keep them."""

import json
import subprocess

import pytest
from django.urls import reverse

from runs.models import Database, Matrix, Run
from runs.plans import preview, start_trial, stored_plan, submit
from runs.plans.files.plan import PlanRefused
from runs.plans.files.plan_export import build_plan_file, export_plan
from runs.plans.files.plan_file import read_plan
from runs.plans.files.plan_import import import_plan
from runs.plans.files.script import repeat_script
from runs.plans.forms.rows import Row, get_rows
from runs.plans.groups import describe_plan_group
from runs.plans.plan_spec import PlanGroup
from runs.queue.spec import build_group_spec
from runs.results.denormalised_columns import config_key
from runs.tests.factories import make_load_generator, make_workload
from runs.tests.planning_world import a_matrix, chosen_for, list_refusals
from runs.tests.test_plan_files_over_rest import ROOT, program
from runs.ycsb.command import number_inserting
from runs.ycsb.properties import check_workload

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PLAIN = {"overrides": [], "exclusions": [], "bracket": False, "min_measure_s": 60, "max_measure_s": 60}
SCANS = {
    "recordcount": "1000", "readproportion": "0", "updateproportion": "0", "scanproportion": "1",
    "insertproportion": "0", "requestdistribution": "uniform",
}  # fmt: skip


def group(name="scans", workload="Scans", threads=4, **fields):
    return PlanGroup(name=name, workload=workload, threads=threads, **fields).model_dump()


def with_groups(team, groups, properties=None, **fields) -> Matrix:
    """A plan with a group's workload over the same records as those of its ladder."""
    matrix = a_matrix(team, **{**PLAIN, "groups": groups, **fields})
    own = matrix.workloads.all()[0].properties
    properties = {**own, **(properties or SCANS), "recordcount": own["recordcount"]}
    make_workload(team=team, name="Scans", properties=check_workload(properties))
    return matrix


def test_plan_with_a_group_can_be_run(team):
    matrix = with_groups(team, [group()])
    assert preview(stored_plan(matrix)).problems == ()


@pytest.mark.parametrize(
    ("groups", "part"),
    [
        ([group(workload="Nothing")], "Group scans: there is no workload “Nothing”"),
        ([group(), group()], "Two groups are named scans"),
        ([group(threads=1)], "1 thread cannot be split over 2 clients: use at least 2"),
        ([group(target_ops_s=1)], "its target cannot be split over 2 clients"),
        ([group(target_ops_s=900_000)], "is more than 2 clients can offer"),
        ([group(arrivals="poisson")], "operations that do not wait need a rate"),
        ([group(target_ops_s=50, profile=[[0, 50], [9, 100]])], "a profile needs operations that do not wait"),
        (
            [group(target_ops_s=40_000, arrivals="poisson", profile=[[0, 50], [9, 300]])],
            "120k\u202fops/s is more than 2 clients can offer",
        ),
        ([group(length_s=10)], "give its start with its length"),
        ([group(start_s=55, length_s=10)], "it ends at second 65, after the window of 1"),
        ([group(start_s=60)], "it ends at second 61"),
        ([group(generators=2)], "The groups have 2 load generators for themselves, the plan has 2"),
        ([group(f"g{number}") for number in range(8)], "at most 7 groups beside its ladder"),
    ],
)
def test_refuses_groups_that_cannot_stand(team, groups, part):
    matrix = with_groups(team, groups)
    matrix.load_generators.update(slots=16)
    assert any(part in message for message in list_refusals(matrix, "groups")), list_refusals(matrix, "groups")


def test_refuses_more_clients_than_slots(team):
    matrix = with_groups(team, [group(), group("others")])
    matrix.load_generators.update(slots=2)
    assert any("restart it with BENCHSITE_GENERATOR_SLOTS=3" in message for message in list_refusals(matrix, "groups"))
    matrix.load_generators.update(slots=3)
    assert list_refusals(matrix, "groups") == []


@pytest.mark.parametrize(
    ("properties", "part"),
    [
        ({**SCANS, "fieldcount": "3"}, "is over other records than"),
        ({**SCANS, "window.catch_up_ms": "5"}, "which needs a target"),
    ],
)
def test_refuses_workloads_of_groups(team, properties, part):
    assert any(part in message for message in list_refusals(with_groups(team, [group()], properties), "groups"))


INSERTS = {"insertproportion": "0.1", "readproportion": "0.9"}


def test_no_two_clients_insert_the_same_keys(team):
    assert number_inserting([(INSERTS, 2), ({}, 3), (INSERTS, 1)]) == [(0, 3), (2, 3), (2, 3)]
    matrix = with_groups(team, [group()], INSERTS, rungs=[4, 8], repeats=1)
    assert list_refusals(matrix, "groups") == []
    submit(matrix, None)
    phases = [run.phase for run in Run.objects.filter(matrix=matrix, sweep__mode="on").order_by("position")]
    assert phases == ["load", "measure"] * (len(phases) // 2)  # Each has the records as they were loaded.
    script = repeat_script(export_plan(matrix))
    assert script.count("client.count=2\n") == script.count("client.number=0\n") + script.count("client.number=1\n")


def test_groups_of_stock_clients_insert_nothing(team):
    matrix = with_groups(team, [group()], INSERTS)
    Database.objects.filter(entries__matrix=matrix).update(flavour="ycsb", client="ycsb-0.17.0/redis")
    assert "with Scans it would insert the same keys as others" in " ".join(list_refusals(matrix, "groups"))


def test_measured_runs_have_the_groups_and_loads_have_none(team):
    matrix = with_groups(team, [group(start_s=10, length_s=20, measured=True, target_ops_s=50)])
    submit(matrix, None)
    runs = list(Run.objects.filter(matrix=matrix))
    assert {"groups" in run.spec["load"] for run in runs if run.phase == "load"} == {False}
    run = next(run for run in runs if run.phase == "measure")
    (stored,) = run.spec["load"]["groups"]
    assert (stored["name"], stored["load"]["threads"], stored["load"]["target_ops_s"]) == ("scans", 4, 50)
    assert stored["workload"]["properties"]["scanproportion"] == "1.0"
    assert stored["generators"] == run.spec["generators"]
    assert " + scans " in run.name and run.sweep.name.endswith(" + scans")
    own = build_group_spec(run.spec, stored)
    assert (own["window"]["warmup_s"], own["window"]["min_measure_s"]) == (0, 20)
    assert own["workload"]["name"] == "Scans" and "groups" not in own["load"]
    alone = {**run.spec, "load": {name: value for name, value in run.spec["load"].items() if name != "groups"}}
    assert config_key(run.spec) != config_key(alone)


def test_own_generators_are_leased_and_taken_from_the_end(team):
    matrix = with_groups(team, [group(generators=1), group("more")])
    matrix.load_generators.add(
        make_load_generator(name="zzz", bindings=matrix.load_generators.first().bindings, slots=4)
    )
    matrix.load_generators.update(slots=4)
    submit(matrix, None)
    run = Run.objects.filter(matrix=matrix, phase="measure").first()
    scans, more = run.spec["load"]["groups"]
    assert [generator["name"] for generator in scans["generators"]] == ["zzz"]
    assert more["generators"] == run.spec["generators"] and len(run.spec["generators"]) == 2
    assert run.load_generators.count() == 3


def test_trial_has_groups_over_its_own_records(team, user):
    trial = start_trial(with_groups(team, [group(start_s=30, length_s=20)]), user)
    run = trial.runs.filter(phase="measure").first()
    (stored,) = run.spec["load"]["groups"]
    assert (stored["start_s"], stored["length_s"]) == (None, None)
    for name in ("recordcount", "table"):
        assert stored["workload"]["properties"][name] == run.spec["workload"]["properties"][name]


def test_plan_file_keeps_groups(team, user):
    rate = {"patience_ms": "never", "target_ops_s": 50, "arrivals": "poisson", "profile": [[0.0, 50.0], [9.0, 150.0]]}
    matrix = with_groups(team, [group(start_s=2, **rate)])
    text = export_plan(matrix)
    file = read_plan(text)
    assert file == build_plan_file(matrix) and list(file.group_workloads) == ["Scans"]
    again = import_plan(team, file, chosen_for(file, matrix), user)
    planned = stored_plan(again)
    assert "along a profile, from second 2" in describe_plan_group(planned, planned.groups[0])
    assert again.groups == matrix.groups and export_plan(again) == text
    assert preview(stored_plan(again)).problems == preview(stored_plan(matrix)).problems
    with pytest.raises(PlanRefused, match="Nothing"):
        read_plan(text.replace('workload = "Scans"', 'workload = "Nothing"'))
    with pytest.raises(PlanRefused, match="patience"):
        read_plan(text.replace('patience_ms = "never"', "patience_ms = 0.0"))


def test_script_starts_groups_beside_the_ladder(team):
    groups = [group(target_ops_s=50, arrivals="poisson", start_s=10, length_s=20), group("Night shift")]
    script = repeat_script(export_plan(with_groups(team, groups, rungs=[4], repeats=1, warmup_s=5)))
    assert script.count("#group=scans\n#start=15\n") == 2 * 6 == script.count("#group=night-shift\n#start=0\n")
    part = script.partition("#group=scans")[2].partition("'")[0]
    assert "maxexecutiontime=21" in part and "scanproportion=1.0" in part and "open.rate=25.0" in part
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_imported_group_keeps_its_workload_under_another_name(team, user):
    matrix = with_groups(team, [group()])
    file = read_plan(export_plan(matrix))
    scans = team.workloads.get(name="Scans")
    scans.properties = {**scans.properties, "requestdistribution": "zipfian"}
    scans.save()
    again = import_plan(team, file, chosen_for(file, matrix), user)
    assert again.groups[0]["workload"] == "Scans (2)"


def test_programs_plan_groups(team, user):
    source, client = with_groups(team, []), program(team, user)
    entry = source.entries.first()
    body = {
        "entries": [{"database": entry.database.name, "mode": entry.mode}],
        "workloads": [source.workloads.first().name],
        "rungs": [4],
        "measure_s": 60,
        "groups": [{"name": "scans", "workload": "Scans", "threads": 2, "target_ops_s": 5}],
    }

    def send(**changes):
        return client.post(ROOT, json.dumps(body | changes), content_type="application/json")

    answer = send()
    assert answer.status_code == 201, answer.content
    assert answer.json()["groups"] == [group(threads=2, target_ops_s=5)]
    for changes, part in [
        ({"threads": 0}, "1 to 100,000"),
        ({"patience_ms": 0}, "0.001"),
        ({"thread": 3}, "thread"),
        ({"workload": None}, "string"),
    ]:
        answer = send(groups=[{**body["groups"][0], **changes}])
        assert answer.status_code == 400 and part in answer.content.decode(), answer.content


def test_rows_of_the_builder_are_groups():
    cells = {
        "name": "scans",
        "workload": "Scans",
        "threads": "4",
        "patience_ms": "never",
        "profile": "0 50; 9.5 150",
        "measured": "true",
        "start_s": "2",
    }
    read = Row(PlanGroup, cells).read()
    points = [[0, 50], [9.5, 150]]
    assert read == PlanGroup.model_validate(group(patience_ms="never", profile=points, measured=True, start_s=2))
    (row,) = get_rows(PlanGroup, [read.model_dump()])
    assert {name: text for name, text in row.cells.items() if text} == cells


@pytest.mark.parametrize(
    ("cells", "error"),
    [
        ({}, "Give the number of threads, or clear the row."),
        ({"threads": "two"}, "The number of threads “two” cannot be read"),
        ({"threads": "2", "patience_ms": "0"}, "The patience “0” must be"),
        ({"threads": "2", "profile": "0 50; 60"}, "Line 2 of the profile, “60”, is no point"),
        ({"threads": "2", "profile": "9 50; 3 60"}, "The profile has a point 2 at second 3"),
        ({"threads": "2", "profile": "second,ops/s; 0 50"}, "The profile has recorded rates"),
    ],
)
def test_row_of_a_group_says_what_is_wrong(cells, error):
    row = Row(PlanGroup, {"name": "scans", "workload": "Scans", **cells})
    assert row.read() is None
    assert error in row.error


def test_builder_keeps_groups_of_a_plan_it_copies(team, user, client):
    matrix = with_groups(team, [group(target_ops_s=5, measured=True)])
    client.force_login(user)
    page = client.get(reverse("matrix-add"), {"from": matrix.pk}).content.decode()
    assert 'name="group_name" value="scans"' in page and '<option value="Scans" selected>' in page
    assert '<option value="true" selected>' in page

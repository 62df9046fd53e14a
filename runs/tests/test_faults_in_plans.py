"""Planned faults in plans: what is refused, and that builder, REST, plan file and runs keep them."""

import json

import pytest
from django.urls import reverse

from runs.models import Matrix, Run
from runs.plans import preview, start_trial, stored_plan, submit
from runs.plans.faults import KINDS, fault_sentence, list_problems
from runs.plans.files.plan import PlanRefused
from runs.plans.files.plan_export import build_plan_file, export_plan
from runs.plans.files.plan_file import read_plan
from runs.plans.files.plan_import import import_plan
from runs.plans.files.script import repeat_script
from runs.plans.forms.rows import Row, get_rows
from runs.plans.plan_spec import PlanFault
from runs.queue.lifecycle import run_again
from runs.results import annotations
from runs.results.annotations import AnnotationRefused
from runs.tests.factories import make_cluster, make_database, make_matrix
from runs.tests.pages import get_text
from runs.tests.planning_world import a_matrix, chosen_for, list_refusals
from runs.tests.test_plan_files_over_rest import ROOT, program

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def fault(kind="pause", at_s=10.0, duration_s=5.0, node=None, value=None):
    return {"kind": kind, "at_s": at_s, "duration_s": duration_s, "node": node, "value": value}


PLAIN = {"overrides": [], "exclusions": [], "bracket": False, "min_measure_s": 60, "max_measure_s": 60}
FAULTS = [
    fault("crash", 30.0, 2.0), fault(), fault("network_cut", 38.0, 2.0, 1), fault("cpu_throttle", 45.0, 5.0, 1, 50.0)
]  # fmt: skip


def with_faults(team, faults=FAULTS, **fields) -> Matrix:
    return a_matrix(team, **{**PLAIN, "faults": faults, **fields})


@pytest.mark.parametrize(
    ("faults", "part"),
    [
        ([fault("flood")], "no kind “flood”"),
        ([fault(at_s=2.0)], "begin at second 3 or later"),
        ([fault(at_s=58.0)], "ends at second 63, after the window of 60 s"),
        ([fault(duration_s=0.0)], "a pause lasts at least 0.1 s"),
        ([fault(node=0)], "numbered from 1"),
        ([fault("slow_disk")], "give its value, 1 to 60,000 ms for each fsync"),
        ([fault("cpu_throttle", value=2.0)], "give its value, 5 to 10,000 % of a core"),
        ([fault(value=3.0)], "a pause has no value"),
        ([fault(), fault("crash", at_s=15.5)], "overlap: begin the second at second 16"),
        ([fault(at_s=3.0 + n, duration_s=0.1) for n in range(21)], "at most 20 faults"),
    ],
)
def test_refuses_faults_that_cannot_be_applied(faults, part):
    assert any(part in problem for problem in list_problems(faults, 60))


def test_faults_may_touch_the_end_of_the_window():
    assert list(list_problems([fault("crash", 3.0, 0.0), fault(at_s=4.0, duration_s=56.0)], 60)) == []


def test_sentence_names_node_and_value():
    assert fault_sentence(FAULTS[3]) == "CPU throttle of node 1 at second 45 for 5 s, 50 % of a core"


def test_every_measured_run_has_the_faults_and_no_load_has(team):
    matrix = with_faults(team)
    (warning,) = [text for text in preview(stored_plan(matrix)).warnings if "faults" in text]
    assert "no ceiling, comparison or history" in warning and "process crash of all nodes at second 30" in warning
    submit(matrix, None)
    for run in Run.objects.filter(matrix=matrix):
        if run.phase == "load":
            assert "faults" not in run.spec and run.config_key and not run.excluded_reason
        else:
            assert run.spec["faults"] == sorted(FAULTS, key=lambda planned: planned["at_s"])
            assert not run.counts and run.config_key == ""


def test_run_with_faults_stays_excluded(team, user):
    submit(with_faults(team), None)
    run = Run.objects.filter(matrix__team=team, phase="measure").first()
    assert run_again(run, user).excluded_reason == run.excluded_reason
    with pytest.raises(AnnotationRefused, match="run with faults"):
        annotations.include([run], user)


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"bracket": True}, "has no bracket"),
        ({"repeats": 3, "looks": [3, 5]}, "has no looks"),
    ],
)
def test_refuses_plans_that_measure_a_throughput(team, fields, part):
    assert any(part in text for text in list_refusals(with_faults(team, **fields), "faults"))


def test_plans_without_faults_may_have_them(team):
    assert list_refusals(with_faults(team, [], bracket=True, repeats=3, looks=[3, 5]), "faults") == []


def test_refuses_searches(team):
    search = {"width": 0.1, "max_trials": 3, "max_error_rate": 0.001, "slo": None}
    assert any("has no search" in text for text in list_refusals(with_faults(team, search=search), "faults"))


def set_provisioner(kind, matrix):
    database = matrix.entries.first().database
    database.cluster.provisioner = kind
    database.cluster.save()
    return matrix


def test_refuses_servers_that_benchsite_does_not_start(team):
    texts = list_refusals(set_provisioner("external", with_faults(team)), "faults")
    part = "Choose a database on a process or docker cluster, or leave the faults out."
    assert texts and all(part in text for text in texts)


@pytest.mark.parametrize(("planned", "is_refused"), [(fault("slow_disk", value=100.0), True), (fault("pause"), False)])
def test_refuses_containers_what_they_cannot_have(team, planned, is_refused):
    texts = list_refusals(set_provisioner("docker", with_faults(team, faults=[planned])), "faults")
    assert any("containers have no such fault" in text for text in texts) == bool(texts) == is_refused


def test_refuses_faults_of_missing_nodes_and_of_primaries(team):
    """A primary with replicas."""
    database = make_database(team=team, cluster=make_cluster(team=team), settings={"nodes": "2"})
    for faults, part in (
        ([fault(node=3)], "it has 2 nodes"),
        ([fault("crash", node=1)], "Choose all nodes, or a replica"),
        ([fault("slow_disk", value=100.0)], "one node only"),
    ):
        matrix = make_matrix(team=team, entries=[(database, "always")], **{**PLAIN, "faults": faults})
        assert any(part in text for text in list_refusals(matrix, "faults")), part
    for faults in ([fault(node=1)], [fault("crash", node=2)], [fault("crash")], [fault("network_cut", node=2)]):
        matrix = make_matrix(team=team, entries=[(database, "always")], **{**PLAIN, "faults": faults})
        assert list_refusals(matrix, "faults") == []


def test_refuses_what_the_machine_cannot_apply(team):
    matrix = with_faults(team)
    machine = matrix.entries.first().database.cluster.nodes.first().machine
    machine.facts["cpu_throttle"] = {"value": "No group can be made.", "how": "observed"}
    machine.save()
    assert any(text.endswith("No group can be made.") for text in list_refusals(matrix, "faults"))
    machine.facts["cpu_throttle"] = {"value": "available", "how": "observed"}
    machine.save()
    assert list_refusals(Matrix.objects.get(pk=matrix.pk), "faults") == []


def test_trial_run_has_no_faults(team, user):
    trial = start_trial(with_faults(team), user)
    assert trial.faults == [] and not any("faults" in run.spec for run in trial.runs.all())


def test_plan_file_keeps_faults(team, user):
    matrix = with_faults(team)
    text = export_plan(matrix)
    file = read_plan(text)
    assert file == build_plan_file(matrix) and file.procedure["faults"] == FAULTS
    again = import_plan(team, file, chosen_for(file, matrix), user)
    assert again.faults == FAULTS and export_plan(again) == text
    assert "faults" not in export_plan(with_faults(team, [], suffix=" 2"))
    with pytest.raises(PlanRefused, match="after the window"):
        read_plan(text.replace("at_s = 45.0", "at_s = 59.0"))
    with pytest.raises(PlanRefused, match="must be one of pause, crash"):
        read_plan(text.replace('kind = "pause"', 'kind = "flood"'))
    with pytest.raises(PlanRefused, match="applies no faults"):
        repeat_script(text)


def test_programs_plan_faults(team, user):
    source, client = a_matrix(team, **PLAIN), program(team, user)
    entry = source.entries.first()
    body = {
        "entries": [{"database": entry.database.name, "mode": entry.mode}],
        "workloads": [source.workloads.first().name],
        "rungs": [4],
        "measure_s": 60,
        "faults": [
            {"kind": "pause", "at_s": 10, "duration_s": 2},
            {"kind": "crash", "at_s": 20, "duration_s": 0},
            {"kind": "network_cut", "at_s": 30, "duration_s": 4, "node": 1},
        ],
    }

    def send(**changes):
        return client.post(ROOT, json.dumps(body | changes), content_type="application/json")

    answer = send()
    assert answer.status_code == 201, answer.content
    matrix = Matrix.objects.get(pk=answer.json()["id"])
    expected = [fault(duration_s=2.0), fault("crash", 20.0, 0.0), fault("network_cut", 30.0, 4.0, 1)]
    assert matrix.faults == answer.json()["faults"] == expected
    assert not matrix.stops_early  # its runs show no saturation
    late = client.post(
        f"{ROOT}?dry_run=1",
        json.dumps(body | {"faults": [{"kind": "pause", "at_s": 59, "duration_s": 2}]}),
        content_type="application/json",
    ).json()
    assert not late["can_be_submitted"] and late["problems"][0]["pointer"] == "#/faults"
    assert send(faults=[{"kind": "flood", "at_s": 5, "duration_s": 1}]).status_code == 400


def test_builder_shows_rows_and_submits_them(team, client_in):
    matrix = with_faults(team)
    client = client_in
    form = get_text(client.get(f"{reverse('matrix-add')}?from={matrix.pk}"))
    assert form.count('name="fault_kind"') == len(FAULTS) + 1
    assert all(kind.name in form for kind in KINDS.values())
    entry = matrix.entries.first()
    sent = {
        "purpose": "smoke", "entries": [f"{entry.database_id}:{entry.mode}"],
        "workloads": [str(matrix.workloads.first().pk)],
        "load_generators": [str(generator.pk) for generator in matrix.load_generators.all()],
        "processes_per_generator": "1", "ladder": "threads", "rungs": "4", "repeats": "1", "order": "as_listed",
        "seed": "1", "settle_s": "0", "warmup_s": "2", "min_measure_s": "60", "load_policy": "load",
        "load_threads": "8", "between_rungs": "keep", "min_operations": "0", "priority": "0",
        "submit": "1", "fault_kind": ["pause", "network_cut"],
        "fault_at_s": ["5", "20"], "fault_duration_s": ["2.5", "4"], "fault_node": ["", "1"], "fault_value": ["", ""],
    }  # fmt: skip
    assert client.post(reverse("matrix-add"), sent).status_code == 302
    assert Matrix.objects.latest("created_at").faults == [
        fault(at_s=5.0, duration_s=2.5), fault("network_cut", 20.0, 4.0, 1)
    ]  # fmt: skip
    wrong = client.post(reverse("matrix-add"), sent | {"fault_at_s": ["soon", "20"]})
    assert wrong.status_code == 422 and "“soon” cannot be read" in wrong.content.decode()
    late = client.post(reverse("matrix-add"), sent | {"fault_at_s": ["59", "20"]})
    assert late.status_code == 422 and "after the window of 60 s" in late.content.decode()


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        (("pause", "", "2"), "Give the begin, or clear the row."),
        (("", "5", "2"), "Give the kind of fault, or clear the row."),
        (("flood", "5", "2"), "The kind of fault “flood” is none: choose one from the list."),
        (("pause", "soon", "2"), "The begin “soon” cannot be read: write a number as in 5 or 0.5."),
        (("pause", "nan", "2"), "The begin “nan” cannot be read: write a number as in 5 or 0.5."),
        (("pause", "5", "700000"), "The duration “700000” must be a number from 0 to 604,800."),
        (("pause", "5", "2", "first"), "The node “first” is none: write its number, or leave it empty for all."),
    ],
)
def test_row_says_what_is_wrong(texts, error):
    row = Row(PlanFault, dict(zip(PlanFault.model_fields, texts, strict=False)))
    assert row.read() is None
    assert row.error == error


def test_rows_are_the_faults_again():
    assert [row.read().model_dump() for row in get_rows(PlanFault, FAULTS)] == FAULTS

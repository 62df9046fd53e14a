"""A sweep that was measured elsewhere gets two more rungs as the draft of a matrix."""

import pytest
from django.urls import reverse

from benchsite.tests.asking import make_program, problem
from runs.models import Matrix, Run, Sweep, Workload
from runs.plans.forms.matrices import MatrixForm
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_run,
    make_sweep,
    make_team,
)
from runs.tests.importing import bring, import_folder, save, sent, summary
from runs.tests.pages import get_text, sign_in_viewer

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.usefixtures("import_folder")]


@pytest.fixture
def uploaded(client_in):
    """An uploaded sweep that still grows at 16 threads, the last of its rungs."""
    sweep = ""
    for threads, reads in ((4, 30_000), (8, 50_000), (16, 70_000)):
        upload = bring(client_in, sent(f"{threads}.txt", summary(reads=reads)))
        run = save(client_in, upload, sweep=sweep, tags="pr-7", **{"run-0-threads": str(threads)}).runs.get()
        sweep = str(run.sweep_id)
    return run.sweep


def make_redis(team):
    cluster = make_cluster(team=team, machines=[make_machine()])
    return make_database(team=team, cluster=cluster, name="Our Redis")


def builder_address(sweep):
    return f"{reverse('matrix-add')}?extends={sweep.pk}"


def test_page_begins_a_plan_of_the_next_rungs(client_in, team, uploaded):
    database, generator = make_redis(team), make_load_generator(bindings={"redis": "digest"})
    assert f'href="{builder_address(uploaded)}"' in client_in.get(reverse("sweep", args=[uploaded.pk])).content.decode()
    page = get_text(client_in.get(builder_address(uploaded)))
    assert "The next loads to measure are 32 and 64 threads." in page
    assert "Not known here" not in page
    draft = MatrixForm(team=team, extends=uploaded).as_posted()
    assert draft.getlist("entries") == [f"{database.pk}:always"]
    sent_form = {**dict(draft.lists()), "extends": str(uploaded.pk), "submit": "1"}
    assert client_in.post(reverse("matrix-add"), sent_form).status_code == 302
    matrix = Matrix.objects.get()
    assert (matrix.rungs, matrix.ladder, matrix.repeats, matrix.tags) == ([32, 64], "threads", 1, ["pr-7"])
    assert list(matrix.load_generators.all()) == [generator]
    workload = Workload.objects.get()
    assert workload.name == "YCSB A" and workload.properties["recordcount"] == "100000"
    sweep = matrix.sweeps.get(phase="measure")
    assert sorted(sweep.runs.values_list("threads", flat=True)) == [32, 64]
    assert (sweep.workload, sweep.mode, sweep.purpose) == (workload, uploaded.mode, uploaded.purpose)
    again = MatrixForm(team=team, extends=uploaded)
    assert again.proposed == [] and again["workloads"].value() == [str(workload.pk)]


def test_draft_states_what_is_not_known_here(client_in, uploaded):
    page = get_text(client_in.get(builder_address(uploaded)))
    assert "No database of Redis is described: add one, then open this again." in page
    assert f'href="{reverse("database-add")}"' in client_in.get(builder_address(uploaded)).content.decode()
    Sweep.objects.filter(pk=uploaded.pk).update(mode="unknown")
    assert "Its durability mode is not known: choose one." in get_text(client_in.get(builder_address(uploaded)))
    Sweep.objects.filter(pk=uploaded.pk).update(system="other")
    assert "The catalog does not have its system" in get_text(client_in.get(builder_address(uploaded)))


def test_incomplete_workload_is_chosen_by_a_person(client_in, team):
    upload = bring(client_in, sent("a.txt", summary()))
    sweep = save(client_in, upload, properties="", records="").runs.get().sweep
    assert "Its workload is not fully stated" in get_text(client_in.get(builder_address(sweep)))
    assert MatrixForm(team=team, extends=sweep)["workloads"].value() == []


def uploaded_sweep(team, targets=(), **matrix) -> Sweep:
    sweep = make_sweep(team=team, matrix=make_matrix(team=team, **matrix))
    for target in targets:
        make_run(sweep, source="uploaded", threads=24, target_ops_s=target, throughput=float(target))
    Run.objects.filter(sweep=sweep).update(matrix=None)
    sweep.matrix = None
    sweep.save()
    return sweep


def test_uploaded_targets_keep_threads_and_window(team):
    sweep = uploaded_sweep(team, targets=(1000, 2000), ladder="target", threads=24)
    values = MatrixForm(team=team, extends=sweep).initial
    assert (values["ladder"], values["rungs"], values["threads"]) == ("target", [4000, 8000], 24)
    assert (values["warmup_s"], values["min_measure_s"]) == (2, 10)


def test_api_refuses_with_the_rungs_to_plan(team, uploaded):
    refused = problem(make_program(team).ask("POST", f"/sweeps/{uploaded.pk}/extend"), 409, "conflict")
    assert "next rungs (32, 64 threads)" in refused["detail"]


def test_nothing_measured_is_stated(client_in, team):
    sweep = uploaded_sweep(team)
    assert "No run of this sweep has succeeded" in get_text(client_in.get(builder_address(sweep)))


def test_sweeps_of_others_cannot_be_planned_from(client_in, team, uploaded):
    other = make_sweep(team=make_team())
    assert client_in.get(builder_address(other)).status_code == 404
    assert client_in.get(f"{reverse('matrix-add')}?extends=no").status_code == 404
    assert "Plan two more rungs" not in get_text(sign_in_viewer(team).get(reverse("sweep", args=[uploaded.pk])))

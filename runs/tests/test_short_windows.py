"""A window that V05 rejects is foreseen, is not measured again, and gives way to a longer one."""

import json

import pytest
from django.urls import reverse

from benchsite.accounts import tokens
from benchsite.accounts.models import Scope
from benchsite.core.formatting import duration
from runs.checks.team_thresholds import replace_threshold
from runs.models import Matrix, Run
from runs.plans import preview, stored_plan, submit
from runs.plans.files.plan_export import export_plan
from runs.plans.files.plan_file import read_plan
from runs.plans.files.plan_fit import misfits
from runs.queue import lifecycle
from runs.tests.factories import finding, make_run, make_sweep
from runs.tests.pages import get_text
from runs.tests.planning_world import a_matrix, chosen_for, make_form, make_parts

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
V05 = finding("V05", "reject", title="Duration", measured="10 s", threshold="30 s")
MIN_WINDOW = duration(30)
V25 = finding("V25", "reject", title="Interference", measured="1 of 2 cores", threshold="0.5 cores")


@pytest.fixture
def short(team):
    """A rejected run of 10 s in a submitted plan of two modes, whose other runs wait."""
    matrix = a_matrix(team, purpose="measured", bracket=False, exclusions=[], overrides=[])
    submit(matrix, None)
    run = matrix.runs.filter(phase="measure").first()
    return make_run(run.sweep, repeat=9, verdict="reject", findings=[V05])


def plan(**fields):
    return preview(stored_plan(a_matrix(max_measure_s=fields.get("min_measure_s", 10), **fields)))


@pytest.mark.parametrize(
    ("purpose", "seconds", "is_rejected"),
    [("measured", 29, True), ("measured", 30, False), ("soak", 10, True), ("tuning", 10, False), ("demo", 1, False)],
)
def test_preview_foresees_what_the_purpose_rejects(purpose, seconds, is_rejected):
    rejections = plan(purpose=purpose, min_measure_s=seconds).rejections
    assert [(row.code, row.field, row.remedy) for row in rejections] == [("V05", "min_measure_s", 30)] * is_rejected


def test_threshold_of_the_team_decides(team, user):
    for name in ("duration_warn_s", "duration_reject_s"):
        replace_threshold(team, user, name, purpose="measured", value=200.0, reason="long checkpoints")
    (rejection,) = plan(team=team, purpose="measured", min_measure_s=100).rejections
    assert rejection.remedy == 200 and f"it needs {duration(200)}" in rejection.message


def test_rungs_that_last_longer_count():
    fields = {"purpose": "measured", "ladder": "target", "threads": 8, "exclusions": [], "overrides": []}
    (rejection,) = plan(rungs=[100, 1000], min_operations=6000, **fields).rejections
    assert "will reject 12 of 24 runs" in rejection.message
    assert plan(rungs=[100], min_operations=6000, **fields).rejections == ()


def test_builder_offers_the_shortest_window(client_in, team):
    form = make_form(make_parts(team), purpose="measured")
    page = get_text(client_in.post(reverse("matrix-preview"), form))
    assert f"The check V05 will reject every run: {duration(10)} are measured, and it needs {MIN_WINDOW}." in page
    assert 'name="set-min_measure_s" value="30"' in page

    page = get_text(client_in.post(reverse("matrix-add"), {**form, "set-min_measure_s": "30"}))
    assert 'name="min_measure_s" value="30"' in page and "will reject" not in page
    assert not Matrix.objects.exists()


def test_program_and_plan_file_hear_the_same(client, team, user):
    matrix = a_matrix(team, purpose="measured")
    token = tokens.make(team, user, name="CI", scopes=[Scope.MATRICES_RUN])
    body = {
        "entries": [{"database": "Redis 7", "mode": "always"}], "workloads": ["Workload A"], "rungs": [2],
        "measure_s": 10,
    }  # fmt: skip
    answer = client.post(
        "/api/v1/matrices?dry_run=1", json.dumps(body), content_type="application/json",
        headers={"Authorization": f"Bearer {token}"},
    ).json()  # fmt: skip
    (rejection,) = answer["rejections"]
    assert answer["can_be_submitted"] and (rejection["pointer"], rejection["code"]) == ("#/measure_s", "V05")

    file = read_plan(export_plan(matrix))
    notes = [misfit for misfit in misfits(file, chosen_for(file, matrix)) if misfit.code == "V05"]
    assert [note.tone for note in notes] == ["note"]


def test_page_offers_a_longer_window_in_one_click(client_in, short, user):
    lifecycle.request_cancel_matrix(short.matrix, user)
    page = get_text(client_in.get(reverse("matrix", args=[short.matrix_id])))
    assert "V05 rejects every window under" in page and reverse("matrix-lengthen", args=[short.matrix_id]) in page
    assert 'name="rejected"' not in page

    answer = client_in.post(reverse("matrix-lengthen", args=[short.matrix_id]))
    longer = Matrix.objects.exclude(pk=short.matrix_id).get()
    assert answer["Location"] == reverse("matrix", args=[longer.pk])
    assert (longer.min_measure_s, longer.max_measure_s, longer.name) == (30, 30, f"{short.matrix.name}, 30 s")
    assert longer.runs.filter(phase="measure").count() == short.matrix.runs.filter(phase="measure").count() - 1


def test_short_windows_are_not_measured_again(client_in, short, user):
    disturbed = make_run(make_sweep(team=short.team, purpose="demo"), verdict="reject", findings=[V25])
    assert lifecycle.resume(short.matrix, user, rejected=True) == 0

    page = get_text(client_in.get("/runs/?verdict=reject"))
    assert "Run the other again" in page and f"/matrices/{short.matrix_id}/#rejections" in page
    fields = {"action": "again", "all": "1", "back": "verdict=reject"}
    answer = get_text(client_in.post("/runs/bulk/", fields, follow=True))
    assert f"{disturbed.reruns.get().name}</a>" in answer and "1 run left out: V05 rejects" in answer
    assert Run.objects.filter(rerun_of=disturbed).exists() and not Run.objects.filter(rerun_of=short).exists()


def test_warns_of_repeating_a_short_plan(client_in, short):
    page = get_text(client_in.get(reverse("matrix-repeat", args=[short.matrix_id])))
    assert "The check V05 will reject every run" in page and f"/matrices/new/?from={short.matrix_id}" in page


def test_page_of_a_short_run_leads_to_its_matrix(client_in, short):
    matrix = f"{reverse('matrix', args=[short.matrix_id])}#rejections"
    page = get_text(client_in.get(reverse("run", args=[short.pk])))
    assert f'href="{matrix}"' in page and "Run again" not in page
    assert client_in.post(reverse("run-again", args=[short.pk]))["Location"] == matrix
    assert not Run.objects.filter(rerun_of=short).exists()

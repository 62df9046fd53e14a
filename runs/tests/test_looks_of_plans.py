"""Looks of a plan: what is refused, and the repeats that are added up to the next one."""

import pytest
from django.utils import timezone

from runs.models import Matrix, Run
from runs.plans import next_look, preview, stored_plan, submit
from runs.plans.files.plan import PlanRefused
from runs.plans.files.plan_export import build_plan_file, export_plan
from runs.plans.files.plan_file import read_plan
from runs.plans.plan import looks_problem
from runs.queue.lifecycle import add_repeats, resume, run_again
from runs.tests.factories import make_user
from runs.tests.pages import get_text
from runs.tests.planning_world import a_matrix
from runs.tests.test_plan_files_over_rest import ROOT, program

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PLAIN = {"overrides": [], "exclusions": [], "repeats": 3, "looks": [3, 5, 9]}


@pytest.fixture
def submitted(team):
    def make(**fields) -> Matrix:
        """Finished; the second workload has a data set of its own."""
        matrix = a_matrix(team, **{**PLAIN, **fields})
        workload = matrix.workloads.get(short_name="B")
        workload.properties["recordcount"] = "3000"
        workload.save()
        submit(matrix, None)
        now = timezone.now()
        Run.objects.filter(matrix=matrix).update(status="succeeded", started_at=now, finished_at=now)
        return matrix

    return make


def measured(matrix):
    return Run.objects.filter(matrix=matrix, phase="measure", is_bracket=False).order_by("position")


@pytest.mark.parametrize("looks", [[5, 3], [3, 3], [1, 3], [3, 51], [3, 4, 5, 6, 7, 8], [5, 9]])
def test_refuses_looks_that_no_verdict_can_follow(team, looks):
    matrix = a_matrix(team, **{**PLAIN, "looks": looks})
    (problem,) = preview(stored_plan(matrix)).problems
    assert problem.field == "looks" and problem.message == looks_problem(looks, 3)
    with pytest.raises(PlanRefused, match=r"(Looks are at most 5|No look is after 3 repeats)"):
        read_plan(export_plan(matrix))


def test_plan_file_keeps_looks(team):
    matrix = a_matrix(team, **PLAIN)
    assert read_plan(export_plan(matrix)) == build_plan_file(matrix)
    assert "looks" not in export_plan(a_matrix(team, suffix=" 2", **{**PLAIN, "looks": []}))


def test_next_look_passes_over_copies():
    assert next_look([3, 5, 9], [1, 2, 3, 10]) == 5
    assert next_look([3, 5, 9], range(1, 10)) is None and next_look([], [1, 2]) is None


@pytest.mark.parametrize("order", ["as_listed", "interleaved", "randomised"])
def test_added_repeats_follow_the_order_of_the_plan(submitted, order):
    matrix = submitted(order=order)
    first, cells = list(measured(matrix)), 3 * 2 * 3
    assert add_repeats(matrix, 5, make_user()) == 2 * cells
    added = list(measured(matrix).filter(status="queued"))
    numbers = {}
    for run in measured(matrix):
        numbers.setdefault((run.sweep_id, run.threads), []).append(run.repeat)
    assert len(numbers) == cells and all(sorted(repeats) == [1, 2, 3, 4, 5] for repeats in numbers.values())
    assert {run.rerun_of_id for run in added} == {None} and {run.is_bracket for run in added} == {False}
    by_cell = {(run.sweep_id, run.threads): run for run in first}
    assert all(run.spec == by_cell[run.sweep_id, run.threads].spec for run in added)
    places = [(run.sweep_id, run.threads) for run in added]
    if order == "as_listed":
        assert [run.repeat for run in added[:6]] == [4, 4, 4, 5, 5, 5] and len({run.sweep_id for run in added[:6]}) == 1
    else:
        assert [run.repeat for run in added] == [4] * 9 + [5] * 9 + [4] * 9 + [5] * 9
        planned = [(run.sweep_id, run.threads) for run in first if run.repeat == 1][:9]
        assert (places[:9] == planned == places[9:18]) == (order == "interleaved")


def test_repeats_are_added_once_and_up_to_the_last_look(submitted):
    matrix, user = submitted(rungs=[2]), make_user()
    assert add_repeats(matrix, 9, user) == 0
    assert add_repeats(matrix, 5, user) == 12 and add_repeats(matrix, 5, user) == 0
    assert add_repeats(matrix, 9, user) == 24 and add_repeats(matrix, 9, user) == 0
    assert add_repeats(submitted(looks=[], suffix=" 2", rungs=[2]), 5, user) == 0


def test_rungs_beyond_the_ceiling_get_no_repeats(submitted):
    matrix = submitted(rungs=[2, 4])
    skipped = {"status": "cancelled", "reason": "beyond_ceiling", "throughput_ops_s": None}
    measured(matrix).filter(threads=4).update(**skipped)
    assert add_repeats(matrix, 5, make_user()) == 12
    assert set(measured(matrix).filter(status="queued").values_list("threads", flat=True)) == {2}


def test_numbers_of_looks_stay_free(submitted):
    """A bracket and a run that is run again have numbers beyond the last look."""
    matrix, user = submitted(rungs=[2]), make_user()
    assert Run.objects.get(matrix=matrix, is_bracket=True).repeat == 10
    assert run_again(measured(matrix).last(), user).repeat == 10
    add_repeats(matrix, 5, user)
    Run.objects.filter(matrix=matrix, status="queued", repeat=4).update(
        status="failed", reason="timeout", finished_at=timezone.now()
    )
    assert resume(matrix, user) == 6
    assert set(measured(matrix).filter(rerun_of__isnull=False).values_list("repeat", flat=True)) == {10, 11}


def test_matrix_page_adds_repeats(client_in, submitted):
    matrix = submitted(rungs=[2])
    page = get_text(client_in.get(f"/matrices/{matrix.pk}/"))
    assert "looks after 3, 5, 9" in page and "Add repeats up to 5" in page
    page = get_text(client_in.post(f"/matrices/{matrix.pk}/add-repeats/", {"look": "5"}, follow=True))
    assert "Queued, up to the look after 5 repeats: 12 measured runs, and the load phases" in page
    assert "Add repeats up to 9" in page
    for look in ("5", "x", ""):
        page = get_text(client_in.post(f"/matrices/{matrix.pk}/add-repeats/", {"look": look}, follow=True))
        assert "No repeats were added" in page


def test_programs_plan_looks_and_add_repeats(team, user, submitted):
    matrix, client = submitted(rungs=[2]), program(team, user)
    plan = {
        "entries": [{"database": "Redis 7", "mode": "always"}], "workloads": ["Workload A"], "rungs": [2], "repeats": 3,
        "looks": [3, 5, 9],
    }  # fmt: skip
    json = {"content_type": "application/json"}
    assert client.post(ROOT, plan, **json).json()["looks"] == [3, 5, 9]
    refused = client.post(f"{ROOT}?dry_run=1", plan | {"looks": [5, 9]}, **json).json()
    assert {"pointer": "#/looks", "detail": looks_problem([5, 9], 3), "code": "plan"} in refused["problems"]
    address = f"{ROOT}/{matrix.pk}/repeats"
    assert client.post(address, {"look": 5}, **json).json()["runs"]["queued"] == 12
    again = client.post(address, {"look": 5}, **json)
    assert (again.status_code, again.json()["type"]) == (409, "/problems/conflict")

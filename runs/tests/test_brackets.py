"""The bracket of a matrix: its first cell once more at the end, part of no point, and what its drift says."""

import pytest
from django.urls import reverse

from runs.models import Run
from runs.plans import expand, preview, stored_plan, submit
from runs.plans.pages.matrix import matrix_page
from runs.queue.lifecycle import resume, run_again
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_matrix,
    make_run,
    make_sweep,
    make_user,
    make_workload,
)
from runs.tests.pages import get_text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def planned(team):
    """A maker of unsubmitted matrices with a bracket."""

    def make(**fields):
        cluster = make_cluster(team=team)
        database = make_database(team=team, cluster=cluster)
        entries = [(database, "always"), (database, "off")]
        workloads = [fields.pop("workload", None) or make_workload(team=team)]
        generators = [make_load_generator(bindings={"redis": "d"})]
        fields = {"bracket": True, "repeats": 2, "rungs": [4, 8], "submitted_at": None, **fields}
        return make_matrix(team=team, entries=entries, workloads=workloads, load_generators=generators, **fields)

    return make


@pytest.mark.parametrize("order", ["as_listed", "interleaved", "randomised"])
def test_the_first_measured_cell_comes_once_more_at_the_end(planned, order):
    measured = [run for run in expand(stored_plan(planned(order=order, seed=5))).runs if run.phase == "measure"]
    first, last = measured[0], measured[-1]
    assert len(measured) == 2 * 2 * 2 + 1
    assert (last.sweep, last.rung, last.threads) == (first.sweep, first.rung, first.threads)
    assert [run.is_bracket for run in measured] == [False] * 8 + [True]
    assert (last.repeat, last.name) == (3, first.name.replace("r1", "r3 bracket"))
    assert last.needs is not None


def test_the_preview_counts_its_time_and_not_its_run(planned):
    with_it, without = preview(stored_plan(planned())), preview(stored_plan(planned(bracket=False)))
    assert (with_it.runs, with_it.brackets, without.runs, without.brackets) == (8, 1, 8, 0)
    assert with_it.seconds - without.seconds == pytest.approx(2 + 10 + 1 + 2.5)
    assert [cell.runs for cell in with_it.cells] == [4, 4]


def test_a_bracket_of_inserts_gets_its_data_anew(planned, team):
    mix = {"recordcount": "1000", "readproportion": "0.5", "insertproportion": "0.5"}
    runs = expand(stored_plan(planned(workload=make_workload(team=team, properties=mix)))).runs
    assert [run.phase for run in runs[-2:]] == ["load", "measure"]


def test_nothing_measured_needs_no_bracket(planned):
    assert expand(stored_plan(planned(rungs=[]))).runs == ()


def test_it_is_stored_as_one_and_again_as_one(planned):
    matrix = planned()
    submit(matrix, None)
    bracket = Run.objects.get(matrix=matrix, is_bracket=True)
    assert bracket.name.endswith(" r3 bracket")
    assert bracket.config_key == Run.objects.get(matrix=matrix, sweep=bracket.sweep, threads=4, repeat=1).config_key
    Run.objects.filter(matrix=matrix).exclude(pk=bracket.pk).update(status="succeeded", finished_at=matrix.submitted_at)
    Run.objects.filter(pk=bracket.pk).update(status="failed", reason="timeout", finished_at=matrix.submitted_at)
    assert resume(matrix, make_user()) == 1
    again = Run.objects.get(rerun_of=bracket)
    assert (again.is_bracket, again.repeat, again.config_key) == (True, 4, bracket.config_key)
    assert again.name == bracket.name.replace("r3", "r4")
    repeat = run_again(Run.objects.get(matrix=matrix, sweep=bracket.sweep, threads=4, repeat=1), make_user())
    assert (repeat.is_bracket, repeat.repeat, repeat.name.endswith(" r5")) == (False, 5, True)


def test_it_is_cloned_with_its_matrix(client_in, planned):
    sent = client_in.get(reverse("matrix-add"), {"from": str(planned().pk)}).context["form"].as_posted()
    assert sent["bracket"] == "True"
    sent = client_in.get(reverse("matrix-add"), {"from": str(planned(bracket=False).pk)}).context["form"].as_posted()
    assert "bracket" not in sent


@pytest.fixture
def sweep(team):
    return make_sweep(team=team, matrix=make_matrix(team=team, bracket=True))


def compute_drift(sweep):
    return matrix_page(sweep.matrix, [])["drift"]


def test_it_is_part_of_no_cell(sweep):
    make_run(sweep, threads=4, throughput=1000)
    make_run(sweep, threads=4, throughput=5000, repeat=2, is_bracket=True)
    page = matrix_page(sweep.matrix, [])
    assert page["rows"][0].cells[0].throughput_ops_s == 1000
    assert page["rows"][0].highest == 1000
    assert page["repeats"] == 1


def test_a_drift_above_the_noise_of_the_cluster_flags_the_matrix(client_in, sweep):
    make_run(sweep, threads=8, throughput=2000)
    make_run(sweep, threads=8, throughput=2020, repeat=2)
    make_run(sweep, threads=16, throughput=3000)
    make_run(sweep, threads=16, throughput=3030, repeat=2)
    make_run(sweep, threads=4, throughput=1000)
    make_run(sweep, threads=4, throughput=900, repeat=2, is_bracket=True)
    drift = compute_drift(sweep)
    assert drift.change == pytest.approx(-0.1)
    assert drift.noise.cells == 2
    assert drift.above
    page = get_text(client_in.get(f"/matrices/{sweep.matrix.pk}/"))
    assert "The machines drifted" in page
    assert "Repeats on this cluster differ by up to" in page


def test_a_drift_within_the_noise_does_not(client_in, sweep):
    make_run(sweep, threads=8, throughput=2000)
    make_run(sweep, threads=8, throughput=2400, repeat=2)
    make_run(sweep, threads=16, throughput=3000)
    make_run(sweep, threads=16, throughput=3600, repeat=2)
    make_run(sweep, threads=4, throughput=1000)
    make_run(sweep, threads=4, throughput=950, repeat=2, is_bracket=True)
    assert not compute_drift(sweep).above
    assert "The machines drifted" not in get_text(client_in.get(f"/matrices/{sweep.matrix.pk}/"))


def test_with_one_repeated_cell_nobody_knows_the_noise(client_in, sweep):
    make_run(sweep, threads=8, throughput=2000)
    make_run(sweep, threads=8, throughput=2400, repeat=2)
    make_run(sweep, threads=4, throughput=1000)
    make_run(sweep, threads=4, throughput=500, repeat=2, is_bracket=True)
    assert (compute_drift(sweep).floor, compute_drift(sweep).above) == (None, False)
    page = get_text(client_in.get(f"/matrices/{sweep.matrix.pk}/"))
    assert "Fewer than two cells were repeated on this cluster yet" in page


@pytest.mark.parametrize("fields", [{"status": "queued"}, {"excluded_reason": "a backup ran"}, {"verdict": "reject"}])
def test_a_bracket_that_does_not_count_tells_nothing_yet(client_in, sweep, fields):
    make_run(sweep, threads=4, throughput=1000)
    make_run(sweep, threads=4, repeat=2, is_bracket=True, **fields)
    assert compute_drift(sweep).change is None
    assert "it tells once both runs have counted" in get_text(client_in.get(f"/matrices/{sweep.matrix.pk}/"))


def test_the_drift_costs_one_query(sweep, django_assert_num_queries):
    make_run(sweep, threads=4, throughput=1000)
    bracket = make_run(sweep, threads=4, throughput=500, repeat=2, is_bracket=True)
    runs = list(sweep.runs.order_by("position"))
    assert bracket in runs
    from runs.results.pages.drift import compute_drift as found

    with django_assert_num_queries(1):
        found(sweep.matrix, runs)

"""A search in the builder, over REST, in plan files, and on pages."""

import pytest
from django.urls import reverse

from runs.models import Matrix
from runs.plans import preview, stored_plan
from runs.plans.files.plan import PlanRefused
from runs.plans.files.plan_export import build_plan_file, export_plan
from runs.plans.files.plan_file import as_text, read_plan
from runs.plans.files.plan_import import build_matrix
from runs.plans.forms.matrices import MatrixForm
from runs.results.measures.search import MAX_SLO_TRIALS
from runs.tests.factories import make_cluster, make_database, make_load_generator, make_machine, make_workload
from runs.tests.pages import get_text
from runs.tests.test_searches import SEARCH, SLO, drive, submitted, token_bucket

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def plan(team):
    database = make_database(team=team, name="Redis", cluster=make_cluster(team=team, machines=[make_machine()]))
    workload = make_workload(team=team, name="A")
    generator = make_load_generator(name="lab-1")
    return {
        "name": "Search", "purpose": "demo", "entries": [f"{database.pk}:always"], "workloads": [str(workload.pk)],
        "load_generators": [str(generator.pk)], "processes_per_generator": "1", "ladder": "target", "rungs": "",
        "threads": "16", "repeats": "3", "order": "as_listed", "seed": "1", "warmup_s": "2", "min_measure_s": "5",
        "load_policy": "load", "load_threads": "8", "between_rungs": "keep", "min_operations": "0", "priority": "0",
        "searches": "on",
        "search_width": "4", "slo_operation": "READ", "slo_statistic": "p999", "slo_kind": "response",
        "slo_limit_us": "2.5", "search_max_error_rate": "0.5", "search_curve_percent": "50, 100",
    }  # fmt: skip


def test_builder_submits_a_search_with_a_limit(client_in, team, plan):
    preview = get_text(client_in.post(reverse("matrix-preview"), plan))
    assert "Runs, at most" in preview and "Time, at most" in preview
    assert client_in.post(reverse("matrix-add"), {**plan, "submit": "1"}).status_code == 302
    matrix = Matrix.objects.get()
    assert matrix.search == {
        "width": 0.04, "max_trials": MAX_SLO_TRIALS, "max_error_rate": 0.005,
        "slo": {"operation": "READ", "statistic": "p999", "kind": "response", "limit_us": 2500.0},
        "curve_percent": [50, 100],
    }  # fmt: skip
    assert matrix.runs.filter(phase="measure").count() == 1 and not matrix.stops_early
    form = MatrixForm(team=team, source=matrix)
    shown = [form[name].value() for name in ("slo_limit_us", "search_width", "searches", "search_curve_percent")]
    assert shown == [2.5, 4, True, "50, 100"]
    assert "search over target throughput" in get_text(client_in.get(reverse("matrix", args=[matrix.pk])))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slo_limit_us": ""}, "Give the limit of the latency in ms"),
        ({"ladder": "threads"}, "Give the ladder at least one rung"),
        ({"searches": ""}, "Give the ladder at least one rung"),
        ({"threads": ""}, "needs the number of threads"),
        ({"search_curve_percent": "500"}, "at most 200 %"),
    ],
)
def test_builder_says_what_a_search_lacks(client_in, plan, changes, message):
    response = client_in.post(reverse("matrix-add"), {**plan, **changes, "submit": "1"})
    assert response.status_code == 422 and message in response.content.decode()
    assert not Matrix.objects.exists()


def test_import_shows_the_search_and_the_most_that_it_needs(client_in, team):
    matrix = submitted(team, search={**SEARCH, "slo": SLO, "curve_percent": [25, 100]}).matrix
    text, trials = export_plan(matrix), preview(stored_plan(matrix)).runs
    page = get_text(client_in.post(reverse("plan-import"), {"plan": text}))
    assert (
        f"At most {trials} measured runs and 1 load" in page
        and "search over target throughput, READ p99 (response time) at most" in page
    )
    assert "then 25, 100 % of the ceiling" in page


def test_plan_file_keeps_a_search_and_no_kit_is_made_of_it(team):
    matrix = submitted(team, search={**SEARCH, "slo": SLO, "curve_percent": [25, 100]}).matrix
    file = build_plan_file(matrix)
    assert (
        read_plan(export_plan(matrix)) == file
        and file.search.model_dump() == matrix.search
        and as_text(file).count("[search")
    )


def test_import_of_a_search_over_targets_keeps_no_rungs(team):
    """As earlier releases exported them."""
    text = export_plan(submitted(team, rungs=[500, 1000], search=SEARCH).matrix)
    assert build_matrix(team, read_plan(text)).rungs == []
    over_threads = read_plan(text.replace('ladder = "target"', 'ladder = "threads"'))
    assert build_matrix(team, over_threads).rungs == [500, 1000]


def test_plan_file_refuses_a_limit_that_cannot_be(team):
    text = export_plan(submitted(team, search={**SEARCH, "slo": SLO}).matrix)
    for wrong, message in ((("width = 0.05", "width = 7.0"), "width must be"), (("p99", "p42"), "statistic")):
        with pytest.raises(PlanRefused, match=message):
            read_plan(text.replace(*wrong))


def test_path_is_on_the_pages_and_in_rest(client_in, team):
    sweep = submitted(team)
    drive(sweep, token_bucket(10_000))
    page = get_text(client_in.get(reverse("sweep", args=[sweep.pk])))
    assert "without a target: no point of the curve" in page and "nothing measured" not in page
    assert "with a run that did not select it" in page and "not sustained:" in page and "bracketed" in page
    assert "bracketed" in get_text(client_in.get(reverse("matrix-searches", args=[sweep.matrix_id])))

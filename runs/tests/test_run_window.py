"""The window on a run's page: its cuts, the form, the suggestion, and who may do what."""

import numpy as np
import pytest

from runs.models import MeasurementSet, Run
from runs.results.recording.recut import recut
from runs.results.recording.rows import write_series
from runs.tests.factories import finding, make_measurement_set, make_run, make_sweep, make_team, make_user
from runs.tests.pages import artifact_folder, count_queries, get_text, sign_in_viewer
from runs.tests.recorded import recorded_run
from runs.ycsb.series import POINT, Series

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def run(team, artifact_folder):
    return recorded_run(team)


def url(run, what=""):
    return f"/runs/{run.pk}/{what}"


def get_window(client, run):
    return client.get(url(run)).context["page"]["window"]


def give_series(run, rates, p95_us=1000.0):
    """Replace the stored series by one of these rates, as long as the clients' common time."""
    current = run.measurement_sets.get(is_current=True)
    begin = max(client["started_s"] for client in current.clients)
    for client in current.clients:
        client["started_s"], client["ended_s"] = begin, begin + len(rates)
    current.warmup_s, current.tail_s, current.window_s = 0, 0, len(rates)
    current.save()
    points = np.zeros(len(rates), dtype=POINT)
    points["second"], points["rate_ops_s"], points["p95_us"] = np.arange(len(rates)), rates, p95_us
    write_series(run, [Series("READ", "service", begin, 1, 2, points)], 1)


def warming(seconds=60):
    return [1000 * min(0.2 + second / 10, 1.0) + (second % 5) for second in range(seconds)]


def test_the_current_cut_is_drawn_with_what_it_leaves_out(client_in, run):
    window = get_window(client_in, run)
    assert (window["bar"]["warmup"] + window["bar"]["measured"] + window["bar"]["tail"]) == pytest.approx(100)
    assert window["bar"]["warmup"] == pytest.approx(100 * 1 / window["common_s"])
    page = get_text(client_in.get(url(run)))
    assert "1 s</span> of warm-up left out" in page.replace("\u202f", " ")
    assert 'data-fills="#cut"' in page
    assert 'id="cut"' in page


def test_cutting_again_shows_both_cuts(client_in, run):
    page = get_text(client_in.post(url(run, "cut/"), {"warmup_s": "2", "tail_s": "0.5", "reason": "cold"}, follow=True))
    assert "Cut 2 is the current one" in page
    assert "cold" in page
    cuts = get_window(client_in, run)["cuts"]
    assert [(cut["row"].number, cut["row"].is_current) for cut in cuts] == [(1, False), (2, True)]
    assert all(cut["verdict"] and cut["lines"] for cut in cuts)


def test_an_older_cut_is_made_current(client_in, run, team):
    recut(run, warmup_s=2, tail_s=0, user=make_user(team=team))
    page = get_text(client_in.post(url(run, "cut/"), {"number": "1"}, follow=True))
    assert "Cut 1 is the current one" in page
    assert run.measurement_sets.get(is_current=True).number == 1


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"warmup_s": "soon", "tail_s": "0"}, "“soon” is no number of seconds"),
        ({"warmup_s": "nan", "tail_s": "0"}, "from 0 on"),
        ({"warmup_s": "1e9", "tail_s": "0"}, "leave nothing of it"),
        ({"number": "99"}, "no cut 99"),
        ({"number": "-1"}, "no cut 0"),
    ],
)
def test_what_cannot_be_cut_is_said_and_changes_nothing(client_in, run, sent, says):
    assert says in get_text(client_in.post(url(run, "cut/"), sent, follow=True))
    assert MeasurementSet.objects.filter(run=run).count() == 1


def test_a_warm_up_is_suggested_and_never_applied_by_itself(client_in, run):
    give_series(run, warming())
    window = get_window(client_in, run)
    assert (window["suggestion"].cut_s, window["is_covered"]) == (10, False)
    assert window["rate_suggested_ops_s"] > window["rate_now_ops_s"]
    page = get_text(client_in.get(url(run)))
    assert "Suggested: cut 10 s" in page
    assert "MSER-5 on throughput" in page
    assert run.measurement_sets.count() == 1


def test_a_warm_up_that_is_left_out_already_is_not_suggested(client_in, run):
    give_series(run, warming())
    run.measurement_sets.update(warmup_s=15)
    page = get_text(client_in.get(url(run)))
    assert "the warm-up covers it" in page
    assert "Suggested" not in page


def test_without_a_steady_state_it_says_to_run_longer(client_in, run):
    give_series(run, [100.0 + 50 * second for second in range(60)])
    page = get_text(client_in.get(url(run)))
    assert "No steady state found" in page
    assert "run it longer" in page


def test_a_drift_behind_the_cut_is_named(client_in, run):
    noise = np.random.default_rng(3).normal(0, 80, 600)
    give_series(run, (np.linspace(950, 1050, 600) + noise).tolist())
    assert "It drifts" in get_text(client_in.get(url(run)))


def test_a_short_run_gets_no_suggestion(client_in, run):
    assert "No steady state is suggested: that takes 20 s" in get_text(client_in.get(url(run)))


def test_a_long_run_is_looked_at_on_a_coarser_level(client_in, run):
    """12 hours in seconds would take the page longer than reading it."""
    give_series(run, warming(8000))
    assert get_window(client_in, run)["suggestion"] is None  # only the level of 1 s is there, and that is too long
    points = np.zeros(800, dtype=POINT)
    current = run.measurement_sets.get()
    points["second"], points["p95_us"] = np.arange(800) * 10, 1000.0
    points["rate_ops_s"] = [100.0] * 20 + [1000.0] * 780
    begin = current.clients[0]["started_s"]
    row = Series("READ", "service", begin, 10, 2, points)
    write_series(run, [row], 1)
    assert get_window(client_in, run)["suggestion"].cut_s == 200


def test_a_run_without_intervals_shows_its_one_cut_and_no_form(client_in, team):
    run = make_run(make_sweep(team=team))
    page = get_text(client_in.get(url(run)))
    assert 'id="window"' in page
    assert 'id="cut"' not in page
    assert "without histograms by interval it cannot be cut" in page


def test_a_load_cannot_be_cut(client_in, team, artifact_folder):
    page = get_text(client_in.get(url(recorded_run(team, "load/0", "load/1", phase="load"))))
    assert "a load is measured as a whole" in page
    assert 'id="cut"' not in page


def test_reader_and_algorithm_stand_with_the_numbers(client_in, run):
    run.measurement_sets.update(reader_version=7, algorithm_version=9)
    page = get_text(client_in.get(url(run)))
    assert "by version 7 of the reader and version" in page
    assert "by version 9 of their rules" in page


def test_a_viewer_sees_the_cuts_and_changes_none(team, run):
    viewer = sign_in_viewer(team)
    page = get_text(viewer.get(url(run)))
    assert "Every cut of this run" in page
    assert 'id="cut"' not in page
    assert "Cut again" not in page
    assert viewer.post(url(run, "cut/"), {"warmup_s": "2", "tail_s": "0"}).status_code == 403
    assert run.measurement_sets.count() == 1


def test_another_teams_run_is_not_there(client_in, artifact_folder):
    other = recorded_run(make_team())
    assert client_in.post(url(other, "cut/"), {"warmup_s": "2", "tail_s": "0"}).status_code == 404


def test_more_cuts_and_findings_ask_no_more_queries(client_in, run, team):
    before = count_queries(client_in, url(run))
    for number in range(2, 8):
        make_measurement_set(run, number=number, is_current=False, findings=[finding()])
    assert count_queries(client_in, url(run)) == before


def test_ugly_reasons_stay_text(client_in, run, team):
    recut(run, warmup_s=2, tail_s=0, user=make_user(team=team), reason="<script>alert(1)</script>")
    assert "<script>alert" not in get_text(client_in.get(url(run)))


def test_everything_that_reads_numbers_reads_the_current_cut(client_in, run, team):
    """The run page, the list and its CSV, the sweep with its curve, the figures, and the matrix."""
    kept = recut(run, warmup_s=2, tail_s=0.5, user=make_user(team=team))
    read = kept.measurements.get(operation="READ")
    first = run.measurement_sets.get(number=1)
    assert kept.throughput_ops_s != first.throughput_ops_s
    assert client_in.get(url(run)).context["page"]["cut"] == kept
    assert str(kept.throughput_ops_s) in b"".join(client_in.get("/runs.csv").streaming_content).decode()
    sweep = client_in.get(f"/sweeps/{run.sweep_id}/")
    point = sweep.context["curve"].points[0]
    assert point.throughput_ops_s.geomean == kept.throughput_ops_s
    assert point.operation("READ").geomean_us("p99") == read.p99_us
    assert point.warmup_s == 2
    series = client_in.get(f"/figures/runs/{run.pk}/series/").json()
    shaded = [shape for shape in series["figure"]["layout"]["shapes"] if shape["type"] == "rect"]
    assert len(shaded) == 2  # the warm-up and the tail
    percentiles = client_in.get(f"/figures/runs/{run.pk}/percentiles.json").json()
    assert any(row[-2] == pytest.approx(read.p99_us) for row in percentiles["rows"])
    matrix = client_in.get(f"/matrices/{run.matrix_id}/").context["page"]
    assert matrix["rows"][0].highest == kept.throughput_ops_s
    assert Run.objects.get(pk=run.pk).throughput_ops_s == kept.throughput_ops_s

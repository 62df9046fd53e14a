"""The home page: what runs now, what waits, who is up, and what to do first."""

import datetime as dt
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchsite.site.views import latest_sweeps
from reports.models import Report
from reports.tests.verdicts import commit_runs, make_test
from runs.models import Run
from runs.queue import live
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_matrix,
    make_run,
    make_sweep,
    make_team,
    make_user,
)
from runs.tests.pages import UGLY, busy_matrix, count_queries, get_text, sign_in_viewer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_somebody_unknown_is_asked_to_sign_in():
    response = Client().get("/")
    assert response.status_code == 302
    assert response.url.startswith("/sign-in/")


def test_somebody_without_a_team_is_told_so(db):
    client = Client()
    client.force_login(make_user(username="alone"))
    assert client.get("/").status_code == 403


@pytest.mark.parametrize("address", ["/nowhere/", "/api/v1/docs"])
def test_pages_without_a_view_of_their_own_keep_the_navigation(client_in, team, address):
    response = client_in.get(address)
    assert response.status_code == (200 if "api" in address else 404)
    assert f'href="{reverse("compare")}"' in response.content.decode()
    assert reverse("compare") not in Client().get(address).content.decode()


def test_the_first_use_names_three_steps_and_offers_the_next(client_in, team):
    page = get_text(client_in.get("/"))
    assert "Three steps to the first curve" in page
    assert 'button--primary" href="/clusters/new/"' in page
    make_cluster(team=team)
    assert 'button--primary" href="/databases/new/"' in get_text(client_in.get("/"))
    make_database(team=team)
    assert 'button--primary" href="/matrices/new/"' in get_text(client_in.get("/"))
    make_matrix(team=team)
    assert "Three steps" not in get_text(client_in.get("/"))


def test_a_viewer_is_told_who_takes_the_first_steps(team):
    page = get_text(sign_in_viewer(team).get("/"))
    assert "A runner or an admin" in page
    assert "/clusters/new/" not in page


def test_what_runs_now_has_a_line_of_its_last_seconds(client_in, team):
    run = make_run(make_sweep(team=team, name="redis always A"), status="running", started_at=timezone.now())
    for second in (1, 2, 3):
        live.publish(run.pk, live.StatusLine(0, second, 1000 + second, 0, 41_200, {}))
    page = get_text(client_in.get("/"))
    live.connection().delete(live.build_key(run.pk))
    assert "redis always A 2t r1" in page
    assert "<polyline" in page
    assert "41.2k" in page


def test_without_redis_home_says_that_there_is_no_live_view(client_in, team, settings):
    make_run(make_sweep(team=team), status="running")
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    live.connection.cache_clear()
    try:
        assert "no live view" in get_text(client_in.get("/"))
    finally:
        live.connection.cache_clear()


def test_the_queue_stands_with_predicted_starts(client_in, team):
    sweep = make_sweep(team=team)
    make_run(sweep, threads=2, status="running", started_at=timezone.now())
    for threads in (4, 8):
        make_run(sweep, threads=threads, status="queued", position=threads)
    home = client_in.get("/").context["home"]
    starts = [(line["row"].starts_at - timezone.now()).total_seconds() for line in home["queue"]]
    assert [line["row"].position for line in home["queue"]] == [1, 2]
    assert 10 < starts[0] <= 17 < starts[1] <= 34


def test_load_generators_health_is_one_look(client_in, team):
    make_load_generator(name="good")
    make_load_generator(name="gone", last_seen_at=timezone.now() - dt.timedelta(minutes=5))
    page = get_text(client_in.get("/"))
    assert "No load generator" not in page
    home = client_in.get("/").context["home"]
    assert (home["health"]["up"], home["health"]["total"]) == (1, 2)


def test_latest_matrices_and_sweeps_are_there(client_in, team):
    matrix, (sweep,) = busy_matrix(team)
    page = get_text(client_in.get("/"))
    assert f"/matrices/{matrix.pk}/" in page
    assert "1 failed" in page
    assert sweep.name in page


def test_another_teams_run_is_counted_and_not_named(client_in, team):
    other = make_team(name="Other")
    make_run(make_sweep(team=other, name="secret"), status="queued")
    make_run(make_sweep(team=team), status="queued", threads=4)
    response = client_in.get("/")
    page = get_text(response)
    assert "1 of yours waits, 1 of other teams" in page
    assert "secret" not in page
    assert [line["mine"] for line in response.context["home"]["queue"]] == [True]


def test_ugly_text_stays_text(client_in, team):
    matrix = make_matrix(team=team, name=UGLY)
    make_run(make_sweep(team=team, matrix=matrix, name=UGLY), name=UGLY, status="running")
    assert "<script>alert" not in get_text(client_in.get("/"))


def test_a_poll_gets_only_the_part_that_changes(client_in, team):
    make_run(make_sweep(team=team), status="queued")
    page = get_text(client_in.get("/", headers={"HX-Request": "true"}))
    assert "<html" not in page
    assert 'hx-trigger="every 2s"' in page


def test_the_number_of_queries_does_not_grow(client_in, team):
    busy_matrix(team, sweeps=1)
    few = count_queries(client_in, "/")
    busy_matrix(team, sweeps=5)
    busy_matrix(team, sweeps=5)
    assert count_queries(client_in, "/") == few


def test_latest_sweeps_state_no_throughput_beside_the_headline(client_in, team):
    """The best of single runs may lie above the ceiling of their repeats."""
    sweep = make_sweep(matrix=make_matrix(team=team, repeats=3))
    for threads, level in ((2, 500.0), (4, 1000.0), (8, 700.0)):
        for repeat, noise in enumerate((0.9, 1.0, 1.2), 1):
            make_run(sweep, threads=threads, throughput=level * noise, repeat=repeat)
    page = get_text(client_in.get("/"))
    assert "1.20k" not in page and ">Last run</th>" in page


def test_sweep_with_a_rejected_point_alone_comes_last(team):
    counted, rejected = make_sweep(team=team), make_sweep(team=team)
    make_run(counted)
    run = make_run(rejected, threads=4, verdict="reject")
    assert latest_sweeps() == (counted, rejected)
    run.verdict_override = "its client was small on purpose"
    run.save()
    assert latest_sweeps() == (rejected, counted)


def test_uploaded_demos_are_no_results_of_the_team(client_in, team):
    sweeps = {}
    for source in ("uploaded", "scheduled"):
        for purpose in ("demo", "measured"):
            sweep = sweeps[source, purpose] = make_sweep(team=team)
            run = make_run(sweep, threads=2)
            rejected = make_run(sweep, threads=4, verdict="reject")
            Run.objects.filter(pk__in=[run.pk, rejected.pk]).update(source=source, purpose=purpose)

    assert set(latest_sweeps()) == {sweep for key, sweep in sweeps.items() if key != ("uploaded", "demo")}
    assert "3 rejected runs" in get_text(client_in.get(reverse("news")))


def test_shows_latest_finished_matrix_with_its_two_figures(client_in, team):
    finished = make_matrix(team=team, name="Finished study")
    for mode in ("off", "always"):
        sweep = make_sweep(matrix=finished, mode=mode)
        for threads in (2, 4, 8):
            make_run(sweep, threads=threads, throughput=1000.0 * threads)
    unfinished = make_matrix(team=team, name="Unfinished study")
    make_run(make_sweep(matrix=unfinished), status="queued")
    assert reverse("news") in get_text(client_in.get("/"))
    response = client_in.get(reverse("news"))
    result, page = response.context["result"], get_text(response)
    assert result["matrix"] == finished and "1 run each" in page
    assert [figure["src"].split("?")[0] for figure in result["figures"]] == ["/figures/ceilings/", "/figures/latency/"]
    assert f"/compare/?v=1&amp;matrix={finished.pk}" in page
    query = re.search(r'name="query" value="([^"]+)"', page)
    assert query is not None and query[1].replace("&amp;", "&") == f"v=1&matrix={finished.pk}"
    client_in.post(reverse("report-add"), {"query": query[1].replace("&amp;", "&"), "title": "Finished study"})
    assert str(finished.pk) in Report.objects.get().draft["query"]


def test_cancelled_matrix_hides_no_finished_one(client_in, team):
    cancelled = make_matrix(team=team)
    sweep = make_sweep(matrix=cancelled)
    make_run(sweep, threads=2)
    make_run(sweep, threads=4, status="cancelled")
    assert client_in.get(reverse("news")).context["result"]["matrix"] == cancelled

    finished = make_matrix(team=team, submitted_at=cancelled.submitted_at - dt.timedelta(days=1))
    make_run(make_sweep(matrix=finished), threads=2)
    assert client_in.get(reverse("news")).context["result"]["matrix"] == finished


def test_trials_and_many_cancelled_matrices_hide_no_study(client_in, team):
    study = make_matrix(team=team, submitted_at=timezone.now() - dt.timedelta(days=1))
    run = make_run(make_sweep(matrix=study))
    make_run(run.sweep, repeat=2, status="cancelled", rerun_of=run)
    make_run(make_sweep(matrix=make_matrix(team=team, trial_of=study)))
    for _ in range(7):  # more than the home page lists
        sweep = make_sweep(matrix=make_matrix(team=team))
        make_run(sweep)
        make_run(sweep, threads=4, status="cancelled")
    assert client_in.get(reverse("news")).context["result"]["matrix"] == study


def test_rejected_matrix_hides_no_counting_one(client_in, team):
    now = timezone.now()
    for day in range(7):  # more than the home page lists
        rejected = make_matrix(team=team, submitted_at=now - dt.timedelta(days=day))
        make_run(make_sweep(matrix=rejected), threads=2, verdict="reject")
    counting = make_matrix(team=team, submitted_at=now - dt.timedelta(days=9))
    sweep = make_sweep(matrix=counting)
    make_run(sweep, threads=2, finished_at=now - dt.timedelta(days=9))
    assert client_in.get(reverse("news")).context["result"]["matrix"] == counting
    assert sweep in latest_sweeps()


def test_cancelled_matrix_without_a_point_hides_no_whole_one(client_in, team):
    whole, cancelled = make_matrix(team=team), make_matrix(team=team)
    for matrix in (whole, cancelled):
        make_run(make_sweep(matrix=matrix), threads=2, verdict="reject")
    make_run(make_sweep(matrix=cancelled), threads=4, status="cancelled")
    assert client_in.get(reverse("news")).context["result"]["matrix"] == whole


@pytest.mark.parametrize("purpose", ["smoke", "tuning"])
def test_preliminary_matrix_hides_no_finished_study(client_in, team, purpose):
    preliminary = make_matrix(team=team, purpose=purpose)
    make_run(make_sweep(matrix=preliminary), threads=2)
    assert client_in.get(reverse("news")).context["result"]["matrix"] == preliminary

    study = make_matrix(team=team, purpose="demo", submitted_at=preliminary.submitted_at - dt.timedelta(days=1))
    make_run(make_sweep(matrix=study), threads=2)
    assert client_in.get(reverse("news")).context["result"]["matrix"] == study


def test_states_what_is_left_of_a_going_matrix(client_in, team):
    matrix = make_matrix(team=team)
    sweep = make_sweep(matrix=matrix)
    make_run(sweep, threads=2)
    for threads in (4, 8):
        make_run(sweep, threads=threads, status="queued")
    (going,) = client_in.get("/").context["home"]["matrices_going"]
    assert going["left"].total_seconds() == 2 * 17
    assert "1 of 3 runs, about" in get_text(client_in.get("/"))


def test_counts_failed_and_rejected_runs_of_the_last_days(client_in, team):
    sweep = make_sweep(team=team)
    make_run(sweep, threads=2, status="failed")
    make_run(sweep, threads=4, verdict="reject")
    page = get_text(client_in.get(reverse("news")))
    assert "1 failed run<" in page and "1 rejected run<" in page
    for run in Run.objects.all():
        make_run(sweep, threads=run.threads, repeat=2, rerun_of=run)
    assert "No failed or rejected run of these days is left to run again." in get_text(client_in.get(reverse("news")))


def test_old_failures_and_rejections_are_no_news(client_in, team):
    make_run(make_sweep(team=team), threads=2, status="failed")
    make_run(make_sweep(team=team), threads=4, verdict="reject")
    Run.objects.update(finished_at=timezone.now() - dt.timedelta(days=30), started_at=None)
    assert "No failed or rejected run of these days is left to run again." in get_text(client_in.get(reverse("news")))


def test_lists_every_change_whatever_grew_since(client_in, team):
    """Seven histories grew after the one that lost 18 %; six were looked at."""
    lost = make_test(team)
    for commit in range(14):
        level = 1000.0 if commit < 12 else 820.0
        commit_runs(lost, f"aaaa{commit:04}", level, days_ago=10 - commit / 2, repeats=1)
    for _ in range(7):
        other = make_test(team)
        commit_runs(other, "bbbb1111", 1000.0, days_ago=1, repeats=1)
    response = client_in.get(reverse("news"))
    ((line, change),) = response.context["changes"]["histories"]
    assert line.row.runs == 14 and change.point.commit == "aaaa0012"
    assert "7 histories of fewer than 10 runs" in get_text(response)

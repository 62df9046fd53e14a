"""GET /runs/{id}/verdict: whom a run is judged with, against what, and when nothing is said."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchsite.accounts.models import Scope
from reports.tests.verdicts import commit_runs, headers, make_test
from reports.trends.api import verdicts
from reports.trends.baselines import set_baseline
from runs.models import Run
from runs.results.denormalised_columns import config_key
from runs.tests.factories import make_database, make_run, make_spec, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def asked(team, user):
    """Asks for the verdict of a run."""
    with_token = headers(team, user)

    def ask(run, status=200, **query):
        response = Client().get(f"/api/v1/runs/{run.pk}/verdict", query, **with_token)
        assert response.status_code == status, response.content
        return response.json()

    return ask


def test_compares_commit_with_newest_commit_before_it(team, asked):
    sweep = make_test(team)
    commit_runs(sweep, "aaaa1111", 500.0, days_ago=9)
    before = commit_runs(sweep, "bbbb2222", 1000.0, days_ago=5)
    new = commit_runs(sweep, "cccc3333", 850.0, days_ago=1)
    commit_runs(sweep, "dddd4444", 2000.0, days_ago=0.5)
    answer = asked(new[2])
    assert answer["verdict"] == "regression" and answer["reasons"][0].startswith("Regression: throughput ")
    assert set(answer["new"]["runs"]) == {str(run.pk) for run in new} and answer["new"]["commit"] == "cccc3333"
    assert set(answer["base"]["runs"]) == {str(run.pk) for run in before} and answer["base"]["commit"] == "bbbb2222"
    assert "bbbb2222 on main by the rule: The newest commit on the default branch" in answer["base"]["chosen"]
    names = [metric["name"] for metric in answer["metrics"]]
    assert names == ["throughput", "READ mean", "READ p99", "UPDATE mean", "UPDATE p99"]
    assert answer["metrics"][0]["ratio"] == pytest.approx(0.85, rel=0.01) and answer["metrics"][0]["new_runs"] == 5
    assert answer["algorithm"].startswith("three keys") and answer["algorithm_version"] == 7


def test_default_branch_wins_unless_a_branch_is_requested(team, asked):
    sweep = make_test(team)
    commit_runs(sweep, "aaaa1111", 1000.0, days_ago=9)
    commit_runs(sweep, "bbbb2222", 700.0, days_ago=5, branch="topic")
    new = commit_runs(sweep, "cccc3333", 1001.0, days_ago=1, branch="topic")
    assert asked(new[0])["verdict"] == "pass" and asked(new[0])["base"]["commit"] == "aaaa1111"
    assert asked(new[0], branch="topic")["verdict"] == "improvement"
    nothing = asked(new[0], branch="none")
    assert nothing["verdict"] == "inconclusive" and nothing["base"] is None and "none" in nothing["reasons"][0]


def test_without_a_default_branch_its_own_branch_serves(team, asked):
    sweep = make_test(team)
    commit_runs(sweep, "aaaa1111", 1000.0, days_ago=9, branch="develop")
    new = commit_runs(sweep, "cccc3333", 1001.0, days_ago=1, branch="develop")
    assert asked(new[0])["base"]["commit"] == "aaaa1111"


def test_the_first_commit_has_nothing_to_be_judged_against(team, asked):
    new = commit_runs(make_test(team), "cccc3333", 1000.0, days_ago=1)
    answer = asked(new[0])
    assert answer["verdict"] == "inconclusive" and "nothing to judge against" in answer["reasons"][0]


def test_single_run_without_a_commit_is_inconclusive(team, asked):
    sweep = make_test(team)
    commit_runs(sweep, "", 1000.0, days_ago=3, repeats=1, branch="")
    new = commit_runs(sweep, "", 500.0, days_ago=1, repeats=1, branch="")
    answer = asked(new[0])
    assert answer["verdict"] == "inconclusive" and answer["metrics"][0]["ratio"] == pytest.approx(0.5, rel=0.01)
    assert "1 session against 1 session: how much" in answer["reasons"][1] and answer["needs_more_repeats"] == 1


def test_rejected_and_excluded_runs_never_count(team, asked):
    sweep = make_test(team)
    commit_runs(sweep, "aaaa1111", 1000.0, days_ago=9)
    commit_runs(sweep, "aaaa1111", 200.0, days_ago=8.9, verdict="reject")
    new = commit_runs(sweep, "cccc3333", 1001.0, days_ago=1)
    bad = commit_runs(sweep, "cccc3333", 100.0, days_ago=0.9, repeats=1, excluded_reason="noisy neighbour")
    answer = asked(new[0])
    assert answer["verdict"] == "pass"
    assert [(exclusion["run"], exclusion["side"]) for exclusion in answer["left_out"]] == [(str(bad[0].pk), "new")]
    assert "noisy neighbour" in answer["reasons"][-1]


def test_rejected_first_try_does_not_hide_a_later_base(team, asked):
    sweep = make_test(team)
    commit_runs(sweep, "cccc3333", 1001.0, days_ago=9, verdict="reject")
    commit_runs(sweep, "aaaa1111", 1000.0, days_ago=5)
    again = commit_runs(sweep, "cccc3333", 1001.0, days_ago=1)
    answer = asked(again[0])
    assert (answer["verdict"], answer["base"]["commit"]) == ("pass", "aaaa1111")


def test_where_no_new_run_counts_it_is_an_error(team, asked):
    sweep = make_test(team)
    commit_runs(sweep, "aaaa1111", 1000.0, days_ago=9)
    new = commit_runs(sweep, "cccc3333", 1001.0, days_ago=1, verdict="reject")
    answer = asked(new[0])
    assert (
        answer["verdict"] == "error"
        and answer["reasons"][0] == "No verdict: no new run counts."
        and len(answer["left_out"]) == 5
    )
    failed = make_run(sweep, threads=8, repeat=99, status="failed", commit="dddd4444")
    assert asked(failed)["verdict"] == "error"


def with_spec(sweep, commit, level, days_ago, spec):
    """Repeats that were submitted with this spec, as measurements of the same test."""
    runs = commit_runs(sweep, commit, level, days_ago=days_ago, spec=spec)
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(config_key=config_key(make_spec(sweep, threads=8)))
    return runs


@pytest.mark.parametrize("field", ["hardware", "durability", "cluster", "stated"])
def test_a_changed_environment_is_never_red(team, asked, field):
    sweep = make_test(team)
    spec = make_spec(sweep, threads=8)
    with_spec(sweep, "aaaa1111", 1000.0, 9, changed(spec, field, cores=4))
    new = with_spec(sweep, "cccc3333", 500.0, 1, changed(spec, field, cores=8) if field == "stated" else spec)
    answer = asked(new[0])
    assert answer["verdict"] == "inconclusive", answer["reasons"]
    assert not answer["environment"]["comparable"]
    wanted = "hardware" if field == "stated" else field
    assert wanted in {difference["field"] for difference in answer["environment"]["differs"]}
    assert answer["metrics"][0]["ratio"] == pytest.approx(0.5, rel=0.01), "the ratio is shown all the same"


def changed(spec, field, cores):
    cluster = dict(spec["cluster"])
    if field == "stated":
        hardware = {"by": "", "files": [], "hardware": f"{cores} cores", "client_on_database_host": True}
        return spec | {"stated": hardware}
    if field == "hardware":
        cluster["machines"] = [machine | {"facts": {"cores": {"value": 64}}} for machine in cluster["machines"]]
    elif field == "cluster":
        cluster["name"] = "another"
    record = spec["mode"]["record"] | ({"ack": "memory", "loss_window_s": None} if field == "durability" else {})
    return spec | {"cluster": cluster, "mode": spec["mode"] | {"record": record}}


def test_a_changed_version_is_what_a_verdict_is_about(team, asked):
    sweep = make_test(team)
    spec = make_spec(sweep, threads=8)
    with_spec(sweep, "aaaa1111", 1000.0, 9, spec | {"database": spec["database"] | {"version": "6.0"}})
    answer = asked(commit_runs(sweep, "cccc3333", 500.0, days_ago=1)[0])
    assert answer["verdict"] == "regression", answer["reasons"]
    assert any("versions differ" in difference for difference in answer["environment"]["ignored"])


def test_a_named_baseline_is_asked_for_by_its_name(team, user, asked):
    sweep = make_test(team)
    old = commit_runs(sweep, "aaaa1111", 1200.0, days_ago=9)
    commit_runs(sweep, "bbbb2222", 1000.0, days_ago=5)
    new = commit_runs(sweep, "cccc3333", 1000.0, days_ago=1)
    set_baseline(team, user, "release-1.0", old, chosen="By hand.", thresholds={"READ p99": 0.5})
    answer = asked(new[0], baseline="release-1.0")
    assert answer["verdict"] == "regression" and answer["base"]["name"] == "release-1.0"
    assert answer["base"]["chosen"] == "The baseline “release-1.0”: By hand."
    assert {metric["name"]: metric["threshold"] for metric in answer["metrics"]}["READ p99"] == 0.5
    loose = asked(new[0], baseline="release-1.0", throughput_percent=30, mean_percent=30, p99_percent=30)
    assert loose["verdict"] == "pass"
    assert asked(new[0], 404, baseline="none")["type"] == "/problems/not-found"


def test_a_baseline_of_another_test_is_never_red(team, user, asked):
    other = make_test(team)
    set_baseline(team, user, "other", commit_runs(other, "aaaa1111", 5000.0, days_ago=9), chosen="By hand.")
    new = commit_runs(make_test(team), "cccc3333", 1000.0, days_ago=1)
    answer = asked(new[0], baseline="other")
    assert answer["verdict"] == "inconclusive" and {"cluster", "database"} <= {
        difference["field"] for difference in answer["environment"]["differs"]
    }
    assert "no run of the same test" in answer["base"]["chosen"]


def test_it_asks_as_often_for_twenty_runs_as_for_two(team, user):
    sweep, with_token = make_test(team), headers(team, user)
    counts = []
    for repeats in (2, 10):
        commit_runs(sweep, f"aaaa{repeats}", 1000.0, days_ago=9 - repeats / 2, repeats=repeats)
        new = commit_runs(sweep, f"cccc{repeats}", 1000.0, days_ago=3 - repeats / 5, repeats=repeats)
        with CaptureQueriesContext(connection) as captured:
            assert Client().get(f"/api/v1/runs/{new[0].pk}/verdict", **with_token).status_code == 200
        counts.append(len(captured))
    assert counts[0] >= counts[1] and counts[1] <= 18, counts


def test_tokens_scopes_and_foreign_runs(team, user):
    run = commit_runs(make_test(team), "cccc3333", 1000.0, days_ago=1)[0]
    address = f"/api/v1/runs/{run.pk}/verdict"
    assert Client().get(address).status_code == 401
    assert Client().get(address, **headers(team, user, Scope.RUNS_WRITE)).status_code == 403
    elsewhere = make_team(name="Elsewhere")
    theirs = headers(elsewhere, make_user(team=elsewhere))
    assert Client().get(address, **theirs).status_code == 404
    assert Client().get(f"/api/v1/compare?base={run.pk}&new={run.pk}", **theirs).status_code == 404
    assert Client().get("/api/v1/compare?base=cccc3333&new=cccc3333", **theirs).status_code == 404


@pytest.mark.parametrize(
    "query", ["wait=31", "wait=-1", "wait=x", "p99_percent=0", "baseline=a%00b", "throughput_percent=nan"]
)
def test_nonsense_is_refused(team, user, query):
    run = commit_runs(make_test(team), "cccc3333", 1000.0, days_ago=1, repeats=1)[0]
    response = Client().get(f"/api/v1/runs/{run.pk}/verdict?{query}", **headers(team, user))
    assert response.status_code == 400 and response["Content-Type"] == "application/problem+json"


def test_a_run_that_goes_is_pending(team, asked):
    going = make_run(make_test(team), status="queued")
    answer = asked(going)
    assert (
        answer["verdict"] == "inconclusive"
        and answer["pending"]
        and "has not ended, it is queued" in answer["reasons"][0]
    )


@pytest.mark.django_db(transaction=True)
def test_it_waits_for_a_run_to_end(team, asked):
    sweep = make_test(team)
    commit_runs(sweep, "aaaa1111", 1000.0, days_ago=9)
    going = make_run(sweep, threads=8, repeat=99, status="queued", commit="cccc3333", branch="main")

    def end():
        time.sleep(0.6)
        Run.objects.filter(pk=going.pk).update(
            status="cancelled", reason="cancelled_by_user", finished_at=going.created_at
        )
        connections.close_all()

    thread = threading.Thread(target=end)
    thread.start()
    began = time.monotonic()
    answer = asked(going, wait=20)
    thread.join()
    assert answer["verdict"] == "error" and 0.5 < time.monotonic() - began < 15  # not the twenty it might have waited


@pytest.mark.django_db(transaction=True)
def test_four_may_wait_at_once_and_no_fifth(team, user):
    going = make_run(make_test(team), status="queued")
    with_token = headers(team, user)

    def ask(_):
        try:
            return Client().get(f"/api/v1/runs/{going.pk}/verdict?wait=2", **with_token)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(ask, range(6)))
    assert sorted(answer.status_code for answer in answers) == [200] * verdicts.MAX_WAITING + [503, 503]
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert refused["Retry-After"] == str(verdicts.RETRY_AFTER_S) and refused.json()["type"] == "/problems/overloaded"
    assert ask(0).status_code == 200, "the places are free again"


def test_sides_are_compared_by_commit_by_name_and_by_id(team, user):
    sweep, with_token = make_test(team), headers(team, user)
    old = commit_runs(sweep, "aaaa1111", 1000.0, days_ago=9)
    new = commit_runs(sweep, "cccc3333", 1300.0, days_ago=1)
    set_baseline(team, user, "good", old, chosen="By hand.")
    ids = ",".join(str(run.pk) for run in new)
    for base, other in (("aaaa1111", "cccc3333"), ("good", "cccc333"), ("good", ids)):
        response = Client().get("/api/v1/compare", {"base": base, "new": other}, **with_token)
        assert response.status_code == 200, response.content
        assert response.json()["verdict"] == "improvement" and len(response.json()["comparisons"]) == 1
    response = Client().get("/api/v1/compare", {"base": "nothing", "new": "good"}, **with_token)
    assert response.status_code == 404


def test_refuses_incomparable_sides_and_names_difference(team, user):
    with_token = headers(team, user)
    test, other = make_test(team), make_test(team, database=make_database(team=team, name="Other"))
    commit_runs(test, "aaaa1111", 1000.0, days_ago=9)
    commit_runs(other, "cccc3333", 1300.0, days_ago=1)
    response = Client().get("/api/v1/compare?base=aaaa1111&new=cccc3333", **with_token)
    assert response.status_code == 422 and response.json()["type"] == "/problems/incomparable"
    assert "database" in {fault["code"] for fault in response.json()["errors"]}


def one_job(sweep, commit, level, days_ago, **fields):
    """Five runs of one CI job."""
    return commit_runs(sweep, commit, level, days_ago=days_ago, session=f"job {commit} {days_ago}", **fields)


def test_one_job_screens_and_a_second_one_confirms(team, asked):
    """Jobs differ by 2 %: five runs of each say nothing of that, the history does."""
    sweep = make_test(team)
    for day, factor in enumerate((1.0, 1.02, 0.98, 1.01, 0.985, 1.015, 0.99, 1.0), start=2):
        one_job(sweep, f"aaaa000{day}", 1000.0 * factor, day)
    calm = one_job(sweep, "bbbb2222", 970.0, 1.5, branch="topic")
    answer = asked(calm[0])
    assert answer["verdict"] in ("pass", "inconclusive") and not answer["flagged"]
    assert answer["metrics"][0]["base_sessions"] == 8 and answer["metrics"][0]["new_runs"] == 5
    new = one_job(sweep, "cccc3333", 880.0, 1)
    answer = asked(new[0])
    assert answer["verdict"] == "inconclusive" and answer["flagged"] and answer["metrics"][0]["state"] == "flagged"
    assert "One session is worse in" in answer["reasons"][0] and "again in a new CI job." in answer["certainty"]
    again = one_job(sweep, "cccc3333", 890.0, 0.5)
    answer = asked(again[0])
    assert answer["verdict"] == "regression" and answer["metrics"][0]["new_sessions"] == 2 and not answer["flagged"]
    assert answer["tests"] == 1 and answer["noise_floor"] == pytest.approx(0.04, abs=0.03)


def test_a_loss_that_a_new_job_does_not_show_is_no_regression(team, asked):
    sweep = make_test(team)
    for day, factor in enumerate((1.0, 1.02, 0.98, 1.01, 0.985, 1.015, 0.99, 1.0), start=2):
        one_job(sweep, f"aaaa000{day}", 1000.0 * factor, day)
    one_job(sweep, "cccc3333", 880.0, 1)
    answer = asked(one_job(sweep, "cccc3333", 1005.0, 0.5)[0])
    assert answer["verdict"] == "inconclusive" and not answer["flagged"]


def test_jobs_without_history_stay_inconclusive_with_many_runs(team, asked):
    sweep = make_test(team)
    one_job(sweep, "aaaa1111", 1000.0, 2, repeats=10)
    answer = asked(one_job(sweep, "cccc3333", 800.0, 1, repeats=10)[0])
    assert answer["verdict"] == "inconclusive" and "is not known, however many runs" in answer["reasons"][1]

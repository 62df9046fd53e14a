"""A loss that lasts is red until it is gone or a person accepts it: one job for each commit, as the recipe has it."""

from importlib import import_module

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from benchsite.accounts.models import AuditEntry, Scope
from reports.models import ChangePoint
from reports.tests.verdicts import commit_runs, headers, make_test
from reports.trends.analysis.baseline_levels import LevelTracker
from reports.trends.baselines import accept_level, set_baseline
from reports.trends.verdicts.baseline_selection import verdict_of_run
from runs.models import Run

NOISE = (0.0, 0.004, -0.006, 0.002, -0.001, 0.005, -0.003, 0.001, -0.004, 0.003)
LOST = -0.2


def track(*means):
    tracker = LevelTracker(0.05, 1 / 5)
    tracker.add_all(means)
    return tracker


def test_loss_never_becomes_the_level():
    tracker = track(*NOISE, *(LOST + noise for noise in NOISE * 20))
    assert tracker.is_open and tracker.level == list(NOISE) and len(tracker.tail) == 200


def test_second_session_of_a_loss_is_red():
    assert not track(*NOISE, LOST).is_open
    assert track(*NOISE, LOST, LOST + 0.01).is_open


def test_one_bad_job_is_not_red():
    assert not track(*NOISE, LOST, 0.0, LOST, 0.002).is_open


def test_loss_that_is_gone_is_green_at_once():
    tracker = track(*NOISE, LOST, LOST, LOST, 0.001)
    assert not tracker.is_open and tracker.tail == []


def test_slow_creep_ends_red():
    """Each session loses 1 % more: none differs from the one before."""
    assert track(*NOISE, *(-0.01 * commit for commit in range(1, 16))).is_open


def test_lasting_gain_becomes_the_level():
    tracker = track(*NOISE, *(0.1 + noise for noise in NOISE[:5]))
    assert tracker.level[0] == pytest.approx(0.1) and len(tracker.level) == 5
    tracker.add_all((0.0, 0.001))
    assert tracker.is_open, "the gain is lost again"


def test_lasting_gain_leaves_a_fixed_level_where_it_is():
    tracker = LevelTracker(0.05, 1 / 5)
    tracker.add_all(NOISE)
    tracker.is_fixed = True
    tracker.add_all(0.1 + noise for noise in NOISE)
    assert tracker.level == list(NOISE) and tracker.is_shifted()


def test_accepted_level_is_what_follows_is_compared_with():
    tracker = track(*NOISE, LOST, LOST + 0.002, LOST - 0.001)
    tracker.begin(tracker.tail)
    tracker.add_all((LOST, LOST + 0.003))
    assert not tracker.is_open and len(tracker.level) == 5
    tracker.add_all((2 * LOST, 2 * LOST))
    assert tracker.is_open


# --- With runs ---


def make_history(sweep, commits, level, *, first=0, branch="main"):
    """One run for each commit, each in a job of its own, two hours apart; the last run."""
    runs = []
    for number in range(first, first + commits):
        noise = 1 + NOISE[number % len(NOISE)]
        days = 20 - number / 12
        runs += commit_runs(sweep, f"{branch[0]}{number:07}", level * noise, days_ago=days, repeats=1, branch=branch)
    return runs[-1]


@pytest.fixture
def lost(team):
    """Twelve commits at 41k, then two at 34k."""
    sweep = make_test(team)
    make_history(sweep, 12, 41_000.0)
    make_history(sweep, 2, 33_700.0, first=12)
    return sweep


@pytest.mark.django_db
@pytest.mark.slow
def test_second_commit_of_a_loss_is_red_and_stays_red(team, lost):
    first, second = Run.objects.filter(commit__gte="m0000012").order_by("finished_at")
    Run.objects.filter(pk=second.pk).update(excluded_reason="not measured yet")
    screened = verdict_of_run(first)
    assert screened.verdict == "inconclusive" and screened.flagged and not screened.since
    Run.objects.filter(pk=second.pk).update(excluded_reason="")
    confirmed = verdict_of_run(first)
    assert confirmed.verdict == "regression" and confirmed.since == "m0000012" and "later ones" in confirmed.certainty
    assert (confirmed.metrics[0].new_sessions, confirmed.metrics[0].base_sessions) == (1, 12)
    document = verdict_of_run(second)
    assert document.verdict == "regression" and document.since == "m0000012" and document.since_run == first.pk
    assert document.reasons[1] == "It began with commit m0000012 and lasts."
    assert document.metrics[0].base == pytest.approx(41_000, rel=0.01)
    assert document.metrics[0].new_sessions == 2
    # Far longer than any window of runs at the old level.
    later = make_history(lost, 60, 33_700.0, first=14)
    assert verdict_of_run(later).verdict == "regression" and verdict_of_run(later).since == "m0000012"


@pytest.mark.django_db
@pytest.mark.slow
def test_commit_measured_again_stays_where_it_was(team, lost):
    """A good commit that is measured again, to find the bad one, does not end the loss."""
    commit_runs(lost, "m0000011", 41_000.0, days_ago=18.5, repeats=2)
    assert verdict_of_run(make_history(lost, 1, 33_700.0, first=20)).verdict == "regression"


@pytest.mark.django_db
@pytest.mark.slow
def test_branch_is_red_for_its_own_loss_alone(team, lost):
    make_history(lost, 6, 33_700.0, first=14)
    same = make_history(lost, 2, 33_700.0, first=24, branch="topic")
    assert verdict_of_run(same).verdict != "regression", "the default branch is red for it"
    worse = make_history(lost, 3, 28_000.0, first=30, branch="other")
    document = verdict_of_run(worse)
    assert document.verdict == "regression" and document.since == "o0000030", "each of its commits has one job"


@pytest.mark.django_db
@pytest.mark.slow
def test_named_baseline_is_red_with_one_job_for_each_commit(team, user, lost):
    base = list(Run.objects.filter(commit="m0000011"))
    set_baseline(team, user, "release-1.0", base, chosen="By hand.")
    second = Run.objects.get(commit="m0000013")
    assert verdict_of_run(second, baseline="release-1.0").verdict == "regression"


@pytest.mark.django_db
@pytest.mark.slow
def test_uploads_without_a_session_are_one_for_each_commit(team):
    """Twelve builds of one day: the day is no session."""
    sweep = make_test(team)
    for number, level in enumerate((*(41_000.0 * (1 + noise) for noise in NOISE), 33_000.0, 33_500.0)):
        runs = commit_runs(sweep, f"m{number:07}", level, days_ago=1 - number / 100, repeats=1, session="")
    Run.objects.update(matrix=None, source=Run.Source.UPLOADED)
    assert verdict_of_run(Run.objects.get(pk=runs[0].pk)).verdict == "regression"


@pytest.mark.django_db
@pytest.mark.slow
def test_accepting_by_button_makes_the_next_commit_green(client_in, team, user, lost):
    second = Run.objects.get(commit="m0000013")
    page = client_in.get(reverse("run-against", args=[second.pk])).content.decode()
    assert "Accept the new level" in page and "m0000012" in page
    first = Run.objects.get(commit="m0000012")
    response = client_in.post(reverse("history-accept", args=[second.config_key]), {"run": first.pk, "note": "wanted"})
    assert response.status_code == 302
    assert ChangePoint.objects.get().note == "wanted" and ChangePoint.objects.get().run == first
    assert AuditEntry.objects.filter(kind="level_accepted").count() == 1
    accepted = verdict_of_run(first)
    assert (
        accepted.verdict == "pass"
        and not accepted.since
        and "Pass, loss accepted: throughput 19 %" in accepted.headline
    )
    metric = accepted.metrics[0]
    assert metric.state == "accepted" and metric.reason.endswith("level that begins with m0000012 was accepted.")
    assert verdict_of_run(second).headline.startswith("Pass: no loss")
    assert verdict_of_run(make_history(lost, 3, 33_700.0, first=14)).verdict == "pass"
    again = verdict_of_run(make_history(lost, 2, 28_000.0, first=17))
    assert again.verdict == "regression" and again.since == "m0000017"
    accept_level(Run.objects.get(commit="m0000017"), user, "wanted, too")
    assert verdict_of_run(first).headline == accepted.headline, "the later level is none of this commit's"


@pytest.mark.django_db
@pytest.mark.slow
def test_level_accepted_for_one_metric_counts_for_all(team, user, lost):
    """As earlier releases stored it: CI stayed red."""
    first, second = Run.objects.filter(commit__gte="m0000012").order_by("finished_at")
    test = {"team": team, "config_key": first.config_key, "run": first}
    for metric, state in (("throughput", "accepted"), ("READ service mean", "accepted"), ("READ service p99", "new")):
        ChangePoint.objects.create(**test, metric=metric, state=state, note=metric, changed_by=user)
    assert verdict_of_run(second).verdict == "regression"
    import_module("reports.migrations.0011_accepted_for_all_metrics").accept_for_all(apps, None)
    assert verdict_of_run(second).verdict == "pass" and ChangePoint.objects.get().note == "READ service mean"


@pytest.mark.django_db
@pytest.mark.slow
def test_accepted_level_confirms_no_loss_before_it(team, user, lost):
    first, second = Run.objects.filter(commit__gte="m0000012").order_by("finished_at")
    accept_level(second, user, "wanted")
    document = verdict_of_run(first)
    assert document.verdict == "inconclusive" and document.flagged


@pytest.mark.django_db
@pytest.mark.slow
def test_second_accepted_loss_is_one_against_the_first(team, user, lost):
    for number, level in ((14, 26_960.0), (15, 26_960.0)):
        make_history(lost, 1, level, first=number)
    accept_level(Run.objects.get(commit="m0000012"), user, "wanted")
    Run.objects.filter(commit__in=("m0000013", "m0000015")).update(excluded_reason="not measured")
    third = Run.objects.get(commit="m0000014")
    accept_level(third, user, "wanted, too")
    document = verdict_of_run(third)
    assert document.headline.startswith("Pass, loss accepted: throughput 19 %"), "not 34 %"
    assert document.metrics[0].base_sessions == 1


@pytest.mark.django_db
@pytest.mark.slow
def test_branch_at_a_level_that_was_accepted_on_it(team, user, lost, django_assert_max_num_queries):
    topic = make_history(lost, 3, 30_000.0, first=12, branch="topic")
    topic = Run.objects.select_related("team").get(pk=topic.pk)
    accept_level(Run.objects.get(commit="t0000012"), user, "wanted")
    Run.objects.filter(commit__in=("m0000012", "m0000013")).update(excluded_reason="not measured")
    with django_assert_max_num_queries(18):
        document = verdict_of_run(topic)
    assert document.headline.startswith("Pass, loss accepted") and document.metrics[0].new_sessions == 3


@pytest.mark.django_db
@pytest.mark.slow
def test_what_follows_an_older_commit_confirms_no_loss(team, user, lost):
    """A named baseline is faster than all commits before it."""
    faster = commit_runs(lost, "m0000030", 50_000.0, days_ago=0.1, repeats=1)
    set_baseline(team, user, "release-2.0", faster, chosen="By hand.")
    document = verdict_of_run(Run.objects.get(commit="m0000005"), baseline="release-2.0")
    assert document.verdict == "inconclusive" and "later ones" not in document.certainty


@pytest.mark.django_db
@pytest.mark.slow
def test_accepting_by_rest(team, user, lost):
    second = Run.objects.get(commit="m0000013")
    with_token = headers(team, user, Scope.RUNS_READ, Scope.RUNS_WRITE)
    url = f"/api/v1/runs/{second.pk}"
    assert Client().get(f"{url}/verdict", **with_token).json()["verdict"] == "regression"
    body = {"note": "costs of the new index"}
    answer = Client().post(f"{url}/accept", body, content_type="application/json", **with_token)
    assert answer.status_code == 200, answer.content
    assert answer.json()["commit"] == "m0000013" and answer.json()["run"] == str(second.pk)
    assert Client().get(f"{url}/verdict", **with_token).json()["verdict"] == "pass"
    rejected = commit_runs(lost, "dddd0000", 1.0, days_ago=0.1, repeats=1, verdict="reject")[0]
    refused = Client().post(f"/api/v1/runs/{rejected.pk}/accept", {}, content_type="application/json", **with_token)
    assert refused.status_code == 400

"""An upload that is worse than what stood before is told to whoever asked for it, though nobody asks for a verdict."""

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone

from benchsite.accounts.models import Delivery, Membership, Notice, Preference, Scope
from reports.models import CommitLook
from reports.tests.verdicts import commit_runs, headers, make_test
from reports.trends import upload_alerts
from runs.models import Run
from runs.tests.importing import summary
from runs.tests.programs import Program

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
KIND = "regression"
UPLOADED = {"source": Run.Source.UPLOADED}


@pytest.fixture
def asked(user, team):
    user.email = user.confirmed_email = "runa@example.org"
    user.save()
    return Preference.objects.create(membership=Membership.objects.get(user=user, team=team), kind=KIND)


@pytest.fixture
def test(team):
    """A test with a commit to be judged against."""
    sweep = make_test(team)
    uploaded(sweep, "aaaa1111", 1000.0, days_ago=5, minutes=2 * 24 * 60)
    return sweep


def uploaded(sweep, commit, level, *, days_ago=0.1, minutes=0, **fields):
    """Repeats of a commit that were uploaded so many minutes ago."""
    runs = commit_runs(sweep, commit, level, days_ago=days_ago, **UPLOADED, **fields)
    at = timezone.now() - dt.timedelta(minutes=minutes)
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(created_at=at)
    return runs


def test_an_upload_that_nobody_asks_about_is_told_once(team, asked, test):
    runs = uploaded(test, "bbbb2222", 850.0)
    assert upload_alerts.look() == 1
    assert upload_alerts.look() == 0
    notice = Notice.objects.get()
    assert notice.kind == KIND and "Regression: " in notice.subject
    assert (notice.data["commit"], notice.data["base_commit"]) == ("bbbb2222", "aaaa1111")
    assert notice.data["run"] in {str(run.pk) for run in runs}
    assert Delivery.objects.get().member == asked.membership


def test_a_pipeline_that_only_uploads_is_told(team, user, asked):
    program = Program(team, user)
    for commit, level in (("aaaa1111", 50_000), ("bbbb2222", 35_000)):
        for job, noise in enumerate((0, 200, -200, 100, -100)):
            done = {"reads": level + noise, "updates": level + noise}
            stated = {
                "commit": commit,
                "branch": "main",
                "session": f"{commit} {job}",
                "threads": 8,
                "purpose": "demo",
            }
            response = program.post(("a.txt", summary(**done)), **stated)
            assert response.status_code == 201, response.content
        assert upload_alerts.look() == (commit == "bbbb2222")
    assert Notice.objects.get().data["commit"] == "bbbb2222"


def test_reading_the_verdict_sends_no_second_alert(team, user, asked, test):
    """Neither before nor after the search for regressions."""
    with_token = headers(team, user, Scope.RUNS_READ, Scope.RUNS_WRITE)
    first = uploaded(test, "bbbb2222", 850.0)[0]
    Client().get(f"/api/v1/runs/{first.pk}/verdict", **with_token)
    assert Notice.objects.count() == 1 and upload_alerts.look() == 0
    second = uploaded(test, "cccc3333", 700.0, days_ago=0.05, branch="topic")[0]
    assert upload_alerts.look() == 1
    Client().get(f"/api/v1/runs/{second.pk}/verdict", **with_token)
    assert Notice.objects.count() == 2


def test_it_waits_for_quiet_while_there_are_few_repeats(asked, test):
    few = uploaded(test, "bbbb2222", 850.0, repeats=4)
    assert upload_alerts.look() == 0 and not CommitLook.objects.exists()
    Run.objects.filter(pk__in=[run.pk for run in few]).update(created_at=timezone.now() - dt.timedelta(seconds=61))
    assert upload_alerts.look() == 1


def test_a_repeat_that_comes_later_has_it_judged_again(asked, test):
    uploaded(test, "bbbb2222", 850.0, repeats=1, minutes=10)
    assert upload_alerts.look() == 0 and CommitLook.objects.get().runs == 1
    uploaded(test, "bbbb2222", 850.0, repeats=3, minutes=5)
    assert upload_alerts.look() == 1 and CommitLook.objects.get().runs == 4
    uploaded(test, "bbbb2222", 850.0, repeats=1, minutes=2)
    assert upload_alerts.look() == 0 and Notice.objects.count() == 1


def test_what_was_looked_at_is_not_judged_again(asked, test, monkeypatch):
    uploaded(test, "bbbb2222", 1001.0)
    assert upload_alerts.look() == 0
    monkeypatch.setattr(upload_alerts, "_look_at", lambda group: 1 / 0)
    assert upload_alerts.look() == 0


def test_a_look_judges_some_and_the_next_goes_on(asked, test):
    for number in range(3):
        age = {"days_ago": 0.2 - number / 100, "minutes": 9 - number}
        uploaded(test, f"bbbb000{number}", 850.0, branch=f"topic{number}", **age)
    assert [upload_alerts.look(2), upload_alerts.look(2), upload_alerts.look(2)] == [2, 1, 0]


def test_a_look_that_takes_long_leaves_the_rest_to_the_next(asked, test, monkeypatch):
    for number in range(2):
        age = {"days_ago": 0.2 - number / 100, "minutes": 9 - number}
        uploaded(test, f"bbbb000{number}", 850.0, branch=f"topic{number}", **age)
    monkeypatch.setattr(upload_alerts, "MAX_S", 0)
    assert [upload_alerts.look(), upload_alerts.look(), upload_alerts.look()] == [1, 1, 0]


def test_what_cannot_be_judged_keeps_nothing_else_waiting(asked, test, monkeypatch):
    uploaded(test, "bbbb2222", 850.0, days_ago=0.2, minutes=9, branch="topic")
    uploaded(test, "cccc3333", 850.0, branch="topic")
    judged = upload_alerts.verdict_of_run
    monkeypatch.setattr(upload_alerts, "verdict_of_run", lambda run: judged(run) if run.commit[0] == "c" else 1 / 0)
    assert upload_alerts.look(1) == 0
    assert upload_alerts.look(1) == 1


def test_skips_old_and_planned_runs_and_those_without_commit(asked, test):
    uploaded(test, "bbbb2222", 850.0, minutes=25 * 60)
    uploaded(test, "", 850.0)
    commit_runs(test, "cccc3333", 850.0, days_ago=0.1)
    assert upload_alerts.look() == 0 and not CommitLook.objects.exists()


def test_nobody_asked_nothing_is_worked_out(test, django_assert_num_queries):
    uploaded(test, "bbbb2222", 850.0)
    with django_assert_num_queries(3):
        assert upload_alerts.look() == 0


def test_another_teams_uploads_are_not_told(test, stranger, asked):
    Preference.objects.update(membership=Membership.objects.exclude(team=test.team).get())
    uploaded(test, "bbbb2222", 850.0)
    assert upload_alerts.look() == 0 and not Notice.objects.exists()


def test_looks_are_forgotten_after_a_day(team):
    old = timezone.now() - dt.timedelta(hours=25)
    CommitLook.objects.create(team=team, config_key="k", commit="aaaa1111", runs=1, last_at=old)
    upload_alerts.look()
    assert not CommitLook.objects.exists()

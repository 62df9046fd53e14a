"""Histories, change points and baselines go by the time of commits, where it is stated."""

import datetime as dt

import pytest
from django.utils import timezone

from reports.models import History
from reports.tests.verdicts import commit_runs, make_test
from reports.trends.histories import THROUGHPUT_METRIC
from reports.trends.queries.baselines import newest_commits, newest_run, runs_of_branch
from reports.trends.queries.histories import history_lines
from reports.trends.queries.history import follow, lately
from reports.trends.verdicts.baseline_selection import verdict_of_run
from runs.models import Run
from runs.tests.programs import Program

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def commit_at(days_ago):
    return timezone.now() - dt.timedelta(days=days_ago)


@pytest.fixture
def bisected(team):
    """Twenty commits at 1,000 and 800 ops/s, the older half measured last: a bisection."""
    test = make_test(team)
    numbers = [*range(10, 20), *range(10)]
    for position, number in enumerate(numbers):
        level = 1000.0 if number < 10 else 800.0
        commit_runs(
            test, f"{number:02}aaaaaa", level, days_ago=20 - position, repeats=1, committed_at=commit_at(60 - number)
        )
    return History.objects.get(config_key=Run.objects.first().config_key)


def test_history_goes_by_the_time_of_commits(team, bisected):
    expected = [f"{number:02}aaaaaa" for number in range(20)]
    for history in (follow(bisected, THROUGHPUT_METRIC), lately(bisected, THROUGHPUT_METRIC)):
        assert [point.commit for point in history.points] == expected
        (change,) = history.changes
        assert change.point.commit == "10aaaaaa" and not change.better
    (line,) = history_lines(team, History.objects.all())
    assert line.history.newest.commit == "19aaaaaa"
    assert newest_run(team.pk, bisected.config_key).commit == "19aaaaaa"
    assert newest_commits(team)[0]["commit"] == "19aaaaaa"
    assert {run.commit for run in runs_of_branch(team, "main")} == {"19aaaaaa"}


def test_commit_that_is_measured_later_is_judged_by_its_elders(team, bisected):
    run = Run.objects.get(commit="05aaaaaa")

    document = verdict_of_run(run)

    assert document.base.commit == "04aaaaaa" and document.verdict not in ("improvement", "regression")


def test_upload_states_the_time_of_its_commit(team, user):
    program = Program(team, user)
    stored = program.post(commit="3f2a91c7", committed_at="2026-03-01T13:00:00+01:00")

    assert stored.status_code == 201
    assert Run.objects.get().committed_at == dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    refused = program.post(commit="3f2a91c7", committed_at="yesterday")
    assert refused.status_code == 400 and "with its zone" in refused.content.decode()

"""How sessions vary on the machines of a team: pooled over tests, for clusters and for labels of runners."""

import datetime as dt
import math

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from reports.compare.queries import session_spreads
from reports.tests.verdicts import commit_runs, make_test
from reports.trends.analysis.sessions import SessionSpread, find_level, largest_spread, session_interval, session_spread
from runs.tests.factories import make_team


def test_pools_session_means_and_subtracts_run_variance():
    tests = [
        {"monday": [100.0, 102.0], "tuesday": [110.0, 108.0], "friday": [95.0, 96.0]},
        {"monday": [50.0], "tuesday": [54.0]},
        {"monday": [7.0]},
    ]
    spread = session_spread(tests)
    logs = [[math.log(100.0 * 102) / 2, math.log(110.0 * 108) / 2, math.log(95.0 * 96) / 2], np.log([50.0, 54.0])]
    squares = sum(float(((np.asarray(log) - np.mean(log)) ** 2).sum()) for log in logs)
    within = np.mean([np.log(pair).var(ddof=1) / 2 for pair in ([100, 102], [110, 108], [95, 96])])
    assert spread.variance == pytest.approx(squares / 3 - within)
    assert (spread.sessions, spread.tests) == (3, 2)
    assert spread.degrees == 2, "tests of one session vary together: three sessions say no more than three"


TOO_LITTLE = [
    [],
    [{"a": [1.0, 2.0]}],
    [{"a": [1.0], "b": [2.0]}],
    [{"a": [1.0]}, {"b": [2.0]}],
    [{"a": [1.0], "b": [0.0]}],
]


@pytest.mark.parametrize("tests", TOO_LITTLE)
def test_too_little_is_unknown(tests):
    assert session_spread(tests) is None


def test_a_history_is_split_where_its_level_shifted():
    random = np.random.default_rng(8)
    means = np.concatenate([random.normal(-0.11, 0.015, 2), random.normal(0, 0.015, 12)])
    level = find_level(means)
    assert len(level.means) == 2 and level.degrees == 12
    assert math.sqrt(level.squares / level.degrees) == pytest.approx(0.015, rel=0.4)
    assert len(find_level(random.normal(0, 0.02, 20)).means) == 20 and find_level([]).means == ()


def test_a_level_is_seldom_split_where_nothing_shifted():
    random = np.random.default_rng(4)
    assert sum(len(find_level(random.normal(0, 0.05, 20)).means) < 20 for _ in range(300)) <= 6


def test_the_interval_of_sessions_is_that_of_students_t():
    from scipy import stats

    new, old = [0.9, 0.93], [1.0, 1.02, 0.99, 1.01]
    interval, _ = session_interval(new, find_level(old))
    expected = stats.ttest_ind(new, old)
    assert interval.p == pytest.approx(expected.pvalue) and interval.df == 4
    ends = expected.confidence_interval()
    assert (math.log(interval.low), math.log(interval.high)) == pytest.approx((ends.low, ends.high))


def test_largest_spread_is_that_of_session_means():
    """Where runs explain all of it, s² is 0 on both clusters."""
    calm, wild = SessionSpread(0.0, 5, 6, 2, 0.01**2), SessionSpread(0.0, 5, 6, 2, 0.04**2)
    assert largest_spread(["calm", "wild", "unknown"], {"calm": calm, "wild": wild}) is wild
    assert largest_spread(["unknown"], {"calm": calm}) is None


@pytest.mark.slow
@pytest.mark.django_db
def test_each_cluster_has_the_spread_of_its_own_sessions():
    team = make_team()
    calm, wild, single = (make_test(team) for _ in range(3))
    for sweep, days in ((calm, (1.0, 1.01, 0.99)), (wild, (1.0, 1.3, 0.8)), (single, (1.0,))):
        for day, factor in enumerate(days, start=1):
            commit_runs(sweep, "aaaa1111", 1000.0 * factor, days_ago=day, repeats=3, session="")
    commit_runs(calm, "aaaa1111", 1.0, days_ago=4, repeats=2, session="", excluded_reason="noisy")
    commit_runs(calm, "aaaa1111", 1.0, days_ago=5, repeats=2, session="", verdict="reject")
    names = [sweep.cluster_name for sweep in (calm, wild, single)]
    with CaptureQueriesContext(connection) as asked:
        spreads = session_spreads(team, [*names, "", "no such cluster"])
    assert len(asked) == 2 and set(spreads) == set(names[:2])
    assert spreads[names[0]].relative < 0.1 < 0.3 < spreads[names[1]].relative
    assert spreads[names[1]].sessions == 3 and spreads[names[1]].degrees == 2
    assert session_spreads(make_team(), names) == {} and session_spreads(team, []) == {}


@pytest.mark.slow
@pytest.mark.django_db
def test_runs_of_one_job_are_one_session():
    sweep = make_test(make_team())
    at = (timezone.now() - dt.timedelta(days=2)).date()
    for job in ("1", "2", "3"):
        commit_runs(sweep, "aaaa1111", 1000.0 + int(job), days_ago=2, repeats=5, session=f"build {job} {at}")
    assert session_spreads(sweep.team, [sweep.cluster_name])[sweep.cluster_name].degrees == 2

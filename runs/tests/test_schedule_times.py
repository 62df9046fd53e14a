"""When a schedule is due: in UTC, the same times on every day, whatever clocks do elsewhere."""

import itertools
from datetime import UTC, datetime, time, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from runs.models import Schedule
from runs.plans.schedules import EVERY_HOURS, in_words, next_times

TIMES = st.builds(time, st.integers(0, 23), st.integers(0, 59))
DAYS = st.sets(st.integers(0, 6), min_size=1).map(list)


def at_times(every, at, hours=6, days=()):
    return Schedule(every=every, at=at, hours=hours, days=list(days))


SCHEDULES = st.one_of(
    st.builds(at_times, st.just("day"), TIMES),
    st.builds(at_times, st.just("hours"), TIMES, st.sampled_from(EVERY_HOURS)),
    st.builds(at_times, st.just("week"), TIMES, st.just(6), DAYS),
)
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))


def times(rule, after, most=5):
    return [f"{at:%a %d %H:%M}" for at in next_times(rule, datetime.fromisoformat(after), most)]


def test_every_day():
    assert times(at_times("day", time(3, 0)), "2026-11-21T02:59:59+00:00", 2) == ["Sat 21 03:00", "Sun 22 03:00"]
    assert times(at_times("day", time(3, 0)), "2026-11-21T03:00:00+00:00", 2) == ["Sun 22 03:00", "Mon 23 03:00"]


def test_on_days_of_the_week():
    rule = at_times("week", time(22, 30), days=(0, 4))
    assert times(rule, "2026-11-21T12:00:00+00:00", 3) == ["Mon 23 22:30", "Fri 27 22:30", "Mon 30 22:30"]


def test_every_few_hours_at_the_same_times_of_each_day():
    rule = at_times("hours", time(20, 15), hours=6)
    assert times(rule, "2026-11-21T12:00:00+00:00") == [
        "Sat 21 14:15", "Sat 21 20:15", "Sun 22 02:15", "Sun 22 08:15", "Sun 22 14:15",
    ]  # fmt: skip


def test_no_time_is_missing_or_doubled_when_clocks_change():
    """Europe goes back on 25 October 2026 and forward on 28 March 2027."""
    for day in ("2026-10-24", "2027-03-27"):
        times = next_times(at_times("hours", time(0, 30), hours=1), datetime.fromisoformat(f"{day}T00:00:00+00:00"), 72)
        assert {b - a for a, b in itertools.pairwise(times)} == {timedelta(hours=1)}


def test_a_moment_of_another_zone_is_the_same_moment():
    rule, moment = at_times("day", time(3, 0)), datetime(2026, 11, 21, 2, 30, tzinfo=UTC)
    assert next_times(rule, moment, 3) == next_times(rule, moment.astimezone(timezone(timedelta(hours=-11))), 3)


@pytest.mark.slow
@given(SCHEDULES, MOMENTS)
def test_times_are_after_the_moment_in_order_and_by_the_rule(rule, moment):
    times = next_times(rule, moment, 5)
    assert times[0] > moment
    assert times == sorted(set(times))
    assert all(at.tzinfo == UTC and at.minute == rule.at.minute for at in times)
    assert times[0] - moment <= timedelta(days=7)
    # Who looks again just before a time finds it still to come.
    assert next_times(rule, times[2] - timedelta(seconds=1), 1) == [times[2]]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (at_times("day", time(3, 0)), "every day at 03:00 UTC"),
        (at_times("week", time(22, 30), days=(4, 0)), "on Mondays and Fridays at 22:30 UTC"),
        (at_times("week", time(1, 0), days=(0, 1, 2)), "on Mondays, Tuesdays and Wednesdays at 01:00 UTC"),
        (at_times("hours", time(3, 0), hours=12), "every 12 hours, at 03:00 and 15:00 UTC"),
        (at_times("hours", time(20, 15), hours=6), "every 6 hours, at 02:15, 08:15, 14:15 and 20:15 UTC"),
        (at_times("hours", time(0, 5), hours=1), "every hour, at 5 minutes past, UTC"),
    ],
)
def test_it_is_said_in_words(rule, said):
    assert in_words(rule) == said

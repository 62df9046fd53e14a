"""What counts as a change, what a person's decision does to it, and when a single point asks for another run."""

import numpy as np
import pytest

from reports.trends.analysis.changes import LATENCY, TAIL_LATENCY, THROUGHPUT, detect_changes


def steps(*parts, sd=0.02, seed=4):
    """Levels of so many points each, with normal noise."""
    random = np.random.default_rng(seed)
    levels = np.repeat([level for level, _ in parts], [count for _, count in parts]).astype(float)
    return levels * random.normal(1, sd, levels.size)


def counted(course):
    return [change.index for change in course.changes if change.counts]


def test_a_drop_of_throughput_is_worse_and_a_rise_better():
    course = detect_changes(steps((1000, 30), (900, 30), (1100, 30)), THROUGHPUT)
    assert [(change.index, change.better) for change in course.changes] == [(30, False), (60, True)]
    assert course.changes[0].relative == pytest.approx(-0.1, abs=0.02)
    assert [(level.start, level.stop) for level in course.levels] == [(0, 30), (30, 60), (60, 90)]


def test_a_rise_of_latency_is_worse():
    (change,) = detect_changes(steps((1000, 30), (1300, 30)), LATENCY).changes
    assert not change.better
    assert change.before == pytest.approx(1000, rel=0.02)  # in the unit of the values, not their logarithm


@pytest.mark.parametrize(("rule", "share"), [(THROUGHPUT, 1.03), (TAIL_LATENCY, 1.08)])
def test_a_change_that_is_certain_but_small_is_weak(rule, share):
    course = detect_changes(steps((1000, 40), (1000 * share, 40), sd=0.003), rule)
    assert counted(course) == []
    assert 40 in [change.index for change in course.changes]
    assert all(change.weak for change in course.changes)
    assert len(course.levels) == 1


def test_a_series_that_varies_much_must_change_more():
    drop = steps((1000, 40), (900, 40), sd=0.09, seed=1)
    assert counted(detect_changes(drop, THROUGHPUT)) == []
    assert counted(detect_changes(steps((1000, 40), (600, 40), sd=0.09, seed=1), THROUGHPUT)) == [40]


def test_nothing_is_said_of_fewer_than_ten_points():
    short = detect_changes([1000.0] * 5 + [500.0] * 4, THROUGHPUT)
    assert (short.changes, short.too_short) == ((), True)
    assert counted(detect_changes([1000.0] * 5 + [500.0] * 5, THROUGHPUT)) == [5]


def test_one_point_is_no_change_but_asks_for_another_run():
    flat = steps((1000, 30))
    course = detect_changes([*flat, 850.0], THROUGHPUT)
    assert counted(course) == []
    assert course.step == pytest.approx(-0.15, abs=0.01)
    assert counted(detect_changes([*flat, 850.0, 851.0], THROUGHPUT)) == [30]


def test_a_point_within_its_level_asks_for_nothing():
    assert detect_changes(steps((1000, 31)), THROUGHPUT).step is None
    assert detect_changes([1000.0] * 12 + [1001.0], THROUGHPUT).step is None  # all alike: the least change that matters
    assert detect_changes([1000.0] * 12 + [900.0], THROUGHPUT).step is not None
    assert detect_changes([1000.0] * 5 + [500.0], THROUGHPUT).step is None  # too few to know a level


def test_a_confirmed_change_begins_a_baseline_of_its_own():
    values = steps((1000, 30), (900, 8))
    course = detect_changes(values, THROUGHPUT, confirmed=[30])
    assert [(change.index, change.confirmed) for change in course.changes] == [(30, True)]
    assert course.too_short
    # Whatever comes after is compared with nothing before it: back at 1000 it is a change against 900.
    later = detect_changes(steps((1000, 30), (900, 20), (1000, 20)), THROUGHPUT, confirmed=[30])
    assert [(change.index, change.confirmed, change.better) for change in later.changes] == [
        (30, True, False),
        (50, False, True),
    ]


def test_a_confirmed_change_stays_where_nothing_is_found():
    (change,) = detect_changes(steps((1000, 40)), THROUGHPUT, confirmed=[20]).changes
    assert (change.index, change.confirmed, change.counts) == (20, True, True)


def test_dismissed_change_is_shown_and_ends_no_level():
    """Also when its index has moved."""
    values = steps((1000, 30), (900, 30))
    for index in (29, 30, 32):
        course = detect_changes(values, THROUGHPUT, dismissed=[index])
        assert [(change.index, change.dismissed, change.counts) for change in course.changes] == [(30, True, False)]
        assert len(course.levels) == 1
    assert counted(detect_changes(values, THROUGHPUT, dismissed=[40])) == [30]


@pytest.mark.parametrize("rule", [THROUGHPUT, TAIL_LATENCY])
def test_empty_single_and_zero_values_are_no_error(rule):
    assert detect_changes([], rule).levels == ()
    assert detect_changes([5.0], rule).levels[0].median == 5.0
    assert detect_changes([0.0] * 12, rule).changes == ()
    (change,) = detect_changes([0.0] * 12 + [5.0] * 8, rule).changes
    assert (change.index, change.relative) == (12, None)

"""Coordinated omission: what a throttled thread hides, and what a correction makes of it."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from runs.results.measures.coordinated_omission import corrected, throttled_thread
from runs.results.measures.sustained_load import backlog_growth
from runs.ycsb.histogram import Histogram, get_bucket_index, highest_values
from runs.ycsb.tests.hdrlogs import build_histogram
from runs.ycsb.tests.samples import golden

# One thread that is to do 100 operations a second of 1 ms each, and one stall of a second; in ms.
STALLED = [1.0] * 500 + [1000.0] + [1.0] * 499
INTERVAL = 10.0


def rank(values, percentile):
    return float(np.sort(values)[int(np.ceil(percentile / 100 * len(values))) - 1])


def test_catching_up_agrees_with_values_computed_elsewhere():
    expected = golden("coordinated_omission")
    _, response = throttled_thread(STALLED, INTERVAL)
    assert np.mean(STALLED) == pytest.approx(expected["op_mean"])
    assert rank(STALLED, 99) == expected["op_p99"]
    assert response.mean() == pytest.approx(expected["intended_mean"])
    assert {name: round(rank(response, float(name))) for name in expected["intended"]} == expected["intended"]
    assert int((response > 1.5).sum()) == expected["elevated"]


def test_the_queue_drains_by_what_the_thread_has_to_spare():
    _, response = throttled_thread(STALLED, INTERVAL)
    assert response[500:503].tolist() == [1000.0, 991.0, 982.0]
    assert response[611:].max() == 1.0


def test_an_overload_grows_the_backlog_by_its_share():
    """5 % more offered than done: every second the operations come 0.05 s later."""
    ends, response = throttled_thread([10.0 / 0.95] * 6000, INTERVAL)
    second = (ends / 1000).astype(int)
    means = [float(response[second == one].mean()) * 1000 for one in range(60)]
    growth = backlog_growth(means)
    assert growth is not None
    assert growth[0] == pytest.approx(0.05 * 60e6, rel=0.01)


def test_the_correction_agrees_with_values_computed_elsewhere():
    estimate = corrected(build_histogram([int(one) for one in STALLED]), INTERVAL)
    assert (estimate.count, round(estimate.mean or 0, 2)) == (1099, 46.86)
    # Elsewhere the rank of a percentile was rounded: 1044.05 and 1088.01 of 1099 values.
    assert estimate.percentile(100 * 1044 / 1099) == 450
    assert estimate.percentile(100 * 1088 / 1099) == pytest.approx(890.4, rel=1e-3)


def test_nothing_that_came_in_time_is_corrected():
    even = build_histogram([900, 1000])
    assert corrected(even, 1000) == even
    assert corrected(even, 0) == even
    assert corrected(Histogram(), 10) == Histogram()


def test_shortest_interval_is_a_microsecond():
    assert corrected(build_histogram([1, 2]), 1) == build_histogram([1, 2, 1])
    assert corrected(build_histogram([1, 2]), 2) == build_histogram([1, 2])


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 300_000), max_size=12), st.integers(1, 20_000))
def test_it_adds_what_one_would_by_hand(values, expected):
    service = build_histogram(values)
    by_hand = list(values)
    for value in highest_values(np.array([get_bucket_index(value) for value in values], dtype=np.int64)).tolist():
        by_hand += range(value - expected, expected - 1, -expected)
    assert corrected(service, expected) == build_histogram(by_hand)

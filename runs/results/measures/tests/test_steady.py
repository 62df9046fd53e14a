"""MSER-5 and its drift gate."""

import math

import numpy as np
import pytest

from runs.results.measures.steady import BATCH, DRIFT, Drift, SteadyState, compute_drift, mser5, mser_statistics
from runs.ycsb.tests.samples import golden


def is_trending(series, cut):
    drift = compute_drift(series[cut.truncate_s :])
    return abs(drift.slope) > DRIFT or abs(drift.halves) > DRIFT


def test_it_agrees_with_values_computed_elsewhere():
    expected = golden("mser5")
    cut = mser5(expected["series"])
    assert cut is not None
    assert (cut.truncate_s, cut.at_limit) == (expected["truncate"], expected["at_limit"])
    means = np.array(expected["series"]).reshape(-1, BATCH).mean(axis=1)
    assert mser_statistics(means, means.size // 2).round(5).tolist() == expected["stat"]
    assert cut.mean_kept == pytest.approx(expected["mean_kept"], abs=0.005)
    assert not is_trending(expected["series"], cut)


def test_its_mean_differs_from_that_of_the_whole_run():
    assert sum(golden("mser5")["series"]) / 60 == pytest.approx(94.717, abs=5e-4)


def test_it_finds_no_steady_state_in_a_trend():
    trend = [15 + 85 * second / 59 for second in range(60)]
    cut = mser5(trend)
    assert cut is not None
    assert (cut.truncate_s, cut.at_limit) == (30, True)
    assert is_trending(trend, cut)


def test_it_keeps_everything_of_an_even_run():
    even = [100.0, 101.0, 99.0, 100.0, 100.0] * 12
    cut = mser5(even)
    assert cut is not None
    assert cut.truncate_s == 0
    assert compute_drift(even).slope == pytest.approx(0, abs=0.001)


def test_it_says_nothing_about_short_series():
    assert mser5([1.0] * 19) is None


def test_it_survives_a_run_without_operations():
    assert mser5([0.0] * 30) is not None
    drift = compute_drift([0.0] * 30)
    assert (drift.slope, drift.halves) == (0, 0)


def test_a_drift_of_a_published_run_is_seen():
    """Throughput that grew from 15,000 to 100,000 ops/s within a run."""
    drift = compute_drift([15_000 + 85_000 * second / 599 for second in range(600)])
    assert drift.exceeds(0.05, 3)
    assert drift.halves == pytest.approx(1.17, abs=0.01)


def test_a_drift_counts_only_beyond_chance():
    wild = [100.0, 100.0, 100.0, 100.0, 100.0, 160.0, 160.0, 160.0, 160.0, 160.0] * 4
    uneven = compute_drift([*wild, *[160.0] * 5])
    assert abs(uneven.slope) > 0.05 and not uneven.exceeds(0.05, 3)
    even = compute_drift([100.0 + second / 10 for second in range(120)])
    assert even.slope_error < 0.01 and even.exceeds(0.05, 3)


def test_a_drift_of_a_few_seconds_is_chance():
    assert not compute_drift([1.0, 2.0, 3.0, 4.0] * 4).exceeds(0.0, 3)
    assert not compute_drift([0.0] * 60).exceeds(0.0, 3)


def test_four_batches_are_enough_for_a_cut():
    assert mser5([0.0] * 5 + [10.0] * 15) == SteadyState(truncate_s=5, at_limit=False, mean_kept=10.0)


def test_statistics_keep_their_digits_on_a_high_level():
    means = np.array([3.0, 0.0, 1.0, 2.0, 0.5, 1.5])
    assert mser_statistics(means + 2.0**30, 3) == pytest.approx(mser_statistics(means, 3), rel=1e-6)


def test_drift_and_its_errors_by_hand():
    """Four batches with means 10, 14, 12 and 16; the mean of all is 13."""
    drift = compute_drift([10.0] * 5 + [14.0] * 5 + [12.0] * 5 + [16.0] * 5)
    # Least squares over 20 seconds: 200 / 665 per second. Over the batches: 8 / 5, which leaves residuals of -0.6, 1.8,
    # -1.8 and 0.6 with two degrees of freedom. Each half is a mean of two batches that differ by 4: its error is 2.
    assert drift.slope == pytest.approx(200 / 665 * 20 / 13)
    assert drift.slope_error == pytest.approx(math.sqrt(7.2 / 2 / 5) * 4 / 13)
    assert drift.halves == pytest.approx(14 / 12 - 1)
    assert drift.halves_error == pytest.approx(math.sqrt(8) / 12)


def test_drift_of_few_seconds_has_no_known_error():
    drift = compute_drift([1.0, 1.0, 3.0, 3.0])
    assert (drift.slope, drift.halves) == (pytest.approx(1.6), pytest.approx(2.0))
    assert drift.slope_error == drift.halves_error == math.inf
    assert compute_drift([0.5, 0.5, 1.5, 1.5]).slope == pytest.approx(1.6)  # of a mean of 1
    assert compute_drift([2.0, 2.0, 6.0, 6.0]).halves == pytest.approx(2.0)


@pytest.mark.parametrize("series", [[0.0] * 30, [0.0, 0.0, 2.0, 2.0], [2.0, 2.0, -2.0, -2.0]])
def test_no_drift_without_a_level_to_compare_with(series):
    assert compute_drift(series) == Drift(0.0, 0.0, 0.0, 0.0)

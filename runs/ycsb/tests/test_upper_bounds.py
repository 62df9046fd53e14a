"""The upper bound of a percentile follows from the order and the spread of the values."""

import numpy as np
import pytest

from runs.ycsb.histogram import Histogram
from runs.ycsb.intervals import Batches
from runs.ycsb.tests.hdrlogs import build_batches, build_histogram
from runs.ycsb.upper_bounds import min_values, upper_bounds


def get_bounds(parts, percentiles=(99.0,)):
    values = [value for part in parts for value in part]
    return upper_bounds(build_histogram(values), build_batches(parts), percentiles)


def test_bounds_independent_values_by_their_order():
    # 3,000 different values: the batches take them in turn, so they vary less than by chance.
    values = np.arange(1, 3001)
    parts = [values[batch::30].tolist() for batch in range(30)]
    # n = 3000 / (t / z)^2 = 2674 values, of which the 2661st bounds p99: rank 2985 of 3000.
    assert get_bounds(parts) == [pytest.approx(2985, abs=2)]


def test_bounds_alike_values_less_closely():
    random = np.random.default_rng(7)
    parts = random.lognormal(6, 0.5, (30, 2000)).astype(int)
    slow = parts * np.where(np.arange(30) % 3 == 0, 2, 1)[:, None]
    p99 = build_histogram(slow.ravel().tolist()).percentile(99.0)
    mixed = random.permutation(slow.ravel()).reshape(30, 2000)
    ((together,), (apart,)) = get_bounds(slow.tolist()), get_bounds(mixed.tolist())
    assert p99 < apart < together


@pytest.mark.parametrize(("percentile", "values"), [(95.0, 90), (99.0, 459), (99.9, 4603)])
def test_needs_enough_values(percentile, values):
    assert min_values(percentile) == values
    assert get_bounds([[100] * (values // 30)] * 30, (percentile,)) == [None]
    assert get_bounds([[100] * (values // 20)] * 30, (percentile,)) == [100]


def test_needs_ten_batches():
    assert get_bounds([[100] * 1000] * 9) == [None]
    assert get_bounds([[100] * 1000] * 10) == [100]
    assert upper_bounds(Histogram(), Batches(30), (50.0, 99.0)) == [None, None]


def test_percentile_beyond_all_values_of_the_batches():
    values = np.arange(1, 3001).tolist()
    assert upper_bounds(build_histogram([10**6]), build_batches([values] * 30), (99.0,)) == [None]

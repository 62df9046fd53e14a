"""Histograms count, add and answer exactly like HdrHistogram."""

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings, strategies as st

from runs.ycsb.histogram import (
    MAX_INDEX,
    Histogram,
    compute_rank,
    get_bucket_index,
    highest_value,
    lowest_value,
    median_values,
)
from runs.ycsb.tests.hdrlogs import build_histogram

HOUR_US = 3_600_000_000
values_us = st.one_of(st.integers(0, 3000), st.integers(0, HOUR_US))


@given(st.integers(0, 2**63 - 1))
def test_it_puts_every_value_between_the_ends_of_its_bucket(value):
    index = get_bucket_index(value)
    assert 0 <= index <= MAX_INDEX
    assert lowest_value(index) <= value <= highest_value(index)
    assert get_bucket_index(lowest_value(index)) == get_bucket_index(highest_value(index)) == index
    assert highest_value(index) - lowest_value(index) <= value / 1000


@pytest.mark.parametrize(
    ("value", "lowest", "median", "highest"),
    [
        (0, 0, 0, 0),
        (2047, 2047, 2047, 2047),
        (2048, 2048, 2049, 2049),
        (10_000, 10_000, 10_004, 10_007),
        (2_206_720, 2_205_696, 2_206_720, 2_207_743),
    ],
)
def test_it_knows_the_ends_and_the_middle_of_a_bucket(value, lowest, median, highest):
    index = get_bucket_index(value)
    assert (lowest_value(index), median_values(np.array([index]))[0], highest_value(index)) == (lowest, median, highest)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.lists(values_us, min_size=1, max_size=60))
def test_it_agrees_with_the_python_port_of_hdrhistogram(values):
    # Every value 10,000 times: then all percentiles used here have whole ranks, and no rounding rule matters.
    port = HdrHistogram(1, HOUR_US * 2, 3)
    for value in values:
        port.record_value(value, 10_000)
    ours = build_histogram(values)
    ours = Histogram(ours.counts * 10_000)
    assert ours.count == port.get_total_count()
    assert ours.min == port.get_min_value()
    assert ours.max == port.get_max_value()
    assert ours.mean == pytest.approx(port.get_mean_value(), rel=1e-12)
    for percentile in (0.01, 1, 50, 90, 99, 99.9, 99.99, 100):
        assert ours.percentile(percentile) == port.get_value_at_percentile(percentile)


@pytest.mark.parametrize(
    ("percentile", "count", "rank"),
    [(50, 1, 1), (99, 100, 99), (99, 101, 100), (99.9, 3410, 3407), (0, 5, 1), (100, 5, 5), (250, 5, 5)],
)
def test_it_rounds_ranks_up_as_java_does(percentile, count, rank):
    assert compute_rank(percentile, count) == rank


def test_it_answers_none_where_there_is_nothing():
    empty = Histogram()
    assert (empty.count, empty.mean, empty.min, empty.max, empty.percentile(99)) == (0, None, None, None, None)


def test_it_never_averages_percentiles_of_clients():
    histogram = build_histogram([1000] * 9850 + [10_000] * 150)
    other = build_histogram([1000] * 900 + [100_000] * 100)
    merged = Histogram.merged([histogram, other])
    assert (histogram.percentile(99), other.percentile(99)) == (10_007, 100_031)
    assert merged.percentiles([97, 99, 99.5]) == [1000, 10_007, 100_031]
    assert merged.mean == pytest.approx(2022.8, abs=1)
    assert merged.count == histogram.count + other.count


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(st.lists(values_us, max_size=20), max_size=5))
def test_it_adds_without_losing_anything(groups):
    merged = Histogram.merged([build_histogram(group) for group in groups])
    assert merged == build_histogram([value for group in groups for value in group])
    assert merged == Histogram.merged([build_histogram(group) for group in reversed(groups)])


def test_it_adds_the_longest_values():
    histogram = build_histogram([5, 5, 7, 100])
    assert histogram.longest_total_us(1) == 100
    assert histogram.longest_total_us(3) == 112
    assert histogram.longest_total_us(99) == 117


@pytest.mark.parametrize("counts", [[-1], [[1, 2]], [0] * MAX_INDEX + [0, 0, 1]])
def test_it_refuses_impossible_counts(counts):
    with pytest.raises(ValueError, match="counts"):
        Histogram(counts)


def test_it_refuses_indices_outside_of_every_histogram():
    with pytest.raises(ValueError, match="outside"):
        Histogram.of_sparse(np.array([MAX_INDEX + 1]), np.array([1]))

"""How even a series is."""

import pytest

from runs.results.measures.stability import longest_run, stability
from runs.ycsb.tests.samples import golden

SERIES = [100, 102, 98, 101, 99, 40, 100, 103, 97, 100]


def test_it_measures_a_spike():
    cut = stability(SERIES)
    assert cut is not None
    assert (cut.mean, cut.median, cut.down_spike_share) == (94, 100, 0.6)
    assert cut.sd == pytest.approx(19.0555, abs=1e-4)
    assert cut.cv == pytest.approx(0.2027, abs=1e-4)
    assert cut.slow_share == 0.1


def test_it_agrees_with_values_computed_elsewhere():
    expected = golden("stability")
    cut = stability(expected["series"])
    assert cut is not None
    assert cut.cv == pytest.approx(expected["cv"], abs=5e-5)
    assert cut.sd == pytest.approx(expected["sd"], abs=5e-5)
    assert (cut.mean, cut.median) == (expected["mean"], expected["median"])
    assert cut.down_spike_share == expected["down_spike"]
    assert cut.slow_share == expected["frac_below_90pct_median"]


def test_it_counts_stalls_as_zero():
    cut = stability([100.0] * 10 + [0.0] * 3 + [100.0] * 10 + [0.0])
    assert cut is not None
    assert cut.down_spike_share == 1


@pytest.mark.parametrize(
    ("series", "grade"),
    [([100.0, 101.0] * 30, "flat"), ([100.0, 95.0] * 30, "variable"), ([100.0, 70.0] * 30, "erratic")],
)
def test_it_grades_in_one_word(series, grade):
    cut = stability(series)
    assert cut is not None and cut.grade == grade


def test_published_swings_are_spikes_of_most_of_the_throughput():
    """A published run swung by 85,000 and 83,000 of about 100,000 ops/s late in it."""
    for swing, share in ((85_000, 0.85), (83_000, 0.83)):
        cut = stability([100_000.0] * 99 + [100_000.0 - swing])
        assert cut is not None and cut.down_spike_share == pytest.approx(share)


def test_it_says_nothing_about_nothing():
    assert stability([]) is None
    assert stability([5.0]) is None
    assert stability([0.0] * 10) is None


def test_few_slow_seconds_and_low_rates_count_too():
    cut = stability([0.5, 0.5])
    assert cut is not None and (cut.mean, cut.median) == (0.5, 0.5)
    cut = stability([100.0, 100.0, 90.0])
    assert cut is not None and cut.slow_share == 0  # 90 % of the median is not below 90 %
    assert [longest_run(flags) for flags in ([], [False], [True, True, False, True])] == [0, 0, 2]

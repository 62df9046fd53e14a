"""MSER-5 and its drift gate."""

import pytest

from runs.measures.steady import mser5
from runs.ycsb.tests.samples import golden


def test_it_agrees_with_values_computed_elsewhere():
    expected = golden("mser5")
    found = mser5(expected["series"])
    assert found is not None
    assert (found.truncate_s, found.at_limit) == (expected["truncate"], expected["at_limit"])
    assert [round(value, 5) for value in found.statistics] == expected["stat"]
    assert found.mean_kept == pytest.approx(expected["mean_kept"], abs=0.005)
    assert not found.is_trending


def test_it_finds_no_steady_state_in_a_trend():
    found = mser5([15 + 85 * second / 59 for second in range(60)])
    assert found is not None
    assert (found.truncate_s, found.at_limit) == (30, True)
    assert found.is_trending


def test_it_keeps_everything_of_an_even_run():
    found = mser5([100.0, 101.0, 99.0, 100.0, 100.0] * 12)
    assert found is not None
    assert found.truncate_s == 0
    assert found.drift == pytest.approx(0, abs=0.001)


def test_it_says_nothing_about_short_series():
    assert mser5([1.0] * 19) is None


def test_it_survives_a_run_without_operations():
    found = mser5([0.0] * 30)
    assert found is not None
    assert (found.drift, found.halves) == (0, 0)

"""The noise of repeats and the drift of a bracket."""

import math

import pytest

from runs.results.measures.repeatability import drift, exceeds, repeatability


def test_it_pools_the_deviation_of_logarithms_within_cells():
    finding = repeatability([(100.0, 104.5), (10.0, 10.0, 10.0)])
    # One pair ln 1.045 apart: half of its square, shared by three degrees of freedom.
    assert finding is not None
    assert finding.sd_log == pytest.approx(math.sqrt(math.log(1.045) ** 2 / 2 / 3))
    assert (finding.degrees, finding.cells) == (3, 2)
    # Student's t of three degrees of freedom.
    assert finding.limit == pytest.approx(math.exp(3.1824 * math.sqrt(2) * finding.sd_log) - 1, rel=1e-4)


def test_repeatability_ignores_levels_and_single_values():
    pair = repeatability([(100.0, 110.0)])
    assert pair is not None
    assert repeatability([(100.0, 110.0), (5e6,), ()]) == pair
    assert repeatability([(5e6,), (100.0, 110.0)]) == pair
    assert repeatability([(0.5, 0.55)]).sd_log == pytest.approx(pair.sd_log)
    assert repeatability([(1000.0, 1100.0)]).sd_log == pytest.approx(pair.sd_log)


def test_it_passes_over_what_is_no_throughput():
    assert repeatability([(0.0, 5.0), (math.nan, 5.0), (math.inf, -1.0)]) is None
    assert repeatability([]) is None
    assert [drift(0, 5), drift(5, 0), drift(math.nan, 5)] == [None, None, None]


def test_a_drift_is_a_share_of_the_first_run():
    assert drift(1000, 900) == pytest.approx(-0.1)
    assert drift(1000, 1100) == pytest.approx(0.1)
    assert (drift(0.5, 1.0), drift(1.0, 0.5)) == (1.0, -0.5)


def test_a_loss_counts_as_the_gain_that_would_undo_it():
    assert exceeds(0.11, 0.10)
    assert not exceeds(0.09, 0.10)
    assert not exceeds(0.10, 0.10)  # no more than the limit
    assert exceeds(-0.10, 0.10)  # 1 / 0.9 is 11 % more
    assert not exceeds(-0.09, 0.10)
    assert not exceeds(-1.0, 0.10)  # Without any throughput there is no drift.

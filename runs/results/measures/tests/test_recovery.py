"""Recovery from faults: worked series, and properties that hold for every series."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from runs.results.measures.recovery import Recovery, level_before, recoveries


def measured(rates, *spans, failed=None, begin_s=0.0, end_s=None, target_ops_s=None):
    rate = np.array(rates, dtype=float)
    seconds = np.arange(rate.size, dtype=float)
    return recoveries(
        seconds,
        rate,
        np.zeros(rate.size) if failed is None else np.array(failed, dtype=float),
        spans,
        begin_s=begin_s,
        end_s=rate.size if end_s is None else end_s,
        target_ops_s=target_ops_s,
    )


def test_pause_of_two_seconds():
    (recovery,) = measured([100] * 5 + [20, 0, 30] + [100] * 5, (5.2, 7.2), failed=[0] * 7 + [3] + [0] * 5)
    assert recovery.level_ops_s == 100 and recovery.depth == 1.0
    assert (recovery.below_s, recovery.errors) == (3, 3)
    assert recovery.first_success_s == pytest.approx(2.8)  # the end of second 7: in second 6 nothing was done
    assert recovery.recovered_s == pytest.approx(3.8)  # the end of second 8, the first at the level
    assert (recovery.catch_up_s, recovery.catch_up_operations) == (0, 0.0)


def test_levels_while_it_lasts_and_while_it_returns():
    (recovery,) = measured([100] * 5 + [20, 10, 30, 50, 70] + [100] * 5, (5.2, 7.2))
    # Whole seconds only: 6 of the fault, 8 and 9 behind it.
    assert (recovery.during_ops_s, recovery.returning_ops_s) == (10.0, 60.0)
    # A dip as the node returns counts, although the throughput had recovered before.
    (recovery,) = measured([100] * 5 + [20] + [100] * 4 + [30, 100, 100, 100], (5.0, 9.0))
    assert (recovery.during_ops_s, recovery.returning_ops_s) == (80.0, 65.0)
    (recovery,) = measured([100] * 5 + [20] * 4, (5.0, None))
    assert (recovery.during_ops_s, recovery.returning_ops_s) == (20.0, None)


def test_throughput_that_never_falls_recovers_at_once():
    (recovery,) = measured([100] * 4 + [95] * 6, (4.0, 5.0))
    assert (recovery.below_s, recovery.first_success_s, recovery.recovered_s) == (0, 0.0, 0.0)
    assert recovery.depth == pytest.approx(0.05)


def test_no_recovery_within_the_window():
    (recovery,) = measured([100] * 4 + [0] * 4, (4.0, 5.0))
    assert recovery.first_success_s is None and recovery.recovered_s is None and recovery.below_s == 4


def test_level_must_be_kept_for_three_seconds():
    (recovery,) = measured([100] * 4 + [0, 100, 0, 50, 95, 96, 97, 98], (4.0, 5.0))
    assert recovery.first_success_s == 2.0 and recovery.recovered_s == 5.0
    (recovery,) = measured([100] * 4 + [0, 0, 100, 100], (4.0, 5.0))
    assert recovery.recovered_s is None  # Two seconds are no recovery.


def test_catch_up_under_a_target_is_told_apart():
    (recovery,) = measured([100] * 4 + [0, 0, 250, 150, 104, 100], (4.0, 6.0), target_ops_s=100)
    assert recovery.catch_up_s == 2 and recovery.catch_up_operations == 200.0
    assert recovery.recovered_s == 3.0


def test_seconds_belong_to_the_fault_before_them():
    rates = [100] * 4 + [0, 100, 100, 100] + [0, 0, 100, 100, 100, 100]
    first, second = measured(rates, (4.0, 5.0), (8.0, 10.0), failed=[0] * 4 + [1] * 4 + [2] * 6)
    assert (first.below_s, first.errors, first.recovered_s) == (1, 4, 2.0)
    assert (second.below_s, second.errors, second.recovered_s) == (2, 12, 3.0)
    assert second.level_ops_s == 100  # of the seconds before the first fault


def test_only_the_window_is_read():
    (recovery,) = measured([5, 5, 5] + [100] * 3 + [0, 100, 100, 100] + [0, 0], (6.0, 7.0), begin_s=3, end_s=10)
    assert recovery.level_ops_s == 100 and recovery.below_s == 1


def test_seconds_without_clients_are_not_slow():
    (recovery,) = measured([100] * 4 + [0, np.nan, 100, 100, 100], (4.0, 5.0))
    assert recovery.below_s == 1 and recovery.recovered_s == 3.0


@pytest.mark.parametrize("rates", [[], [0, 0, 0, 0, 5], [np.nan] * 6])
def test_nothing_is_said_without_a_level_before(rates):
    assert measured(rates, (4.0, 5.0)) is None


def test_nothing_is_said_without_faults():
    assert measured([100] * 9) is None


def test_level_is_the_median_of_the_last_minute():
    rate = np.array([1.0] * 100 + [50.0] * 59 + [1000.0])
    assert level_before(np.arange(160.0), rate, begin_s=0, end_s=160) == 50.0


@pytest.mark.parametrize(
    ("begin_s", "end_s", "level"),
    [(0, 3, 20), (0, 2.9995, 20), (0, 2.9, 15), (0, 4, 25), (0.5, 3, 20), (0.6, 3, 25), (1, 3, 25), (3, 3.5, None)],
)
def test_level_is_of_whole_seconds_before_the_fault(begin_s, end_s, level):
    """A second counts where at most half of it lies before the window, and none of it behind the begin of the fault."""
    assert level_before(np.arange(4.0), np.array([10.0, 20, 30, 90]), begin_s=begin_s, end_s=end_s) == level


def test_fault_at_the_end_of_the_window_has_no_seconds():
    (recovery,) = measured([100] * 5, (5.0, None))
    assert recovery == Recovery(100.0, 100.0, 0, 0, 0.0, 0.0, 0, 0.0, None, None)


def test_limits_of_slow_and_catching_up_seconds():
    (recovery,) = measured([100] * 4 + [90, 90, 90, 105, 100], (4.0, 5.0), target_ops_s=100)
    assert (recovery.below_s, recovery.recovered_s) == (0, 0.0)  # 90 % is not below 90 %
    assert (recovery.catch_up_s, recovery.catch_up_operations) == (0, 0.0)  # 5 % above is no catching up
    (recovery,) = measured([100] * 4 + [89.9, 90, 90, 105.1, 100], (4.0, 5.0), target_ops_s=100)
    assert (recovery.below_s, recovery.recovered_s, recovery.catch_up_s) == (1, 2.0, 1)
    assert recovery.catch_up_operations == pytest.approx(5.1)


def test_one_operation_in_a_second_is_a_success():
    (recovery,) = measured([100] * 4 + [1, 100, 100, 100], (4.0, 5.0))
    assert recovery.first_success_s == 0.0


def test_recovery_follows_a_fall_that_comes_late():
    (recovery,) = measured([100] * 4 + [100] * 4 + [0, 100, 100, 100], (4.0, 5.0))
    assert (recovery.first_success_s, recovery.recovered_s) == (6.0, 6.0)


def test_depth_is_that_of_the_fall_before_it_recovered():
    (recovery,) = measured([100] * 4 + [50, 95, 95, 95, 20, 95, 95, 95], (4.0, 5.0))
    assert (recovery.lowest_ops_s, recovery.depth, recovery.below_s) == (50.0, 0.5, 2)
    (recovery,) = measured([100] * 4 + [120] * 4, (4.0, 5.0))
    assert (recovery.lowest_ops_s, recovery.depth) == (100.0, 0.0)  # Never less than no fall.


def test_catch_up_second_does_not_shorten_recovery_times():
    """The server answers again at 6.7, and second 6 holds what was due since 4.0."""
    (recovery,) = measured([100] * 4 + [0, 0, 370, 100, 100, 100], (4.0, 6.7), target_ops_s=100)
    assert recovery.first_success_s == recovery.recovered_s == 3.0


def test_second_of_the_next_fault_is_not_this_one():
    first, second = measured([100] * 4 + [0, 100, 100, 100, 40, 0, 100, 100, 100], (4.0, 5.0), (8.4, 9.9))
    assert first.below_s == 1 and second.below_s == 2


RATES = st.lists(st.floats(0, 1e6), min_size=6, max_size=60)


@given(rates=RATES, began=st.floats(3.1, 5.0), target=st.none() | st.floats(1, 1e6))
def test_numbers_agree_with_each_other(rates, began, target):
    measures = measured([100.0] * 4 + rates, (began, began + 1), target_ops_s=target)
    assert measures is not None
    (recovery,) = measures
    assert recovery.depth <= 1 and 0 <= recovery.below_s <= len(rates) + 1
    assert recovery.catch_up_operations >= 0
    if recovery.below_s == 0:
        assert recovery.recovered_s == 0
    if recovery.recovered_s and recovery.first_success_s:
        assert recovery.recovered_s >= 0 and recovery.below_s > 0


@given(rates=RATES, factor=st.floats(0.01, 100))
def test_times_do_not_depend_on_the_unit(rates, factor):
    slow = measured([100.0] * 4 + rates, (4.0, 5.0))
    fast = measured([100.0 * factor] * 4 + [factor * rate for rate in rates], (4.0, 5.0))
    assert slow is not None and fast is not None
    # A rate that lies on the limit may round to either side.
    if all(abs(rate - 90) > 1e-6 for rate in rates) and all(rate == 0 or rate * factor > 0 for rate in rates):
        assert (slow[0].recovered_s, slow[0].below_s) == (fast[0].recovered_s, fast[0].below_s)

"""A seeded share of the simulations of comparisons across sessions, of whole tables and of brackets."""

import pytest

from benchmarks.simulations.comparisons import bracket_rates, spread_rates, table_rates
from benchmarks.simulations.session_limit import compute_max_power

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("runs", "sd"), [(3, 0.05), (10, 0.05), (10, 0.02)])
def test_interval_holds_across_few_sessions(runs, sd):
    """Of 300; at the stated 94 % three standard deviations are 4.1 points. s² alone holds in 84 to 91 %."""
    held, _, false, *_ = spread_rates(runs, 0.05, sd, 3, 300, 1)
    assert held >= 0.94 - 0.025 and false <= 0.05 + 0.03


def test_runs_of_short_sessions_are_taken_off_their_means():
    """Thirty runs beside eight sessions of three: 53 % of 1,000 pairs are called; with the whole variance 34 %."""
    held, _, false, small, _ = spread_rates(30, 0.05, 0.02, 8, 200, 1)
    assert held >= 0.94 and false <= 0.05 and small >= 0.43


def test_no_rule_calls_much_more_from_short_sessions():
    assert compute_max_power(8) == pytest.approx(0.55, abs=0.01)


def test_differences_are_called_across_sessions_that_are_alike():
    *_, large = spread_rates(5, 0.03, 0.02, 12, 60, 1)
    assert large >= 0.9


def test_tables_are_seldom_wrong_anywhere():
    wrong, alone, _, large = table_rates(20, 5, 0.05, 40, 1)
    assert wrong <= 3 / 40 < alone and large >= 0.6


@pytest.mark.parametrize(("cells", "repeats"), [(2, 2), (2, 3), (10, 3)])
def test_bracket_seldom_reports_drift_of_unchanged_machine(cells, repeats):
    """Of 3,000: three standard deviations are 1.2 points. The normal quantile reports 19 % of two cells in pairs."""
    none, lost = bracket_rates(cells, repeats, 0.02, 3000, 1)
    assert 0.03 <= none <= 0.05 + 0.015 and lost > 2 * none

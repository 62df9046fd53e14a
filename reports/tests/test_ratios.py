"""Ratios as the studies printed them, and how sure a ratio is: the numbers of analysis 4.1 and 5."""

import math

import pytest
from django.conf import settings

from benchmarks.simulations.means import half_width_in_cv, mean_interval
from benchsite.core.formatting import NOTHING, significant, times
from reports.compare.analysis.ratios import (
    cliffs_delta,
    cohens_d,
    compute_ratio,
    hedges_g,
    log_welch,
    unusable,
)
from reports.compare.analysis.repeats_needed import repeats_needed

A = [405.1, 412.3, 409.0, 414.2, 408.4]
B = [111.2, 114.9, 112.4, 113.6, 112.9]
A2 = [100.2, 98.7, 101.5, 99.4, 100.9]
B2 = [101.8, 99.9, 103.0, 100.6, 102.2]


@pytest.mark.parametrize(
    ("better", "worse", "higher", "printed", "reproduces"),
    [
        (410_000, 113_000, True, "3.6", True),
        (410_000, 113_000, True, "3.62", False),
        (410_000, 51_800, True, "7.9", True),
        (410_000, 51_800, True, "8.0", False),
        (0.3, 21.86, False, "72", False),
        (0.69, 10.45, False, "15", True),
        (0.3, 0.202, False, "0.67", True),
        (0.69, 1.98, False, "2.9", True),
        (0.7, 2.0, False, "2.9", True),
        (1_000_000_000, 215_000_000, True, "4", False),
        (1000, 250, True, "4.0", True),
        (4, 1 / 3.6, True, "14", True),
        (113, 410, True, "0.25", False),
    ],
)
def test_the_printed_ratios_reproduce_or_do_not(better, worse, higher, printed, reproduces):
    ratio = compute_ratio(better, worse) if higher else compute_ratio(worse, better)
    assert (significant(ratio, 2) == printed) is reproduces


def test_truncated_ratios_show_their_digits():
    assert significant(410_000 / 113_000, 3) == "3.63" and significant(21.86 / 0.3, 2) == "73"
    assert significant(208 / 410_000, 2) == "0.00051" and significant(210 / 410_000, 2) == "0.00051"
    assert (300 - 202) == 98 and significant(1_000_000_000 / 215_000_000, 4) == "4.651"
    assert significant((1_000_000_000 / 215_000_000) * (410_000 / 113_000), 4) == "16.88"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.125, "0.13"), (0.135, "0.14"), (2.5, "2.5"), (2.25, "2.3"), (99.6, "100"), (0.996, "1.0"), (123.4, "123")],
)
def test_halves_go_upwards(value, text):
    assert significant(value, 2) == text


@pytest.mark.parametrize(("a", "b"), [(1, 0), (1, -1), (math.nan, 1), (1, math.nan), (math.inf, 1), (1e300, 1e-300)])
def test_there_is_no_ratio_to_nothing(a, b):
    assert compute_ratio(a, b) is None
    assert times(compute_ratio(a, b)) == NOTHING


def test_the_first_worked_example():
    ratio = log_welch(A, B)
    assert ratio.ratio == pytest.approx(3.6267, abs=5e-5) and ratio.df == pytest.approx(7.22, abs=5e-3)
    assert (ratio.low, ratio.high) == (pytest.approx(3.5702, abs=5e-5), pytest.approx(3.6840, abs=5e-5))


def test_the_second_worked_example_shows_no_difference():
    ratio = log_welch(B2, A2)
    assert ratio.ratio == pytest.approx(1.01357, abs=5e-6)
    assert (ratio.low, ratio.high) == (pytest.approx(0.9963, abs=5e-5), pytest.approx(1.0311, abs=5e-5))
    assert ratio.p == pytest.approx(0.1078, abs=2e-4)
    assert cohens_d(B2, A2) == pytest.approx(1.147, abs=5e-4) and hedges_g(B2, A2) == pytest.approx(1.036, abs=5e-4)
    assert cliffs_delta(B2, A2) == pytest.approx(0.60)


@pytest.mark.slow
def test_it_agrees_with_scipys_tests():
    import numpy as np
    from scipy import stats

    logs = stats.ttest_ind(np.log(A), np.log(B), equal_var=False)
    assert log_welch(A, B).p == pytest.approx(logs.pvalue)
    assert stats.ttest_ind(A, B, equal_var=False).pvalue == pytest.approx(5.8e-11, rel=0.01)  # as analysis 5 prints it


def test_half_widths_of_a_mean():
    expected = {2: 8.985, 3: 2.484, 4: 1.591, 5: 1.242, 6: 1.049, 7: 0.925, 8: 0.836, 10: 0.715}
    assert {n: half_width_in_cv(n) for n in expected} == pytest.approx(expected, abs=5e-4)
    two = mean_interval([100, 104.5])
    assert two.high / two.mean - 1 == pytest.approx(0.2796, abs=5e-5)
    assert mean_interval([100]) is None and mean_interval([5, 5]) is None and mean_interval([1, math.nan]) is None
    assert half_width_in_cv(1) is None


@pytest.mark.parametrize(
    ("cv", "needed"),
    [
        (0.01, {0.02: 6, 0.05: 3}),
        (0.02, {0.02: 17, 0.05: 4, 0.10: 3}),
        (0.03, {0.02: 37, 0.05: 7, 0.10: 3}),
        (0.05, {0.05: 17, 0.10: 6}),
    ],
)
def test_repeats_that_are_needed(cv, needed):
    assert {delta: repeats_needed(cv, delta) for delta in needed} == needed


def test_no_sensible_number_of_repeats():
    assert repeats_needed(0.5, 0.05) is None and repeats_needed(0.0, 0.05) == 3
    assert repeats_needed(math.nan, 0.05) is None and repeats_needed(0.02, 0.0) is None


@pytest.mark.parametrize("values", [[], [0, 1], [-1, 2], [math.nan, 1], [math.inf, 1]])
def test_values_without_a_logarithm_have_no_interval(values):
    assert unusable(values) and log_welch(values, [1, 2]) is None and log_welch([1, 2], values) is None


def test_two_runs_that_agree_exactly_prove_nothing():
    assert log_welch([5, 5], [4, 4]) is None and hedges_g([5, 5], [4, 4]) is None
    assert log_welch([5, 5], [4, 4.1]) is not None
    assert hedges_g([0, 0], [0, 0]) is None and hedges_g([1e300, 1.1e300], [1e-300, 2e-300]) > 0


def test_the_docs_have_the_table_of_repeats():
    text = (settings.BASE_DIR / "docs" / "how-results-are-compared.md").read_text()
    for cv in (0.01, 0.02, 0.03, 0.05):
        needed = " | ".join(str(repeats_needed(cv, delta)) for delta in (0.02, 0.05, 0.10))
        assert f"| {cv:.0%} | {needed} |".replace("%", " %") in text

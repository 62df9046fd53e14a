"""E-divisive means as Otava computes them, against the golden series, the definition, and planted changes."""

import time

import numpy as np
import pytest

from reports.trends.analysis.edivisive import best_split, change_points, distance_sums, student_p
from runs.ycsb.tests.samples import golden

Z = np.array([100, 101, 99, 100, 102, 90, 91, 89, 90, 88], dtype=float)


def divergence(x, y):
    """Q(X, Y) of two samples by its definition (arXiv 1306.4933); a sample of one has no distances within."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    n, m = a.size, b.size
    between = np.abs(a[:, None] - b[None, :]).sum()
    within_a = np.abs(a[:, None] - a[None, :]).sum() / 2
    within_b = np.abs(b[:, None] - b[None, :]).sum() / 2
    q = 2 / (m + n) * between
    q -= 2 * m / ((m + n) * (n - 1)) * within_a if n > 1 else 0.0
    q -= 2 * n / ((m + n) * (m - 1)) * within_b if m > 1 else 0.0
    return float(q)


def test_it_finds_the_golden_change():
    expected = golden("edivisive")
    series = np.array(expected["series"], dtype=float)
    tau, kappa = expected["tau"], expected["kappa"]
    assert best_split(distance_sums(series), 0, series.size) == (tau, pytest.approx(expected["q"]))
    assert divergence(series[:tau], series[tau:kappa]) == pytest.approx(expected["q"])


def test_it_weighs_the_worked_series_as_analysis_7_says():
    assert divergence(Z[:4], Z[4:]) == pytest.approx(28.64)
    (split,), _ = change_points(Z)
    assert split.index == 5
    assert split.p == pytest.approx(1.6376e-7, rel=1e-4)
    assert split.after / split.before - 1 == pytest.approx(-0.10757, abs=1e-5)
    assert split.before / split.after - 1 == pytest.approx(0.12054, abs=1e-5)
    assert split.magnitude == pytest.approx(0.12054, abs=1e-5)


@pytest.mark.slow
def test_p_is_a_little_smaller_than_with_unbiased_variances():
    from scipy.stats import ttest_ind

    assert ttest_ind(Z[:5], Z[5:]).pvalue == pytest.approx(3.90e-7, rel=1e-2)
    assert student_p(Z[:5], Z[5:]) < ttest_ind(Z[:5], Z[5:]).pvalue


def test_the_greatest_divergence_is_that_of_its_definition():
    random = np.random.default_rng(7)
    for _ in range(40):
        values = random.normal(100, 2, random.integers(4, 22))
        start, least = int(random.integers(0, 2)), int(random.integers(1, 3))
        size = values.size
        splits = [
            (divergence(values[start:tau], values[tau:kappa]), tau)
            for tau in range(start + least, size)
            for kappa in range(tau + least, size + 1)
        ]
        split = best_split(distance_sums(values), start, size, least)
        assert (split is None) == (not splits)
        if split:
            assert split[1] == pytest.approx(max(splits)[0])
            assert split[0] == max(splits)[1]


def test_it_finds_several_changes_across_windows():
    random = np.random.default_rng(3)
    levels = np.repeat([1000.0, 900.0, 1000.0, 1150.0], [70, 40, 90, 60])
    splits, _ = change_points(levels * random.normal(1, 0.02, levels.size), min_magnitude=0.05)
    assert [split.index for split in splits] == pytest.approx([70, 110, 200], abs=1)


@pytest.mark.parametrize("values", [[], [5.0], [5.0, 6.0], [7.0] * 60, [0.0] * 12])
def test_it_finds_nothing_where_there_is_nothing(values):
    splits, weak = change_points(values)
    assert not splits
    assert not weak


def test_a_step_between_constant_levels_is_certain():
    (split,), _ = change_points([5.0] * 20 + [6.0] * 20)
    assert (split.index, split.p) == (20, 0.0)


def test_logarithms_find_the_same_step_whatever_the_unit():
    random = np.random.default_rng(5)
    values = random.lognormal(0, 0.05, 60) * np.repeat([1.0, 1.3], 30)
    (in_us, _), (in_ms, _) = (
        change_points(np.log(scale * values), logarithms=True, min_magnitude=0.1) for scale in (1000.0, 1.0)
    )
    assert [split.index for split in in_us] == [30] == [split.index for split in in_ms]
    assert in_us[0].log_magnitude == pytest.approx(0.3, abs=0.05)


def test_five_thousand_points_are_analysed_at_once():
    random = np.random.default_rng(1)
    values = random.normal(1000, 20, 5000) * np.repeat([1.0, 0.92, 1.1], [2000, 2000, 1000])
    began = time.process_time()
    splits, _ = change_points(values, min_magnitude=0.05, least=2)
    assert time.process_time() - began < 0.5  # 55 ms on the two cores it was written on, with nothing else running
    assert [split.index for split in splits] == [2000, 4000]

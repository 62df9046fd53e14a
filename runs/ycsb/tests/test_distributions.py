"""The distributions agree with SciPy's, which the comparisons of the site use."""

import math
import random

import pytest
from scipy import special

from runs.ycsb.distributions import (
    beta_cdf,
    beta_quantile,
    binomial_quantile,
    chi_square_tail,
    f_tail,
    student_quantile,
)

CLOSE = {"rel": 1e-9, "abs": 1e-14}


@pytest.mark.parametrize("seed", range(20))
def test_beta_is_that_of_scipy(seed):
    dice = random.Random(seed)
    for _ in range(20):
        a, b = (10 ** dice.uniform(-1, 7) for _ in range(2))
        x = dice.betavariate(a, b)
        assert beta_cdf(x, a, b) == pytest.approx(special.betainc(a, b, x), **CLOSE), (x, a, b)
    assert beta_cdf(0.0, 2.0, 3.0) == 0.0 and beta_cdf(1.0, 2.0, 3.0) == 1.0


@pytest.mark.parametrize("df", [1, 2, 3, 7, 30, 199, 5_000])
def test_quantiles_of_student_are_those_of_scipy(df):
    for q in (0.95, 0.975, 0.99, 0.9995):
        assert student_quantile(df, q) == pytest.approx(special.stdtrit(df, q), **CLOSE)


@pytest.mark.parametrize("df", [1, 2, 3, 8, 21])
def test_tails_are_those_of_scipy(df):
    for value in (0.0, 0.01, 0.7, 3.0, 12.0, 60.0):
        assert chi_square_tail(df, value) == pytest.approx(special.chdtrc(df, value), **CLOSE)
        assert f_tail(df, 14, value) == pytest.approx(special.fdtrc(df, 14, value), **CLOSE)


@pytest.mark.parametrize("trials", [2, 50, 10_000, 30_000_000])
def test_bounds_of_shares_are_those_of_scipy(trials):
    for events in sorted({1, 2, trials // 3, trials - 1} - {0}):
        for q in (0.025, 0.975):
            expected = special.betaincinv(events, trials - events + 1, q)
            assert beta_quantile(q, events, trials - events + 1) == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.9999])
def test_binomial_quantile_is_the_smallest_that_suffices(share):
    dice = random.Random(7)
    for _ in range(40):
        n = math.ceil(10 ** dice.uniform(0, 8))
        k = binomial_quantile(0.99, n, share)
        assert special.bdtr(k, n, share) >= 0.99 > (special.bdtr(k - 1, n, share) if k else 0.0), (n, k)

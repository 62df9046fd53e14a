"""How often the 95 % interval of a ratio holds the true one, and that the docs say what the command prints."""

import time
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command

from benchmarks.simulations.repeats import CASES, PAIRS, Case, coverage


@pytest.mark.parametrize("shape", ["normal", "lognormal"])
@pytest.mark.parametrize(("cv_a", "cv_b"), [(0.02, 0.02), (0.05, 0.05), (0.02, 0.05)])
def test_five_runs_of_each_side_cover_as_promised(cv_a, cv_b, shape):
    share = coverage(Case(5, 5, cv_a, cv_b, shape), PAIRS)
    assert 0.93 <= share.held <= 0.97 and share.wrong <= 0.05


@pytest.mark.parametrize("n", [2, 3, 10])
def test_fewer_runs_cover_no_less(n):
    for case in CASES:
        if case.n_a == case.n_b == n:
            assert 0.93 <= coverage(case).held <= 0.985, case


@pytest.mark.parametrize(("n_a", "n_b"), [(3, 4), (3, 5), (4, 5), (3, 10)])
@pytest.mark.parametrize(("cv_a", "cv_b"), [(0.05, 0.05), (0.05, 0.02), (0.02, 0.05), (0.05, 0.01)])
def test_unequal_sides_cover_94_per_cent(n_a, n_b, cv_a, cv_b):
    assert coverage(Case(n_a, n_b, cv_a, cv_b, "lognormal"), PAIRS).held >= 0.94


def test_the_interval_is_that_of_the_pages():
    import numpy as np

    from reports.compare.analysis.ratios import log_welch, welch

    random = np.random.default_rng(3)
    a, b = random.normal(0, 0.05, (50, 3)), random.normal(0, 0.02, (50, 7))
    distance, error, df = welch(a, b)
    for i in range(50):
        ratio = log_welch(np.exp(a[i]).tolist(), np.exp(b[i]).tolist())
        assert (np.log(ratio.ratio), ratio.df) == (pytest.approx(distance[i]), pytest.approx(df[i]))
        assert np.log(ratio.high / ratio.low) > 2 * error[i]


@pytest.mark.slow
def test_the_docs_quote_what_the_command_prints():
    out, began = StringIO(), time.process_time()
    call_command("interval_coverage", stdout=out)
    assert out.getvalue().strip() in (settings.BASE_DIR / "docs" / "evidence" / "comparisons.md").read_text()
    assert time.process_time() - began < 6 and out.getvalue().count("\n") == len(CASES) + 2


def test_one_seed_has_one_answer():
    assert coverage(CASES[0], 100, 1) == coverage(CASES[0], 100, 1) != coverage(CASES[0], 100, 2)

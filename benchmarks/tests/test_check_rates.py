"""How often the statistical checks are wrong stays within what the documentation states."""

import pytest

from benchmarks.simulations.checks import CASES, rates

pytestmark = pytest.mark.slow


def test_no_check_cries_wolf_or_sleeps():
    wrong = [f"{rate.case.check_id} {rate.case.label}: {rate.share:.3f}" for rate in rates(40) if not rate.is_kept]
    assert wrong == []


def test_every_statistical_check_has_healthy_and_faulty_cases():
    for check_id in ("V01", "V07", "V08", "V09", "V10", "V11", "V12", "V13", "V15", "V26", "V27", "V28", "V29", "V30"):
        assert {case.healthy for case in CASES if case.check_id == check_id} == {True, False}, check_id

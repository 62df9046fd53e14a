"""What is said of two ladders drawn at random is false in at most one of twenty pairs: a seeded share of the table."""

import pytest

from benchmarks.simulations.pairs import CASES, Case, Law, tallies


@pytest.mark.parametrize("case", [Case(1.0, 3, 0.03), Case(1.2, 3, 0.03), Case(1.0, 3, 0.03, same_law=False)])
def test_few_verdicts_are_false(case):
    tally_by_method = tallies(case, 60)
    assert set(tally_by_method) >= {"ceiling", "common rung", "latency at equal load"}
    for tally in tally_by_method.values():
        assert tally.false <= 0.05 * 60
    if case.same_law and case.ratio > 1:
        exact = tally_by_method["ceiling"]
        assert exact.decided >= 0.8 * exact.pairs
        latency = tally_by_method["latency at equal load"]
        assert latency.decided >= 0.85 * latency.pairs and latency.held >= 0.92 * latency.pairs


def test_a_law_is_inverted():
    for law in (Law(1000, 0.02, 1e-4), Law(1000, bottleneck_ops_s=20_000, sharpness=3)):
        for threads in (1, 7, 40):
            load = law.throughput(threads)
            assert law.latency_us(load) == pytest.approx(threads / load * 1e6, rel=1e-6)
        assert law.throughput(60) < law.ceiling_ops_s and law.latency_us(1.01 * law.ceiling_ops_s) == float("inf")


def test_one_seed_has_one_answer():
    assert tallies(CASES[0], 5, 1) == tallies(CASES[0], 5, 1) != tallies(CASES[0], 5, 2)

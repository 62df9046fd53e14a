"""How many pairs the benchmark of overhead takes, and the interval that it prints."""

import math
import random

import pytest

from benchmarks.speed.overhead import (
    MAX_HALF_WIDTH,
    MAX_PAIRS,
    MIN_PAIRS,
    Pair,
    collect_pairs,
    estimate_ratio,
    stock_argv,
)


def build_pair_maker(ratio: float, spread: float):
    """A maker of pairs whose log ratios are normal around `ratio`."""
    noise = random.Random(7)

    def measure_pair(driven_first: bool) -> Pair:
        return Pair(100_000, 100_000 * ratio * math.exp(noise.gauss(0, spread)), driven_first, 0.0)

    return measure_pair


@pytest.mark.parametrize(("spread", "fewest", "most"), [(0.005, MIN_PAIRS, MIN_PAIRS), (0.06, 25, 55)])
def test_adds_pairs_until_the_interval_is_narrow(spread, fewest, most):
    pairs, estimate = collect_pairs(build_pair_maker(0.99, spread))
    assert fewest <= len(pairs) <= most
    assert estimate.half_width <= MAX_HALF_WIDTH
    assert estimate.low < 0.99 < estimate.high


def test_stops_at_the_maximum():
    pairs, estimate = collect_pairs(build_pair_maker(0.9, 0.3))
    assert len(pairs) == MAX_PAIRS
    assert estimate.half_width > MAX_HALF_WIDTH


def test_each_arm_comes_first_about_as_often():
    pairs, _ = collect_pairs(build_pair_maker(1.0, 0.3))
    assert 20 <= sum(pair.driven_first for pair in pairs) <= 40
    assert len({pair.driven_first for pair in pairs[:MIN_PAIRS]}) == 2


def test_the_interval_is_that_of_log_ratios():
    """ln 0.5, ln 1 and ln 2: the mean is 0, s is ln 2, and t with two degrees of freedom is 4.3027."""
    estimate = estimate_ratio([Pair(1.0, ratio, True, 0.0) for ratio in (0.5, 1.0, 2.0)])
    assert estimate.ratio == pytest.approx(1.0)
    assert estimate.high == pytest.approx(math.exp(4.30265 * math.log(2) / math.sqrt(3)), rel=1e-4)
    assert estimate.low == pytest.approx(1 / estimate.high)


def test_by_hand_is_the_stock_client():
    argv = ["java", "-Xmx512m", "-cp", "a.jar", "benchsite.Start", "--ready", "-t", "-s", "-P", "file"]
    assert stock_argv(argv) == ("java", "-Xmx512m", "-cp", "a.jar", "site.ycsb.Client", "-t", "-s", "-P", "file")

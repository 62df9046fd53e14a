"""The ceiling and the knee of a ladder: the worked tables of the analysis design are the expected values."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from reports.compare.analysis.ceiling import (
    Ladder,
    Rung,
    ceiling,
    end_as_measured,
    gain_per_doubling,
    target_ceiling,
    thread_ceiling,
)
from reports.compare.analysis.knee import power, power_knee
from reports.compare.analysis.points import spread

# USL with lambda 1500/s, sigma 0.02, kappa 4e-5, rounded to whole operations per second.
L1 = {1: 1500, 2: 2941, 4: 5658, 8: 10506, 16: 18326, 32: 28921, 64: 39648, 128: 45821, 256: 44081}
L1_POWER = [2250000, 4324740, 8003241, 13797004, 20990142, 26138258, 24561936, 16402844, 7590369]


def ladder(throughputs: Mapping[int, float]) -> list[Rung]:
    return [Rung(threads, throughput) for threads, throughput in throughputs.items()]


def cut(most_threads: int) -> list[Rung]:
    return ladder({threads: value for threads, value in L1.items() if threads <= most_threads})


def test_it_finds_the_ceiling_of_the_golden_ladder():
    ceiling = thread_ceiling(ladder(L1))
    assert ceiling is not None
    assert (ceiling.highest_ops_s, ceiling.threads, ceiling.saturation_threads) == (45821, 128, 128)
    assert end_as_measured(ladder(L1)) is Ladder.SATURATED
    # Single runs confirm neither.
    assert (ceiling.ladder, ceiling.is_lower_bound, ceiling.is_estimate) == (Ladder.OPEN, False, False)


def test_it_does_not_depend_on_the_order_of_the_rungs():
    assert thread_ceiling(ladder(L1)[::-1]) == thread_ceiling(ladder(L1))


def test_it_calls_a_growing_ladder_too_short():
    ceiling = thread_ceiling(cut(64))
    assert ceiling is not None and ceiling.ladder is Ladder.SHORT and ceiling.is_lower_bound
    assert ceiling.throughput_ops_s == 39648


def test_last_gain_limit_is_five_percent_per_doubling():
    assert end_as_measured(ladder({2: 1000, 4: 1049})) is Ladder.SATURATED
    assert end_as_measured(ladder({2: 1000, 4: 1051})) is Ladder.SHORT
    # Two doublings in one step: 1.05 ** 2 = 1.1025 is the limit.
    assert end_as_measured(ladder({4: 1000, 16: 1102})) is Ladder.SATURATED
    assert end_as_measured(ladder({4: 1000, 16: 1103})) is Ladder.SHORT


def test_retrograde_limit_is_95_percent_of_the_highest():
    assert end_as_measured(ladder({2: 1000, 4: 949})) is Ladder.RETROGRADE
    assert end_as_measured(ladder({2: 1000, 4: 951})) is Ladder.SATURATED


def test_the_saturation_rung_is_the_first_within_five_per_cent():
    ceiling = thread_ceiling(ladder({2: 500, 4: 960, 8: 1000, 16: 990}))
    assert ceiling is not None and (ceiling.threads, ceiling.saturation_threads) == (8, 4)


def test_one_rung_is_a_lower_bound_and_no_rung_is_no_ceiling():
    single = thread_ceiling([Rung(8, 5000)])
    assert single is not None and single.is_lower_bound and single.last_gain is None
    assert thread_ceiling([]) is None
    assert thread_ceiling([Rung(2, 0.0)]) is None
    assert math.isnan(gain_per_doubling(Rung(2, 0.0), Rung(4, 10.0)))


def test_a_target_ladder_ends_at_the_last_target_sustained():
    targets = [(50_000, 50_000), (75_000, 74_900), (100_000, 93_000), (125_000, 94_200)]
    ceiling = target_ceiling([Rung(64, achieved, target_ops_s=target) for target, achieved in targets])
    assert ceiling is not None and ceiling.target_ops_s == 75_000 and ceiling.throughput_ops_s == 74_900
    assert ceiling.ladder is Ladder.SATURATED


def test_a_target_sustained_above_a_failed_one_counts():
    targets = [(1000, 1000), (2000, 1500), (3000, 2990)]
    estimate = ceiling([Rung(8, achieved, target_ops_s=target) for target, achieved in targets])
    assert estimate is not None and estimate.target_ops_s == 3000


def test_the_power_of_the_golden_ladder():
    assert [round(power(rung)) for rung in ladder(L1)] == pytest.approx(L1_POWER, abs=1)


@pytest.mark.parametrize("most_threads", [128, 256])
def test_knee_of_golden_ladder_is_independent_of_its_cut(most_threads):
    knee = power_knee(cut(most_threads))
    assert knee is not None and knee.reached and (knee.threads, knee.throughput_ops_s) == (32, 28921)
    assert knee.latency_s * 1e3 == pytest.approx(1.1065, abs=1e-4)
    assert knee.latency_growth == pytest.approx(1.66, abs=0.005)


def test_the_knee_lies_at_63_per_cent_of_the_golden_ceiling():
    knee = power_knee(ladder(L1))
    assert knee is not None and knee.share_of_ceiling == pytest.approx(0.631, abs=0.0005)


def test_knee_lies_at_most_at_the_ceiling():
    """The estimate of two equal rungs leaves out what chance added to the higher one."""
    rungs = [
        (1, [500.0, 505.0]),
        (2, [2000.0, 2005.0]),
        (4, [2200.0, 2150.0]),
        (8, [2150.0, 2200.0]),
        (16, [900.0, 905.0]),
    ]
    ladder = [Rung(threads, max(values), repeats_ops_s=tuple(values), repeats=(1, 2)) for threads, values in rungs]
    stated = ceiling(ladder)
    assert stated is not None and stated.throughput_ops_s < 2200
    knee = power_knee([replace(rung, latency_s=1.0) for rung in ladder])
    assert knee is not None and knee.reached and knee.share_of_ceiling == 1


def test_knee_is_not_reached_if_power_grows_or_rungs_are_few():
    growing = power_knee(cut(32))
    assert growing is not None and not growing.reached and growing.threads == 32 and growing.reason
    short = power_knee(ladder({8: 1000, 16: 1100, 32: 1110}))
    assert short is not None and not short.reached and "3 of at least 4" in short.reason
    assert power_knee([]) is None


def test_rung_past_highest_throughput_shows_knee_is_reached():
    knee = power_knee(ladder({2: 1000, 4: 2000, 16: 8000, 32: 6000}))
    assert knee is not None and knee.reached and knee.threads == 16


def test_point_is_the_geometric_mean_of_its_repeats_with_band():
    repeats = spread([4.0, 1.0, 2.0, math.nan])
    assert repeats is not None and (repeats.low, repeats.high, repeats.n) == (1.0, 4.0, 3)
    assert repeats.geomean == pytest.approx(2.0)
    assert spread([math.nan]) is None and spread([0.0, 1000.0]).geomean == 500.0


def test_knee_needs_power_to_fall_beyond_noise():
    """Cut at 64 threads the power of single runs has its maximum at 32, but fell by 6 % only."""
    single = power_knee(cut(64))
    assert not single.reached and "does not fall beyond noise" in single.reason
    powers = [power(rung) for rung in cut(64)]
    assert powers.index(max(powers)) == 5  # the maximum as measured: 32 threads
    quiet = [
        Rung(r.threads, r.throughput_ops_s, repeats_ops_s=tuple(r.throughput_ops_s * x for x in (0.999, 1, 1.001)))
        for r in cut(64)
    ]
    assert power_knee(quiet).reached and power_knee(quiet).threads == 32


def test_power_that_is_highest_on_an_end_is_no_knee():
    first = power_knee(ladder({32: 28921, 64: 39648, 128: 45821, 256: 44081}))
    assert not first.reached and "add lower rungs" in first.reason
    assert "add higher rungs" in power_knee(cut(32)).reason

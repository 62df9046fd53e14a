"""Latency at a common load, and the throughput within a limit: measured, interpolated, never extrapolated."""

import math

import numpy as np
import pytest

from reports.compare.analysis.equal_load import How, LoadPoint, latency_at, noise_at, rising_branch, throughput_within

# Throughput in ops/s against latency in µs; the last rung is retrograde.
RUNGS = ((2, 1000.0, 2000.0), (4, 2000.0, 4000.0), (8, 4000.0, 16000.0), (16, 3800.0, 40000.0))
LADDER = [LoadPoint(throughput, latency, f"{threads} threads", threads) for threads, throughput, latency in RUNGS]
WITHOUT_ORDER = [LoadPoint(throughput, latency) for _, throughput, latency in RUNGS]


@pytest.mark.parametrize("points", [LADDER, LADDER[::-1], WITHOUT_ORDER])
def test_a_rung_within_one_per_cent_has_measured_the_load(points):
    for load in (1980.5, 2000.0, 2019.5):
        latency = latency_at(points, load)
        assert (latency.latency_us, latency.how, len(latency.between)) == (4000.0, How.MEASURED, 1)


@pytest.mark.parametrize("points", [LADDER, WITHOUT_ORDER])
def test_inverse_latency_is_linear_between_two_rungs(points):
    latency = latency_at(points, 3000.0)
    assert latency.how is How.INTERPOLATED
    assert latency.latency_us == pytest.approx(2 / (1 / 4000.0 + 1 / 16000.0))
    assert [point.throughput_ops_s for point in latency.between] == [2000.0, 4000.0]


def test_nothing_is_extrapolated():
    above, below = latency_at(LADDER, 4100.0), latency_at(LADDER, 900.0)
    assert (above.latency_us, above.how, above.between[0].label) == (None, How.NOT_REACHED, "8 threads")
    assert (below.latency_us, below.how, below.between[0].label) == (None, How.BELOW, "2 threads")


@pytest.mark.parametrize("load", [0.0, -5.0, math.nan, math.inf])
def test_a_load_that_is_none_has_no_latency(load):
    assert latency_at(LADDER, load).latency_us is None
    assert latency_at([], load).how is How.NOT_REACHED


@pytest.mark.parametrize("points", [LADDER, WITHOUT_ORDER])
def test_the_throughput_within_a_limit(points):
    assert throughput_within(points, 4000.0).how is How.MEASURED
    throughput = throughput_within(points, 8000.0)
    assert throughput.how is How.INTERPOLATED and throughput.throughput_ops_s == pytest.approx(2000.0 + 2000.0 * 2 / 3)
    assert throughput_within(points, 1999.0).how is How.BELOW
    assert throughput_within(points, 1999.0).throughput_ops_s is None
    ceiling = throughput_within(points, 1e6)
    assert (ceiling.throughput_ops_s, ceiling.how) == (4000.0, How.MEASURED)
    assert throughput_within(points, math.nan).throughput_ops_s is None


def test_both_questions_answer_each_other():
    limit = latency_at(LADDER, 3000.0).latency_us
    assert throughput_within(LADDER, limit).throughput_ops_s == pytest.approx(3000.0)


def test_the_slower_way_to_a_load_is_not_taken():
    # 32 threads fell back to a load that 16 reach at half the latency.
    plateau = [*LADDER[:2], LoadPoint(3000, 5000, "16", 16), LoadPoint(2950, 9000, "32", 32), LoadPoint(3100, 9900, "64", 64)]  # fmt: skip  # noqa: E501
    assert latency_at(plateau, 2950).latency_us == pytest.approx(5000, rel=0.03)
    assert [point.label for point in rising_branch(plateau)][-3:] == ["16", "32", "64"]


def test_interpolation_skips_no_measured_rung():
    """4 to 16 threads without 8 would be a line that the figure does not draw."""
    dip = [LADDER[1], LoadPoint(1900, 9000, "8", 8), LoadPoint(3000, 12_000, "16", 16)]
    assert [point.label for point in latency_at(dip, 2500).between] == ["8", "16"]


def _curve(throughputs, inverse):
    """Rungs of a curve by its capacity left, 1 / latency in 1/ms, at each throughput."""
    return [LoadPoint(x, 1e3 / inverse(x), order=x) for x in throughputs]


def test_an_open_queue_is_read_without_error():
    """M/M/1: R = 1 / (1 - X / 100)."""
    latency = latency_at(_curve((10, 40, 60, 80, 90), lambda x: 1 - x / 100), 70)
    assert (latency.latency_us, latency.low_us, latency.high_us) == pytest.approx((1e3 / 0.3,) * 3)


def test_a_curve_to_a_bottleneck_lies_within_the_bounds():
    """N threads and a bottleneck of 100: 1 / R = sqrt(1 - (X / 100)²); the rungs beside show that it bends."""

    def inverse(x):
        return math.sqrt(1 - (x / 100) ** 2)

    points = _curve((10, 40, 60, 80, 90), inverse)
    latency = latency_at(points, 70)
    assert latency.low_us < 1e3 / inverse(70) < latency.high_us == latency.latency_us
    assert (latency.low_us, latency.high_us) == pytest.approx((1e3 / (0.8 - (inverse(40) - 0.8) / 2), 1e3 / 0.7))
    assert latency_at(points[2:4], 70).low_us == pytest.approx(1250)  # nothing is known of the rungs beside them
    rung = latency_at(points, 60)
    assert rung.low_us == rung.high_us == rung.latency_us
    near = latency_at(points, 80.5)
    assert near.how is How.MEASURED and near.low_us == near.latency_us < near.high_us


def test_a_curve_that_bends_the_other_way_is_bounded_from_above():
    """Latency jumps at first and stays: the next step, extended downwards, lies above the line between the rungs."""
    points = [LoadPoint(x, y, order=x) for x, y in ((1000, 1000), (2000, 2000), (3000, 2100))]
    latency = latency_at(points, 1500)
    assert latency.latency_us == pytest.approx(4000 / 3) and latency.latency_us < latency.high_us < 2000
    assert latency.low_us == 1000


def test_the_noise_of_a_latency_is_pooled_over_the_rungs():
    """A closed loop to a bottleneck, run sd 2 %: of 300 sweeps the mean variance is the true one."""
    random = np.random.default_rng(4)
    threads = np.array([10, 20, 40, 80, 160])
    true = threads / np.hypot(1, threads / 100)
    variances, latencies = [], []
    for _ in range(300):
        throughputs = true * np.exp(random.normal(0, 0.02, (3, 5)))
        passes = [
            [LoadPoint(x, n / x * 1e6, order=n) for n, x in zip(threads, row, strict=True)] for row in throughputs
        ]
        noise = noise_at(passes, 50.0)
        assert noise.df > 2
        variances.append(noise.variance)
        latencies += [math.log(latency_at(rungs, 50.0).latency_us) for rungs in passes]
    assert np.mean(variances) == pytest.approx(np.var(latencies), rel=0.15)
    assert noise_at([rungs[:1] for rungs in passes], 50.0) is None
    assert noise_at([[LoadPoint(1000, 0.0), *rungs] for rungs in passes], 50.0) is None


def test_a_lower_rung_above_the_limit_is_named():
    dip = [LADDER[0], LoadPoint(2000, 9000, "4", 4), LoadPoint(3000, 5000, "8", 8), LoadPoint(3500, 9000, "16", 16)]
    throughput = throughput_within(dip, 6000.0)
    assert [point.label for point in throughput.violated] == ["4"] and throughput.throughput_ops_s > 3000
    assert throughput_within(LADDER, 4000.0).violated == ()


def test_a_noisy_first_rung_stays():
    noisy = [LoadPoint(500, 3000, order=1), LoadPoint(1000, 1500, order=2), LoadPoint(1900, 1600, order=4)]
    assert latency_at(noisy, 500).latency_us == 3000


def test_skips_non_finite_rungs_and_accepts_zero_latency():
    odd = [LoadPoint(math.nan, 1.0), LoadPoint(0.0, 1.0), LoadPoint(10.0, math.inf), LoadPoint(100, 0), LoadPoint(200, 1000)]  # fmt: skip  # noqa: E501
    assert latency_at(odd, 150).latency_us == pytest.approx(500)

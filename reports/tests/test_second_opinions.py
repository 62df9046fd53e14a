"""How sure a knee is, and what Kneedle, USL and the asymptote say: the worked numbers of analysis 2."""

import math
from dataclasses import replace

import numpy as np
import pytest

from reports.analysis.alternative_knees import Repeats, _knees, chord_knee, kneedle, opinions
from reports.analysis.ceiling import Rung
from reports.analysis.knee import latency, power_knee
from reports.analysis.scalability import Usl, fit_usl
from reports.tests.test_ceiling_and_knee import L1, cut, ladder

# Throughput at 1 to 32 processors: the benchmark in Schwartz, Practical Scalability Analysis with the USL.
CISCO = (
    955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8, 7867.61, 8278.71, 8646.7, 9047.84,
    9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806, 12089.37, 12075.41,
    12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39,
)  # fmt: skip


def curve_of(rungs):
    return [rung.throughput_ops_s for rung in rungs], [latency(rung) for rung in rungs]


def erlang_c(servers, load):
    term = total = 1.0
    for k in range(1, servers):
        term *= servers * load / k
        total += term
    last = term * servers * load / servers / (1 - load)
    return last / (total + last)


def response(servers, load):
    return 1 + erlang_c(servers, load) / (servers * (1 - load))


@pytest.mark.parametrize(
    ("servers", "peak", "last"), [(1, 0.500, 0.612), (4, 0.665, 0.756), (16, 0.810, 0.877), (64, 0.900, 0.945)]
)
def test_the_knee_of_a_queue_of_known_theory(servers, peak, last):
    """M/M/m with unit service: the utilisation at the greatest power, and the last within 5 % of it (the knee)."""
    loads = np.linspace(0.05, 0.995, 1891)
    rungs = [Rung(i, servers * load, response(servers, load)) for i, load in enumerate(loads, 1)]
    powers = [rung.throughput_ops_s / rung.latency_s for rung in rungs]
    assert loads[int(np.argmax(powers))] == pytest.approx(peak, abs=0.0021)
    assert power_knee(rungs).throughput_ops_s / servers == pytest.approx(last, abs=0.0021)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.500), (4, 0.835), (16, 0.951), (64, 0.986)])
def test_where_the_latency_of_such_a_queue_has_doubled(servers, load):
    assert response(servers, load) == pytest.approx(2.0, abs=0.04)


def test_throughput_leaning_knee_of_a_server_is_two_thirds():
    loads = np.linspace(0.3, 0.99, 6901)
    powers = [load**2 / response(1, load) for load in loads]
    assert loads[int(np.argmax(powers))] == pytest.approx(2 / 3, abs=0.001)
    assert power_knee(ladder(L1), alpha=2.0).throughput_ops_s > power_knee(ladder(L1)).throughput_ops_s


@pytest.mark.parametrize(("most_threads", "throughput"), [(64, 28_921), (128, 39_648)])
def test_kneedle_depends_on_where_the_ladder_is_cut(most_threads, throughput):
    xs, ys = curve_of(cut(most_threads))
    assert xs[kneedle(xs, ys)] == throughput == xs[chord_knee(xs, ys)]


def test_kneedle_refuses_a_curve_that_hardly_bends():
    xs, ys = curve_of(cut(32))
    assert xs[chord_knee(xs, ys)] == L1[16] and kneedle(xs, ys) is None


@pytest.mark.parametrize(("xs", "ys"), [([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5]), ([1, 2, math.nan], [1, 2, 3])])  # fmt: skip  # noqa: E501
def test_kneedle_needs_a_curve(xs, ys):
    assert chord_knee(xs, ys) is None and kneedle(xs, ys) is None


@pytest.mark.slow
def test_usl_fits_the_published_benchmark():
    fit = fit_usl(range(1, 33), CISCO)
    assert fit.sigma == pytest.approx(0.0267159, abs=5e-7) and fit.kappa == pytest.approx(7.69095e-4, abs=5e-9)
    assert fit.lam == pytest.approx(995.648, abs=5e-3)
    assert fit.peak_threads == pytest.approx(35.57, abs=0.005) and math.floor(fit.peak_threads) == 35
    assert fit.throughput_at(35) == pytest.approx(12_341.74, abs=0.05)
    assert fit.peak_ops_s == pytest.approx(12_342.85, abs=0.05)
    assert fit.accepted and fit.rungs == 32


def test_usl_finds_the_law_of_the_worked_ladder():
    fit = fit_usl(L1.keys(), L1.values())
    assert (round(fit.sigma, 4), round(fit.kappa, 6)) == (0.02, 4.0e-5)
    assert fit.peak_threads == pytest.approx(156.5, abs=0.1) and fit.accepted


@pytest.mark.slow
def test_a_peak_far_beyond_the_ladder_is_extrapolated():
    fit = fit_usl([1, 2, 4, 8, 16, 32], [L1[n] for n in (1, 2, 4, 8, 16, 32)])
    assert fit.peak_threads > 64 and not fit.accepted
    noise = fit_usl([1, 2, 4, 8, 16, 32], [1000, 300, 2500, 900, 4000, 1200])
    assert noise.r2 < 0.98 and not noise.accepted
    assert fit_usl([1, 2, 4, 8, 16], [1, 2, 3, 4, 5]) is None
    assert fit_usl([1, 2, 4, 8, 16, 32], [5.0] * 6) is None


def test_usl_without_coherency_peaks_at_what_contention_leaves():
    contention = Usl(1000.0, 0.1, 0.0, 1.0, 6, 32)
    assert (contention.peak_threads, contention.peak_ops_s) == (math.inf, pytest.approx(10_000.0))


def test_the_worked_ladder_is_of_medium_confidence():
    alternatives = opinions(ladder(L1))
    assert (alternatives.knee.threads, alternatives.chord.threads, alternatives.knee.confidence) == (32, 64, "medium")
    assert alternatives.asymptote_threads == pytest.approx(30.5, abs=0.05)
    assert (
        alternatives.refine == (23, 45) and alternatives.kneedle.threads == 64 and alternatives.resampled_share is None
    )


def steep(repeats=()):
    """Six rungs that bend hard at 8 threads, so that power and chord agree."""
    rungs = ladder({1: 1000, 2: 2000, 4: 3950, 8: 7600, 16: 8000, 32: 8100})
    return opinions(rungs, [Repeats(tuple(x * f for f in repeats), tuple(r / f for f in repeats)) for x, r in zip(*curve_of(rungs), strict=True)])  # fmt: skip  # noqa: E501


def test_agreeing_rules_and_repeats_are_of_high_confidence():
    assert steep((0.99, 1.0, 1.01)).knee.confidence == "high"
    assert steep((0.99, 1.0, 1.01)).resampled_share >= 0.8
    assert steep().knee.confidence == "medium"


def test_repeats_that_disagree_lower_the_confidence():
    wild = steep((0.2, 1.0, 3.0))
    assert wild.resampled_share < 0.8 and wild.knee.confidence != "high"
    assert steep((0.2, 1.0, 3.0)) == wild


def test_resampled_ladders_have_the_knee_that_the_rule_gives():
    random = np.random.default_rng(5)
    throughputs = random.uniform(100, 1000, size=(200, 7))
    latencies = random.uniform(0.001, 0.1, size=(200, 7))
    standing = np.ones(7, dtype=bool)
    for x, r, found in zip(throughputs, latencies, _knees(throughputs, latencies, standing), strict=True):
        knee = power_knee([Rung(i, xi, ri) for i, (xi, ri) in enumerate(zip(x, r, strict=True), 1)])
        assert not knee.reached or knee.threads == found + 1


def test_a_knee_that_is_not_reached_asks_for_more_rungs():
    alternatives = opinions(cut(32))
    assert (alternatives.knee.reached, alternatives.knee.confidence, alternatives.refine) == (False, "", (64, 128))
    assert opinions([]) is None


def test_a_knee_on_the_first_rung_asks_for_less():
    alternatives = opinions(ladder({2: 28_100, 4: 33_000, 16: 39_500, 32: 41_300}))
    assert not alternatives.knee.reached and alternatives.knee.threads == 2 and alternatives.refine == (1, 3)


def test_neighbouring_rungs_cannot_be_refined():
    alternatives = opinions(ladder({1: 1000, 2: 1900, 3: 2500, 4: 2520, 5: 2530, 6: 2535}))
    assert alternatives.knee.reached and alternatives.refine == ()


def test_target_ladder_uses_response_times_and_no_thread_law():
    rungs = [
        Rung(64, target, 0.001, target, response_s=0.001 * (1 + index**3 / 4))
        for index, target in enumerate((1000.0, 2000.0, 3000.0, 4000.0, 5000.0, 6000.0))
    ]
    alternatives = opinions(rungs)
    assert alternatives.usl is None and alternatives.asymptote_threads is None
    assert (
        alternatives.knee.reached and alternatives.knee.target_ops_s == 2000.0 and alternatives.refine == (1414, 2449)
    )
    assert latency(replace(rungs[2], response_s=None)) == 0.001

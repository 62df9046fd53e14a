"""The suggested cut: MSER-5 on throughput and on p95, the later of the two, with the drift behind it."""

import numpy as np
import pytest

from runs.results.measures.steady import extend_warmup, suggest

# analysis.md 4.3: MSER-5 cuts ten of these sixty seconds, and the mean goes from 94.717 to 99.96.
WARMING = [
    10, 30, 50, 65, 75, 83, 88, 92, 95, 97, 98, 101, 99, 100, 102, 100, 99, 101, 98, 100, 102, 100, 99, 101, 100, 98,
    100, 101, 99, 100, 101, 99, 100, 102, 98, 100, 101, 99, 100, 100, 99, 101, 100, 98, 102, 100, 100, 99, 101, 100,
    101, 100, 99, 100, 98, 102, 100, 101, 99, 100,
]  # fmt: skip
FLAT = [100.0, 101.0, 99.0, 102.0, 98.0] * 12


def test_the_reference_series_is_cut_by_ten_seconds():
    suggestion = suggest(WARMING, {})
    assert (suggestion.cut_s, suggestion.by, suggestion.at_limit) == (10, "throughput", False)
    assert not suggestion.is_drifting


def test_latencies_that_settle_later_decide():
    late = [5000.0] * 20 + [1000.0 + second % 3 for second in range(40)]
    suggestion = suggest(WARMING, {"READ": late, "UPDATE": [1000.0] * 60})
    assert (suggestion.cut_s, suggestion.by) == (20, "p95 of READ")


def test_a_steady_run_is_not_cut():
    assert suggest(FLAT, {"READ": FLAT}).cut_s == 0


def test_suggests_only_a_longer_run_without_steady_state():
    suggestion = suggest(np.linspace(15, 100, 60).tolist(), {})
    assert suggestion.at_limit
    assert suggestion.is_drifting


def test_a_slow_drift_is_named_although_mser_does_not_see_it():
    noise = np.random.default_rng(7).normal(0, 8, 600)
    suggestion = suggest((np.linspace(95, 105, 600) + noise).tolist(), {})
    assert not suggestion.at_limit
    assert suggestion.is_drifting
    assert suggestion.drift == pytest.approx(0.1, abs=0.04)


def test_intervals_longer_than_a_second_are_said_in_seconds():
    assert suggest(WARMING, {}, interval_s=10).cut_s == 100


@pytest.mark.parametrize("seconds", [0, 1, 19])
def test_a_short_run_is_too_short(seconds):
    assert suggest(FLAT[:seconds], {}) is None


def test_seconds_without_any_operation_are_bridged():
    gappy = [float("nan") if second % 20 == 3 else 1000.0 for second in range(60)]
    assert suggest(FLAT, {"READ": gappy}).cut_s == 0


def test_an_operation_that_is_seldom_measured_decides_nothing():
    rare = [5000.0 if second % 7 == 0 else float("nan") for second in range(60)]
    assert suggest(WARMING, {"SCAN": rare}).by == "throughput"


def test_seconds_in_which_nothing_was_done_are_zeros():
    assert suggest([float("nan")] * 5 + FLAT, {}).cut_s == 5


@pytest.mark.parametrize(("gap_every_s", "by", "cut_s"), [(10, "p95 of SCAN", 20), (9, "throughput", 10)])
def test_latency_counts_with_a_gap_in_ten_seconds(gap_every_s, by, cut_s):
    late = [5000.0] * 20 + [1000.0 + second % 3 for second in range(40)]
    gappy = [float("nan") if second % gap_every_s == 3 else value for second, value in enumerate(late)]
    suggestion = suggest(WARMING, {"SCAN": gappy, "READ": []})
    assert (suggestion.by, suggestion.cut_s) == (by, cut_s)


def test_falling_throughput_drifts_by_its_steeper_measure():
    """MSER cuts half of it; 300 seconds from 99.99 to 95 remain."""
    suggestion = suggest(np.linspace(105, 95, 600).tolist(), {})
    per_second, first = -10 / 599, 105 - 300 * 10 / 599
    assert suggestion.drift == pytest.approx(300 * per_second / (first + per_second * 299 / 2))
    assert suggestion.is_drifting


@pytest.mark.parametrize(
    ("rate", "warmup_s", "settle_s", "expected_s"),
    [
        (WARMING, 2, 20, 10),  # as long as it takes
        (WARMING, 15, 20, 15),  # never less than planned
        (WARMING, 2, 5, 7),  # nor longer than allowed
        (FLAT, 2, 20, 2),
        (np.linspace(15, 100, 60).tolist(), 2, 20, 22),  # nothing steady
        (FLAT[:15], 2, 5, 2),  # too short to tell
    ],
)
def test_a_warm_up_goes_on_until_it_is_steady(rate, warmup_s, settle_s, expected_s):
    p95_us = [1000.0] * len(rate)

    assert extend_warmup(rate, p95_us, warmup_s=warmup_s, settle_s=settle_s) == expected_s


def test_a_warm_up_goes_on_until_latency_is_steady():
    late = [5000.0] * 20 + [1000.0 + second % 3 for second in range(40)]

    assert extend_warmup(FLAT, late, warmup_s=2, settle_s=30) == 20

"""A seeded share of the simulations of ceilings, ends of ladders and best sets, and that the docs quote the command."""

import pytest
from django.conf import settings

from benchmarks.simulations.ladders import (
    BESTS_HEADER,
    CEILINGS_HEADER,
    ENDS_HEADER,
    FLAT,
    GROWING,
    KNEE,
    KNEES_HEADER,
    NO_KNEE,
    best_look_rate,
    best_rate,
    best_set,
    ceiling_rate,
    ceilings,
    end_rates,
    knee_rate,
)
from reports.compare.analysis.best import rank_sides
from reports.compare.analysis.repeat_comparison import Outcome, compare_values

RISING = (0.25, 0.5, 0.8, 0.93, 1.0)
SHARE = 300  # ladders of each case; a rate of 95 % then has a standard error of 1.3 %


@pytest.mark.parametrize("name", ["flat top, 6 rungs", "flat top, 10 rungs", "peak, neighbours 3 % lower"])
@pytest.mark.parametrize("noise", [(0.05, 0.0), (0.01, 0.05)])
def test_interval_covers_ceiling_and_estimate_has_little_bias(name, noise):
    rate = ceiling_rate(FLAT[name], 3, noise, SHARE)
    assert rate.held >= 0.92 and abs(rate.bias) < 0.025
    if name.startswith("flat") and noise == (0.05, 0.0):
        assert abs(rate.bias) < 0.006 < 0.03 < rate.bias_of_highest and rate.width < 0.2


@pytest.mark.parametrize("name", ["5 % per doubling throughout", "5 % in the last doubling"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_a_growing_ladder_is_seldom_called_saturated(name, n):
    assert end_rates(GROWING[name], n, (0.05, 0.0), SHARE)[0] <= 0.05 + 0.03


def test_a_flat_top_is_called_saturated_but_for_single_runs():
    assert end_rates(FLAT["flat top, 6 rungs"], 3, (0.05, 0.0), 100)[0] >= 0.95
    assert end_rates(FLAT["flat top, 6 rungs"], 1, (0.01, 0.0), 100)[0] == 0


@pytest.mark.parametrize("name", NO_KNEE)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_ladder_without_a_knee_seldom_gets_one(name, n):
    assert knee_rate(NO_KNEE[name], n, 0.05, 150).reported <= 0.05


@pytest.mark.parametrize("name", KNEE)
@pytest.mark.parametrize("n", [1, 3])
def test_a_knee_is_reported_within_one_rung(name, n):
    rate = knee_rate(KNEE[name], n, 0.03, 60)
    assert rate.reported >= 0.95 and rate.near >= 0.8


@pytest.mark.parametrize("sides", [2, 10])
def test_the_best_is_in_the_set_and_slower_sides_are_not(sides):
    rate = best_rate(sides, 3, (0.03, 0.03), SHARE)
    assert rate.held >= 0.92 and rate.excluded >= 0.95


def test_best_of_40_sides_excludes_those_20_percent_slower():
    rate = best_rate(40, 3, (0.03, 0.03), 30)
    assert rate.held >= 0.9 and rate.excluded >= 0.8


@pytest.mark.parametrize("sides", [2, 10])
def test_true_best_stays_in_the_set_at_every_look(sides):
    assert best_look_rate(sides, (0.05, 0.05), SHARE) >= 0.92


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("name", ["rising to the end", "flat top, 6 rungs"])
def test_identical_ladders_seldom_have_a_best_one(name, n):
    """Of 300; at 5 % three standard deviations are 3.8 points. The highest rungs' own spread alone gives 6 to 19 %."""
    pairs = ceiling_pairs(RISING if name.startswith("rising") else FLAT[name], n, SHARE)

    judged = [is_best_first(first, second) or is_best_first(second, first) for first, second in pairs]

    assert sum(judged) / SHARE <= 0.05 + 0.038


@pytest.mark.parametrize("factor", [1.0, 1.05, 1.1])
def test_best_set_tells_two_sides_apart_where_their_ratio_does(factor):
    for first, second in ceiling_pairs(FLAT["flat top, 6 rungs"], 3, 60):
        faster = [value * factor for value in first.repeats_ops_s]
        noises = first.noise, second.noise

        ratio = compare_values(faster, second.repeats_ops_s, higher_is_better=True, noises=noises)
        best = best_set([faster, second.repeats_ops_s], noises=noises)

        assert (best == [True, False]) is (ratio.outcome is Outcome.FASTER)
        assert (best == [False, True]) is (ratio.outcome is Outcome.SLOWER)


def ceiling_pairs(shape, n, count):
    sides = [ceilings(shape, n, (0.03, 0.0), count, seed) for seed in (1, 2)]
    return list(zip(*sides, strict=True))


def is_best_first(first, second):
    return best_set([first.repeats_ops_s, second.repeats_ops_s], noises=[first.noise, second.noise]) == [True, False]


def test_single_and_identical_runs_are_not_judged():
    assert best_set([[100.0], [90.0, 90.0], [80.0, 81.0, 80.5], [70.0, 70.5, 70.2]]) == [None, None, None, False]
    assert best_set([[60.0], [80.0, 81.0, 80.5], [70.0, 70.5, 70.2]]) == [None, True, False]


def test_the_docs_quote_the_tables():
    docs = (settings.BASE_DIR / "docs" / "evidence" / "comparisons.md").read_text()
    assert all(header in docs for header in (CEILINGS_HEADER, ENDS_HEADER, BESTS_HEADER, KNEES_HEADER))


TIGHT = (100.0, 101.0, 99.0, 100.5, 99.5)


def test_sides_are_among_the_best_where_a_loss_is_excluded():
    assert all(rank.is_among_best for rank in rank_sides([TIGHT, [0.99 * value for value in TIGHT]]))
    first, noisy = rank_sides([TIGHT, [84.0, 90.0, 93.0, 97.0, 102.0]])
    assert first.is_among_best and noisy.is_undecided and noisy.repeats > 5


def test_side_whose_repeats_say_little_is_undecided():
    """Those beside it are too, for it may be better by more than a tenth; one that is clearly lower is not."""
    first, wide, lower = rank_sides([TIGHT, [60.0, 140.0], [0.5 * value for value in TIGHT]])
    assert first.is_undecided and wide.is_undecided and not lower.is_undecided and lower.is_member is False
    assert wide.repeats > 100 and rank_sides([TIGHT, [0.5 * value for value in TIGHT]])[0].is_among_best
    first, single = rank_sides([TIGHT, [99.0]])
    assert first.is_undecided and first.repeats and single.is_member is None
    assert rank_sides([TIGHT, [50.0]])[0].is_among_best
    first, hopeless = rank_sides([TIGHT, [1.0, 10_000.0]])
    assert hopeless.is_undecided and hopeless.repeats is None

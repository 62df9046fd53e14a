"""Ceilings out of repeats: what one outlier, single runs and the first rung may not claim. Rates: test_ladder_rates."""

import math
from dataclasses import replace
from statistics import geometric_mean

import pytest

from reports.compare.analysis.ceiling import Ladder, Rung, thread_ceiling
from reports.compare.analysis.points import spread
from reports.compare.ladder_text import ladder_says
from reports.tests.curves import curve, point
from reports.tests.rendering import ceiling_sentence, rendered
from reports.trends.analysis.sessions import SessionSpread

NOISE = (0.99, 1.0, 1.01)


def rung(threads, *values, repeats=()):
    return Rung(
        threads, sorted(values)[len(values) // 2], repeats_ops_s=values, repeats=repeats or tuple(range(len(values)))
    )


def ladder(*throughputs, noise=NOISE):
    """Doubling threads; the repeats of neighbours are noisy in another order."""
    turns = [noise[i % len(noise) :] + noise[: i % len(noise)] for i in range(len(throughputs))]
    return [rung(2**i, *(x * one for one in turns[i])) for i, x in enumerate(throughputs)]


def test_an_outlier_is_neither_a_ceiling_nor_an_end():
    """2,620 among about 2,040 ops/s: no estimate near it, and of single runs no end."""
    single = thread_ceiling([rung(2**i, x) for i, x in enumerate((900, 1700, 2035, 2620, 2040, 2045))])
    assert (single.highest_ops_s, single.ladder, single.is_estimate) == (2620, Ladder.OPEN, False)
    assert ladder_says(single) == "highest measured (n = 1)"
    rows = (900, 910, 905), (1700, 1690, 1710), (2035, 2040, 2030), (2040, 2620, 2041), (2040, 2045, 2038)
    repeated = thread_ceiling([rung(2**i, *row) for i, row in enumerate(rows)])
    assert repeated.throughput_ops_s < 2100 and repeated.low_ops_s < 2040 < repeated.high_ops_s
    assert repeated.ladder is Ladder.OPEN


@pytest.mark.parametrize(
    "rows",
    [
        ((12_966, 7070, 4312), (10_381, 13_211, 14_422)),
        ((4000, 10_100, 10_200), (10_000, 10_000, 10_001), (5100, 5100, 5100)),
    ],
    ids=["first rung over 10 % lower", "one slow run beside a steady rung"],
)
def test_estimate_reaches_least_repeat_of_highest_rung(rows):
    """However much the runs of another rung vary, as those of a server do that still compiles."""
    rungs = [replace(rung(16 * 4**i, *row), throughput_ops_s=geometric_mean(row)) for i, row in enumerate(rows)]
    ceiling = thread_ceiling(rungs)
    assert ceiling.threads == 64 and min(rows[1]) <= ceiling.throughput_ops_s <= ceiling.highest_ops_s
    assert ceiling.plateau == (64,) and ceiling.ladder is not Ladder.FIRST


def test_a_flat_top_is_pooled_and_saturated():
    ceiling = thread_ceiling(ladder(1000, 1900, 2000, 2001, 1999))
    assert ceiling.ladder is Ladder.SATURATED and ceiling.is_bracketed and not ceiling.is_lower_bound
    assert ceiling.plateau == (4, 8, 16) and ceiling.low_ops_s < 2000 < ceiling.high_ops_s
    assert ceiling.throughput_ops_s == pytest.approx(2000, rel=0.003) and len(ceiling.repeats_ops_s) == 3
    assert ceiling.throughput_ops_s == pytest.approx(math.prod(ceiling.repeats_ops_s) ** (1 / 3))
    sentence = ceiling_sentence(ceiling)
    assert "95 % interval" in sentence and "4, 8 and 16 threads" in sentence and "Highest measured: 2.00k" in sentence


def test_the_end_is_retrograde_where_it_falls_beyond_noise():
    assert thread_ceiling(ladder(1000, 1900, 2000, 1700)).ladder is Ladder.RETROGRADE
    assert thread_ceiling(ladder(1000, 1900, 2000, 700)).ladder is Ladder.RETROGRADE


def test_the_end_is_short_where_it_grows_beyond_noise_else_open():
    assert thread_ceiling(ladder(1000, 1900, 3000)).is_lower_bound
    assert thread_ceiling(ladder(1000, 1900, 2020)).ladder is Ladder.SHORT
    assert thread_ceiling(ladder(1000, 1900, 2020, noise=(0.9, 1.0, 1.1))).ladder is Ladder.OPEN


def test_end_is_short_if_last_rung_more_than_doubles():
    """In all of its runs: one slow run leaves the end open."""
    ceiling = thread_ceiling([rung(4, 4900, 4950, 4850), rung(8, 10_000, 10_100, 9_900)])
    assert ceiling.ladder is Ladder.SHORT and ceiling.is_lower_bound
    assert thread_ceiling([rung(4, 2000, 2010), rung(8, 2000, 6200)]).ladder is Ladder.OPEN


@pytest.mark.parametrize("rungs", [ladder(2000, 1990, 1700), ladder(2000, 2002, 1999), [rung(1, 20), rung(2, 19)]])
def test_a_ceiling_on_the_first_rung_is_not_saturated(rungs):
    ceiling = thread_ceiling(rungs)
    assert ceiling.ladder is Ladder.FIRST and not ceiling.is_bracketed
    sentence = ceiling_sentence(ceiling)
    assert "first rung" in sentence and "gain nothing" not in sentence and "saturated" not in ladder_says(ceiling)


def test_passes_that_a_rung_lacks_do_not_count():
    rungs = [rung(1, 900, 910, 890), rung(2, 1800, 1830, 1810), rung(4, 1000, 1010, repeats=(0, 2))]
    assert len(thread_ceiling(rungs).repeats_ops_s) == 2
    alone = [*rungs[:2], rung(4, 1010)]
    assert thread_ceiling(alone).repeats_ops_s == (1800, 1830, 1810) and not thread_ceiling(alone).is_estimate


def test_identical_repeats_have_no_interval():
    ceiling = thread_ceiling([rung(1, 900, 900), rung(2, 1800, 1800), rung(4, 1800, 1800)])
    assert (ceiling.throughput_ops_s, ceiling.is_estimate, ceiling.ladder) == (1800, False, Ladder.OPEN)


def test_a_single_run_is_shown_with_the_variation_of_its_cluster():
    single = curve()
    floor = SessionSpread((math.log(1.04) / 2.306 / math.sqrt(2)) ** 2, 8, 9, 3)
    assert "up to 4\N{NARROW NO-BREAK SPACE}%" in rendered("sweep/ladder_text", curve=single, floor=floor)
    assert "on this cluster is not known" in rendered("sweep/ladder_text", curve=single)
    repeated = [point(n, x, throughput_ops_s=spread([x, x * 1.01])) for n, x in ((2, 1000.0), (4, 1900.0))]
    assert "on this cluster" not in rendered("sweep/ladder_text", curve=curve(points=repeated))

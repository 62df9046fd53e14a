"""Verdicts of a plan with looks: which repeats they are made of, and at which level."""

import math
import re
import uuid
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.simulations.blocks import LOOK_HEADER, SHAPE, Case, look_rates
from benchmarks.simulations.ladders import LOOKS
from benchmarks.simulations.pairs import made_curve, made_point
from benchsite.core.formatting import THIN
from reports.compare.analysis.best import rank_sides
from reports.compare.analysis.looks import ALPHA, Look, levels
from reports.compare.analysis.multiple import adjusted
from reports.compare.analysis.repeat_comparison import EXTENDED, Outcome, compare_values
from reports.compare.curves import Standing
from reports.compare.figures.ceilings import best_sentence, build_bars, rank_curves
from reports.compare.figures.theme import LIGHT
from reports.compare.pages.baseline_ratios import Judging, against, throughput_ratio
from reports.compare.pages.tables import collect_verdicts
from reports.compare.queries.curves import curves
from runs.checks import profile
from runs.tests.factories import make_matrix, make_run, make_sweep

MATRIX = uuid.UUID(int=5)


def side(factor=1.0, repeats=5, *, seed=1, looks=LOOKS, order="interleaved", cv=0.02, planned=3):
    """One sweep of a plan with so many repeats so far."""
    noise = np.random.default_rng(seed).normal(0.0, cv, (len(SHAPE), 12))[:, :repeats]
    points = [made_point(2**i, 10_000 * factor * SHAPE[i] * np.exp(noise[i])) for i in range(len(SHAPE))]
    return replace(
        made_curve(points, uuid.uuid4()), matrix_id=MATRIX, order=order, repeats=planned, looks=looks, mode=str(seed)
    )


def compared(a, b):
    return throughput_ratio(a, b, None).comparison


@pytest.mark.parametrize("looks", [(3,), (3, 5, 9), (2, 4, 6, 8, 10), (2, 50)])
def test_levels_reject_normal_sums_in_5_percent(looks):
    sums = np.random.default_rng(7).normal(size=(40_000, looks[-1])).cumsum(axis=1)
    rejected = np.zeros(len(sums), bool)
    for look, level in zip(looks, levels(looks), strict=True):
        rejected |= np.abs(sums[:, look - 1]) / math.sqrt(look) > stats.norm.ppf(1 - level / 2)
    assert rejected.mean() == pytest.approx(ALPHA, abs=0.004)


def test_first_level_is_that_of_the_spending_function():
    assert levels((3, 5, 9))[0] == pytest.approx(ALPHA * math.log(1 + (math.e - 1) / 3))
    assert levels((4,)) == pytest.approx((ALPHA,))


def test_overall_p_agrees_with_the_level():
    look = Look(LOOKS, 6)
    assert (look.after, look.following, look.lacking) == (5, 9, 3)
    assert look.overall_p(look.level) == pytest.approx(ALPHA)
    assert look.overall_p(look.level * 0.99) < ALPHA < look.overall_p(look.level * 1.01)
    overall = look.overall_p(0.001)
    assert levels(LOOKS, overall)[1] == pytest.approx(0.001, rel=0.01)
    assert look.overall_p(0.0) <= 1e-9 and look.overall_p(1.0) == pytest.approx(1.0)


@pytest.mark.parametrize(("repeats", "after", "n"), [(3, 3, 3), (4, 3, 3), (5, 5, 5), (8, 5, 5), (9, 9, 9), (12, 9, 9)])
@pytest.mark.parametrize("order", ["interleaved", "as_listed"])
def test_later_repeats_wait_for_their_look(repeats, after, n, order):
    comparison = compared(side(1.1, repeats, order=order), side(1, repeats, seed=2, order=order))
    assert (comparison.look.after, comparison.n_a, comparison.n_b) == (after, n, n)
    assert comparison.is_blocked == (order == "interleaved") and not comparison.is_extended
    at_once = compared(side(1.1, after, order=order), side(1, after, seed=2, order=order))
    assert (comparison.ratio, comparison.low, comparison.high) == (at_once.ratio, at_once.low, at_once.high)


@pytest.mark.parametrize("order", ["interleaved", "as_listed"])
def test_interval_has_the_level_of_the_look(order):
    sides = [side(1.1, 5, order=order), side(1, 5, seed=2, order=order)]
    comparison = compared(*sides)
    plain = compared(*(replace(side, looks=(), repeats=5) for side in sides))
    widths = [math.log(one.high / one.low) for one in (comparison, plain)]
    quantiles = [stats.t.ppf(1 - level / 2, one.df) for level, one in ((comparison.level, comparison), (ALPHA, plain))]
    assert comparison.level == levels(LOOKS)[1] and plain.level == ALPHA
    selection = math.log(sides[0].ceiling.headroom * sides[0].ceiling.selection) + math.log(
        sides[1].ceiling.headroom * sides[1].ceiling.selection
    )
    assert (widths[0] - selection) / (widths[1] - selection) == pytest.approx(quantiles[0] / quantiles[1])
    assert comparison.p > plain.p
    assert comparison.note.replace(THIN, " ") == (
        "Verdict after 5 of 9 repeats, at the level 1.78 % of this look (98.2 % interval); the next look is after 9."
    )


def test_no_verdict_before_the_first_look():
    comparison = compared(side(2, 2), side(1, 2, seed=2))
    assert (comparison.outcome, comparison.low, comparison.p, comparison.needs_more) == (
        Outcome.INCONCLUSIVE,
        None,
        None,
        1,
    )
    assert comparison.ratio == pytest.approx(2, rel=0.1)
    assert comparison.note == "2 of 3 repeats: no verdict before the first look."


def test_look_is_reached_by_every_compared_rung():
    """A rejected repeat of a rung near the top holds the look back; low rungs and lone rungs without a point do not."""
    whole, other = side(1.1, 5), side(1, 5, seed=2)
    highest = max(whole.points, key=lambda point: point.throughput_ops_s.geomean)

    def short(point):
        points = tuple(rung.first_repeats(4) if rung is point else rung for rung in whole.points)
        return compared(replace(whole, points=points), other).look.after

    assert short(highest) == 3 and short(whole.points[0]) == 5
    lost = tuple(
        replace(point, standing=Standing.REJECTED) if point is whole.points[-1] else point for point in whole.points
    )
    assert compared(replace(whole, points=lost), other).look.after == 5


def test_inconclusive_verdict_waits_for_the_next_look():
    comparison = compared(side(1.02, 3, cv=0.05), side(1, 3, seed=2, cv=0.05))
    assert comparison.outcome is Outcome.INCONCLUSIVE and comparison.needs_more == 2
    assert comparison.reason.endswith("Raise each rung to 5 repeats, the next look.")
    last = compared(side(1.02, 9, cv=0.05), side(1, 9, seed=2, cv=0.05))
    assert last.outcome is not Outcome.INCONCLUSIVE or (last.needs_more, last.reason[-16:]) == (
        None,
        "No look is left.",
    )


def test_other_sides_have_no_look():
    a, b = side(1.1), side(1, seed=2)
    assert compared(replace(a, matrix_id=uuid.uuid4()), b).look is None
    assert compared(replace(a, looks=()), replace(b, looks=())).look is None


def test_added_runs_without_looks_are_said():
    plain = {"looks": (), "order": "as_listed"}
    comparison = compared(side(1.1, 5, **plain), side(1, 5, seed=2, **plain))
    assert comparison.is_extended and comparison.note == EXTENDED
    for changes in ({"repeats": 3}, {"planned": 5}, {"order": "interleaved"}):
        settings = {"repeats": 5, **plain, **changes}
        assert compared(side(1.1, **settings), side(1, seed=2, **settings)).note == ""


def test_p_of_a_look_is_adjusted_among_its_table():
    values = [1.0, 1.02, 0.99, 1.01, 1.03], [0.95, 0.96, 0.94, 0.97, 0.93]
    comparison = compare_values(*values, higher_is_better=True, look=Look(LOOKS, 5))
    assert comparison.outcome is Outcome.FASTER and comparison.p < ALPHA
    crowd = adjusted([comparison] + [replace(comparison, p=0.5)] * 400)
    assert crowd[0].outcome is Outcome.INCONCLUSIVE and crowd[0].adjusted_p == pytest.approx(401 * comparison.p)


def list_members(sides):
    return [rank.is_member for rank in rank_curves(sides).values()]


def test_best_set_waits_for_the_look_of_its_plan():
    sides = [side(1.15, 8), side(1, 8, seed=2)]
    assert rank_curves(sides) == rank_curves([replace(side, points=side.first_repeats(5).points) for side in sides])
    values = [side.first_repeats(5).ceiling.repeats_ops_s for side in sides]
    level = Look(LOOKS, 5).level
    assert list_members(sides) == [rank.is_member for rank in rank_sides(values, level)] == [True, False]
    assert best_sentence(sides).endswith("judged after 5 of 9 repeats, at the level of this look")


def test_side_that_lost_repeats_does_not_hold_the_set_back():
    sides = [side(1.15, 5), side(1, 5, seed=2), side(1.14, 4, seed=3)]
    assert list_members(sides) == [True, False, True]
    assert best_sentence(sides).endswith("judged after 5 of 9 repeats, at the level of this look")


def test_no_side_is_best_before_the_first_look():
    sides = [side(2, 2), side(1, 2, seed=2)]
    assert list_members(sides) == [None, None]
    assert best_sentence(sides).startswith("2 of 3 repeats: no verdict before the first look. ")
    assert re.fullmatch("\N{DIVISION SIGN}[0-9.]+", build_bars(sides, LIGHT)[1].note)
    others = [replace(side, matrix_id=uuid.uuid4()) for side in sides]
    assert list_members(others) == [True, False], "sides of different plans have no look"


def test_table_and_report_name_the_look():
    table = against([side(1.1), side(1, seed=2)], Judging({}, profile("measured", {}), {}), None)
    assert table.has_looks
    (verdict,) = collect_verdicts(table, None, {})
    assert verdict["level"] == levels(LOOKS)[1] and "Verdict after 5 of 9 repeats" in verdict["reason"]


@pytest.mark.django_db
@pytest.mark.slow
def test_confirming_runs_of_a_search_are_no_added_runs(team):
    matrix = make_matrix(team=team, search={"max_trials": 12}, repeats=2, order="interleaved", rungs=[4])
    sweeps = [make_sweep(matrix=matrix, mode=mode) for mode in ("off", "always")]
    for number, sweep in enumerate(sweeps):
        for repeat, ops_s in enumerate((1000.0, 1010.0, 990.0), 1):
            make_run(sweep, threads=4, repeat=repeat, throughput=ops_s + 7 * number * repeat)
    comparison = compared(*curves(sweeps))
    assert (comparison.n_a, comparison.note, comparison.is_blocked) == (3, "", False)


@pytest.mark.slow
def test_seeded_share_of_the_simulation():
    """A standard error of a share of 5 % is 2 % here."""
    blocked = look_rates(Case(9, 0.03, 0.05), 80)
    assert blocked.held >= 0.9 and blocked.false <= 0.08 and blocked.called[-1] >= 0.95
    assert blocked.called[0] <= blocked.called[1] <= blocked.called[2] and blocked.called[0] <= blocked.single[0]


def test_the_docs_quote_the_table(settings):
    assert LOOK_HEADER in (settings.BASE_DIR / "docs" / "evidence" / "comparisons.md").read_text()

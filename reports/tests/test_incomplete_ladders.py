"""Ladders that end below their ceiling: what is compared then, and that bounds keep their direction everywhere."""

import json
import math
from dataclasses import replace

import pytest
from django.http import QueryDict
from django.template.loader import render_to_string

from benchsite.core.formatting import TIMES
from reports.compare.analysis.ceiling import Rung, ceiling
from reports.compare.analysis.ratios import bound_sign
from reports.compare.analysis.repeat_comparison import (
    Outcome,
    compare_values,
    interval_text,
    not_comparable,
    times_text,
    widen,
)
from reports.compare.analysis.scalability import score
from reports.compare.curves import Setup
from reports.compare.durability_costs import describe_cost, find_weakest_modes, get_cost
from reports.compare.figures.ceilings import Ranking
from reports.compare.pages.answer_messages import plain_text
from reports.compare.pages.baseline_ratios import Judging, Ratio, against, throughput_ratio
from reports.compare.pages.equal_load import equal_load
from reports.compare.pages.tables import against_table, collect_verdicts
from reports.sizing.analysis import nodes_by_measurement
from reports.sizing.forms import QuestionForm
from reports.sizing.views import answer
from reports.tests.curves import curve, operation, point
from reports.tests.test_against_a_baseline import repeated, with_latencies
from runs.checks import profile

SCATTER = (1.0, 1.01, 0.99)
FULL = ((1, 1000.0), (2, 1900.0), (4, 3300.0), (8, 3900.0), (16, 3850.0))


def side(mode, *rungs, times=1.0):
    points = [point(n, x * times, throughput_ops_s=repeated(x * times, SCATTER)) for n, x in rungs]
    return with_latencies(curve(mode=mode, points=points), SCATTER)


def table(*sides):
    return against(sides, Judging({}, profile("measured", {}), {}), None, baseline=sides[-1].sweep_id)


def test_two_short_ladders_are_compared_at_their_common_rung():
    """Rungs 4, 8 against 1, 2, 4: the highest rungs are 2.4 times apart, the common rung 1.25 times."""
    fast, slow = side("off", (4, 5000.0), (8, 9600.0)), side("always", (1, 1000.0), (2, 2000.0), (4, 4000.0))
    rows = table(fast, slow)
    ratio = rows.rows[0].ratios[0]
    assert ratio.comparison.ratio == pytest.approx(1.25) and ratio.comparison.outcome is Outcome.FASTER
    why = "ceilings are not compared: both may lie higher (the ladder is too short)"
    assert (ratio.at, ratio.why) == ("4 threads", why)
    assert rows.short
    summary, _, _ = render_to_string("reports/compare/ratio.html", {"ratio": ratio}).partition("</summary>")
    assert "at 4 threads" in summary
    _, times, interval, outcome = against_table(rows, None, {}).rows[0]  # of ceilings
    assert (times, interval) == (None, None) and outcome.startswith(f"1.25{TIMES} [1.22, 1.28] at 4 threads; faster;")


@pytest.mark.parametrize(
    ("repeats", "stops", "word"),
    [((1, 3), (), "too few runs"), ((1, 3), ("They differ.",), "not comparable"), ((2, 2), (), "inconclusive")],
)
def test_verdict_in_a_word_states_why_there_is_none(repeats, stops, word):
    a, b = ([100.0] * number for number in repeats)
    comparison = replace(compare_values(a, b, higher_is_better=True), low=None, high=None, needs_more=1)
    comparison = replace(comparison, outcome=Outcome.INCONCLUSIVE)
    if stops:
        comparison = not_comparable(comparison, stops)
    ratio = Ratio("throughput", comparison, "")

    summary, _, _ = render_to_string("reports/compare/ratio.html", {"ratio": ratio}).partition("</summary>")

    assert word in summary


def test_leader_at_common_rung_may_have_the_lower_maximum():
    leads, higher = side("off", (2, 4000.0), (4, 5000.0)), side("always", (4, 3800.0), (8, 7000.0))
    for own, baseline, reached in ((leads, higher, "the baseline"), (higher, leads, "this side")):
        ratio = throughput_ratio(own, baseline, None)
        assert ratio.at == "4 threads" and f"at another load {reached} reached 7.00k" in ratio.why


def test_names_the_sides_as_the_page_does():
    names = (("B", "B's"), ("A", "A's"))
    ratio = throughput_ratio(side("off", *FULL), side("always", *FULL[:3]), None, names)
    assert ratio.why == "ceilings are not compared: A's ceiling may lie higher (the ladder is too short)"


def test_without_a_common_rung_there_is_no_ratio():
    ratio = throughput_ratio(side("off", (8, 5000.0)), side("always", (2, 4000.0)), None)
    assert ratio.comparison is None and ratio.why.endswith("and they have no load in common")


def test_a_bracketed_slower_side_makes_a_lower_bound():
    fast, slow = side("off", *FULL[:3], times=3.0), side("always", *FULL)
    ratio = throughput_ratio(fast, slow, None)
    assert ratio.comparison.outcome is Outcome.FASTER and ratio.comparison.bound == "at least"
    assert ratio.comparison.high == math.inf and ratio.comparison.low < 9900 / 3900
    assert ratio.times == "≥ 2.5" + TIMES and ratio.change == ""
    other = throughput_ratio(slow, fast, None)
    assert other.comparison.outcome is Outcome.SLOWER and other.times == "≤ 0.39" + TIMES and other.comparison.low == 0


def test_a_short_slower_side_may_be_the_faster_one():
    """A ceiling of 3.9k against "at least 3.3k": whether it is 1.18 times as much is not known."""
    ratio = throughput_ratio(side("off", *FULL), side("always", *FULL[:3]), None)
    assert ratio.at == "4 threads" and ratio.comparison.outcome is Outcome.EQUIVALENT
    bound = "the baseline's ceiling may lie higher (the ladder is too short)"
    assert ratio.why == f"ceilings are not compared: {bound}"


def test_undecided_bound_gives_way_to_the_common_rung():
    ratio = throughput_ratio(side("off", (4, 3300.0), (8, 3950.0)), side("always", *FULL), None)
    assert ratio.at == "8 threads" and ratio.why.endswith("its ceiling may lie higher (the ladder is too short)")


@pytest.mark.parametrize(
    ("scatter", "note"),
    [((1.0, 1.01, 0.99), f"≥ 2.7{TIMES} lower"), ((2.5, 1.0, 0.4), "undecided")],
    ids=["decided", "open"],
)
def test_fallen_side_leaves_the_bound_of_ceilings(scatter, note):
    """At 128 threads, beyond the peak of the slower side, the values are 4.6 times apart, their ceilings 2.7 times."""
    slow = side("always", (4, 9000.0), (16, 14_600.0), (64, 12_000.0), (128, 8400.0))
    rungs = ((4, 9000.0), (16, 15_000.0), (64, 30_000.0), (128, 38_800.0))
    fast = curve(mode="off", points=[point(n, x, throughput_ops_s=repeated(x, scatter)) for n, x in rungs])
    assert fast.is_unbounded and Ranking((fast, slow)).note(slow).startswith(note)
    for ratio, times in ((throughput_ratio(fast, slow, None), "≥ 2.7"), (throughput_ratio(slow, fast, None), "≤ 0.38")):
        assert (ratio.at, ratio.times) == ("", times + TIMES)
        assert ratio.outcome.startswith("inconclusive") == (note == "undecided")


def test_single_runs_have_a_bound_without_a_verdict():
    ratio = throughput_ratio(curve(points=[point(1, 9000.0)]), curve(), None)
    assert ratio.times == "≥ 2.3" + TIMES and ratio.outcome.startswith("inconclusive")


def test_bounds_are_quotients_of_the_values_shown():
    comparison = compare_values([176.9, 177.0, 177.1], [100.0, 100.1, 99.9], higher_is_better=True)
    assert times_text(widen(comparison, 1.0, math.inf)) == "≥ 1.8" + TIMES
    assert times_text(widen(comparison, 0.0, 1.0)) == "≤ 1.8" + TIMES
    assert times_text(comparison) == "1.8" + TIMES
    just_above = replace(comparison, ratio=1.2, low=1.0366, high=math.inf, above=math.inf)
    assert interval_text(just_above) == "[1.03, ∞]"


def test_ratio_stays_open_up_to_the_first_failed_target():
    """The same database with targets 50k, 75k, 100k and 60k, 80k, 120k: no side is faster."""
    sides = []
    for targets in ((50_000, 75_000, 100_000), (60_000, 80_000, 120_000)):
        rungs = [(target, min(target, 82_000)) for target in targets]
        points = [
            point(64, x, target_ops_s=t, operations=(operation("READ", 100.0),), throughput_ops_s=repeated(x, SCATTER))
            for t, x in rungs
        ]
        sides.append(curve(points=points, ladder="target", rungs=targets))
    comparison = throughput_ratio(*sides, None).comparison
    assert comparison.outcome is Outcome.INCONCLUSIVE and comparison.low < 75 / 82 and comparison.high > 100 / 80
    assert comparison.needs_more is None and "rungs nearer" in comparison.reason


def test_the_peak_may_lie_between_two_rungs():
    """By the Universal Scalability Law the peak through three rungs is exact; of a first rung nothing is known."""
    law = [Rung(n, n * 1000 / (1 + 0.001 * n * (n - 1))) for n in (8, 32, 128)]
    estimate = ceiling(law)
    assert estimate.throughput_ops_s * estimate.headroom == pytest.approx(
        1000 / (2 * math.sqrt(0.001) - 0.001), rel=1e-3
    )
    assert math.isinf(ceiling([Rung(8, 1000), Rung(16, 900)]).headroom)
    assert ceiling([Rung(1, 1000), Rung(2, 900)]).headroom == 1
    assert ceiling([Rung(1, 1000), Rung(2, 1040)]).headroom == pytest.approx(1 / 0.96)
    assert math.isinf(ceiling([Rung(1, 1000), Rung(2, 1900)]).headroom)


def test_an_end_that_the_repeats_do_not_show_is_no_ceiling():
    """The last step gains 3 % with runs that scatter by 10 %: saturated as measured, not beyond noise."""
    noisy = [Rung(n, x, repeats_ops_s=tuple(x * f for f in (0.9, 1.0, 1.1)), repeats=(1, 2, 3)) for n, x in FULL[:3]]
    last = Rung(8, 3400.0, repeats_ops_s=(3000.0, 3400.0, 3900.0), repeats=(1, 2, 3))
    estimate = ceiling([*noisy, last])
    assert not estimate.is_bracketed and math.isinf(estimate.headroom)


def test_widening_moves_the_ends_and_the_p_of_the_nearest_one():
    comparison = compare_values([120.0, 121.0, 119.0], [100.0, 101.0, 99.0], higher_is_better=True)
    wide = widen(comparison, 0.9, 1.1)
    assert (wide.low, wide.high) == (pytest.approx(comparison.low * 0.9), pytest.approx(comparison.high * 1.1))
    assert wide.ratio == comparison.ratio and comparison.p < wide.p < 0.05 and wide.outcome is Outcome.FASTER
    lost = widen(comparison, 0.8, 1.1)
    assert lost.p == 1 and lost.outcome is Outcome.INCONCLUSIVE and lost.needs_more is None
    assert widen(comparison, 1.0, 1.0) == comparison
    single = widen(compare_values([2.0], [1.0], higher_is_better=True), 1.0, math.inf)
    assert single.low is None and single.bound == "at least"


def test_wide_certain_range_takes_the_one_sided_quantile():
    """2.132 in place of 2.776 with 4 degrees of freedom; next to no range leaves the two-sided one."""
    comparison = compare_values([120.0, 121.0, 119.0], [100.0, 101.0, 99.0], higher_is_better=True)
    wide, hardly = (widen(comparison, 1 - share, 1 + share, is_certain=True) for share in (0.1, 1e-5))
    reach = math.log(comparison.high / comparison.ratio) * 2.132 / 2.776
    expected = comparison.ratio * 0.9 * math.exp(-reach), comparison.ratio * 1.1 * math.exp(reach)
    assert (wide.low, wide.high) == pytest.approx(expected, rel=1e-3)
    assert (hardly.low, hardly.high) == pytest.approx((comparison.low, comparison.high), rel=5e-4)
    assert comparison.p < wide.p < 0.05 and hardly.p == pytest.approx(comparison.p, rel=0.01)


def test_same_database_on_other_rungs_is_not_called_faster():
    """Latency at equal load is interpolated on each side between other rungs: 1.37 times apart by the rungs alone."""
    law = {n: n * 1000 / (1 + 0.001 * n * (n - 1)) for n in (2, 4, 8, 16, 24, 32, 48)}
    a = side("off", *((n, law[n]) for n in (2, 24, 48)))
    b = side("always", *((n, law[n]) for n in (4, 8, 16, 32)))
    equal = equal_load((a, b), ["READ"], load_ops_s=9000.0)
    ratio = against((a, b), Judging({}, profile("measured", {}), {}), equal).rows[0].ratios[1]
    assert abs(math.log(ratio.comparison.ratio)) > 0.1
    assert ratio.comparison.outcome is Outcome.INCONCLUSIVE and ratio.comparison.low < 1 < ratio.comparison.high


def test_frozen_tables_name_bounds_and_are_json():
    bounded, base = side("off", *FULL[:3], times=3.0), side("always", *FULL)
    short = side("mid", (4, 5000.0), (8, 9600.0))
    rows = table(bounded, replace(base, name="other"), short, base)
    verdicts = collect_verdicts(rows, None, {})
    assert json.loads(json.dumps(verdicts, allow_nan=False))[0]["bound"] == "at least"
    assert verdicts[0]["high"] is None and verdicts[0]["low"] > 2
    cells = against_table(rows, None, {}).rows[0]
    assert cells[1] == pytest.approx(verdicts[0]["ratio"], rel=1e-3) and cells[2].endswith("∞]")


NODES = Setup(nodes=3, price_per_hour=6.0)
SHORT = FULL[:3]


def answered(*curves, query="throughput=5k"):
    question = QuestionForm(QueryDict(query))
    assert question.is_valid()
    return answer(curves, question.cleaned_data)


def test_a_short_ladder_takes_at_most_so_many_nodes_and_dollars():
    exact, bounded = (replace(side("off", *rungs), setup=NODES) for rungs in (FULL, SHORT))
    (answer,) = answered(exact)["answers"]
    assert (answer.sign, answer.reached.sign, answer.cost_sign) == ("", "", "")
    (answer,) = answered(bounded)["answers"]
    assert (answer.sign, answer.reached.sign, answer.cost_sign) == ("≤ ", "≥ ", "≤ ")
    assert "a lower bound" in plain_text("sizing/notes.txt", answer=answer)
    (stored,) = answered(bounded, query="throughput=1&data=9000&copies=2&node=1000")["answers"]
    assert stored.binding == "storage" and stored.sign == ""


def test_a_limit_that_the_last_rung_keeps_is_a_bound_too():
    bounded = replace(side("off", *SHORT), setup=NODES)
    (answer,) = answered(bounded, query="throughput=5k&within=100")["answers"]
    assert answer.reached.at_least and answer.sign == "≤ "
    (answer,) = answered(bounded, query="throughput=5k&within=2.7&op=READ")["answers"]
    assert not answer.reached.at_least


def test_nodes_keep_the_direction_of_the_sizes_that_are_bounds():
    measured = {2: 400.0, 4: 600.0}
    assert nodes_by_measurement(measured, 500)[2] == ""
    assert nodes_by_measurement(measured, 500, [2])[2] == "at most"
    assert nodes_by_measurement(measured, 900, [4])[2] == "at most"
    assert nodes_by_measurement(measured, 900, [2])[2] == "open"  # the last step may have gained less


def test_ratios_of_bounds_have_a_direction_or_none():
    assert [bound_sign(*pair) for pair in ((0, 0), (1, 0), (0, 1), (1, 1))] == ["", "≥ ", "≤ ", None]
    scores = [score({1: 100.0, 2: 220.0, 4: 300.0}, lower_bounds=bounds) for bounds in ((), (4,), (1,), (1, 4))]
    assert [score.sign for score in scores] == ["", "≥ ", "≤ ", None]
    assert [score.gain_sign(2) for score in scores] == ["", "", "≤ ", "≤ "]
    assert [score.super_linear for score in scores] == [(2,), (2,), (), ()]


def test_durability_cost_is_a_bound_if_a_ladder_is_short():
    weak, strong = side("off", *FULL, times=2.0), side("always", *SHORT)
    assert find_weakest_modes((weak, strong)) == {strong.sweep_id: weak}
    assert describe_cost(strong, weak).startswith("≥ ") and get_cost(strong, weak)[1] == "≥ "

    short = side("off", *SHORT)
    assert get_cost(strong, short)[1] is None and describe_cost(strong, short) == ""

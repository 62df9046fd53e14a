"""The ratio table: which side is the baseline, what is compared at all, and what is said of how sure it is."""

import uuid
from dataclasses import replace

import pytest

from reports.compare.analysis.points import Spread
from reports.compare.analysis.repeat_comparison import Outcome
from reports.compare.curves import Setup
from reports.compare.pages.baseline_ratios import Judging, against, choose_baseline
from reports.compare.pages.equal_load import equal_load
from reports.compare.views.compare import SESSIONS, conditions
from reports.tests.curves import curve, point
from reports.trends.analysis.sessions import SessionSpread
from runs.checks import profile

NOBODY_KNOWS = Judging({}, profile("measured", {}), {})
NOISE = (1.0, 1.012, 0.988, 1.006, 0.994)


def repeated(value, factors=NOISE):
    values = tuple(value * factor for factor in factors)
    return Spread(value, min(values), max(values), len(values), values)


def side(scale, mode="always", *, factors=NOISE, **changes):
    rungs = ((2, 1000.0), (4, 1900.0), (8, 3300.0), (16, 3900.0), (32, 3800.0))
    points = [point(n, x * scale, throughput_ops_s=repeated(x * scale, factors)) for n, x in rungs]
    return curve(mode=mode, points=points, **changes)


def get_row(table, one):
    return next(row for row in table.rows if row.curve is one)


def test_the_baseline_is_the_strongest_promise():
    weak, strong = side(2, "off"), side(1, "always")
    assert choose_baseline([weak, strong], None) is strong
    assert choose_baseline([weak, strong], weak.sweep_id) is weak
    assert choose_baseline([weak, strong], uuid.uuid4()) is strong
    assert choose_baseline([curve(points=[])], None) is None


def test_baseline_has_known_durability_if_any_side_has():
    unknown, weak = side(1, "none", durability={}), side(1, "off")
    assert choose_baseline([unknown, weak], None) is weak


def test_one_side_and_nothing_measured_have_no_table():
    assert against([side(1)], NOBODY_KNOWS, None) is None
    assert against([curve(points=[]), curve(points=[])], NOBODY_KNOWS, None) is None


def test_twice_the_throughput_is_faster_with_its_interval():
    weak, strong = side(2, "off"), side(1, "always")
    table = against([weak, strong], NOBODY_KNOWS, None)
    assert table.baseline is strong and not table.pinned and table.axes == "durability mode"
    ratio = get_row(table, weak).ratios[0]
    assert ratio.comparison.ratio == pytest.approx(2.0) and ratio.outcome == "faster"
    assert (ratio.tone, ratio.arrow, ratio.change) == ("better", "▲ ", "+100\u202f%")
    assert "Cliff's delta 1.00" in ratio.effects
    assert ratio.interval.startswith("[1.9") and get_row(table, strong).is_baseline


def test_half_the_throughput_is_slower():
    ratio = get_row(against([a := side(0.5, "off"), side(1)], NOBODY_KNOWS, None), a).ratios[0]
    assert (ratio.tone, ratio.arrow, ratio.outcome) == ("worse", "▼ ", "slower")


def test_a_single_run_each_has_a_ratio_and_no_verdict():
    weak, strong = curve(mode="off"), curve(mode="always")
    ratio = get_row(against([weak, strong], NOBODY_KNOWS, None), weak).ratios[0]
    assert ratio.tone == "" and ratio.counts == "1 run each: no interval"
    assert ratio.outcome.startswith("inconclusive: needs ") and ratio.interval == ""


def test_session_variation_counts_between_plans_not_within():
    setup = Setup(cluster_name="here")
    weak, strong = side(1.1, "off", setup=setup), side(1, "always", setup=setup)
    noisy = Judging({}, profile("measured", {}), {"here": SessionSpread(0.1**2, 9, 10, 4)})
    assert get_row(against([weak, strong], NOBODY_KNOWS, None), weak).ratios[0].outcome == "faster"
    table = against([weak, strong], noisy, None)
    assert table.noise_floor == pytest.approx(0.377, abs=0.005)
    assert get_row(table, weak).ratios[0].comparison.outcome == Outcome.INCONCLUSIVE
    assert "sessions differ by up to 37.7 % here" in get_row(table, weak).ratios[0].outcome
    for shared in ({"matrix_id": uuid.uuid4()}, {"session": "job-7"}):
        sides = [replace(side, **shared) for side in (weak, strong)]
        assert get_row(against(sides, noisy, None), sides[0]).ratios[0].outcome == "faster"


def test_states_that_variation_between_sessions_is_unknown():
    sides = side(1.1, "off", session="job-1"), side(1, "always", session="job-2")
    table = against(sides, NOBODY_KNOWS, None)
    assert table.sessions_unknown and SESSIONS in conditions(sides, "service", table)
    assert not against([replace(curve, session="job-1") for curve in sides], NOBODY_KNOWS, None).sessions_unknown


def test_another_workload_is_not_compared():
    other, strong = side(2, "off", workload="Workload B"), side(1, "always")
    table = against([other, strong], NOBODY_KNOWS, None)
    row = get_row(table, other)
    assert row.refused and row.ratios == () and table.refused == 1
    assert "The workloads differ: Workload B and Workload A." in row.gate.stops


def test_anyway_shows_ratios_without_a_verdict():
    other, strong = side(2, "off", workload="Workload B"), side(1, "always")
    row = get_row(against([other, strong], NOBODY_KNOWS, None, anyway=True), other)
    ratio = row.ratios[0]
    assert row.refused and ratio.comparison.ratio == pytest.approx(2.0)
    assert (ratio.outcome, ratio.tone, ratio.arrow) == ("not comparable", "", "")


def test_what_is_declared_to_vary_stops_nothing():
    small, large = (side(scale, setup=Setup(nodes=nodes)) for scale, nodes in ((1, 4), (2, 8)))
    stopped = against([small, large], NOBODY_KNOWS, None, vary=("mode",))
    assert stopped.declared and stopped.refused == 1
    assert against([small, large], NOBODY_KNOWS, None, vary=("nodes",)).refused == 0


def test_latency_is_compared_at_one_load():
    weak, strong = side(2, "off"), side(1, "always")
    equal = equal_load([weak, strong], ["READ"], load_ops_s=2500.0)
    latency = get_row(against([weak, strong], NOBODY_KNOWS, equal), weak).ratios[1]
    assert latency.quantity == "READ" and latency.comparison.ratio > 1  # the lower latency is the better one
    beyond = equal_load([weak, strong], ["READ"], load_ops_s=5000.0)
    ratio = get_row(against([weak, strong], NOBODY_KNOWS, beyond), weak).ratios[1]
    assert ratio.comparison is None and ratio.why == "the baseline: not reached: the highest is 3.90k\u202fops/s"


def with_latencies(one, factors):
    """Each repeat with a latency of its own."""

    def spreads(operation):
        return {name: repeated(spread.geomean, factors) for name, spread in operation.latencies_us.items()}

    points = [
        replace(
            at, operations=tuple(replace(operation, latencies_us=spreads(operation)) for operation in at.operations)
        )
        for at in one.points
    ]
    return replace(one, points=tuple(points))


def test_a_load_that_only_some_repeats_reach_has_no_ratio():
    factors = (0.9, 1.0, 1.1, 0.95, 1.05)
    wide, strong = with_latencies(side(1, "off", factors=factors), factors), with_latencies(side(2), NOISE)
    found = []
    for load in (4100.0, 3800.0, 3000.0):
        equal = equal_load([wide, strong], ["READ"], load_ops_s=load)
        found.append(get_row(against([wide, strong], NOBODY_KNOWS, equal), wide).ratios[1])
    assert [one.why for one in found] == [
        "not reached: the highest is 3.90k\u202fops/s", "only 3 of 5 repeats have a latency at this load", ""
    ]  # fmt: skip
    assert found[0].comparison is found[1].comparison is None and found[2].comparison.n_a == 5


def test_repeats_that_differ_from_rung_to_rung_have_no_interval():
    weak, strong = side(2, "off"), with_latencies(side(1), NOISE)
    equal = equal_load([weak, strong], ["READ"], load_ops_s=2500.0)
    ratio = get_row(against([weak, strong], NOBODY_KNOWS, equal), weak).ratios[1]
    assert ratio.outcome == "inconclusive: the repeats differ from rung to rung: no interval" and ratio.counts == ""


def test_short_ladders_make_bounds():
    short = side(2, "off")
    short = curve(mode="off", points=short.points[:3])
    ratio = get_row(against([short, side(1)], NOBODY_KNOWS, None), short).ratios[0]
    assert ratio.why == "at least: its ceiling may lie higher (the ladder is too short)"


def test_all_comparisons_of_a_table_are_judged_together():
    sides = [side(1 + number / 10, f"mode-{number}") for number in range(6)] + [side(1)]
    table = against(sides, NOBODY_KNOWS, equal_load(sides, ["READ"]))
    assert table.tests >= 6
    assert all(
        ratio.comparison.adjusted_p >= ratio.comparison.p
        for row in table.rows
        for ratio in row.ratios
        if ratio.comparison and ratio.comparison.p is not None
    )


def test_each_row_can_become_the_baseline_and_names_two_sweeps():
    weak, strong = side(2, "off"), side(1, "always")
    table = against([weak, strong], NOBODY_KNOWS, None, address=lambda chosen: f"?baseline={chosen}")
    row = get_row(table, weak)
    assert row.baseline_href == f"?baseline={weak.sweep_id}"
    assert row.pair == (strong.sweep_id, weak.sweep_id)

"""The headline of a comparison: sides by guarantee, the price of durability, and what the numbers do not show."""

from dataclasses import replace

from benchsite.core.formatting import TIMES
from reports.analysis.points import spread
from reports.pages.baseline_ratios import Judging
from reports.pages.headline import headline_of
from reports.tests.curves import LADDER, MEMORY, curve, point
from reports.views.compare import caveats
from runs.validity import profile


def side(database, mode, factor, *, runs=3, ladder=LADDER, durability=None):
    """A side with repeats whose ladder is `factor` times as high as LADDER."""
    points = []
    for threads, throughput in ladder:
        values = [throughput * factor * (1 + 0.01 * number) for number in range(runs)]
        points.append(replace(point(threads, throughput * factor), throughput_ops_s=spread(values)))
    changes = {} if durability is None else {"durability": durability}
    return curve(database, mode, points, **changes)


def headline(*curves):
    labels = {curve.sweep_id: curve.label for curve in curves}
    return headline_of(curves, Judging({}, profile("measured", {}), {}), labels)


def test_groups_sides_by_guarantee_strongest_first():
    result = headline(
        side("Redis", "off", 3, durability=MEMORY), side("PostgreSQL", "on", 1), side("Redis", "always", 2)
    )
    assert [guarantee for guarantee, _ in result.guarantees] == ["Loses none (disk)", "May lose any (memory)"]
    first, second = (sides for _, sides in result.guarantees)
    assert first.index("Redis · always") < first.index("PostgreSQL · on") and "Redis · off" not in first
    assert second.startswith("Redis · off ")


def test_states_cost_of_durability_with_interval():
    result = headline(side("Redis", "off", 2, durability=MEMORY), side("Redis", "always", 1))
    [cost] = result.costs
    assert cost.startswith(f"Redis always does 0.50{TIMES} [0.4") and cost.endswith("of off")
    assert not result.certainty


def test_open_cost_is_compared_at_the_common_load():
    low, high = ((3, 1500.0), (5, 2500.0), (7, 3500.0)), ((1, 2000.0), (2, 4000.0), (4, 8000.0))
    result = headline(side("Redis", "off", 1, ladder=high, durability=MEMORY), side("Redis", "always", 1, ladder=low))
    [cost] = result.costs
    start, _, at_load = cost.partition(". ")
    assert start == "Redis always against off is open: both ceilings are lower bounds"
    assert at_load.replace("\u202f", " ").startswith(
        f"At 2.80k ops/s READ p99 is 4.80 ms against 1.20 ms (4.0{TIMES}; inconclusive: "
    )


def test_one_guarantee_costs_nothing():
    assert headline(side("Redis", "always", 2), side("PostgreSQL", "on", 1)).costs == ()


def test_single_runs_are_indicative_only():
    assert headline(side("Redis", "always", 2, runs=1), side("PostgreSQL", "on", 1)).certainty == (
        "n = 1 for 1 of 2 ceilings: indicative only."
    )


def test_open_ladders_are_lower_bounds():
    rising = ((1, 1000.0), (2, 2000.0), (4, 4000.0))
    result = headline(side("Redis", "always", 1, ladder=rising), side("PostgreSQL", "on", 1))
    assert "Redis · always at least " in result.guarantees[0][1]
    assert result.bounds == ("At least: the ladder is too short (Redis · always).",) and not result.certainty
    both = headline(*(side(name, "always", 1, ladder=rising) for name in ("Redis", "PostgreSQL")))
    assert both.bounds == ("At least: the ladder is too short (both ceilings).",)


def test_names_three_sides_and_counts_the_rest():
    result = headline(*(side(f"Redis {n}", "always", n) for n in range(1, 6)))
    assert result.guarantees[0][1].endswith(" and 2 more")


def test_no_headline_without_a_ceiling():
    assert headline(curve(points=[]), curve(points=[])) is None


def test_caveats_of_bounds_do_not_speak_of_single_runs():
    curves = [
        side("Redis", "always", 1, ladder=((1, 1000.0), (2, 2000.0), (4, 4000.0))), side("PostgreSQL", "on", 1)
    ]  # fmt: skip
    chips = caveats(curves, "service", headline(*curves), None)
    assert [text for text, _ in chips[:2]] == ["At least: the ladder is too short (Redis · always).", "n = 3"]
    assert not any("single run has no interval" in help for _, help in chips)

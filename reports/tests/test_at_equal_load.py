"""The table at equal load: which load, whose numbers, and what is said where a side has none."""

from dataclasses import replace

import pytest

from reports.compare.analysis.equal_load import How
from reports.compare.analysis.points import Spread
from reports.compare.pages.answer_messages import plain_text
from reports.compare.pages.equal_load import (
    default_load,
    equal_load,
    latencies_at,
    list_percentiles,
    load_points,
    repeated_points,
    within_text,
)
from reports.compare.pages.tables import equal_table
from reports.tests.curves import curve, operation, point


def ladder(scale, *, rungs=((2, 1000.0), (4, 1900.0), (8, 3300.0), (16, 3900.0), (32, 3800.0))):
    return curve(database=f"times {scale:g}", points=[point(threads, x * scale) for threads, x in rungs])


def describe(comparison):
    return plain_text("compare/equal_load.txt", equal=comparison)


def test_the_usual_load_is_80_percent_of_the_lowest_ceiling():
    assert default_load([ladder(1), ladder(2)]) == 3100.0  # 0.8 * 3900 with two digits


def test_where_most_sides_start_above_it_a_higher_load_is_taken():
    assert default_load([ladder(0.01), ladder(1), ladder(1.1)]) == 3100.0


def test_nothing_measured_has_no_load():
    assert default_load([]) is None
    assert equal_load([curve(points=[])], ["READ"]) is None
    assert equal_load([ladder(1)], []) is None


def test_a_rung_is_read_as_measured_and_between_two_it_is_marked():
    comparison = equal_load([ladder(1)], ["READ"], load_ops_s=1900.0)
    assert comparison.sides[0].how == "measured at 4 threads"
    between = equal_load([ladder(1)], ["READ", "UPDATE"], load_ops_s=2500.0).sides[0]
    assert between.how == "≈ between 4 and 8 threads"
    assert [reading.how for reading in between.latencies.values()] == [How.INTERPOLATED] * 6
    low, high = (load_points(ladder(1), "UPDATE", "p99")[i].latency_us for i in (1, 2))
    assert low < between.latencies["UPDATE", "p99"].latency_us < high


def test_nothing_is_extrapolated():
    comparison = equal_load([ladder(1), ladder(10)], ["READ"], load_ops_s=5000.0)
    slow, fast = comparison.sides
    assert not slow.is_readable and slow.how == "not reached: the highest is 3.90k\u202fops/s"
    assert not fast.is_readable and fast.how == "the lowest rung already does 10.0k\u202fops/s"
    assert describe(comparison) == (
        "Latency at 5.00k\u202fops/s is known of 0 of 2 sides; 1 does more on the lowest rung already; "
        "1 has not reached this load."
    )


def test_sentence_counts_sides_that_lack_the_median():
    """Imports state some percentiles only: a side whose p95 is known at the load has a latency."""
    stated = operation("READ", 1000.0)
    only_p95 = replace(stated, latencies_us={"p95": stated.latencies_us["p95"]})
    side = curve(points=[point(threads, threads * 1000.0, operations=(only_p95,)) for threads in (1, 2, 4)])
    comparison = equal_load([side], ["READ"], load_ops_s=2000.0, statistic="p95")
    assert describe(comparison) == "Latency at 2.00k\u202fops/s is known of 1 of 1 side."
    assert comparison.sides[0].how == "measured at 2 threads"
    comparison = equal_load([side, ladder(1)], ["READ"], load_ops_s=2000.0, statistic="p50")
    assert describe(comparison) == "Latency at 2.00k\u202fops/s is known of 2 of 2 sides, but not the p50 of 1."


def test_the_falling_end_of_a_ladder_is_not_read():
    # 3850 ops/s lie between 8 and 16 threads on the way up; that 32 threads do it too, slower, is no answer.
    (side,) = equal_load([ladder(1)], ["READ"], load_ops_s=3860.0).sides
    assert "16 threads" in side.how and "32" not in side.how


def test_the_inverse_is_the_highest_throughput_within_a_limit():
    comparison = equal_load([ladder(1), ladder(0.001)], ["READ"], limit_us=10_000.0)
    fast, slow = (side.within["READ"] for side in comparison.sides)
    assert fast.throughput_ops_s
    assert [column for column in equal_table(comparison, {}).columns if "≤" in column] == [
        "READ with p99 ≤ 10.0\N{NARROW NO-BREAK SPACE}ms (ops/s)"
    ]
    assert slow.throughput_ops_s is None and within_text(slow) == "not even the lowest rung"


def test_a_lower_rung_above_the_limit_is_named():
    dip = curve(points=[point(2, 1000.0), point(4, 1200.0), point(8, 3300.0), point(16, 3900.0)])
    within = equal_load([dip], ["READ"], limit_us=7000.0).sides[0].within["READ"]
    text = within_text(within)
    assert within.throughput_ops_s > 3300 and text.startswith("≈ between 8 and 16 threads, but the lower")
    assert "rung of 4 threads (8.00" in text and text.endswith("is above the limit")


def test_another_statistic_is_added_to_the_usual_ones():
    assert list_percentiles("p99") == ["p50", "p95", "p99"]
    comparison = equal_load([ladder(1)], ["READ"], statistic="p999")
    columns = equal_table(comparison, {}).columns
    assert columns == ("side", *(f"READ {name} (µs)" for name in ("p50", "p95", "p99", "p99.9")), "read off")


@pytest.mark.parametrize("load", [1e-9, 0.5, 3120.0, 3120.123456, 1e9])
def test_the_slider_gives_the_asked_load_back(load):
    comparison = equal_load([ladder(1), ladder(3)], ["READ"], load_ops_s=load)
    slider = comparison.slider
    steps = (load - slider["least"]) / slider["step"]
    assert slider["least"] <= load <= slider["most"]
    assert steps == pytest.approx(round(steps), abs=1e-3)


def repeated(throughputs, latencies):
    """One rung of as many repeats."""
    row = operation("READ", 100.0)
    spreads = {name: Spread(latencies[0], min(latencies), max(latencies), len(latencies), tuple(latencies))
               for name in row.latencies_us}  # fmt: skip
    return {
        "throughput_ops_s": Spread(
            throughputs[0], min(throughputs), max(throughputs), len(throughputs), tuple(throughputs)
        ),
        "operations": (type(row)(row.operation, row.kind, row.ok, row.failed, spreads),),
    }


def read_latencies(rungs, load_ops_s, operation="READ"):
    side = curve(points=rungs)
    return latencies_at(side, operation, equal_load([side], ["READ"], load_ops_s=load_ops_s))


def test_each_repeat_has_a_latency_of_its_own_at_the_load():
    rungs = [
        point(2, 1000.0, **repeated([1000.0, 1010.0, 990.0], [100.0, 110.0, 90.0])),
        point(4, 2000.0, **repeated([2000.0, 2010.0, 1990.0], [200.0, 220.0, 180.0])),
    ]
    values = read_latencies(rungs, 1500.0).values
    assert len(values) == 3 and min(values) > 90.0 and max(values) < 220.0


def test_repeats_are_matched_by_their_numbers():
    rungs = [
        point(2, 1000.0, repeats=(2, 3, 4), **repeated([1000.0, 1010.0, 990.0], [100.0, 110.0, 90.0])),
        point(4, 2000.0, repeats=(1, 3, 4), **repeated([2000.0, 2010.0, 1990.0], [200.0, 220.0, 180.0])),
    ]
    passes = repeated_points(curve(points=rungs), "READ", "p99")
    assert [[one.latency_us for one in rung] for rung in passes] == [[110.0, 220.0], [90.0, 180.0]]


def test_a_rung_beyond_the_ceiling_takes_no_repeat_away():
    rungs = [
        point(2, 1000.0, **repeated([1000.0, 1010.0], [100.0, 110.0])),
        point(4, 2000.0, **repeated([2000.0, 2010.0], [200.0, 220.0])),
        point(8, 1900.0, **repeated([1900.0], [400.0])),
    ]
    assert len(read_latencies(rungs, 1500.0).values) == 2


def test_a_load_that_some_repeats_miss_has_no_latency():
    rungs = [
        point(2, 1000.0, **repeated([1000.0, 1010.0, 990.0], [100.0, 110.0, 90.0])),
        point(4, 2000.0, **repeated([2000.0, 2200.0, 1900.0], [200.0, 220.0, 180.0])),
    ]
    inside, above = (read_latencies(rungs, load) for load in (1990.0, 2150.0))
    assert inside.values == () and inside.why == "only 2 of 3 repeats have a latency at this load"
    assert above.values == () and above.why.startswith("not reached: the highest is 2.00k")


def test_rungs_without_common_repeats_give_a_single_latency():
    """It is interpolated between the medians; an interval needs two repeats that all rungs have."""
    rungs = [
        point(2, 1000.0, **repeated([1000.0, 1010.0], [100.0, 110.0])),
        point(4, 2000.0, **repeated([2000.0], [200.0])),
    ]
    latencies = read_latencies(rungs, 1500.0)
    assert len(latencies.values) == 1 and latencies.why == "The repeats differ from rung to rung: no interval."
    assert read_latencies(rungs, 1500.0, "SCAN").values == ()


def targets(*pairs):
    return curve(points=[point(64, x, target_ops_s=target) for target, x in pairs], ladder="target")


def test_throughput_within_limit_is_at_most_sustained_ceiling():
    side = targets((25_000, 25_000.0), (50_000, 45_000.0), (100_000, 89_900.0))
    within = equal_load([side], ["READ"], limit_us=1e6).sides[0].within["READ"]
    assert within.throughput_ops_s == 25_000 and within.capped
    assert within_text(within) == "measured at a target of 25.0k, the last that was sustained"
    unsustained = targets((25_000, 20_000.0), (50_000, 30_000.0))
    within = equal_load([unsustained], ["READ"], limit_us=1e6).sides[0].within["READ"]
    assert within.throughput_ops_s is None and within_text(within) == "no target was sustained"


def test_single_rung_sides_have_equal_load_only_on_request():
    sides = [ladder(1, rungs=((2, 1000.0),)), ladder(2, rungs=((2, 1000.0),))]
    assert equal_load(sides, ["READ"]) is None
    assert equal_load(sides, ["READ"], load_ops_s=1000.0).load_ops_s == 1000.0
    assert equal_load([sides[0], ladder(1)], ["READ"]) is not None

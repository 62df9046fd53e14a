"""The table of a comparison: the reference on top, then by falling ceiling, the best value of each column marked."""

from dataclasses import replace

import pytest

from reports.compare.analysis.points import Spread
from reports.compare.pages.baseline_ratios import Judging, against
from reports.compare.pages.comparison_table import LatencyScale, choose_scale, table_rows
from reports.compare.pages.equal_load import equal_load
from reports.tests.curves import LADDER, MEMORY, curve, operation, point
from runs.checks import profile


def side(mode, factor, **changes):
    points = [point(threads, throughput * factor) for threads, throughput in LADDER]
    return curve(mode=mode, points=points, **changes)


def get_rows(*curves, limit_us=None):
    equal = equal_load(curves, ["READ", "UPDATE"], load_ops_s=2000.0, limit_us=limit_us)
    judging = Judging({}, profile("measured", {}), {})
    return table_rows(curves, equal, against(curves, judging, equal), curves)


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(1.0, LatencyScale("ms", 1000.0, 3)), (0.1, LatencyScale("µs", 1.0, 2)), (1e3, LatencyScale("ms", 1000.0, 1))],
)
def test_latencies_have_one_unit_and_precision(factor, expected):
    """The lowest is 90 µs, the highest 1.2 ms."""
    operations = operation("READ", 30.0 * factor), operation("UPDATE", 400.0 * factor)
    measured = curve(points=[point(2, 1000.0, operations=operations)])

    equal = equal_load([measured], ["READ", "UPDATE"], load_ops_s=1000.0)

    assert choose_scale(equal) == expected


def test_reference_is_first_then_highest_ceilings():
    slow, fast, strong = side("a", 2, durability=MEMORY), side("b", 3, durability=MEMORY), side("always", 1)
    rows = get_rows(slow, fast, strong)
    assert [row["curve"].mode for row in rows] == ["always", "b", "a"]
    assert rows[0]["against"].is_baseline and rows[1]["ratio"] is not None


def repeated_side(mode, factor, spread=0.01):
    """Three passes over the ladder that differ by the spread."""
    steps = (1 - spread, 1.0, 1 + spread)
    points = []
    for threads, throughput in LADDER:
        rung = point(threads, throughput * factor)
        operations = tuple(
            replace(
                part, latencies_us={name: get_spread(value.geomean, steps) for name, value in part.latencies_us.items()}
            )
            for part in rung.operations
        )
        points.append(replace(rung, throughput_ops_s=get_spread(throughput * factor, steps), operations=operations))
    return curve(mode=mode, points=points, durability=MEMORY)


def get_spread(value, steps):
    values = tuple(value * step for step in steps)
    return Spread(value, min(values), max(values), len(values), values)


def marked(rows):
    return {row["curve"].mode: (row["latencies"][0]["is_best"], row["is_best_within"]) for row in rows}


def test_marks_sides_that_repeats_tell_from_none_better():
    sides = [repeated_side("a", 1.9), repeated_side("b", 1.91), repeated_side("c", 1)]
    assert marked(get_rows(*sides, limit_us=5000.0)) == {"a": (True, True), "b": (True, True), "c": (False, False)}


def test_single_runs_mark_no_side():
    sides = [repeated_side("a", 1), side("b", 1.8, durability=MEMORY), side("c", 1.9, durability=MEMORY)]
    assert marked(get_rows(*sides, limit_us=5000.0)) == dict.fromkeys("abc", (False, False))


def test_value_of_one_side_alone_is_not_best():
    unmeasured = replace(side("none", 1), points=())
    assert marked(get_rows(repeated_side("always", 1), unmeasured, limit_us=5000.0))["always"] == (False, False)


def test_limit_holds_for_the_slower_operation():
    (first, *_) = get_rows(side("off", 2, durability=MEMORY), side("always", 1), limit_us=1000.0)
    assert first["within"] is not None

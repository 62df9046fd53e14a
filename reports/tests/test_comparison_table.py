"""The table of a comparison: the reference on top, then by falling ceiling, the best value of each column marked."""

from dataclasses import replace

from reports.pages.baseline_ratios import Judging, against
from reports.pages.comparison_table import table_rows
from reports.pages.equal_load import equal_load
from reports.tests.curves import LADDER, MEMORY, curve, point
from runs.validity import profile


def side(mode, factor, **changes):
    points = [point(threads, throughput * factor) for threads, throughput in LADDER]
    return curve(mode=mode, points=points, **changes)


def rows_of(*curves, limit_us=None):
    equal = equal_load(curves, ["READ", "UPDATE"], load_ops_s=2000.0, limit_us=limit_us)
    judging = Judging({}, profile("measured", {}), {})
    return table_rows(curves, equal, against(curves, judging, equal), curves)


def test_reference_is_first_then_highest_ceilings():
    slow, fast, strong = side("a", 2, durability=MEMORY), side("b", 3, durability=MEMORY), side("always", 1)
    rows = rows_of(slow, fast, strong)
    assert [row.curve.mode for row in rows] == ["always", "b", "a"]
    assert rows[0].against.is_baseline and rows[1].ratio is not None


def test_marks_best_value_of_each_column():
    fast, slow = side("off", 2, durability=MEMORY), side("always", 1)
    rows = {row.curve.mode: row for row in rows_of(fast, slow)}
    assert "knee" in rows["off"].best and all(row.is_among_best is None for row in rows.values()), "single runs"
    lowest = min(row.latencies[0].at.latency_us for row in rows.values())
    assert all(row.latencies[0].is_best == (row.latencies[0].at.latency_us == lowest) for row in rows.values())


def test_value_of_one_side_alone_is_not_best():
    unmeasured = replace(side("none", 1), points=())
    sides = [side("always", 1), unmeasured]
    rows = table_rows(sides, None, None, sides)
    assert not any(row.best for row in rows)


def test_limit_holds_for_the_slower_operation():
    (first, *_) = rows_of(side("off", 2, durability=MEMORY), side("always", 1), limit_us=1000.0)
    assert first.within is not None

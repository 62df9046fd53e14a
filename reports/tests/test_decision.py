"""Which sides meet a loss, a latency and a load, and where that answer changes."""

from dataclasses import replace

import pytest

from benchsite.core.formatting import THIN
from reports.compare.analysis.ceiling import Ladder
from reports.compare.analysis.points import spread
from reports.compare.pages.answer_messages import plain_text
from reports.compare.pages.decision import Need, decide
from reports.tests.curves import curve, operation, point
from runs.catalog import load_catalog


def side(system, mode, scale, *, latency=1.0, runs=1):
    """A side with 1, 2, 3 and 2.9 times 10,000 ops/s and a READ p99 of 1, 2, 4 and 8 ms."""
    points = []
    for threads, factor, p99_ms in ((2, 1.0, 1), (4, 2.0, 2), (8, 3.0, 4), (16, 2.9, 8)):
        throughput = 10_000.0 * factor * scale
        values = spread([throughput * (1 + 0.005 * (number % 3)) for number in range(runs)])
        latencies = {"p99": spread([p99_ms * 1e3 * latency] * runs)}
        read = replace(operation("READ", 1.0), latencies_us=latencies)
        points.append(replace(point(threads, throughput, operations=(read,)), throughput_ops_s=values))
    record = load_catalog().system(system).mode(mode).durability.as_dict()
    return curve(system, mode, points, system=system, durability=record)


def decision(*curves, loss=None, limit_ms=None, load=None):
    need = Need(("READ",), "p99", "service", loss, limit_ms and limit_ms * 1e3, load)
    return decide(curves, need, {each.sweep_id: each.label for each in curves})


def answer(decision):
    texts = [plain_text(f"compare/{name}.txt", decision=decision) for name in ("decision", "decision_changes")]
    return " ".join(texts).strip()


def excluded(decision):
    return [plain_text("compare/excluded.txt", decision=decision, side=side) for side in decision.excluded]


def test_answers_nothing_unless_a_need_is_stated():
    assert decision(side("redis", "always", 1), load=1000.0) is None


def test_sides_that_lose_more_are_excluded_with_their_loss():
    result = decision(side("redis", "everysec", 2), side("redis", "always", 1), loss=0.0)
    assert answer(result).startswith(f"Losing nothing: only redis · always 30.0k{THIN}ops/s. redis · everysec ")
    assert excluded(result) == ["redis · everysec: lost at most 0.983 s in 60 power cuts"]


def test_sides_of_accepted_points_are_left_out():
    accepted = side("redis", "everysec", 2)
    accepted = replace(accepted, points=tuple(replace(each, overridden=("why",)) for each in accepted.points))
    result = decision(accepted, side("redis", "always", 1), loss=1.0)
    assert "everysec" not in answer(result) and excluded(result) == []


def test_a_higher_loss_that_allows_more_is_named():
    result = decision(side("redis", "off", 3), side("redis", "everysec", 2), side("redis", "always", 1), loss=0.0)
    assert answer(result).endswith(f"redis · everysec sustains 60.0k{THIN}ops/s and may lose up to 0.983 s of writes.")


def test_loss_of_a_slow_disk_is_stated_beside_the_answer():
    sides = side("redis", "everysec", 2), side("redis", "always", 1)
    assert "On a slow disk more may be lost: redis · everysec up to 4" in answer(decision(*sides, loss=1.0))
    assert "slow disk" not in answer(decision(*sides, loss=5.0)) + answer(decision(*sides, loss=0.0))


def test_throughput_counts_within_the_limit():
    slow, fast = side("redis", "always", 2, latency=4.0), side("postgresql", "on", 1)
    result = decision(slow, fast, limit_ms=2.0)
    only = f"READ p99 at most 2.00{THIN}ms: only postgresql · on 20.0k{THIN}ops/s."
    assert answer(result).startswith(only)
    assert excluded(result) == ["redis · always: no rung is within the limit"]


def test_load_excludes_sides_that_do_not_sustain_it():
    result = decision(side("redis", "always", 2), side("postgresql", "on", 1), loss=0.0, load=40_000.0)
    assert excluded(result) == [f"postgresql · on: it sustains 30.0k{THIN}ops/s"]


@pytest.mark.parametrize(
    ("limit_ms", "text"),
    [(3.0, "above p99 5.33 ms it is redis · always"), (6.0, "below p99 5.33 ms it is postgresql · on")],
)
def test_limit_at_which_another_side_leads(limit_ms, text):
    """The slower side reaches 30k ops/s where 1 / latency is the mean of 1 / 4 ms and 1 / 8 ms."""
    slow, fast = side("redis", "always", 2, latency=4.0), side("postgresql", "on", 1)
    text = f"The highest measured side changes with the limit: {text}."
    assert answer(decision(slow, fast, limit_ms=limit_ms)).replace(THIN, " ").endswith(text)


@pytest.mark.parametrize(("scale", "text"), [(1.5, "is the highest"), (1.001, "are not distinguishable")])
def test_repeats_decide_who_leads(scale, text):
    result = decision(side("redis", "always", scale, runs=5), side("postgresql", "on", 1, runs=5), loss=0.0)
    assert text in answer(result)


def test_single_runs_confirm_no_order():
    result = decision(side("redis", "always", 2), side("postgresql", "on", 1), loss=0.0)
    assert answer(result).endswith("Repeats do not confirm this order.")


def test_short_ladders_confirm_no_order_and_are_bounds():
    """Without its last rung throughput still grows at 8 threads."""
    short = side("redis", "always", 1, runs=5)
    short = replace(short, points=short.points[:3])
    result = decision(short, side("postgresql", "on", 1.5, runs=5), loss=0.0)
    assert f"redis · always at least 30.1k{THIN}ops/s" in answer(result)
    assert answer(result).endswith("Ladders that ended too early do not confirm this order.")
    result = decision(short, loss=0.0, load=40_000.0)
    reason = f"it sustains at least 30.1k{THIN}ops/s (the ladder is too short)"
    assert excluded(result) == [f"redis · always: {reason}"]


def test_ladder_with_open_end_confirms_no_order():
    """Its repeats do not show whether throughput still grows at the last rung, as the bars of the figure say too."""
    whole = side("redis", "always", 1, runs=5)
    noisy = replace(whole.points[3], throughput_ops_s=spread([29_500.0, 31_000.0, 32_500.0, 30_000.0, 32_000.0]))
    unknown = replace(whole, points=(*whole.points[:3], noisy))
    assert unknown.ceiling.ladder is Ladder.OPEN
    result = decision(unknown, side("postgresql", "on", 1.5, runs=5), loss=0.0)
    assert answer(result).endswith("Repeats and open ladders do not confirm this order.")


def test_lower_rung_above_the_limit_is_mentioned():
    uneven = side("redis", "always", 1)
    high = replace(operation("READ", 1.0), latencies_us={"p99": spread([9e3])})
    uneven = replace(uneven, points=(replace(uneven.points[0], operations=(high,)), *uneven.points[1:]))
    assert "(but the lower rung of 2 threads is above the limit)" in answer(decision(uneven, limit_ms=5.0))


def test_no_side_meets_an_impossible_need():
    assert answer(decision(side("redis", "off", 1), loss=0.0)).startswith("Losing nothing: no side meets it.")

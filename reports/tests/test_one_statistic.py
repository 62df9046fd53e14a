"""One statistic: the value of a side, its point, its ceiling and its ratio are geometric means of the same repeats."""

import random
from dataclasses import replace

import pytest

from reports.compare.analysis.points import spread
from reports.compare.figures.ceilings import CeilingsFigure, build_bars
from reports.compare.figures.latency import LatencyFigure
from reports.compare.figures.latency_points import Choice
from reports.compare.figures.layout import Frame
from reports.compare.figures.theme import LIGHT
from reports.compare.ladder_text import below_highest
from reports.compare.pages.baseline_ratios import latency_ratio, throughput_ratio
from reports.compare.pages.equal_load import equal_load, most_within
from reports.tests.curves import curve, point

FRAME = Frame(LIGHT)
LADDER = ((2, 1000.0), (4, 1900.0), (8, 3300.0), (16, 3900.0), (32, 3800.0))


def noisy_side(seed, scale=1.0, cv=0.05, repeats=4, ladder=LADDER, mode="always"):
    """Throughput and latencies of each repeat vary, each by itself."""
    dice = random.Random(seed)

    def vary(value):
        return spread([value * dice.lognormvariate(0, cv) for _ in range(repeats)])

    points = []
    for threads, ops_s in ladder:
        rung = point(threads, ops_s * scale)
        operations = tuple(
            replace(part, latencies_us={name: vary(value.geomean) for name, value in part.latencies_us.items()})
            for part in rung.operations
        )
        points.append(replace(rung, throughput_ops_s=vary(ops_s * scale), operations=operations))
    return curve(mode=mode, points=points)


@pytest.mark.parametrize("seed", range(8))
def test_ratio_is_quotient_of_ceilings(seed):
    slow, fast = noisy_side(seed), noisy_side(seed + 100, 2.5, mode="off")
    ratio = throughput_ratio(fast, slow, None)
    values = fast.ceiling_ops_s, slow.ceiling_ops_s
    if ratio.at:  # where the repeats leave the end of a ladder open
        assert ratio.at == "32 threads"
        values = tuple(side.points[-1].throughput_ops_s.geomean for side in (fast, slow))
    assert ratio.comparison.ratio == pytest.approx(values[0] / values[1])


@pytest.mark.parametrize("seed", range(8))
def test_ratio_is_quotient_of_latencies(seed):
    sides = noisy_side(seed), noisy_side(seed + 100, 1.5, mode="off")
    equal = equal_load(sides, ["READ"], load_ops_s=2500.0)
    slow, fast = (side.latencies["READ", "p99"].latency_us for side in equal.sides)
    ratio = latency_ratio(sides[1], sides[0], None, equal, "READ")
    assert ratio.comparison.ratio == pytest.approx(slow / fast)


def test_ceiling_of_a_clear_top_is_its_point():
    side = noisy_side(1, ladder=((2, 1000.0), (8, 4000.0), (32, 2500.0)))
    (top,) = side.ceiling_points
    assert side.ceiling_ops_s == pytest.approx(top.throughput_ops_s.geomean) and not side.ceiling.is_below_highest


def test_ceiling_says_why_it_lies_below_its_highest_point():
    flat = ((2, 1000.0), (4, 3900.0), (8, 3950.0), (16, 4000.0), (32, 3950.0))
    side = next(side for seed in range(50) if (side := noisy_side(seed, cv=0.08, ladder=flat)).ceiling.is_below_highest)
    sentence = below_highest(side.ceiling)
    assert sentence.startswith("below its highest point, ") and len(sentence.split()) <= 12
    assert sentence in build_bars([side], LIGHT)[0].hover
    assert CeilingsFigure([side]).draw(FRAME)["data"]


@pytest.mark.parametrize("scale", ["linear", "log", "loglog"])
def test_line_of_a_limit_meets_the_curve_at_the_value(scale):
    side = noisy_side(3)
    limit_us = 9000.0
    within = most_within(side, "READ", "p99", "service", limit_us)
    figure = LatencyFigure([side], Choice(scale=scale, limit_us=limit_us)).draw(FRAME)
    (cross,) = [trace for trace in figure["data"] if trace["name"].endswith("on the line")]
    (drawn,) = [trace for trace in figure["data"] if trace["name"].endswith(", curve")]
    assert cross["x"][0] == pytest.approx(within.throughput_ops_s, rel=1e-3) and cross["y"] == [9.0]
    pairs = list(zip(drawn["x"], drawn["y"], strict=True))
    pairs = pairs[: pairs.index(max(pairs)) + 1]  # up to the top: beyond it the curve turns back
    before = max(pair for pair in pairs if pair[1] <= 9.0 and pair[0] <= cross["x"][0])
    after = min(pair for pair in pairs if pair[1] >= 9.0 and pair[0] >= cross["x"][0])
    share = (cross["x"][0] - before[0]) / (after[0] - before[0])
    assert 1 / (1 / before[1] + share * (1 / after[1] - 1 / before[1])) == pytest.approx(9.0, rel=2e-3)
    assert after[1] / before[1] < 1.3  # so near that the straight piece between both is the curve

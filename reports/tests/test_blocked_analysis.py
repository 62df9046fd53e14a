"""Sides whose repeats one plan interleaves are compared within blocks: the plan decides, and the page says so."""

import math
import uuid
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.simulations.blocks import HEADER, Case, rates
from benchmarks.simulations.pairs import made_curve, made_point
from benchsite.core.formatting import TIMES
from reports.compare.analysis.blocks import Blocks, blocked_interval
from reports.compare.analysis.points import spread
from reports.compare.analysis.repeat_comparison import Outcome, compare_values
from reports.compare.curves import LeftOut, Setup, Standing, find_newest_look
from reports.compare.figures.ceilings import CeilingsFigure, build_bars
from reports.compare.figures.theme import LIGHT
from reports.compare.pages.baseline_ratios import Judging, against, throughput_ratio
from reports.tests.curves import DISK, MEMORY
from runs.checks import profile

MATRIX = uuid.UUID(int=11)
SHARED = (1.0, 1.2, 0.85)  # what the runs of a repeat have in common
NOISE = ((1.0, 0.99, 1.01), (1.012, 1.0, 0.995), (0.99, 1.004, 1.0), (1.0, 1.006, 0.99))


def side(factor, order="interleaved", *, noise=NOISE, matrix=MATRIX, **changes):
    shape = (1000.0, 2000.0, 2500.0, 2300.0)
    points = [
        made_point(2**i, np.asarray([factor * ops_s * a * b for a, b in zip(SHARED, noise[i], strict=True)]))
        for i, ops_s in enumerate(shape)
    ]
    made = made_curve(points, uuid.uuid4())
    return replace(made, matrix_id=matrix, order=order, **{"repeats": 3, **changes})


OTHER = tuple(tuple(reversed(rung)) for rung in NOISE)


def test_shared_noise_leaves_an_interleaved_ratio_alone():
    blocked = throughput_ratio(side(1.1), side(1, noise=OTHER), None).comparison
    welch = throughput_ratio(side(1.1, "as_listed"), side(1, "as_listed", noise=OTHER), None).comparison
    assert blocked.outcome is Outcome.FASTER and blocked.analysis == "3 blocks, residuals of 6 cells pooled."
    assert welch.outcome is Outcome.INCONCLUSIVE and welch.analysis == "Welch's t; noise of the rungs pooled."
    assert math.log(welch.high / welch.low) > 4 * math.log(blocked.high / blocked.low)


@pytest.mark.parametrize(
    "changes",
    [
        {"matrix": uuid.UUID(int=12)},
        {"order": "as_listed"},
        {"ladder": "target"},
        {"setup": Setup(dataset_fingerprint="another")},
        {"repeats": 1},
    ],
    ids=["another plan", "not interleaved", "targets", "another data set", "copies of planned runs"],
)
def test_other_sides_are_compared_by_welch(changes):
    comparison = throughput_ratio(side(1.1, **changes), side(1, noise=OTHER), None).comparison
    assert not comparison.is_blocked and comparison.analysis.startswith("Welch's t")


def test_two_cells_are_the_paired_t_test():
    a, b = {1: 105.0, 2: 119.0, 3: 92.0}, {1: 100.0, 2: 110.0, 3: 90.0, 4: 95.0}
    interval, analysis = blocked_interval(Blocks(a, b, ([a], [b])))
    pairs = [[math.log(side[block]) for block in (1, 2, 3)] for side in (a, b)]
    expected = stats.ttest_rel(*pairs)
    assert (interval.p, interval.df) == (pytest.approx(expected.pvalue), 2) and analysis == "Paired over 3 blocks."
    ends = expected.confidence_interval(0.95)
    assert (interval.low, interval.high) == (pytest.approx(math.exp(ends.low)), pytest.approx(math.exp(ends.high)))


def test_unequal_variances_are_not_pooled():
    quiet = [{1: 100.0, 2: 100.01, 3: 99.99}, {1: 90.0, 2: 90.01, 3: 90.02}]
    loud = [{1: 100.0, 2: 140.0, 3: 80.0}, {1: 110.0, 2: 95.0, 3: 130.0}]
    interval, analysis = blocked_interval(Blocks(loud[0], loud[1], (quiet, loud)))
    assert interval.df == 2 and analysis.startswith("Paired over 3 blocks, residuals not pooled: the variances of the")


def test_identical_repeats_and_a_single_block_have_no_interval():
    same = {1: 100.0, 2: 100.0}
    assert blocked_interval(Blocks(same, same, ([same] * 2, [same] * 2))) is None
    assert blocked_interval(Blocks({1: 100.0, 2: 99.0}, {2: 100.0, 3: 98.0})) is None
    comparison = compare_values([1.0, 1.1], [1.0, 1.05], higher_is_better=True, blocks=Blocks({1: 1.0}, {2: 1.0}))
    assert not comparison.is_blocked and comparison.low is not None


def test_bars_have_no_factor_beside_a_ratio_of_common_blocks():
    """The values of sides that lost different repeats have another quotient than the table's ratio."""
    fast = side(1.5, mode="off", durability=MEMORY)
    slow = side(1, noise=OTHER, mode="always", durability=DISK)
    lost = replace(slow, points=tuple(drop_repeat(point, 2) for point in slow.points))
    _, bar = build_bars([fast, slow], LIGHT)
    _, bar_of_lost = build_bars([fast, lost], LIGHT)

    assert bar.note == f"0.67{TIMES} of off"
    assert bar_of_lost.note == ""
    ratio = throughput_ratio(fast, lost, None)
    assert ratio.values[0] / ratio.values[1] == pytest.approx(ratio.comparison.ratio)
    assert throughput_ratio(fast, slow, None).values is None
    for curves, percent in (([fast, slow], pytest.approx(66.7, abs=0.5)), ([fast, lost], None)):
        table = CeilingsFigure(curves).table
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        assert [row["of the weakest durability (%)"] for row in rows] == [None, percent]


def drop_repeat(point, number):
    """The point without that repeat, which the checks rejected."""
    by_repeat = dict(zip(point.repeats, point.throughput_ops_s.values, strict=True))
    values = [value for repeat, value in by_repeat.items() if repeat != number]
    repeats = tuple(repeat for repeat in point.repeats if repeat != number)
    return replace(point, throughput_ops_s=spread(values), repeats=repeats)


# In ops/s by threads, of a plan of four repeats. The first run of 128 threads was rejected.
DEMO = {
    "off": {
        1: (2870, 3690, 4310, 4130),
        4: (10100, 4250, 11800, 13000),
        16: (8600, 7590, 10400, 9720),
        128: (2400, 7210, 5520),
    },
    "on": {
        1: (1750, 1430, 2110, 2360),
        4: (4480, 2930, 4420, 5960),
        16: (3830, 5200, 8390, 7530),
        128: (2790, 2480, 4430, 3390),
    },
}


def measured_side(mode, copies=()):
    """A side of the demo plan; `copies` of its run of 128 threads were queued after the plan."""
    points = []
    for threads, values in DEMO[mode].items():
        late = copies if threads == 128 else ()
        numbers = (*range(5 - len(values), 5), *range(5, 5 + len(late)))
        point = made_point(threads, np.asarray([*values, *late], float))
        points.append(replace(point, repeats=numbers))
    return replace(made_curve(points, uuid.UUID(int=len(mode))), matrix_id=MATRIX, order="interleaved", repeats=4)


@pytest.mark.parametrize("copies", [(2870,), (2870, 2890), (30000,)])
def test_late_copies_of_a_rejected_run_decide_nothing(copies):
    """They moved the rung below half of the highest, and so made a block whole again that had lost a repeat there."""
    before, after = measured_side("off"), measured_side("off", copies)

    ratios = [throughput_ratio(measured_side("on"), side, None) for side in (before, after)]

    assert ratios[0].comparison.outcome is Outcome.INCONCLUSIVE and ratios[0].comparison.n_b == 3
    assert ratios[0] == ratios[1]
    assert after.ceiling == before.ceiling and after.ceiling_rung.threads == before.ceiling_rung.threads
    assert after.points[-1].throughput_ops_s.n == 3 + len(copies), "the point has them"


def test_copies_are_neither_in_the_table_nor_at_a_look():
    plain = replace(measured_side("off"), looks=(2, 4))
    late = replace(plain, points=tuple(add_copy(point) for point in plain.points))
    columns = ("least repeat (ops/s)", "greatest repeat (ops/s)", "repeats")
    for curve in (plain, late):
        table = CeilingsFigure([curve]).table
        row = dict(zip(table.columns, table.rows[0], strict=True))
        assert [row[name] for name in columns] == [7590, 10400, 4]
    lost = replace(late, points=tuple(drop_repeat(drop_repeat(point, 4), 3) for point in late.points))
    assert lost.points[1].throughput_ops_s.n == 3 and find_newest_look([lost]).repeats == 2


def test_copies_do_not_count_with_what_people_left_out():
    plain = measured_side("off")
    left_out = LeftOut(uuid.uuid4(), Standing.EXCLUDED, "the disk was full", 30_000.0, (), repeat=4)
    copy = replace(left_out, throughput_ops_s=90_000.0, repeat=5)
    first, second, *others = (drop_repeat(point, 4) for point in plain.points)
    whole = math.exp(np.log([10100, 4250, 11800, 30_000]).mean())
    for rung, repeats in ((second, (left_out,)), (second, (left_out, copy)), (add_copy(second), (left_out,))):
        excluded = replace(plain, points=(first, replace(rung, left_out=repeats), *others))
        assert excluded.ceiling_with_left_out.highest_ops_s == pytest.approx(whole)


def test_late_copies_decide_nothing_at_a_common_load():
    """Ladders that still grow at their last rung are compared there."""
    growing = [replace(measured_side(mode), points=measured_side(mode).points[:2]) for mode in ("on", "off")]
    late = [replace(side, points=tuple(add_copy(point) for point in side.points)) for side in growing]

    assert throughput_ratio(*growing, None).at == "4 threads"
    assert throughput_ratio(*late, None) == throughput_ratio(*growing, None)


def add_copy(point):
    """The point with a fifth run, queued after the plan."""
    values = point.throughput_ops_s.values
    return replace(point, repeats=(*point.passes, 5), throughput_ops_s=spread([*values, 2 * max(values)]))


def test_copies_alone_make_a_rung():
    """Of a rung whose planned runs were all rejected, copies show how the ladder goes on."""
    side = measured_side("off", (2870, 2890))
    (*others, last) = side.points
    copies = replace(last, repeats=(5, 6), throughput_ops_s=spread([2870, 2890]))
    retrograde = replace(side, points=(*others, copies))
    assert retrograde.ceiling.is_bracketed and retrograde.ceiling.repeats == (1, 2, 3, 4)


def test_the_number_of_lacking_runs_is_one_of_blocks():
    a, b = side(1.04), side(1, noise=OTHER)
    comparison = throughput_ratio(a, b, None).comparison
    assert comparison.is_blocked and comparison.outcome is Outcome.INCONCLUSIVE
    assert comparison.needs_more is None or comparison.needs_more < 1000


def test_the_table_names_its_analyses():
    judging = Judging({}, profile("measured", {}), {})
    pair = [side(1.1, mode="off"), side(1, noise=OTHER, mode="always")]
    assert against(pair, judging, None).analyses == "blocked analysis where one plan interleaves the repeats"
    listed = [replace(one, order="as_listed") for one in pair]
    assert against(listed, judging, None).analyses == "Welch's t"


@pytest.mark.slow
def test_seeded_share_of_the_simulation():
    """A standard error of a share of 95 % is 2 % here."""
    welch, blocked = rates(Case(3, 0.03, 0.05), 120)
    assert blocked.held >= 0.9 and blocked.false <= 0.08 and blocked.small >= 0.75 and blocked.large >= 0.95
    assert welch.small < 0.6 * blocked.small and welch.width > 1.5 * blocked.width


@pytest.mark.slow
def test_seeded_share_where_each_side_varies_by_itself():
    """The runs of one side in a block share as much noise as each has of its own."""
    for analysis in rates(Case(3, 0.03, 0.0, side=0.03), 150):
        assert analysis.held >= 0.91 and analysis.false <= 0.08


@pytest.mark.slow
def test_seeded_share_at_a_common_rung():
    """Ladders that still climb: the rungs of each tell how much a repeat varies."""
    welch, _ = rates(Case(3, 0.03, 0.0, gain=0.3), 100)
    assert welch.held >= 0.92 and welch.false <= 0.06 and welch.small >= 0.75


def test_the_docs_quote_the_table(settings):
    assert HEADER in (settings.BASE_DIR / "docs" / "evidence" / "comparisons.md").read_text()

"""The sentence that the numbers propose: it claims no more than they bear."""

import uuid
from dataclasses import replace

import pytest

from reports.analysis.points import spread
from reports.analysis.sessions import SessionSpread
from reports.frozen.headline import NOTHING, proposed
from reports.pages.baseline_ratios import Judging, against
from reports.tests.curves import LADDER, MEMORY, curve, point
from runs.validity import profile


def repeated(mode, factor, *, runs=5, scatter=0.01, ladder=LADDER, **changes):
    """A side whose every rung was repeated, so many times as fast as the ladder says."""
    points = []
    for threads, throughput in ladder:
        values = [throughput * factor * (1 + scatter * (number - (runs - 1) / 2)) for number in range(runs)]
        points.append(replace(point(threads, throughput * factor), throughput_ops_s=spread(values)))
    durability = {} if mode == "always" else {"durability": {**MEMORY, "loss_window_s": len(mode)}}
    return curve(mode=mode, points=points, **{**durability, **changes})


def headline(*curves, noise=0.02):
    floors = {"": SessionSpread((noise / 2.77) ** 2, 20, 21, 5)}
    found = against(curves, Judging({}, profile("measured"), floors), None)
    return proposed(curves, found, {curve.sweep_id: curve.label for curve in curves})


def test_a_clear_difference_is_said_with_its_interval():
    sentence = headline(repeated("everysec", 1.7), repeated("always", 1.0))
    assert sentence.startswith("Redis 7.0 · everysec sustains 6.63k") and "1.7 times [" in sentence
    assert sentence.endswith("what Redis 7.0 · always does (5 runs of each side).")


def test_few_runs_are_said():
    sentence = headline(repeated("everysec", 1.7, runs=3), repeated("always", 1.0, runs=3))
    assert sentence.endswith("by only 3 runs of each side.")


def test_single_runs_prove_nothing():
    sentence = headline(repeated("everysec", 1.7, runs=1), repeated("always", 1.0, runs=1))
    assert sentence.startswith("In one run each Redis 7.0 · everysec reached") and "too few runs" in sentence
    assert "sustains" not in sentence and "[" not in sentence


def test_a_slower_rest_is_said_of_the_baseline():
    sentence = headline(repeated("everysec", 0.5), repeated("always", 1.0))
    assert sentence.startswith("Redis 7.0 · always sustains 3.90k") and "0.50 times [" in sentence


def test_the_same_is_called_the_same():
    sentence = headline(repeated("everysec", 1.001, scatter=0.002), repeated("always", 1.0, scatter=0.002))
    assert "sustain the same within 5" in sentence


def test_what_is_open_is_left_open():
    sentence = headline(repeated("everysec", 1.06, scatter=0.05), repeated("always", 1.0, scatter=0.05))
    assert "whether that is a difference is open" in sentence


def test_a_short_ladder_says_at_least():
    short = LADDER[:3]
    sentence = headline(repeated("everysec", 1.7, ladder=short), repeated("always", 1.0))
    assert "sustains at least 5.61k" in sentence and "at least 1." in sentence


def test_identical_repeats_bear_no_interval():
    sentence = headline(repeated("everysec", 2.0, scatter=0.0), repeated("always", 1.0, scatter=0.0))
    assert "identical repeats bear no interval" in sentence


def test_first_look_of_the_plan_is_awaited():
    plan = {"matrix_id": uuid.UUID(int=1), "looks": (3, 5, 9), "runs": 2}
    sentence = headline(repeated("everysec", 2.0, **plan), repeated("always", 1.0, **plan))
    assert sentence.endswith("(2.0 times): 2 of 3 repeats: no verdict before the first look.")


def test_sides_that_are_not_comparable_have_no_ratio():
    sentence = headline(repeated("everysec", 2.0), repeated("always", 1.0, purpose="demo"))
    assert "no ratio is claimed" in sentence and "times" not in sentence


def test_names_no_highest_across_guarantees():
    sentence = headline(repeated("everysec", 2.0), repeated("always", 1.0, purpose="demo"))
    assert sentence.startswith("A demonstration too short to publish. Loses none (disk): ")
    assert "highest" not in sentence
    assert "May lose 8 s (memory): Redis 7.0 · everysec" in sentence


@pytest.mark.parametrize("runs", [1, 3])
def test_one_side_alone_is_what_it_sustains(runs):
    one = repeated("always", 1.0, runs=runs)
    proposal = proposed([one], None, {})
    assert proposal.startswith("Redis 7.0 · always sustains 3.90k")
    assert ("one run" in proposal) == (runs == 1)


def test_one_side_alone_has_the_interval_of_its_estimate():
    side = repeated("always", 1.0, runs=3)
    uneven = repeated("always", 1.0, runs=3, scatter=-0.02)
    proposal = proposed([replace(side, points=(*side.points[:-1], uneven.points[-1]))], None, {})
    assert "(95 % interval 3." in proposal and proposal.endswith(", 3 repeats).")


def test_a_demonstration_says_so_first():
    sides = repeated("everysec", 1.7, purpose="demo"), repeated("always", 1.0, purpose="demo")
    assert headline(*sides).startswith("In a demonstration too short to publish, ")


def test_nothing_that_counts_says_nothing():
    assert proposed([], None, {}) == NOTHING
    assert proposed([curve(points=())], None, {}) == NOTHING

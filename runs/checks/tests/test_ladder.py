"""V26: a ladder that no curve with at most one peak explains is flagged, and others are not."""

from dataclasses import replace

import numpy as np
import pytest

from runs.checks import CheckResult, judge_ladder
from runs.checks.ladder import VARIATION, _distances, _level_probabilities, is_explained


def ladder(*repeats):
    """Rungs of 2, 4, 8 ... threads; a number is a single run."""
    values = [values if isinstance(values, list) else [values] for values in repeats]
    return [(f"{2 ** (i + 1)} threads", each) for i, each in enumerate(values)]


def test_flags_a_dip_that_no_curve_explains():
    finding = judge_ladder([("2 threads", [4971.0]), ("4 threads", [3490.0]), ("16 threads", [13589.0])])
    assert finding.severity == "warn"
    assert finding.message.replace("\N{NARROW NO-BREAK SPACE}", " ") == (
        "3.49k ops/s at 4 threads is below 4.97k ops/s at 2 threads and 13.6k ops/s at 16 threads, which no curve with "
        "at most one peak explains."
    )
    assert finding.measured == "4.97k, 3.49k, 13.6k ops/s"


@pytest.mark.parametrize(
    "rungs",
    [
        ladder(1000.0, 2000.0, 4000.0),
        ladder(4000.0, 2000.0, 1000.0),
        ladder(1000.0, 4000.0, 2000.0, 500.0),
        ladder(1000.0, 950.0, 1020.0),
        ladder(5000.0, 5000.0, 5000.0),
    ],
    ids=["rises", "falls", "peaks", "varies", "constant"],
)
def test_passes_one_peak(rungs):
    assert judge_ladder(rungs).severity == "pass"


def test_repeats_that_vary_explain_a_dip():
    """The same means: repeats that agree flag the dip, repeats that differ by as much do not."""
    assert judge_ladder(ladder([990.0, 1010.0], [690.0, 710.0], [1490.0, 1510.0])).severity == "warn"
    assert judge_ladder(ladder([700.0, 1300.0], [450.0, 950.0], [1000.0, 2000.0])).severity == "pass"


def test_repeats_show_smaller_dips():
    def dip(n):
        return judge_ladder(ladder(*([x] * n if n == 1 else [x * 0.99, x * 1.01] * n for x in (1000.0, 880.0, 1400.0))))

    assert (dip(1).severity, dip(3).severity) == ("pass", "warn")


@pytest.mark.parametrize("rungs", [[], ladder(1.0), ladder(5.0, 3.0), ladder(5.0, 3.0, 0.0), ladder(5.0, 3.0, [])])
def test_needs_three_rungs(rungs):
    assert judge_ladder(rungs).severity == "not_assessed"


def test_distance_is_that_of_the_best_single_peak():
    """Pooling adjacent violators from both sides against a search over all curves on a grid."""
    values, weights = [3.0, 1.0, 2.0, 0.0], [1.0, 2.0, 1.0, 1.0]
    ascending, descending = _distances(values, weights), _distances(values[::-1], weights[::-1])[::-1]
    grid = np.linspace(0, 3, 37)
    curves = np.stack(np.meshgrid(*[grid] * 4, indexing="ij"), -1).reshape(-1, 4)
    steps = np.sign(np.diff(curves, axis=1))
    single = ~((np.minimum.accumulate(steps, axis=1) < 0)[:, :-1] & (steps[:, 1:] > 0)).any(axis=1)
    best = (np.array(weights) * (curves[single] - values) ** 2).sum(axis=1).min()
    assert min(map(sum, zip(ascending, descending, strict=True))) == pytest.approx(best, abs=0.01)


LIMITS = "one peak at most, for runs that vary by 5\N{NARROW NO-BREAK SPACE}%"
AGAIN = "Look at what else ran beside these runs (V25), and run the rungs again."


def v26(severity, measured, message, remedy=""):
    return CheckResult("V26", severity, "Shape of the ladder", measured, LIMITS, message, remedy)


@pytest.mark.parametrize(
    ("rungs", "expected"),
    [
        (ladder(5.0, 3.0), v26("not_assessed", "", "It takes 3 rungs to tell a shape.")),
        # Rungs without throughput are left out, slow ones are not.
        (ladder(5.0, 0.0, [], 3.0), v26("not_assessed", "", "It takes 3 rungs to tell a shape.")),
        (
            ladder(0.5, 0.6, 1.0),
            v26("pass", "0.500, 0.600, 1.00 ops/s", "A curve with at most one peak explains the rungs."),
        ),
        (
            ladder([400.0, 100.0], 250.0, 1000.0),  # the geometric mean of repeats
            v26("pass", "200, 250, 1.00k ops/s", "A curve with at most one peak explains the rungs."),
        ),
        # The deepest dip is named, with the highest rung on each side.
        (
            ladder(20.0, 18.0, 30.0, 10.0, 40.0),
            v26(
                "warn", "20.0, 18.0, 30.0, 10.0, 40.0 ops/s",
                "10.0 ops/s at 16 threads is below 30.0 ops/s at 8 threads and 40.0 ops/s at 32 threads, which no "
                "curve with at most one peak explains.", AGAIN,
            ),
        ),
        (
            ladder(100.0, 20.0, 22.0, 19.0, 60.0),
            v26(
                "warn", "100, 20.0, 22.0, 19.0, 60.0 ops/s",
                "19.0 ops/s at 16 threads is below 100 ops/s at 2 threads and 60.0 ops/s at 32 threads, which no curve "
                "with at most one peak explains.", AGAIN,
            ),
        ),
        (
            ladder(40.0, 10.0, 20.0, 30.0),
            v26(
                "warn", "40.0, 10.0, 20.0, 30.0 ops/s",
                "10.0 ops/s at 4 threads is below 40.0 ops/s at 2 threads and 30.0 ops/s at 16 threads, which no curve "
                "with at most one peak explains.", AGAIN,
            ),
        ),
    ],
)  # fmt: skip
def test_names_the_deepest_dip(rungs, expected):
    finding = judge_ladder(rungs)
    assert replace(finding, message=finding.message.replace("\N{NARROW NO-BREAK SPACE}", " ")) == expected


def test_pools_adjacent_violators_by_their_weights():
    """3, 1 become 5/3 (distance 8/3), 2 stays, and 0 takes all to 7/5 (distance 26/5).

    4, 0 become 8/3 (distance 32/3), and 1 takes all to 9/4 (distance 51/4).
    """
    assert _distances([3.0, 1.0, 2.0, 0.0], [1.0, 2.0, 1.0, 1.0]) == pytest.approx([0, 0, 8 / 3, 8 / 3, 26 / 5])
    assert _distances([4.0, 0.0, 1.0], [2.0, 1.0, 1.0]) == pytest.approx([0, 0, 32 / 3, 51 / 4])
    assert _distances([5.0, 0.0, 1.0], [1.0, 2.0, 1.0]) == pytest.approx([0, 0, 50 / 3, 17])
    assert _distances([1.0, 1.0, 2.0], [1.0] * 3) == [0.0] * 4


@pytest.mark.parametrize(
    ("rungs", "probabilities"),
    [(1, [0, 1]), (2, [0, 1 / 2, 1 / 2]), (3, [0, 1 / 3, 1 / 2, 1 / 6]), (4, [0, 1 / 4, 11 / 24, 1 / 4, 1 / 24])],
)
def test_level_probabilities_are_stirling_numbers(rungs, probabilities):
    """Of equal weights: the unsigned Stirling numbers of the first kind over the factorial."""
    assert _level_probabilities(rungs) == pytest.approx(probabilities)


@pytest.mark.parametrize(("repeats", "distance"), [((1, 1, 1), 1 / 2), ((4, 1, 1), 1 / 2), ((2, 2, 2), 1)])
def test_a_dip_of_known_size_is_significant(repeats, distance):
    """Of three rungs, exp(-x/2)/3 + erfc(sqrt(x/2))/2 is 0.05 at x = 4.577 squared variations."""
    for size, explained in ((4.576, True), (4.579, False)):
        depth = (size / distance) ** 0.5 * VARIATION
        first, low, last = repeats
        assert is_explained([[0.0] * first, [-depth] * low, [0.0] * last], VARIATION) is explained


def test_a_dip_is_compared_with_what_repeats_vary_by():
    """Of three rungs with two repeats each, (1 + x/3)^-1.5 / 3 + P(|t3| > sqrt(x)) / 2 is 0.05 at x = 12.014."""
    for size, explained in ((12.01, True), (12.02, False)):
        # The variance of repeats that lie e from their mean is 2 e^2, and the distance of the dip is its square.
        depth, e = (2 * size) ** 0.5, 1.0
        assert is_explained([[e, -e], [e - depth, -e - depth], [e, -e]], 1e-6) is explained


def test_a_long_ladder_is_cut_between_two_rungs():
    assert judge_ladder(ladder(*[1000.0] * 20)).measured == ", ".join(["1.00k"] * 16) + " ops/s"

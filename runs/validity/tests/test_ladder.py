"""V26: a ladder that no curve with at most one peak explains is flagged, and others are not."""

import numpy as np
import pytest

from runs.validity import judge_ladder
from runs.validity.ladder import _distances


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

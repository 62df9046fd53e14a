"""How well repeats agree, and at which level more of them help."""

import math

import numpy as np
import pytest

from reports.analysis.repeatability import Level, agreement, kalibera_jones, level_variances


def test_two_repeats_as_the_study_of_2014_has_them():
    found = agreement([100.0, 104.5])
    assert found.over_least == pytest.approx(0.045) and found.over_mean == pytest.approx(4.5 / 102.25)
    assert found.cv == pytest.approx(0.0311, abs=5e-5) and found.n == 2


@pytest.mark.parametrize("values", [[], [1.0], [0.0, 1.0], [1.0, math.nan], [-1.0, 1.0]])
def test_what_is_no_repeat_says_nothing(values):
    assert agreement(values) is None


def test_repeats_go_where_they_are_cheap_and_the_level_is_noisy():
    levels = [Level("run", 60, 4.0), Level("server start", 240, 1.0), Level("load", 960, 1.0)]
    assert kalibera_jones(levels) == [4, 2]  # sqrt(240/60 · 4/1), sqrt(960/240 · 1/1)
    assert kalibera_jones([Level("run", 60, 0.0), Level("load", 600, 1.0)]) == [1]
    assert kalibera_jones([Level("run", 60, 1.0), Level("load", 600, -0.1)]) == [None]
    with pytest.raises(ValueError, match="costs"):
        kalibera_jones([Level("run", 0, 1.0)])


def test_variances_of_levels_are_found_again():
    random = np.random.default_rng(7)
    starts = random.normal(0, 3, (400, 1))
    values = 100 + starts + random.normal(0, 2, (400, 10))
    run, start = level_variances(values.tolist())
    assert run == pytest.approx(4, rel=0.1) and start == pytest.approx(9, rel=0.2)
    with pytest.raises(ValueError, match="two repeats"):
        level_variances([[1.0], [2.0]])

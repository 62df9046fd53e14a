"""What counts as sustained."""

import pytest

from runs.results.measures.sustained_load import backlog_growth, judge_target


@pytest.mark.parametrize(
    ("target", "reached", "outcome"),
    [
        (50_000, 50_000, "sustained"),
        (75_000, 74_900, "sustained"),
        (100_000, 93_000, "failed"),
        (125_000, 94_200, "failed"),
        (100_000, 97_000, "marginal"),
        (100_000, 98_000, "sustained"),
        (100_000, 95_000, "marginal"),
        (100_000, 94_999, "failed"),
    ],
)
def test_it_judges_a_ladder_of_targets(target, reached, outcome):
    assert judge_target(reached, target, 0.0) == outcome


def test_it_refuses_a_target_that_was_reached_with_errors():
    assert judge_target(1000, 1000, 0.002) == "failed"
    assert judge_target(1000, 1000, 0.001) == "sustained"


def test_it_sees_a_growing_backlog():
    growing = [1000 + 30_000 * second for second in range(60)]
    growth_us, mean_us = backlog_growth(growing)
    assert growth_us == pytest.approx(1_800_000)
    assert mean_us == pytest.approx(886_000)


@pytest.mark.parametrize("series", [[], [5.0, 6.0], [1000.0] * 60, [float("nan")] * 60, [1000.0 + second for second in range(60)]])  # fmt: skip  # noqa: E501
def test_it_leaves_even_response_times_alone(series):
    growth = backlog_growth(series)
    assert growth is None or growth[0] < 100


def test_backlog_growth_is_over_the_whole_window():
    nan = float("nan")
    assert backlog_growth([10, 20, 30]) == (pytest.approx(30), 20)
    assert backlog_growth([0, nan, 20, 30, nan]) == (pytest.approx(50), pytest.approx(50 / 3))
    assert backlog_growth([10, 20, nan]) is None

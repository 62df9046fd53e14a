"""The search for the highest sustained target, against servers of known capacity."""

import random

import pytest

from runs.measures.search import (
    Goal,
    State,
    Trial,
    bisections,
    bracket,
    classify,
    fixed_operations_s,
    next_target,
    search,
)

# Capacity -> what is tried after a probe of 440,000 ops/s, and the bracket found (analysis 1.d).
WORKED = {
    413_000: ([396_000, 495_000, 442_741, 418_719, 407_201], (407_201, 418_719)),
    380_000: ([396_000, 316_800, 354_193, 374_514, 385_107], (374_514, 385_107)),
    300_000: ([396_000, 316_800, 253_440, 283_355, 299_611, 308_086], (299_611, 308_086)),
}
ONCE = Goal(repeats=False)


def run(server, goal=None, *, probe=440_000, start=None):
    trials = []
    while (found := search(probe, trials, goal, start=start)).next_target is not None:
        trials.append(Trial(found.next_target, server(found.next_target)))
    return found, trials


@pytest.mark.parametrize("capacity", WORKED)
def test_it_finds_the_ceiling_of_a_server_of_known_capacity(capacity):
    targets, ends = WORKED[capacity]
    found, trials = run(lambda target: target <= capacity, ONCE)
    assert [trial.target_ops_s for trial in trials] == targets
    assert (found.state, (found.low, found.high)) == (State.FOUND, ends)


@pytest.mark.parametrize("capacity", WORKED)
def test_a_failure_is_tried_twice_and_changes_nothing_on_a_steady_server(capacity):
    found, trials = run(lambda target: target <= capacity)
    assert list(dict.fromkeys(trial.target_ops_s for trial in trials)) == WORKED[capacity][0]
    assert (found.low, found.high) == WORKED[capacity][1]
    assert len(trials) <= 14


def test_two_of_three_decide():
    def judged(*passes):
        return classify([Trial(100, passed) for passed in passes], 100)

    assert judged(True) is True and judged(False) is None and judged(False, False) is False
    assert judged(False, True) is None and judged(False, True, True) is True and judged(False, True, False) is False
    assert judged() is None


def test_a_pass_close_to_its_limits_is_tried_again():
    close = Trial(100, True, clear=False)
    assert classify([close], 100) is None and classify([close, Trial(100, True)], 100) is True
    assert search(1000, [close]).next_target == 100 and search(1000, [close]).repeated


def test_one_unlucky_trial_does_not_lower_the_ceiling():
    unlucky = iter([False])
    found, trials = run(lambda target: next(unlucky, True) and target <= 413_000)
    assert (found.low, found.high) == WORKED[413_000][1]
    assert [trial.target_ops_s for trial in trials[:3]] == [396_000] * 3


def test_a_cold_start_doubles():
    found, trials = run(lambda target: target <= 413_000, Goal(step=2, repeats=False), start=10_000)
    assert len(trials) == 11 and found.state is State.FOUND and found.low <= 413_000 < found.high


def test_nothing_sustained_is_no_sustainable_load():
    found, trials = run(lambda target: False, Goal(repeats=False, most_trials=50))
    assert (found.state, found.low) == (State.NO_LOAD, None)
    assert min(trial.target_ops_s for trial in trials) >= 440_000 / 64


def test_clients_that_can_offer_no_more_end_it():
    found, _ = run(lambda target: True, Goal(most_ops_s=500_000))
    assert (found.state, found.low, found.high) == (State.CLIENT_LIMITED, 495_000, None)


def test_it_ends_after_the_trials_that_it_may_make():
    found, trials = run(lambda target: target <= 413_000, Goal(width=0.0001, most_trials=6))
    assert (found.state, len(trials)) == (State.SPENT, 6)


def test_a_target_sustained_above_a_failed_one_is_no_lower_bound():
    trials = [Trial(100, True), Trial(200, False), Trial(300, True)]
    assert bracket(trials, ONCE) == (100, 200)


@pytest.mark.parametrize(
    ("ratio", "width", "trials"),
    [
        (1.25, 0.05, 3),
        (1.25, 0.02, 4),
        (1.25, 0.01, 5),
        (2, 0.1, 3),
        (2, 0.05, 4),
        (2, 0.02, 6),
        (2, 0.01, 7),
        (10, 0.05, 6),
    ],
)
def test_how_many_trials_a_bracket_takes(ratio, width, trials):
    assert bisections(ratio, width) == trials


def test_the_target_that_narrows_a_bracket():
    assert next_target(75_000, 100_000) == 86_603
    assert next_target(100_000, 104_000) is None and next_target(1, 2) is None
    assert next_target(100_000, None) == 125_000 and next_target(None, 100_000) == 80_000
    assert next_target(0.0, 100_000) == 80_000 and next_target(None, None) is None


def test_25_targets_of_ten_million_operations_take_seven_hours():
    thousands = [
        1,
        2,
        4,
        6,
        8,
        10,
        15,
        20,
        25,
        30,
        35,
        40,
        45,
        50,
        75,
        100,
        125,
        150,
        175,
        200,
        250,
        300,
        350,
        400,
        450,
    ]
    took_s = fixed_operations_s([1000 * one for one in thousands], 10_000_000)
    assert round(took_s) == 24_911 and took_s / 3600 == pytest.approx(6.92, abs=0.005)
    assert fixed_operations_s([1000], 10_000_000) == 10_000


def test_on_noisy_servers_it_ends_near_the_capacity():
    """Near its capacity a server sustains a target now and then; everything ends within the trials it may make."""
    chance = random.Random(11)
    for _ in range(100):
        found, trials = run(lambda target: target * chance.gauss(1, 0.01) <= 413_000)
        assert len(trials) <= 14 and found.low is not None and 0.85 < found.low / 413_000 < 1.05

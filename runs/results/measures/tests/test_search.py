"""The search for a ceiling, against simulated servers of known capacity."""

import math
import random
import statistics

import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from runs.results.measures.search import (
    Goal,
    Rule,
    State,
    Step,
    Trial,
    bracket,
    capacity_ops_s,
    classify,
    is_confirmed,
    next_target,
    peak_ops_s,
    search_target,
    search_threads,
    undecided_step,
)

# Capacity -> targets after a probe of 440,000 ops/s, and the bracket (analysis 1.d).
WORKED = {
    413_000: ([396_000, 495_000, 442_741, 418_719, 407_201], (407_201, 418_719)),
    380_000: ([396_000, 316_800, 354_193, 374_514, 385_107], (374_514, 385_107)),
    300_000: ([396_000, 316_800, 253_440, 283_355, 299_611, 308_086], (299_611, 308_086)),
}
COARSE = Goal(step=1.25, start_share=0.9, max_trials=14, confirmations=1)


def offered(target, capacity):
    reached = min(target, capacity)
    return Trial(target, reached, reached >= 0.98 * target, reached < 0.98 * target)


def run(server, goal=None, *, probe=440_000):
    trials = []
    while (step := search_target(probe, trials, goal)).next_load is not None:
        trials.append(server(step.next_load))
    return step, trials


def run_threads(server, goal=None, *, start=1):
    trials = []
    while (step := search_threads(start, trials, goal)).next_load is not None:
        trials.append(server(step.next_load))
    return step, trials


@pytest.mark.parametrize("capacity", WORKED)
def test_brackets_a_known_capacity(capacity):
    targets, ends = WORKED[capacity]
    step, trials = run(lambda target: Trial(target, target, target <= capacity), COARSE)
    assert [trial.load for trial in trials] == targets
    assert (step.state, step.low, step.high) == (State.BRACKETED, *ends)


def test_refines_the_peak_above_the_fewest_threads():
    values = {2: 40, 3: 60, 4: 30}
    step, trials = run_threads(lambda load: Trial(load, values[load]), Goal(min_load=2, confirmations=1), start=2)
    assert [trial.load for trial in trials] == [2, 4, 3, 3]
    assert (step.state, step.low, step.high) == (State.BRACKETED, 2, 4)


def test_confirms_both_ends_with_fresh_runs():
    step, trials = run(lambda target: offered(target, 413_000), probe=425_000)
    assert step.state is State.BRACKETED and step.low <= 413_000 / 0.98 and step.high <= 1.05 * step.low + 1
    assert [sum(trial.load == end for trial in trials) for end in (step.low, step.high)] == [2, 2]


def test_measures_the_capacity_again_where_runs_differ():
    """The bracket is closed and confirmed, but the database did 10 % less than in the probe."""
    step, trials = run(lambda target: offered(target, 400_000), probe=440_000)
    assert step.state is State.BRACKETED and 1 + len(trials) == 8
    assert {trial.load for trial in trials[-2:]} == {step.high}
    alike, fewer = run(lambda target: offered(target, 436_000), probe=440_000)
    assert alike.state is State.BRACKETED and len(fewer) < len(trials)
    limited, _ = run(lambda target: Trial(target, target, target <= 400_000), Goal(max_trials=14), probe=440_000)
    assert limited.state is State.BRACKETED


def test_two_of_three_decide():
    def judged(*passes):
        return classify([Trial(100, 100, passed) for passed in passes], 100)

    assert judged(True) is True and judged(False) is False and judged() is None
    assert judged(False, True, False, True, False) is False
    assert judged(False, True) is None and judged(False, True, True) is True and judged(False, True, False) is False
    assert search_target(1000, [Trial(100, 100), Trial(100, 90, False)]).rule is Rule.DECIDE


def test_confirmation_refutes_an_unlucky_trial():
    unlucky = iter([0.9])
    step, _ = run(lambda target: offered(target, 413_000 * next(unlucky, 1)), Goal(max_trials=14))
    assert step.state is State.BRACKETED and step.low <= 413_000 / 0.98 <= 1.02 * step.high


def test_nothing_sustained_is_no_load():
    step, trials = run(lambda target: Trial(target, target, False), Goal(max_trials=50))
    assert (step.state, step.low) == (State.NO_LOAD, None)
    assert min(trial.load for trial in trials) >= 440_000 / 64


def test_limit_far_below_the_probe_is_reached_within_the_trials():
    step, trials = run(lambda target: Trial(target, target, target <= 30_000), Goal(max_trials=14))
    assert step.low <= 30_000 < step.high <= 1.05 * step.low + 1 and len(trials) < 14


def test_spends_no_more_trials_than_allowed():
    step, trials = run(lambda target: offered(target, 413_000), Goal(width=0.0001, max_trials=6))
    assert (step.state, len(trials)) == (State.SPENT, 5)  # and the probe


def test_sustained_target_above_a_failed_one_is_no_lower_bound():
    assert bracket([Trial(100, 100), Trial(200, 150, False), Trial(300, 300)]) == (100, 200)


def test_next_target_narrows_the_bracket():
    assert next_target(75_000, 100_000) == 86_603
    assert next_target(100_000, 105_000) is None and next_target(100_000, 105_001) == 102_470
    assert next_target(100_000, 104_000) is None and next_target(1, 2) is None
    assert next_target(100_000, None) == 110_000 and next_target(None, 110_000) == 100_000
    assert next_target(0.0, 110_000) == 100_000 and next_target(None, None) is None


@pytest.mark.parametrize("cv", [0.0, 0.01, 0.03, 0.05])
def test_capacity_is_within_5_percent_in_at_most_8_trials(cv):
    """In at least 19 of 20 of 300 seeded searches."""
    noise, near = random.Random(11), 0
    for _ in range(300):
        probe = 1000 * noise.gauss(1, cv)
        _, trials = run(lambda target: offered(target, 1000 * noise.gauss(1, cv)), probe=probe)
        assert 1 + len(trials) <= 8
        near += abs(capacity_ops_s(probe, trials) / 1000 - 1) <= 0.05
    assert near >= 285


def usl(threads):
    """Peak of about 9,600 ops/s at 10 threads."""
    return 1500 * threads / (1 + 0.05 * (threads - 1) + 0.01 * threads * (threads - 1)) * 1.6


def test_brackets_and_refines_the_peak():
    step, trials = run_threads(lambda threads: Trial(threads, usl(threads)), Goal(max_trials=14, confirmations=3))
    loads = [trial.load for trial in trials]
    assert loads[:5] == [1, 2, 4, 8, 16] and loads[-3:] == [loads[-1]] * 3
    assert step.state is State.BRACKETED and step.low < loads[-1] < step.high <= 2 * step.low
    assert usl(loads[-1]) > 0.98 * max(map(usl, range(1, 99)))


def test_refines_first_toward_the_higher_neighbour():
    values = {4: 40, 8: 70, 16: 98, 23: 100, 32: 95}
    step, trials = run_threads(lambda load: Trial(load, values[load]), Goal(confirmations=3), start=4)
    assert [trial.load for trial in trials] == [4, 8, 16, 32, 23, 23, 23, 23] and step.state is State.BRACKETED


@pytest.mark.parametrize("cv", [0.003, 0.03])
def test_peak_is_hardly_biased(cv):
    """Of a flat top and of a peak at 10 threads, which no rung meets."""
    noise, goal = random.Random(7), Goal(confirmations=3)
    for curve, top, limit in ((lambda threads: min(threads / 8, 1), 1, 0.003), (usl, usl(10), 0.016)):
        errors = []
        for _ in range(300):
            _, trials = run_threads(lambda n, curve=curve: Trial(n, curve(n) * noise.gauss(1, cv)), goal, start=4)
            errors.append(peak_ops_s(trials) / top - 1)
        assert len(trials) <= 8 and abs(statistics.fmean(errors)) < limit


def test_a_plateau_ends_the_doubling():
    step, trials = run_threads(lambda threads: Trial(threads, min(2000 * threads, 40_000)), Goal(max_trials=14))
    assert max(trial.load for trial in trials) == 64 and step.state is State.BRACKETED


def test_goes_down_where_the_first_rung_is_beyond_the_peak():
    step, trials = run_threads(lambda threads: Trial(threads, usl(threads)), Goal(max_trials=14), start=64)
    assert [trial.load for trial in trials[:5]] == [64, 128, 32, 16, 8] and step.low < 11 < step.high * 1.5


def test_limit_of_latency_bounds_the_threads():
    step, trials = run_threads(lambda threads: Trial(threads, usl(threads), threads <= 5), Goal(max_trials=14))
    assert (step.state, step.high, trials[-1].load) == (State.BRACKETED, 6, 5)


def test_no_threads_keep_the_limit():
    step, trials = run_threads(lambda threads: Trial(threads, 100, False), Goal(max_trials=14, min_load=2), start=8)
    assert step.state is State.NO_LOAD and [trial.load for trial in trials] == [8, 4, 2]


def test_noisy_peak_is_near_in_most_searches():
    noise, best = random.Random(5), []
    goal = Goal(max_trials=14, confirmations=3)
    for _ in range(100):
        _, trials = run_threads(lambda threads: Trial(threads, usl(threads) * noise.gauss(1, 0.03)), goal)
        best.append(usl(trials[-1].load) / usl(10))
    assert statistics.fmean(share >= 0.95 for share in best) >= 0.9


@pytest.mark.parametrize(
    ("throughputs", "peak"),
    [
        pytest.param({4: [50.0], 8: [100.0, 96.0, 98.0], 16: [80.0]}, 98.0, id="peak"),
        pytest.param({4: [50.0], 8: [106.0, 96.0, 98.0], 16: [80.0]}, 100.0, id="fast"),
        pytest.param({4: [50.0], 8: [112.0, 96.0, 98.0], 16: [80.0]}, 97.0, id="lucky"),
        pytest.param({8: [93.4], 16: [100.1, 100.0, 100.0], 32: [99.9]}, 100.0, id="rising"),
        pytest.param({4: [50.0], 8: [100.0, 96.0, 98.0], 16: [95.0]}, 97.25, id="flat"),
        pytest.param({4: [50.0], 8: [100.0]}, 100.0, id="unconfirmed"),
        # Deviation of the difference by hand: sqrt((2 * 0.03² + 2 * 0.02²) / 3 * 1.5) = 3.606 %: from 92.79 to 114.42.
        pytest.param({4: [92.5], 8: [93.0], 16: [100.0, 98.0, 102.0]}, 98.25, id="lower limit"),
        pytest.param({8: [93.0], 16: [114.0, 98.0, 102.0]}, 101.75, id="upper limit"),
        pytest.param({16: [114.8, 98.0, 102.0]}, 100.0, id="above the upper limit"),
    ],
)
def test_peak_averages_its_flat_top(throughputs, peak):
    trials = [Trial(load, ops_s) for load, values in throughputs.items() for ops_s in values]
    assert peak_ops_s(trials) == pytest.approx(peak)
    assert peak_ops_s([Trial(4, 50.0, sustained=False)]) is None


@pytest.mark.parametrize(
    ("probe", "offers", "confirmed"),
    [
        (100, [90, 90, 110, 110], True),
        (100, [90, 90, 110], True),  # The probe did less than 110 too.
        (109, [90, 90, 110], False),
        (100, [90, 110, 110], False),
        (109, [90, 90, 110, 130], True),
        (100, [90, 90], False),
    ],
)
def test_two_runs_confirm_each_end(probe, offers, confirmed):
    assert is_confirmed(probe, [offered(target, 100) for target in offers]) is confirmed


def met(*loads):
    return [Trial(load, load) for load in loads]


def missed(*loads, ops_s=None):
    """Of a database that did `ops_s`; 90 % of each target unless given."""
    return [Trial(load, 0.9 * load if ops_s is None else ops_s, sustained=False, is_short=True) for load in loads]


def searching(rule, low, high, load):
    return Step(State.SEARCHING, rule, low, high, load)


def ended(state, low, high):
    return Step(state, Rule.END, low, high)


@pytest.mark.parametrize(
    ("trials", "probe", "step"),
    [
        ([], 1000, None),
        (met(100), 1000, searching(Rule.RAISE, 100, None, 110)),
        (met(50, 100) + missed(100), 1000, searching(Rule.DECIDE, 50, None, 100)),
        (met(50, 100, 80) + missed(100, 80), 1000, searching(Rule.DECIDE, 50, None, 80)),
        (met(80) + missed(80), 1000, searching(Rule.DECIDE, None, None, 80)),
        (met(50, 80) + missed(80, 100), 1000, searching(Rule.DECIDE, 50, 100, 80)),
        (met(100) + missed(200), 1000, searching(Rule.CONFIRM, 100, 200, 200)),
        (met(100) + missed(200), 196, searching(Rule.CONFIRM, 100, 200, 200)),
        (met(100) + missed(200), 195, None),  # The probe, as it did less than 98 % of 200, is the second run.
        (met(100) + missed(200, 200), 1000, None),
        (met(100) + missed(200, 300), 1000, None),
        (met(100, 300) + missed(200), 1000, searching(Rule.CONFIRM, 100, 200, 200)),
        (met(100, 100) + missed(100, 200), 1000, searching(Rule.CONFIRM, 100, 200, 200)),
        (met(50, 200) + missed(100, 100, 200), 1000, None),  # What is open above a failed target bounds nothing.
        (missed(100), 1000, None),
    ],
)
def test_run_that_decides_what_is_open(trials, probe, step):
    assert undecided_step(probe, trials) == step


@pytest.mark.parametrize(
    ("trials", "options", "step"),
    [
        ([], {}, searching(Rule.START, None, None, 950)),
        (met(950), {}, searching(Rule.RAISE, 950, None, 1045)),
        (met(950) + missed(1045), {}, searching(Rule.BISECT, 950, 1045, 996)),
        (met(950) + missed(950), {}, searching(Rule.DECIDE, None, None, 950)),
        # Below the lowest failure by one step, from the third failure on by 2, 4, 8 at once.
        (missed(1000), {}, searching(Rule.LOWER, None, 1000, 909)),
        (missed(1100, 1000), {}, searching(Rule.LOWER, None, 1000, 909)),
        (missed(1200, 1100, 1000), {}, searching(Rule.LOWER, None, 1000, 826)),
        (missed(1300, 1200, 1100, 1000), {}, searching(Rule.LOWER, None, 1000, 683)),
        (missed(17), {}, ended(State.NO_LOAD, None, 17)),  # 15 is less than 1000 / 64.
        (missed(18), {}, searching(Rule.LOWER, None, 18, 16)),
        (missed(22), {"min_load": 20}, searching(Rule.LOWER, None, 22, 20)),
        (missed(21), {"min_load": 20}, ended(State.NO_LOAD, None, 21)),
        (met(100), {"max_trials": 3}, searching(Rule.RAISE, 100, None, 110)),
        (met(100), {"max_trials": 2}, ended(State.SPENT, 100, None)),
        (met(100) + missed(200), {"max_trials": 3}, ended(State.SPENT, 100, 200)),
        # The upper end is confirmed first; then the database's own runs must agree within 5 %.
        (met(1060) + missed(1100), {}, searching(Rule.CONFIRM, 1060, 1100, 1100)),
        (met(1060) + missed(1100, 1100), {}, searching(Rule.CONFIRM, 1060, 1100, 1060)),
        (met(1060, 1060) + missed(1100, 1100, ops_s=1050), {}, ended(State.BRACKETED, 1060, 1100)),
        (met(1060, 1060) + missed(1100, 1100, ops_s=1051), {}, searching(Rule.CONFIRM, 1060, 1100, 1100)),
    ],
)
def test_step_after_trials_of_targets(trials, options, step):
    assert search_target(1000, trials, Goal(**options)) == step


def test_lowest_target_is_a_64th_of_the_probe():
    assert search_target(960, missed(16)) == searching(Rule.LOWER, None, 16, 15)  # exactly 960 / 64
    assert search_target(961, missed(16)) == ended(State.NO_LOAD, None, 16)


def ran(throughputs, *broken):
    """Trials of threads from (load, ops/s), and of loads that broke a limit."""
    return [Trial(load, ops_s) for load, ops_s in throughputs] + [Trial(load, 999, sustained=False) for load in broken]


RISING = [(1, 10), (2, 20), (4, 40), (8, 80), (16, 160)]


@pytest.mark.parametrize(
    ("trials", "options", "step"),
    [
        (ran([]), {}, searching(Rule.START, None, None, 4)),
        (ran([]), {"min_load": 6}, searching(Rule.START, None, None, 6)),
        (ran([(4, 100), (8, 150)]), {}, searching(Rule.RAISE, 4, None, 16)),
        # It ends after two doublings in a row that gained less than 5 % each.
        (ran([(1, 100), (2, 104), (4, 108)]), {}, searching(Rule.BISECT, 2, None, 3)),
        (ran([(1, 50), (2, 100), (4, 104), (8, 108)]), {}, searching(Rule.BISECT, 4, None, 6)),
        (ran([(1, 100), (2, 105), (4, 109)]), {}, searching(Rule.RAISE, 2, None, 8)),
        (ran([(1, 100), (2, 100), (4, 105)]), {}, searching(Rule.RAISE, 2, None, 8)),
        # Down, where the first rung is the best or breaks a limit.
        (ran([(5, 100), (10, 90)]), {}, searching(Rule.LOWER, None, 10, 2)),
        (ran([(5, 100), (10, 90)]), {"min_load": 3}, searching(Rule.LOWER, None, 10, 3)),
        (ran([], 5), {}, searching(Rule.LOWER, None, None, 2)),
        (ran([], 5), {"min_load": 3}, searching(Rule.LOWER, None, None, 3)),
        (ran([], 2, 1), {}, ended(State.NO_LOAD, None, 1)),
        # First on the side of the higher neighbour, down to a factor of 1.5; to 5 % below a load that breaks a limit.
        (ran([(2, 60), (4, 100), (8, 80)]), {}, searching(Rule.BISECT, 2, 8, 6)),
        (ran([(2, 80), (4, 100), (8, 60)]), {}, searching(Rule.BISECT, 2, 8, 3)),
        (ran([(4, 100), (6, 90)]), {"min_load": 4}, searching(Rule.CONFIRM, None, 6, 4)),
        (ran([(4, 100)], 6), {"min_load": 4}, searching(Rule.BISECT, None, 6, 5)),
        (ran([(100, 100)], 104), {"min_load": 100}, searching(Rule.CONFIRM, None, 104, 100)),
        # Half of the trials of a load must keep the limits.
        (ran([(4, 100), (6, 90)], 4), {"min_load": 4}, searching(Rule.CONFIRM, None, 6, 4)),
        (ran([(4, 100), (6, 90)], 4, 4), {"min_load": 4}, searching(Rule.RAISE, 4, None, 12)),
        # Two of eight trials are kept for the confirmation.
        (ran(RISING), {}, searching(Rule.RAISE, 8, None, 32)),
        (ran([*RISING, (32, 320)]), {}, searching(Rule.CONFIRM, 16, None, 32)),
        (ran([*RISING, (32, 320), (32, 320), (32, 320)]), {}, ended(State.SPENT, 16, None)),
        (ran([*RISING[:3], (8, 80), (8, 80), (8, 80)]), {}, ended(State.SPENT, 4, None)),
        (ran([(1, 10), (2, 20), (4, 5)]), {"max_trials": 3}, ended(State.SPENT, 1, 4)),
        (ran([(4, 100), (6, 90), (4, 100), (4, 100)]), {"min_load": 4}, ended(State.BRACKETED, None, 6)),
    ],
)
def test_step_after_trials_of_threads(trials, options, step):
    assert search_threads(4, trials, Goal(**options)) == step


@pytest.mark.parametrize(
    ("probe", "reached", "short"),
    [
        (1000, [], [900, 950]),
        (1000, [980], [1010, 1000]),
        (1100, [1000, 1050], [900, 950, 1000]),
        (1000, [1200], [990]),
    ],
)
def test_capacity_is_the_likeliest_of_censored_runs(probe, reached, short):
    """The prior of the standard deviation: 3 %, with the weight of four runs."""
    logs, ends = [math.log(ops_s) for ops_s in (probe, *short)], [math.log(ops_s) for ops_s in reached]

    def loss(parameters):
        mean, deviation = parameters[0], math.exp(parameters[1])
        prior = -4 * math.log(deviation) - 4 * 0.03**2 / (2 * deviation**2)
        return -norm.logpdf(logs, mean, deviation).sum() - norm.logsf(ends, mean, deviation).sum() - prior

    likeliest = minimize(loss, (math.log(probe), math.log(0.05)), method="Nelder-Mead", options={"xatol": 1e-8})
    trials = met(*reached) + [Trial(2000, ops_s, sustained=False, is_short=True) for ops_s in short]
    assert capacity_ops_s(probe, trials) == pytest.approx(math.exp(likeliest.x[0]), rel=2e-4)


def test_capacity_with_a_target_far_above_the_probe():
    """So many deviations above that the normal distribution has no tail left."""
    assert 100 < capacity_ops_s(100, met(1000)) < 1000

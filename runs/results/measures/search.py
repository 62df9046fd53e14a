"""The search for a ceiling: which load comes next, from the trials so far. Pure.

A trial is one run at a load. Over offered load (ops/s of all clients together) a target is sustained or not; RFC 2544
bisects such trials, and RFC 9971 (MLRsearch) says what repeated noisy ones prove: the answer is a pair of bounds, and
what was achieved at them (conditional throughput). Over threads the throughput has one peak, which is bracketed by
doubling and refined by geometric means. Runs that confirm a load are never those that selected it.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from runs.results.measures.sustained_load import SUSTAINED

WIDTH: Final = 0.05  # the bracket is narrow enough when its ends differ by no more
STEP: Final = 1.1  # from target to target until there is a bracket
START_SHARE: Final = 0.95  # of the probe: the first target
CONFIRMATIONS: Final = 2
# Enough for an error of at most 5 % in 19 of 20 searches where runs vary by up to 5 %: `make bench` prints the table.
MAX_TRIALS: Final = 8
MAX_SLO_TRIALS: Final = 14  # the probe shows nothing of a latency, so there is more to search
MIN_SHARE: Final = 1 / 64  # of the probe: nothing sustained down to there is no sustainable load
MIN_GAIN: Final = 1.05  # of a doubling of the threads; twice less is the end
FINE: Final = 1.5  # a peak whose neighbours are within this factor is located well enough
# Of the difference between a run and the best load's mean: a load is on the flat top unless its run is lower by more.
FLAT_DEVIATIONS: Final = 2.0
LUCKY_DEVIATIONS: Final = 4.0  # A run that is higher by more counts nowhere.
RUN_CV: Final = 0.03  # variation between runs that an estimate assumes before it has seen any
RUN_CV_WEIGHT: Final = 4  # trials: the assumption counts as much as so many in the capacity of targets
PEAK_CV_WEIGHT: Final = 2  # and in the peak over threads
MAX_ITERATIONS: Final = 50


@dataclass(frozen=True, slots=True)
class Trial:
    """One run at a load (threads, or a target in ops/s)."""

    load: int
    throughput_ops_s: float
    sustained: bool = True  # its target (if any) and every limit of latency and errors were met
    is_short: bool = False  # it missed its target: its throughput is what the database can do


@dataclass(frozen=True, slots=True)
class Goal:
    """How narrow, how fast and how long. Loads are at least `min_load`."""

    width: float = WIDTH
    step: float = STEP
    start_share: float = START_SHARE
    max_trials: int = MAX_TRIALS  # the probe included
    confirmations: int = CONFIRMATIONS
    min_load: int = 1


class State(StrEnum):
    """Where a search stands."""

    SEARCHING = "searching"
    BRACKETED = "bracketed"
    NO_LOAD = "no sustainable load"
    CLIENT_LIMITED = "client limited"  # the ceiling lies at or above what the clients can offer
    SPENT = "trials spent"  # before the bracket was closed and confirmed
    FAILED = "failed"  # two trials in a row have no result


class Rule(StrEnum):
    """Why a trial is made, or why the search has ended."""

    PROBE = "probe"
    START = "start"
    RAISE = "raise"
    LOWER = "lower"
    BISECT = "bisect"
    DECIDE = "decide"
    CONFIRM = "confirm"
    REPEAT = "repeat"
    END = "end"


@dataclass(frozen=True, slots=True)
class Step:
    """The next load, or the end; with the highest load sustained so far and the lowest that was not above it."""

    state: State
    rule: Rule
    low: int | None = None
    high: int | None = None
    next_load: int | None = None


def search_target(probe_ops_s: float, trials: Sequence[Trial], goal: Goal | None = None) -> Step:
    """The next step after these trials of targets, which are in the order in which they ran.

    `probe_ops_s` is the throughput of a run without a target. The first target is 0.95 of it; steps of 1.1 close the
    bracket, geometric bisection narrows it, then both of its ends are run again until each has `goal.confirmations`
    trials and a majority (exceed ratio 50 %). Where what the database did without reaching a target then differs by
    more than `goal.width`, and no limit decided, the upper end runs again: each such run measures the capacity anew.
    """
    goal = goal or Goal()
    low, high = bracket(trials)
    rule, load = _choose_target(probe_ops_s, trials, goal)
    if load is None:
        return Step(State.BRACKETED, Rule.END, low, high)
    if low is None and load < max(MIN_SHARE * probe_ops_s, goal.min_load):
        return Step(State.NO_LOAD, Rule.END, low, high)

    return _limit_step(Step(State.SEARCHING, rule, low, high, load), len(trials) + 1, goal)


def _choose_target(probe_ops_s: float, trials: Sequence[Trial], goal: Goal) -> tuple[Rule, int | None]:
    """The next target and why it is tried; None where the bracket is narrow and confirmed."""
    verdicts = {load: classify(trials, load) for load in _list_loads(trials)}
    undecided = [load for load, verdict in verdicts.items() if verdict is None]
    if undecided:
        return Rule.DECIDE, undecided[0]

    low, high = bracket(trials)
    failed = sum(verdict is False for verdict in verdicts.values())
    rule, load = _narrow_bracket(low, high, goal, round(goal.start_share * probe_ops_s), failed)
    if load is not None:
        return rule, load

    for end in (high, low):
        if end is not None and _count(trials, end) < goal.confirmations:
            return Rule.CONFIRM, end

    measured = _list_capacities(probe_ops_s, trials)
    is_narrow = max(measured) <= (1 + goal.width) * min(measured)
    if is_narrow or _has_broken_limits(trials) or 1 + len(trials) >= goal.max_trials:
        return Rule.END, None
    return Rule.CONFIRM, high


def search_threads(start: int, trials: Sequence[Trial], goal: Goal | None) -> Step:
    """The next step after these trials of threads, to the peak of the throughput over those that keep every limit.

    Doubling goes on until the highest throughput lies between two lower ones, or two doublings in a row gained less
    than 5 %. Geometric means then refine it, the best rung is run `goal.confirmations` times anew. The bounds are the
    neighbours of the best rung; `high` is None where throughput did not fall above it.
    """
    goal = goal or Goal()
    values = {load: _get_selection_value(trials, load) for load in sorted(_list_loads(trials))}
    best = max(values, key=lambda load: values[load], default=None)
    if best is None:
        return Step(State.SEARCHING, Rule.START, None, None, max(start, goal.min_load))

    low = max((load for load in values if load < best), default=None)
    high = min((load for load in values if load > best), default=None)
    end_state = State.BRACKETED
    rule, load = _approach_peak(values, best, goal)
    if load is not None and len(trials) + goal.confirmations >= goal.max_trials:
        # The trials that are left confirm the best load.
        end_state, load = State.SPENT, None
    if load is None and values[best] == 0:
        return Step(State.NO_LOAD, Rule.END, None, min(values))

    if load is None and _count(trials, best) <= goal.confirmations:
        rule, load = Rule.CONFIRM, best
    if load is None:
        return Step(end_state, Rule.END, low, high)

    return _limit_step(Step(State.SEARCHING, rule, low, high, load), len(trials), goal)


def _approach_peak(values: Mapping[int, float], best: int, goal: Goal) -> tuple[Rule, int | None]:
    """The load that brackets or refines the peak; None where it is located."""
    lowest, highest = min(values), max(values)
    if values[best] == 0 and lowest <= goal.min_load:  # No load has kept the limits so far.
        return Rule.LOWER, None
    if values[best] == 0:
        return Rule.LOWER, max(lowest // 2, goal.min_load)

    if best == highest and not _has_flattened(values):
        return Rule.RAISE, 2 * highest

    if best == lowest > goal.min_load:
        return Rule.LOWER, max(lowest // 2, goal.min_load)

    loads = list(values)
    position = loads.index(best)
    # The peak is rather on the side of the higher neighbour; just below one that broke a limit it may be higher still.
    neighbours = [load for load in loads[max(position - 1, 0) : position + 2] if load != best]
    for neighbour in sorted(neighbours, key=lambda load: values[load] or math.inf, reverse=True):
        below, above = sorted((best, neighbour))
        middle = round(math.sqrt(below * above))
        fine_enough = FINE if values[neighbour] else 1 + goal.width
        if above / below > fine_enough and middle not in (below, above):
            return Rule.BISECT, middle

    return Rule.CONFIRM, None


def _has_flattened(values: Mapping[int, float]) -> bool:
    """Whether the last two doublings gained too little."""
    if len(values) < 3:
        return False
    first, second, third = (values[load] for load in sorted(values)[-3:])
    return second < MIN_GAIN * first and third < MIN_GAIN * second


def _get_selection_value(trials: Sequence[Trial], load: int) -> float:
    """By what a load is compared: its first trial's throughput; 0 where most of its trials broke a limit."""
    ran = [trial for trial in trials if trial.load == load]
    if 2 * sum(trial.sustained for trial in ran) >= len(ran):
        return ran[0].throughput_ops_s
    return 0.0


def _limit_step(step: Step, trials: int, goal: Goal) -> Step:
    """The end instead of the step, where there are no trials left."""
    if trials >= goal.max_trials:
        return Step(State.SPENT, Rule.END, step.low, step.high)
    return step


def _narrow_bracket(low: int | None, high: int | None, goal: Goal, start: int, failed: int) -> tuple[Rule, int | None]:
    if low is None and high is not None:
        # Further down with every failure: a limit of latency may lie far below what the probe reached.
        return Rule.LOWER, round(high / goal.step ** (2 ** max(failed - 2, 0)))
    rule = Rule.BISECT
    if low is None:
        rule = Rule.START
    elif high is None:
        rule = Rule.RAISE
    return rule, next_target(low, high, goal, start)


def bracket(trials: Sequence[Trial]) -> tuple[int | None, int | None]:
    """The highest target sustained below every failed one, and the lowest that failed; None where there is none."""
    verdicts = {load: classify(trials, load) for load in _list_loads(trials)}
    high = min((load for load, verdict in verdicts.items() if verdict is False), default=None)
    sustained = [load for load, verdict in verdicts.items() if verdict and (high is None or load < high)]
    return max(sustained, default=None), high


def is_confirmed(probe_ops_s: float, trials: Sequence[Trial]) -> bool:
    """Whether two runs or more show each end of the bracket.

    Of the upper end these are runs that were offered at least that, or as much as they could do, and did less than 98 %
    of it.
    """
    low, high = bracket(trials)
    if low is None or high is None:
        return False
    return min(_count(trials, low), _count_failures(probe_ops_s, trials, high)) >= CONFIRMATIONS


def _count_failures(probe_ops_s: float, trials: Sequence[Trial], high: int) -> int:
    failed = sum(trial.load >= high and not trial.sustained for trial in trials)
    return failed + (probe_ops_s < SUSTAINED * high)


def undecided_step(probe_ops_s: float, trials: Sequence[Trial]) -> Step | None:
    """The run that decides what the curve of a search leaves open; None where nothing is.

    The lowest target of which as many trials were sustained as not comes first, as it bounds all above it; then the
    upper end of the bracket, where there is none or a single run shows it.
    """
    low, high = bracket(trials)
    undecided = [load for load in _list_loads(trials) if classify(trials, load) is None and load < (high or math.inf)]
    if undecided:
        return Step(State.SEARCHING, Rule.DECIDE, low, high, min(undecided))
    if low is None:
        return None
    if high is None:
        return Step(State.SEARCHING, Rule.RAISE, low, high, round(STEP * low))
    if _count_failures(probe_ops_s, trials, high) < CONFIRMATIONS:
        return Step(State.SEARCHING, Rule.CONFIRM, low, high, high)
    return None


def classify(trials: Sequence[Trial], load: int) -> bool | None:
    """Whether most trials of a load were sustained; None while there are as many of one kind as of the other."""
    ran = [trial.sustained for trial in trials if trial.load == load]
    passes = sum(ran)
    if 2 * passes == len(ran):
        return None
    return 2 * passes > len(ran)


def next_target(
    low: float | None, high: float | None, goal: Goal | None = None, start: int | None = None
) -> int | None:
    """The target that narrows a bracket; None where it is narrow enough, or where there is nothing to begin with."""
    goal = goal or Goal()
    if low and high:
        middle = round(math.sqrt(low * high))
        if high / low <= 1 + goal.width or middle in (round(low), round(high)):
            return None
        return middle
    if low:
        return round(low * goal.step)
    if high:
        return round(high / goal.step)
    return start


def best_load(trials: Sequence[Trial]) -> int | None:
    """The load that most trials measured, which is the confirmed one; the fastest while none was. None: none was
    sustained.
    """
    runs = _sustained_by_load(trials)
    return max(runs, key=lambda load: (len(runs[load]), runs[load][0]), default=None)


def peak_ops_s(trials: Sequence[Trial]) -> float | None:
    """The throughput at the peak over threads, in ops/s: the mean of the runs that confirm the best load, and of the
    first runs of all loads on the same flat top.

    These are at most two standard deviations below that mean, of the difference between a run and the mean: a lower run
    may be off the top. A higher one is not, so it counts unless it is far too high (four standard deviations). The
    deviation of a run is that of the confirming runs and an assumed 3 % with the weight of two runs.
    """
    runs = _sustained_by_load(trials)
    best = best_load(trials)
    if best is None:
        return None

    confirming = runs[best][1:] or runs[best]
    mean = statistics.fmean(confirming)
    squares = math.fsum((ops_s / mean - 1) ** 2 for ops_s in confirming)
    deviation = math.sqrt((PEAK_CV_WEIGHT * RUN_CV**2 + squares) / (PEAK_CV_WEIGHT + len(confirming) - 1))
    deviation *= math.sqrt(1 + 1 / len(confirming))
    low, high = 1 - FLAT_DEVIATIONS * deviation, 1 + LUCKY_DEVIATIONS * deviation
    flat = [ops_s for ops_s, *_ in runs.values() if low <= ops_s / mean <= high]
    return statistics.fmean([*runs[best][1:], *flat])


def _sustained_by_load(trials: Sequence[Trial]) -> dict[int, list[float]]:
    runs: defaultdict[int, list[float]] = defaultdict(list)
    for trial in trials:
        if trial.sustained:
            runs[trial.load].append(trial.throughput_ops_s)
    return runs


def capacity_ops_s(probe_ops_s: float, trials: Sequence[Trial]) -> float:
    """The capacity of the database by the probe and all trials of targets, in ops/s.

    A trial that missed its target measures it; one that reached its target only shows that it is no less. So this is
    the mean of a censored normal distribution of log throughput (Tobit, by EM). Its standard deviation is estimated
    with it, beginning from 3 % with the weight of four trials.
    """
    measured = [math.log(ops_s) for ops_s in _list_capacities(probe_ops_s, trials)]
    reached = [math.log(trial.throughput_ops_s) for trial in trials if trial.sustained]
    standard = statistics.NormalDist()
    mean = statistics.fmean(measured)
    deviation = RUN_CV
    for _ in range(MAX_ITERATIONS):
        ends = [(value - mean) / deviation for value in reached]
        above = [_mean_above(z, standard) for z in ends]
        shift = statistics.fmean([*(value - mean for value in measured), *(deviation * excess for excess in above)])
        mean += shift
        squares = math.fsum((value - mean) ** 2 for value in measured)
        # Of a standard normal variable w above z: E w² = 1 + z E w.
        squares += math.fsum(
            deviation**2 * (1 + z * excess) - 2 * shift * deviation * excess + shift**2
            for z, excess in zip(ends, above, strict=True)
        )
        number = RUN_CV_WEIGHT + len(measured) + len(reached)
        deviation = math.sqrt((RUN_CV_WEIGHT * RUN_CV**2 + squares) / number)

    return math.exp(mean)


def _has_broken_limits(trials: Sequence[Trial]) -> bool:
    """Whether a limit of latency or errors, not a lack of throughput, decided a trial."""
    return any(not trial.sustained and not trial.is_short for trial in trials)


def _list_capacities(probe_ops_s: float, trials: Sequence[Trial]) -> list[float]:
    """The throughputs where more was offered than the database can do, in ops/s."""
    return [probe_ops_s, *(trial.throughput_ops_s for trial in trials if trial.is_short)]


def _mean_above(z: float, standard: statistics.NormalDist) -> float:
    """Mean of a standard normal variable above z: the inverse Mills ratio; about z itself far out."""
    tail = standard.cdf(-z)
    if tail > 1e-9:
        return standard.pdf(z) / tail
    return z


def _list_loads(trials: Sequence[Trial]) -> list[int]:
    """In the order of their first trial."""
    return list(dict.fromkeys(trial.load for trial in trials))


def _count(trials: Sequence[Trial], load: int) -> int:
    return sum(trial.load == load for trial in trials)

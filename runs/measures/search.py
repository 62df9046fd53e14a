"""The search for the highest sustained target: which target comes next, from the trials so far (analysis 1.d).

RFC 2544 bisects with trials of 60 s; RFC 9971 (MLRsearch) says what a repeated, noisy trial proves. A trial here is one
run with a target; whether it was sustained is judged elsewhere (`sustained.judge_target`, and a limit of latency).
Targets are operations per second of all clients together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

START: Final = 0.9  # of what the probe reached without a target
WIDTH: Final = 0.05  # the bracket is narrow enough when its ends differ by no more
STEP: Final = 1.25  # from target to target until there is a bracket
MOST_TRIALS: Final = 14
LOWEST_SHARE: Final = 1 / 64  # of the probe: nothing sustained down to there is no sustainable load
ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Trial:
    """One run at a target. A pass that is not `clear` lies close to its limits and is tried again like a failure."""

    target_ops_s: int
    sustained: bool
    clear: bool = True


@dataclass(frozen=True, slots=True)
class Goal:
    """How narrow, how fast and how long. `most_ops_s` is what the clients can offer; None: nobody knows."""

    width: float = WIDTH
    step: float = STEP
    most_trials: int = MOST_TRIALS
    most_ops_s: int | None = None
    repeats: bool = True  # a failure has to happen twice


class State(StrEnum):
    """Where a search stands."""

    SEARCHING = "searching"
    FOUND = "found"
    NO_LOAD = "no sustainable load"
    CLIENT_LIMITED = "client limited"  # the ceiling lies at or above what the clients can offer
    SPENT = "trials spent"  # without a bracket as narrow as asked


@dataclass(frozen=True, slots=True)
class Search:
    """The highest target sustained so far, the lowest that failed above it, and the target to try next."""

    state: State
    low: int | None
    high: int | None
    next_target: int | None = None
    repeated: bool = False  # the next trial repeats a target that is not decided


def search(
    probe_ops_s: float, trials: Sequence[Trial], goal: Goal | None = None, *, start: int | None = None
) -> Search:
    """What comes after these trials, which are in the order in which they ran.

    `probe_ops_s` is the throughput of a run without a target and with many threads; the first target is 0.9 of it, or
    `start`. The bracket is closed by steps of `goal.step`, then halved by geometric bisection.
    """
    goal = goal or Goal()
    low, high = bracket(trials, goal)
    undecided = next((t for t in _targets(trials) if classify(trials, t, goal) is None), None)
    wanted = undecided or next_target(low, high, goal, start or round(START * probe_ops_s))
    if wanted is None:
        return Search(State.FOUND, low, high)
    if low is None and wanted < LOWEST_SHARE * probe_ops_s:
        return Search(State.NO_LOAD, low, high)
    if goal.most_ops_s is not None and wanted > goal.most_ops_s:
        return Search(State.CLIENT_LIMITED, low, high)
    if len(trials) >= goal.most_trials:
        return Search(State.SPENT, low, high)
    return Search(State.SEARCHING, low, high, wanted, undecided is not None)


def bracket(trials: Sequence[Trial], goal: Goal | None = None) -> tuple[int | None, int | None]:
    """The highest target sustained below every failed one, and the lowest that failed; None where there is none."""
    goal = goal or Goal()
    verdicts = {target: classify(trials, target, goal) for target in _targets(trials)}
    high = min((target for target, verdict in verdicts.items() if verdict is False), default=None)
    sustained = [target for target, verdict in verdicts.items() if verdict and (high is None or target < high)]
    return max(sustained, default=None), high


def classify(trials: Sequence[Trial], target_ops_s: int, goal: Goal | None = None) -> bool | None:
    """Whether a target is sustained; None while it has to be tried again.

    A clear pass decides at once. Anything else is repeated: two of three decide (exceed ratio 50 %).
    """
    goal = goal or Goal()
    ran = [trial for trial in trials if trial.target_ops_s == target_ops_s]
    if not ran:
        return None
    if not goal.repeats or (ran[0].sustained and ran[0].clear):
        return ran[0].sustained
    passes = sum(trial.sustained for trial in ran)
    failures = len(ran) - passes
    if max(passes, failures) < 2:
        return None
    return None if passes == failures else passes > failures


def next_target(
    low: float | None, high: float | None, goal: Goal | None = None, start: int | None = None
) -> int | None:
    """The target that narrows a bracket; None where it is narrow enough, or where there is nothing to begin with."""
    goal = goal or Goal()
    if low and high:
        middle = round(math.sqrt(low * high))
        return None if high / low <= 1 + goal.width or middle in (round(low), round(high)) else middle
    if low:
        return round(low * goal.step)
    if high:
        return round(high / goal.step)
    return start


def bisections(ratio: float, width: float) -> int:
    """How many trials a bracket of that ratio takes: ceil(log2(ln(ratio) / ln(1 + width)))."""
    return max(math.ceil(math.log2(math.log(ratio) / math.log(1 + width)) - ROUNDING), 0)


def fixed_operations_s(targets_ops_s: Sequence[float], operations: int) -> float:
    """Seconds that a ladder takes when every rung does so many operations: why rungs are limited by time instead."""
    return sum(operations / target for target in targets_ops_s)


def _targets(trials: Sequence[Trial]) -> list[int]:
    """In the order of their first trial."""
    return list(dict.fromkeys(trial.target_ops_s for trial in trials))

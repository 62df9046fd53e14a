"""The most that any rule can call between two sessions, where short sessions of a test show how sessions vary.

`manage.py interval_coverage session-limit` prints it. The rule calls a difference beyond a limit that depends on the
variance of the session means; the runs' variance is known. A linear programme finds the limits that call a difference
of 10 % most often, while of identical sides at most 5 % are called at every standard deviation of sessions.
"""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from benchsite.core.formatting import grouped
from reports.compare.analysis.ratios import Floats
from reports.compare.analysis.repeat_comparison import THRESHOLD

RUNS_VARIANCE: Final = 0.05**2
RUNS: Final = 30  # of each side
SHORT_RUNS: Final = 3  # of each known session
SESSION_SD: Final = 0.02
SESSION_SDS: Final = (0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2)
MAX_FALSE: Final = 0.05
LIMITS: Final = np.concatenate([np.linspace(math.log(1 + THRESHOLD), 0.25, 70), np.geomspace(0.26, 2, 15)])
MEANS: Final = RUNS_VARIANCE / SHORT_RUNS * np.geomspace(0.08, 40, 90)  # variances of session means


def compute_max_power(sessions: int) -> float:
    """The share of pairs that the best rule calls, whose session sd is `SESSION_SD`."""
    from scipy.optimize import linprog

    false = [2 * _call(sd, sessions, 0.0).ravel() for sd in SESSION_SDS]
    shape = (len(MEANS), len(LIMITS))
    one_limit_each = np.kron(np.eye(shape[0]), np.ones(shape[1]))
    called = _call(SESSION_SD, sessions, math.log(1.1)).ravel()
    result = linprog(
        -called, A_ub=false, b_ub=[MAX_FALSE] * len(false), A_eq=one_limit_each, b_eq=np.ones(shape[0]), method="highs"
    )
    return float(-result.fun)


def _call(sd: float, sessions: int, distance: float) -> Floats:
    """By variance of the means and limit: how likely that variance is together with a difference above that limit."""
    from scipy.special import gammainc, ndtr

    of_means = sd**2 + RUNS_VARIANCE / SHORT_RUNS
    cumulated = gammainc((sessions - 1) / 2, (sessions - 1) * MEANS / of_means / 2)
    cumulated[-1] = 1.0
    likely = np.diff(cumulated, prepend=0.0)
    error = math.sqrt(2 * sd**2 + 2 * RUNS_VARIANCE / RUNS)
    above: Floats = ndtr((distance - LIMITS) / error)
    return np.outer(likely, above)


def limit_rows(_count: int, _seed: int) -> Iterator[str]:
    yield "| known sessions | 10 % called at most |\n|---|---|"
    for sessions in (8, 20, 50):
        yield f"| {sessions} | {grouped(100 * compute_max_power(sessions), 1)} % |"

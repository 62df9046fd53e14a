"""How often a commit is called a regression wrongly, and how often rightly, where CI jobs differ: by simulation.

`manage.py interval_coverage sessions` prints the table that docs/evidence/ci.md quotes. The verdicts are those of
`judge`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchsite.core.formatting import percent
from reports.compare.analysis.comparability import EnvironmentAnswer
from reports.compare.analysis.ratios import Floats
from reports.trends.analysis.baseline_levels import Level
from reports.trends.analysis.sessions import SessionSpread, session_spread
from reports.trends.analysis.verdict_rules import Judgement, Metric, Verdict, judge

PAIRS: Final = 400  # commits of each kind
SEED: Final = 20261122
RUNS: Final = 5  # of each job
WITHIN: Final = 0.01  # standard deviation of ln(value) within a job
METRICS: Final = (("throughput", "throughput"), ("READ mean", "mean"), ("READ p99", "p99"))
TAIL: Final = 2.0  # a p99 varies so many times as much as a mean
HEADER: Final = (
    "| tests of a commit | jobs before | sd between jobs | false regressions per commit | false improvements | "
    "tests measured again | a loss of 10 % is reported | passes |\n|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, slots=True)
class Case:
    """A commit of unchanged code and one whose first test lost 10 %, after so many commits with one job each."""

    tests: int
    history: int
    between: float  # standard deviation of ln(value) between jobs
    known: int = 0  # sessions of another test of these machines
    shared: bool = False  # the jobs' effects are those of the machine, alike for all tests and metrics


@dataclass(frozen=True, slots=True)
class Rates:
    case: Case
    wrong: float  # share of unchanged commits with a regression in any test
    improved: float  # share of these commits with an improvement in any test
    repeated: float  # share of their tests that are flagged
    detected: float  # share of the changed commits whose changed test is a regression
    passed: float  # share of those whose changed test passes


FAILED: Final = (Verdict.REGRESSION, Verdict.MIXED)  # both end the build
CASES: Final = (
    *(Case(1, 20, sd) for sd in (0.01, 0.02, 0.03, 0.04, 0.05)),
    *(Case(10, 20, sd) for sd in (0.01, 0.02, 0.03, 0.04, 0.05)),
    Case(10, 10, 0.01),
)


def rows(commits: int = PAIRS, seed: int = SEED) -> Iterator[str]:
    return (row(rates(case, commits, seed)) for case in CASES)


def rates(case: Case, commits: int = PAIRS, seed: int = SEED) -> Rates:
    """Each case from a generator of its own, so that one does not depend on those before it."""
    random = np.random.default_rng([seed, CASES.index(case) if case in CASES else len(CASES)])
    wrong = improved = repeated = detected = passed = 0
    for _ in range(commits):
        between = random.normal(0.0, case.between, (case.known, 1))
        sessions = np.exp(between + random.normal(0.0, WITHIN, (case.known, RUNS))).tolist()
        spread = session_spread([{str(i): session for i, session in enumerate(sessions)}])
        verdicts = [_measured(test, case, spread) for test in _tests(random, case, case.tests)]
        wrong += any(verdict in FAILED for verdict, _ in verdicts)
        improved += any(verdict is Verdict.IMPROVEMENT for verdict, _ in verdicts)
        repeated += sum(flagged for _, flagged in verdicts)
        changed = next(_tests(random, case, 1))
        lost = float(np.log(1 - 0.10))
        loss = np.array([lost] + [-lost] * (len(METRICS) - 1)).reshape(-1, 1, 1)
        changed[:, :2] += loss
        verdict, _ = _measured(changed, case, spread)
        detected += verdict in FAILED
        passed += verdict is Verdict.PASS
    shares = (wrong, improved, repeated / case.tests, detected, passed)
    return Rates(case, *(count / commits for count in shares))


def _tests(random: np.random.Generator, case: Case, count: int) -> Iterator[Floats]:
    """Each test as ln(value) by metric, session (newest first: two of the new commit, then the history) and run."""
    shape = (len(METRICS), case.history + 2, 1)
    scale = np.array([TAIL if statistic == "p99" else 1.0 for _, statistic in METRICS]).reshape(-1, 1, 1)
    machine = random.normal(0.0, case.between, (1, *shape[1:]))
    for _ in range(count):
        between = machine if case.shared else random.normal(0.0, case.between, shape)
        within = random.normal(0.0, WITHIN, (len(METRICS), case.history + 2, RUNS))
        yield (between + within) * scale


def _measured(test: Floats, case: Case, spread: SessionSpread | None) -> tuple[Verdict, bool]:
    """The verdict after the first job, or after a second one where the first is flagged; and whether it was."""
    values = 1000 * np.exp(test)
    first = _judged(values, 1, case, spread)
    return (_judged(values, 2, case, spread).verdict, True) if first.flagged else (first.verdict, False)


def _judged(values: Floats, sessions: int, case: Case, spread: SessionSpread | None) -> Judgement:
    metrics = []
    for (name, statistic), of in zip(METRICS, values, strict=True):
        new, base, history = (
            tuple(tuple(session) for session in part.tolist()) for part in (of[2 - sessions : 2], of[2:3], of[3:])
        )
        metrics.append(Metric(name, statistic, statistic == "throughput", new, base, history=history))
    return judge(metrics, EnvironmentAnswer(), spread=spread, level=Level.BRANCH, tests=case.tests)


def row(rates: Rates) -> str:
    case = rates.case
    jobs = f"{case.tests}{', all alike' if case.shared else ''}"
    history = f"{case.history}{f', {case.known} of another test' if case.known else ''}"
    every = (rates.wrong, rates.improved, rates.repeated, rates.detected, rates.passed)
    shares = " | ".join(map(percent, every))
    return f"| {jobs} | {history} | {percent(case.between)} | {shares} |"

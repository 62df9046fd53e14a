"""How often a loss that lasts ends red, and how often a commit is red without one, where jobs differ: by simulation.

`manage.py interval_coverage levels` prints the table that docs/evidence/ci.md quotes. Verdicts follow these levels
(`LevelTracker`): one test with three metrics, one job for each commit, on the default branch. `weeks` compares all jobs
of two weeks instead.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.simulations.sessions import FAILED, METRICS, SEED, TAIL
from benchsite.core.formatting import exact, percent
from reports.compare.analysis.comparability import EnvironmentAnswer
from reports.compare.analysis.ratios import Floats
from reports.compare.analysis.repeat_comparison import LATENCY_THRESHOLD, THRESHOLD
from reports.trends.analysis.baseline_levels import Level, LevelTracker
from reports.trends.analysis.verdict_rules import Metric, Verdict, judge

PAIRS: Final = 400  # histories of each kind
LASTS: Final = 10  # commits of a loss
FLAT: Final = 20  # commits without one, after the jobs before
SHARED: Final = 0.5  # of the variance between jobs: the machine's state, which all metrics feel
THRESHOLDS: Final = {"throughput": THRESHOLD, "mean": THRESHOLD, "p99": LATENCY_THRESHOLD}
KINDS_SHARE: Final = 0.5  # of jobs on the slower kind of runners
BAD_LOSS: Final = (0.10, 0.30)  # what a bad job loses
THIRD: Final = 3
HEADER: Final = (
    "| jobs | sd | loss | red by the 2nd commit | red by the 3rd | stays red | green at the 2nd after its end | "
    "red without a loss, per commit |\n|---|---|---|---|---|---|---|---|"
)
WEEK_HEADER: Final = (
    "| jobs of a week | jobs before | AR(1) | sd | false regressions | false improvements | "
    "a loss of 10 % is reported |\n"
    "|---|---|---|---|---|---|---|"
)
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Case:
    """Histories of so many jobs, then a loss that lasts."""

    jobs: str
    sd: float  # of ln(value) between jobs
    loss: float = 0.10
    history: int = 20
    correlation: float = 0.0  # of neighbours, AR(1)
    bad: float = 0.0  # share of jobs that a neighbour slows down
    kinds: float = 0.0  # what the slower one of two kinds of runners loses, which half of the jobs get
    missing: float = 0.0  # share of commits without a job
    is_confirmed: bool = False  # a second job for a flagged commit
    is_labelled: bool = False  # each kind of runners is a test of its own


@dataclass(frozen=True, slots=True)
class Rates:
    case: Case
    second: float
    third: float
    lasting: float  # share of commits from the first red one to the end of the loss that are red
    ended: float
    wrong: float


SDS: Final = (0.01, 0.02, 0.03, 0.05)
CASES: Final = (
    *(Case("20 before", sd, loss) for loss in (0.05, 0.10, 0.20) for sd in SDS),
    *(Case("20 before, flagged ones repeated", sd, is_confirmed=True) for sd in SDS),
    *(Case("10 before", sd, history=10) for sd in SDS),
    *(Case("3 before", sd, loss, history=3) for loss in (0.10, 0.20) for sd in SDS),
    *(Case("one in five missing", sd, missing=0.2) for sd in SDS),
    *(Case("alike, AR(1) 0.5", sd, correlation=0.5) for sd in SDS),
    *(Case("alike, AR(1) 0.8", sd, correlation=0.8) for sd in SDS),
    *(Case("alike, AR(1) 0.8, 60 before", sd, correlation=0.8, history=60) for sd in SDS),
    *(Case("two kinds of runners, 8 % apart", sd, kinds=0.08) for sd in SDS),
    *(Case("two kinds of runners, labelled", sd, kinds=0.08, is_labelled=True) for sd in SDS),
    *(Case("15 % bad", sd, bad=0.15) for sd in SDS),
)


WEEK_CASES: Final = tuple(
    (jobs, Case("weeks", sd, history=history, correlation=correlation))
    for jobs, history in ((14, 20), (7, 20), (7, 0))
    for correlation in (0.0, 0.5, 0.8)
    for sd in (0.03, 0.05)
)


def rows(histories: int = PAIRS, seed: int = SEED) -> Iterator[str]:
    return (row(rates(case, histories, seed)) for case in CASES)


def rates(case: Case, histories: int = PAIRS, seed: int = SEED) -> Rates:
    """Each case from a generator of its own, so that one does not depend on those before it."""
    random = np.random.default_rng([seed, CASES.index(case) if case in CASES else len(CASES)])
    lost = math.log(1 - case.loss)
    second = third = ended = wrong = lasting = open_commits = 0
    for _ in range(histories):
        losses = np.zeros(case.history + LASTS + 2)
        losses[case.history : -2] = lost
        red = follow(random, case, losses)[case.history :]
        second += any(red[:2])
        third += any(red[:THIRD])
        ended += not red[-1]
        if True in red[:LASTS]:
            rest = red[red.index(True) : LASTS]
            lasting, open_commits = lasting + sum(rest), open_commits + len(rest)
        wrong += sum(follow(random, case, np.zeros(case.history + FLAT))[case.history :])
    counts = (second / histories, third / histories, lasting / max(open_commits, 1), ended / histories)
    return Rates(case, *counts, wrong / histories / FLAT)


def follow(random: Random, case: Case, losses: Floats) -> list[bool]:
    """Whether each commit is red; a loss of throughput is one of latency too, and a commit without a job is not red."""
    scale = np.array([[TAIL if statistic == "p99" else 1.0] for _, statistic in METRICS])
    # Two jobs for each commit, of which most measure once.
    jobs = (losses.size, 2)
    machine = make_noise(random, case, (1, *jobs)) * math.sqrt(SHARED)
    noise = machine + make_noise(random, case, (len(METRICS), *jobs)) * math.sqrt(1 - SHARED)
    bad = np.log(1 - random.uniform(*BAD_LOSS, jobs)) * (random.random(jobs) < case.bad)
    is_slow = (random.random(losses.size) < KINDS_SHARE) & (case.kinds > 0)
    values = (noise * case.sd + bad) * scale[:, None] + losses[:, None]
    if not case.is_labelled:
        values = values + (is_slow * math.log(1 - case.kinds))[:, None]
    is_measured = random.random(losses.size) >= case.missing
    runners = [make_trackers(), make_trackers()]
    return [
        measure(runners[int(is_slow[commit] and case.is_labelled)], values[:, commit], case)
        if is_measured[commit]
        else False
        for commit in range(losses.size)
    ]


def measure(trackers: Sequence[LevelTracker], values: Floats, case: Case) -> bool:
    """Whether a commit is red after its job, or after a second one where the first is flagged."""
    add_job(trackers, values[:, 0])
    if case.is_confirmed and any(tracker.side < 0 and not tracker.is_open for tracker in trackers):
        add_job(trackers, values[:, 1])
    return any(tracker.is_open for tracker in trackers)


def add_job(trackers: Sequence[LevelTracker], values: Floats) -> None:
    for tracker, value in zip(trackers, values, strict=True):
        tracker.add(float(value))


def make_trackers() -> list[LevelTracker]:
    return [LevelTracker(THRESHOLDS[statistic], 1 / len(METRICS)) for _, statistic in METRICS]


def make_noise(random: Random, case: Case, shape: tuple[int, ...]) -> Floats:
    """Standard normal values, of which each job resembles the one of the commit before (AR(1))."""
    noise = random.normal(0.0, 1.0, shape)
    for commit in range(1, shape[1]):
        fresh = noise[:, commit] * math.sqrt(1 - case.correlation**2)
        noise[:, commit] = case.correlation * noise[:, commit - 1] + fresh
    return noise


def row(rates: Rates) -> str:
    case = rates.case
    cells = map(percent, (case.sd, case.loss, rates.second, rates.third, rates.lasting, rates.ended, rates.wrong))
    return f"| {case.jobs} | {' | '.join(cells)} |"


def week_rates(jobs: int, case: Case, weeks: int = PAIRS, seed: int = SEED) -> tuple[float, float, float]:
    """Shares of false regressions, false improvements and reported losses, of two weeks of so many jobs each."""
    random = np.random.default_rng([seed, jobs, round(100 * case.sd), round(100 * case.correlation), case.history])
    scale = np.array([[TAIL if statistic == "p99" else 1.0] for _, statistic in METRICS])
    verdicts, lost = [], []
    for _ in range(weeks):
        count = case.history + 2 * jobs
        machine = make_noise(random, case, (1, count)) * math.sqrt(SHARED)
        noise = machine + make_noise(random, case, (len(METRICS), count)) * math.sqrt(1 - SHARED)
        values = noise * scale * case.sd
        verdicts.append(judge_weeks(values, jobs))
        values[:, -jobs:] += math.log(1 - case.loss)
        lost.append(judge_weeks(values, jobs))
    wrong, improved = (sum(verdict in kinds for verdict in verdicts) for kinds in (FAILED, (Verdict.IMPROVEMENT,)))
    return wrong / weeks, improved / weeks, sum(verdict in FAILED for verdict in lost) / weeks


def judge_weeks(values: Floats, jobs: int) -> Verdict:
    """`values` are logarithms by metric and job, the oldest first, where higher is better."""
    metrics = []
    for (name, statistic), of_metric in zip(METRICS, values, strict=True):
        is_throughput = statistic == "throughput"
        newest_first = 1000 * np.exp(of_metric if is_throughput else -of_metric)[::-1]
        sessions = tuple((float(value),) for value in newest_first)
        sides = sessions[:jobs], sessions[jobs : 2 * jobs]
        metrics.append(Metric(name, statistic, is_throughput, *sides, history=sessions[2 * jobs :]))
    return judge(metrics, EnvironmentAnswer(), level=Level.PERIOD).verdict


def week_rows(weeks: int, seed: int) -> Iterator[str]:
    yield WEEK_HEADER
    for jobs, case in WEEK_CASES:
        shares = map(percent, (case.sd, *week_rates(jobs, case, weeks, seed)))
        yield f"| {jobs} | {case.history} | {exact(case.correlation)} | {' | '.join(shares)} |"

"""Variation between sessions: a session is a CI job or one submission of a plan; its runs share the state of a machine.

The unit of replication is the session: thirty runs in one session are one value (Kalibera and Jones 2013). All on
natural logarithms, so that the effect of a session is a factor.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import numpy as np

from reports.compare.analysis.ratios import (
    CONFIDENCE,
    MAX_LOG,
    TINY,
    Floats,
    Noise,
    RatioInterval,
    compute_interval,
    log_welch,
    unusable,
    welch,
)
from runs.results.measures.repeatability import compute_geomean, compute_limit

Session = Sequence[float]  # the runs of one session: throughput in ops/s, or a latency in µs

# Fewer sessions are never split into levels: nothing would be left that says how they vary.
MIN_SPLIT: Final = 5
SPLIT_P: Final = 0.005
# With fewer degrees of freedom of its own a test takes those of its machines too.
MIN_DEGREES: Final = 4
# Of the variance of session means that their runs explain, the share that an interval may take off.
SUBTRACTED_SHARE: Final = 0.8
MIN_SPREAD_DEGREES: Final = 2  # two sessions may agree by chance
# Sessions of the new side at which a verdict is taken. Look i may spend 2^-i of the error, so that all of them together
# keep it, however many sessions follow (error spending with Bonferroni's inequality).
LOOKS: Final = (2, 5, 10, 20, 50)


@dataclass(frozen=True, slots=True)
class SessionSpread:
    """How much the means of sessions of the same test vary on some machines, pooled over tests."""

    variance: float  # of ln(mean of a session), without what its runs vary by
    degrees: int  # of freedom: at most the sessions less one, for tests of one session vary together
    sessions: int
    tests: int
    of_means: float = 0.0  # the variance of ln(mean of a session) as measured; never below `variance`

    @property
    def relative(self) -> float:
        """The noise floor as a share: two sessions of one test differ by more in one case of twenty (ISO 5725-6)."""
        return compute_limit(math.sqrt(max(self.of_means, self.variance)), self.degrees)

    def between(self, within: Noise) -> Noise:
        """The variance of ln A - ln B of two sessions; `within` is what the runs of both explain of it."""
        variance, df = self.add_to(np.asarray(within.variance), np.asarray(within.df))
        return Noise(float(variance), float(df))

    def add_to(self, within: Floats, df: Floats) -> tuple[Floats, Floats]:
        """The variances of ln A - ln B with their degrees of freedom, for variances that the runs of both explain.

        Of two intervals that hold at 95 % or more the narrower one:
        - of within + 2 s² and 2 m² (m²: the variance of session means) the wider one. s² is a difference of two
          variances: with few sessions it often is too small, and the first sum alone holds in 84 % (ten runs, three
          sessions);
        - t² within + 2 (t_m² m² - 0.8 z² w²), each variance with the quantile of its own degrees of freedom, as Howe
          (1974) sums them. w² = m² - s² is the runs' part of the means, of short sessions most of it. Taken off
          entirely it leaves too little where s is small beside w.
        """
        from scipy.special import stdtrit

        share = (1 + CONFIDENCE) / 2
        between, means = 2 * self.variance, 2 * max(self.of_means, self.variance)
        t_runs, t_means, z = stdtrit(df, share), stdtrit(self.degrees, share), stdtrit(math.inf, share)

        parts = within + between
        parts_df = parts**2 / np.maximum(within**2 / df + between**2 / self.degrees, TINY)
        is_of_means = means * t_means**2 > parts * stdtrit(parts_df, share) ** 2
        variance, dfs = np.where(is_of_means, means, parts), np.where(is_of_means, self.degrees, parts_df)

        runs = SUBTRACTED_SHARE * (means - between) * (z / t_means) ** 2
        rest = within * (t_runs / t_means) ** 2 + means - runs
        is_narrower = rest * t_means**2 < variance * stdtrit(dfs, share) ** 2
        return np.where(is_narrower, rest, variance), np.where(is_narrower, self.degrees, dfs)


@dataclass(frozen=True, slots=True)
class Level:
    """The newest sessions between which nothing changed. Logarithms, newest first."""

    means: tuple[float, ...]
    squares: float  # of the distances to the mean of their level, of this level and of those before
    degrees: int


def look(sessions: int) -> tuple[int, float]:
    """How many of so many sessions the newest look uses, and the share of the error that it may spend.

    A single session only screens: it decides nothing, and spends nothing.
    """
    looks = [count for count in LOOKS if count <= sessions]
    return (looks[-1], 0.5 ** len(looks)) if looks else (sessions, 1.0)


def compute_mean(sessions: Iterable[Session]) -> float:
    """The value of a commit: the geometric mean of its sessions, each of which is that of its runs."""
    return compute_geomean([compute_geomean(session) for session in sessions])


def compute_log_mean(session: Session) -> float:
    """ln of the geometric mean of the runs, all of them positive."""
    return fmean(math.log(value) for value in session)


def find_level(means: Sequence[float]) -> Level:
    """The newest level of a history (newest first), split where it shifted.

    Binary segmentation: the split with the largest |t| of pooled variance, while p · (n - 1) is below 0.5 %.
    """
    if len(means) == 0:
        return Level(means=(), squares=0.0, degrees=0)
    levels = split_levels(means)
    squares = math.fsum(map(_sum_squares, levels))
    return Level(means=tuple(levels[0]), squares=squares, degrees=len(means) - len(levels))


def _sum_squares(values: Sequence[float]) -> float:
    """The sum of their squared distances to their mean: the statistics module has it exact, and twenty times slower."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def split_levels(means: Sequence[float]) -> list[Sequence[float]]:
    """The stretches of a history between its shifts."""
    n = len(means)
    if n < MIN_SPLIT:
        return [means]

    from scipy.special import stdtr

    newer = np.arange(1, n)
    centred = np.asarray(means, float) - math.fsum(means) / n
    sums = np.cumsum(centred)[:-1]
    distance = sums / newer + sums / (n - newer)  # the sum of both parts is 0
    squares = (centred**2).sum() - sums**2 / newer - sums**2 / (n - newer)
    error = np.sqrt(np.maximum(squares, 1e-18) / (n - 2) * (1 / newer + 1 / (n - newer)))
    t = np.abs(distance) / error
    best = int(np.argmax(t))
    p = 2 * stdtr(n - 2, -t[best])
    if p * (n - 1) >= SPLIT_P:
        return [means]

    return split_levels(means[: best + 1]) + split_levels(means[best + 1 :])


def session_interval(
    new: Sequence[float], level: Level, spread: SessionSpread | None = None
) -> tuple[RatioInterval | None, float]:
    """mean new - mean level with Student's t of the pooled variance between sessions, and that standard deviation.

    `new` are logarithms of session means. SE² = s²·(1/k_new + 1/k_level); s² from both sides, the history, and from the
    machines where those have fewer than four degrees of freedom. None: nothing says how sessions vary.
    """
    squares, degrees = level.squares, level.degrees
    if len(new) > 1:
        squares += _sum_squares(new)
        degrees += len(new) - 1
    if degrees < MIN_DEGREES and spread:
        squares += max(spread.of_means, spread.variance) * spread.degrees
        degrees += spread.degrees

    distance = fmean(new) - fmean(level.means)
    sd = math.sqrt(squares / degrees) if degrees else 0.0
    if abs(distance) > MAX_LOG:
        return None, sd

    error = sd * math.sqrt(1 / len(new) + 1 / len(level.means))
    return compute_interval(distance, error, degrees), sd


def session_spread(tests: Iterable[Mapping[str, Session]]) -> SessionSpread | None:
    """s² of session means within the levels of each test, pooled; what runs within a session vary by is taken off.

    Each test is a mapping of sessions, newest first, to the values of their runs. None with fewer than three sessions.
    """
    squares, degrees, repeated_tests = 0.0, 0, 0
    within: list[float] = []
    keys: set[str] = set()
    for test in tests:
        usable = {key: session for key, session in test.items() if session and not unusable(session)}
        if len(usable) < 2:
            continue

        level = find_level([compute_log_mean(session) for session in usable.values()])
        if not level.degrees:
            continue

        squares += level.squares
        degrees += level.degrees
        repeated_tests += 1
        keys |= usable.keys()
        for session in usable.values():
            n = len(session)
            if n > 1:
                within.append(_sum_squares([math.log(value) for value in session]) / (n - 1) / n)

    independent = min(degrees, len(keys) - 1)
    if independent < MIN_SPREAD_DEGREES:
        return None

    of_means = squares / degrees
    between = max(of_means - fmean(within), 0.0) if within else of_means
    return SessionSpread(
        variance=between,
        degrees=independent,
        sessions=len(keys),
        tests=repeated_tests,
        of_means=of_means,
    )


def welch_of_sessions(a: Session, b: Session, spread: SessionSpread) -> RatioInterval | None:
    """The log-Welch interval of two sides that were measured in a session each: `SessionSpread.between`.

    More runs make only a part of the variance small, the rest needs more sessions.
    """
    if log_welch(a, b) is None:
        return None
    distance, error, df = (float(part) for part in welch(np.log(np.asarray(a, float)), np.log(np.asarray(b, float))))
    total = spread.between(Noise(error**2, df))
    return compute_interval(distance, math.sqrt(total.variance), total.df)


def largest_spread(names: Iterable[str], spreads: Mapping[str, SessionSpread]) -> SessionSpread | None:
    """The one with the largest noise floor of these machines' that are known; None where none is.

    By the floor, which is that of session means: s² of several machines may be 0 alike.
    """
    return max((spreads[name] for name in names if name in spreads), key=lambda spread: spread.relative, default=None)

"""The level of a test, session by session, and losses that last. All on natural logarithms, where higher is better.

A level is changed by what is measured in one way only: a gain in `LASTING` sessions in a row begins a new one. A loss
stays open, however long it lasts, until the sessions are back at the level; a person accepts one by beginning a level
at it. docs/evidence/ci.md has the error rates, `manage.py interval_coverage levels` prints them.
"""

import math
from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, pairwise
from statistics import fmean, median
from typing import Final, Literal

from reports.compare.analysis.ratios import compute_interval
from reports.trends.analysis.sessions import MIN_DEGREES, SessionSpread

# Two-sided, over all metrics and tests of a commit; less than 5 %, for jobs resemble the ones before them.
ALPHA: Final = 0.03
SESSION_P: Final = 0.05  # one-sided, of a session by itself
PAIR_P: Final = 0.01  # the same where there are two
MIN_TAIL: Final = 2
LASTING: Final = 5  # sessions of a gain that begin a level
LASTING_P: Final = 0.001
OUTLIER_TIMES: Final = 3.0  # robust standard deviations; a session further away says nothing of the level
MIN_FOR_OUTLIERS: Final = 5
MAD_TO_SD: Final = 1.4826  # of a normal distribution
MAX_CORRELATION: Final = 0.95
MIN_SHARE_OF_SQUARES: Final = 0.1
MAX_LAGS: Final = 40
CALM_TIMES: Final = 2.0  # the threshold is at least so many standard deviations
CALM_DEGREES: Final = 8.0
MIN_OWN_DEGREES: Final = 0.5
_ROUNDING: Final = 1e-12


class Level(StrEnum):
    """What new sessions are compared with."""

    SIDE = "side"  # the base alone, now
    PERIOD = "period"  # the same, for the new sessions of a period: all of them, not those up to a look
    BRANCH = "branch"  # that of the same branch, followed to the new sessions
    COMMIT = "commit"  # that which the base is at, fixed
    OTHER_BRANCH = "other branch"  # the one that another branch has at present
    PINNED = "pinned"  # the base alone, followed to the new sessions

    @property
    def is_fixed(self) -> bool:
        """No session after the base changes it."""
        return self in (Level.COMMIT, Level.PINNED)

    @property
    def is_followed(self) -> bool:
        """Sessions after the new ones may confirm a loss."""
        return self not in (Level.SIDE, Level.PERIOD)

    @property
    def has_acceptances(self) -> bool:
        """A person may begin it anew."""
        return self in (Level.BRANCH, Level.COMMIT, Level.OTHER_BRANCH)

    @property
    def has_sessions_since(self) -> bool:
        """Sessions may lie between the base and the new ones."""
        return self in (Level.COMMIT, Level.OTHER_BRANCH, Level.PINNED)


@dataclass(frozen=True, slots=True)
class SessionNoise:
    """How much sessions of a test vary, which may resemble their neighbours (AR(1))."""

    sd: float
    degrees: float
    correlation: float

    def error(self, new: int, old: int) -> float:
        """The standard error of the difference between the means of so many sessions in a row."""
        return self.sd * math.sqrt(sum(inflate(n, self.correlation) / n for n in (new, old)))


@dataclass(frozen=True, slots=True)
class LevelEstimate:
    """Mean of a level and the noise of its sessions."""

    mean: float
    sessions: int
    noise: SessionNoise

    @property
    def sd(self) -> float:
        return self.noise.sd

    @property
    def degrees(self) -> float:
        return self.noise.degrees

    def error(self, sessions: int) -> float:
        """The standard error of the mean of new sessions in a row against the level."""
        return self.noise.error(sessions, self.sessions)


def estimate_noise(
    levels: Iterable[Sequence[float]],
    loss: float,
    spread: SessionSpread | None = None,
    squares: float = 0.0,
    degrees: float = 0.0,
) -> SessionNoise | None:
    """The noise within levels, each of sessions in a row; None: nothing tells how sessions vary.

    `loss` is the threshold as a distance of logarithms, `spread` that of the machines, for few sessions. `squares` are
    those of other levels, with their degrees of freedom.
    """
    several = [level for level in levels if len(level) > 1]
    correlation = 0.0
    if several:
        residuals = list(chain.from_iterable(map(_subtract_mean, several)))
        level_squares = math.fsum(value * value for value in residuals)
        correlation = correlate(residuals, level_squares)
        inflated = [(len(level), inflate(len(level), correlation)) for level in several]
        # Few sessions that resemble each other have less variance than sessions have.
        variance = level_squares / math.fsum(max(n - times, MIN_SHARE_OF_SQUARES * (n - 1)) for n, times in inflated)
        # Noise that is small beside the threshold makes no false loss, however many sessions are alike.
        is_calm = math.sqrt(variance) <= loss / CALM_TIMES
        own_degrees = math.fsum(n / times - 1 for n, times in inflated)
        min_degrees = min(sum(n - 1 for n, _ in inflated), CALM_DEGREES) if is_calm else MIN_OWN_DEGREES * len(inflated)
        own_degrees = max(own_degrees, min_degrees)
        squares += variance * own_degrees
        degrees += own_degrees

    if degrees < MIN_DEGREES and spread:
        squares += max(spread.of_means, spread.variance) * spread.degrees
        degrees += spread.degrees
    if not degrees:
        return None
    return SessionNoise(math.sqrt(squares / degrees), degrees, correlation)


def inflate(n: int, correlation: float) -> float:
    """The variance of the mean of n values of an AR(1) process, as a multiple of that of independent ones."""
    terms = ((1 - lag / n) * correlation**lag for lag in range(1, min(n, MAX_LAGS)))
    return 1 + 2 * math.fsum(terms) if correlation > 0 else 1.0


def drop_outliers(means: Sequence[float]) -> list[float]:
    if len(means) < MIN_FOR_OUTLIERS:
        return list(means)
    middle = median(means)
    robust_sd = MAD_TO_SD * median(abs(mean - middle) for mean in means)
    return [mean for mean in means if abs(mean - middle) <= OUTLIER_TIMES * robust_sd + _ROUNDING]


def correlate(residuals: Sequence[float], squares: float) -> float:
    """The correlation of neighbours, without the bias of short series and one standard error higher.

    An estimate that is too low makes a drift look like a loss; one that is too high costs little.
    """
    n = len(residuals)
    products = math.fsum(a * b for a, b in pairwise(residuals))
    estimate = products / squares if squares > 0 else 0.0
    estimate += (1 + 3 * estimate) / n + 1 / math.sqrt(n)
    return min(max(estimate, 0.0), MAX_CORRELATION)


def _subtract_mean(level: Sequence[float]) -> list[float]:
    mean = math.fsum(level) / len(level)
    return [value - mean for value in level]


@dataclass(slots=True)
class LevelTracker:
    """Sessions one after the other, the oldest first.

    `threshold` is a share, `share` the part of the error that this metric may spend. The level of a tracker that
    `is_fixed` stays as it was given.
    """

    threshold: float
    share: float = 1.0
    spread: SessionSpread | None = None  # of the machines, for a level of few sessions
    is_fixed: bool = False
    level: list[float] = field(default_factory=list)
    tail: list[float] = field(default_factory=list)  # the newest sessions, all of them away from the level on one side
    is_open: bool = False  # the tail is a loss
    squares: float = 0.0  # of earlier levels, with their degrees of freedom
    degrees: float = 0.0
    _ordered: list[float] = field(default_factory=list)
    _back: list[float] = field(default_factory=list)  # sessions that are back at the level while a loss is open
    loss: float = field(init=False)  # the threshold as a distance of logarithms, and that of a gain
    gain: float = field(init=False)

    def __post_init__(self) -> None:
        self._ordered = sorted(self.level)
        self.loss, self.gain = -math.log(1 - self.threshold), math.log(1 + self.threshold)

    def add_all(self, means: Iterable[float]) -> None:
        for mean in means:
            self.add(mean)

    def add(self, mean: float) -> None:
        if not self.level:
            self._keep([mean])
            return

        distance = mean - self.centre
        if self.is_open:
            self._follow_loss(mean, distance)
            return

        side = 0
        if distance >= self.gain / 2:
            side = 1
        elif distance <= -self.loss / 2:
            side = -1

        if side != self.side:
            self._keep(self.tail)
            self.tail = []

        if side == 0 or self.estimate() is None:
            self._keep([mean])
            return

        self.tail.append(mean)
        if not self.is_shifted():
            return

        self.is_open = side < 0
        if side > 0 and not self.is_fixed and len(self.tail) >= LASTING and self.p <= LASTING_P * self.share:
            self.begin(self.tail)

    @property
    def centre(self) -> float:
        n = len(self._ordered)
        return (self._ordered[(n - 1) // 2] + self._ordered[n // 2]) / 2

    @property
    def side(self) -> Literal[-1, 0, 1]:
        """On which side of the level the tail is: -1 worse, 1 better, 0 there is none."""
        if not self.tail:
            return 0
        return 1 if self.tail[-1] > self.centre else -1

    def begin(self, means: Sequence[float] = ()) -> None:
        """A new level; how sessions vary is known from the earlier ones."""
        if estimate := self.estimate():
            self.squares, self.degrees = estimate.sd**2 * estimate.degrees, estimate.degrees
        self.level, self._ordered, self.tail, self._back, self.is_open = [], [], [], [], False
        self._keep(means)

    def estimate(self) -> LevelEstimate | None:
        """None: nothing tells how sessions vary."""
        means = drop_outliers(self.level)
        noise = estimate_noise([means], self.loss, self.spread, self.squares, self.degrees)
        if not means or noise is None:
            return None
        return LevelEstimate(math.fsum(means) / len(means), len(means), noise)

    @property
    def p(self) -> float:
        """Two-sided, of the tail against the level; 1 where nothing tells how sessions vary."""
        estimate = self.estimate()
        if estimate is None:
            return 1.0
        distance = fmean(self.tail) - estimate.mean
        interval = compute_interval(distance, estimate.error(len(self.tail)), estimate.degrees)
        return interval.p if interval else 1.0

    def is_shifted(self) -> bool:
        """Whether the tail is another level: by the threshold, significantly, and in two sessions by themselves."""
        estimate, sessions = self.estimate(), len(self.tail)
        if estimate is None or sessions < MIN_TAIL:
            return False

        from scipy.special import stdtrit

        session_p = PAIR_P if sessions == MIN_TAIL else SESSION_P
        threshold = self.loss if self.side < 0 else self.gain
        if abs(fmean(self.tail) - estimate.mean) < threshold - _ROUNDING:
            return False

        # Two sessions are far enough by themselves, too.
        session_threshold = max(threshold, float(stdtrit(estimate.degrees, 1 - session_p)) * estimate.error(1))
        far = [mean for mean in self.tail if abs(mean - estimate.mean) >= session_threshold - _ROUNDING]
        return len(far) >= MIN_TAIL and self.p < ALPHA * self.share

    def _follow_loss(self, mean: float, distance: float) -> None:
        if distance <= -self.loss:
            self.tail += [*self._back, mean]
            self._back = []
            self.is_open = self._is_loss()
            if not self.is_open:
                self._keep(self.tail)
                self.tail = []
            return

        self._back.append(mean)
        if distance <= -self.loss / 2 and len(self._back) < MIN_TAIL:
            return

        # What was noise belongs to the level; a loss that lasted longer than its level does not.
        if len(self.tail) <= len(self.level):
            self._keep(self.tail)
        self._keep(self._back)
        self.tail, self._back, self.is_open = [], [], False

    def _is_loss(self) -> bool:
        estimate = self.estimate()
        is_large = estimate is not None and estimate.mean - fmean(self.tail) >= self.loss - _ROUNDING
        return is_large and self.p < ALPHA * self.share

    def _keep(self, means: Sequence[float]) -> None:
        if self.is_fixed:
            return
        for mean in means:
            self.level.append(mean)
            insort(self._ordered, mean)

"""Is one side faster? The verdict of two groups of repeats: three keys, or it is inconclusive (analysis 5).

The interval of the ratio excludes 1, with the variation between sessions in it where the sides were measured in
different ones; the difference is as large as a practical threshold; and the sides may be compared at all, which is said
elsewhere: `reports.compare.analysis.comparability`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from statistics import fmean, geometric_mean
from typing import Final, Literal

import numpy as np

from benchsite.core.formatting import counted, plain_percent, significant, times
from reports.compare.analysis.blocks import Blocks, blocked_interval
from reports.compare.analysis.looks import ALPHA, Look
from reports.compare.analysis.ratios import (
    CONFIDENCE,
    Noise,
    RatioInterval,
    bounded_exp,
    cautious,
    cliffs_delta,
    compute_interval,
    compute_ratio,
    hedges_g,
    log_welch,
    pooled_welch,
    unusable,
)
from reports.compare.analysis.repeats_needed import MAX_REPEATS, MIN_REPEATS, repeats_needed
from reports.compare.messages import DIFFERENCE_IN_A_ROW, NO_DIFFERENCE
from reports.trends.analysis.baseline_levels import MIN_TAIL, Level, LevelTracker, estimate_noise
from reports.trends.analysis.sessions import (
    Level as SessionLevel,
    Session,
    SessionSpread,
    compute_log_mean,
    find_level,
    look,
    session_interval,
    split_levels,
    welch_of_sessions,
)

ALGORITHM: Final = "log-Welch or blocked 13"  # named with every verdict that is kept; changes with the rules below
THRESHOLD: Final = 0.05  # of throughput and of a mean; for a p99 use LATENCY_THRESHOLD
LATENCY_THRESHOLD: Final = 0.10
PUBLISHABLE_REPEATS: Final = 5  # fewer have a badge "low n"
# Of a side with more runs than its plan, where no look is planned for them.
EXTENDED: Final = "Runs were added beyond the plan, so the stated rate of 5 % does not hold exactly."
# What a rounding error of a ratio may be: 1.05 - 1 is not quite 0.05.
ROUNDING: Final = 1e-12
BISECTIONS: Final = 20
T_QUANTILES: Final = 16  # worked out at once: the first numbers of runs that may be enough mostly are


class Outcome(StrEnum):
    """What may be said of a against b."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class Comparison:
    """a against b. `ratio` is how many times better a is: a/b of throughputs, b/a of latencies, of geometric means.

    None in low, high, df and p: there is no interval, and `reason` says why.
    """

    n_a: int
    n_b: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    df: float | None = None
    p: float | None = None  # of a look: over all looks of the plan
    outcome: Outcome = Outcome.INCONCLUSIVE
    reason: str = ""  # why the outcome is what it is, as a sentence
    needs_more: int | None = None  # repeats that the shorter side lacks; None: nothing is lacking, or no number helps
    hedges_g: float | None = None  # above 0: a is better
    threshold: float = THRESHOLD
    spread: SessionSpread | None = None  # between sessions, where the sides were measured in different ones
    cliffs_delta: float | None = None  # P(a is better) - P(b is better), -1 to 1
    sds: tuple[float, float] | None = None  # of the logarithms of each side; None: one of them is a single run
    cv: float | None = None  # of the repeats within both sides, pooled, on logarithms; None of single runs
    adjusted_p: float | None = None  # among the other comparisons of its table
    unit: str = "run"  # what n counts: runs, or sessions
    analysis: str = ""  # of the interval, as a sentence; empty: there is none
    is_blocked: bool = False  # n counts blocks
    confirmed: bool = True  # sessions after the first differ as much by themselves
    open_sessions: int = 0  # of a loss that lasts: in a row, up to the newest of a; 0: there is none
    look: Look | None = None  # of the plan that measured both sides; None: it has none
    is_extended: bool = False  # a side has more runs than its plan, and no look is planned for them
    # By which factors the ratio may be lower or higher than the values tell: `widen`. The interval includes them.
    below: float = 1.0  # 0: without bound
    above: float = 1.0  # infinite: without bound

    @property
    def bound(self) -> Literal["", "at least", "at most"]:
        """In which direction the ratio is known, where it is in one only."""
        if self.below > 0:
            if math.isfinite(self.above):
                return ""
            return "at least"
        return "at most"

    @property
    def hidden_difference(self) -> float | None:
        """Where the interval holds 1: the smallest difference, as a share, that would have shown; else None.

        Half of the interval's width: it would have excluded 1 had its centre lain further away than that.
        """
        if not self.low or self.high is None or not self.low <= 1 <= self.high or not math.isfinite(self.high):
            return None
        return math.sqrt(self.high / self.low) - 1

    @property
    def level(self) -> float:
        """The two-sided level of its interval."""
        if self.look and self.look.after:
            return self.look.level
        return ALPHA

    @property
    def note(self) -> str:
        """The plan's part in the verdict, as a sentence: its look, or that runs were added. Often empty."""
        if self.outcome == Outcome.NOT_COMPARABLE or (self.look and self.look.after and self.low is None):
            return ""
        if self.look:
            return self.look.sentence
        if not self.is_extended:
            return ""
        return EXTENDED

    @property
    def low_n(self) -> bool:
        """Fewer repeats than a published comparison has."""
        return min(self.n_a, self.n_b) < PUBLISHABLE_REPEATS

    @property
    def is_large(self) -> bool:
        """Whether the difference is as large as the threshold."""
        return self.ratio is not None and abs(self.ratio - 1) >= self.threshold - ROUNDING

    @property
    def noise_floor(self) -> float | None:
        """The difference of the same test in another session in 19 of 20 cases, as a share; None: not known."""
        if not self.spread:
            return None
        return self.spread.relative


def compare_values(
    a: Sequence[float],
    b: Sequence[float],
    *,
    higher_is_better: bool,
    threshold: float = THRESHOLD,
    spread: SessionSpread | None = None,
    blocks: Blocks | None = None,
    noises: tuple[Noise | None, Noise | None] = (None, None),
    look: Look | None = None,
) -> Comparison:
    """The verdict of the repeats of two sides, one value for each run; nothing that is handed in raises.

    Throughput in ops/s or a latency in µs; only the ratio matters. A value of zero, a negative one and one that is no
    number have no ratio: a sentence says so, and no number is shown. The threshold is a share (0.05). `spread` is that
    of sessions, where each side was measured in a session of its own. `blocks` are the same repeats where one plan
    interleaves those of both sides; higher is better there. `noises` are those of the sides where more runs tell of
    them than these. `look` is that of the plan that measured both: the values are those of the repeats up to it.
    """
    base = Comparison(len(a), len(b), threshold=threshold, spread=spread, look=look)
    for name, side in (("first", a), ("second", b)):
        if why := unusable(side):
            return replace(base, reason=f"The {name} side {why}: no ratio.")

    better, worse = (a, b) if higher_is_better else (b, a)
    ratio = compute_ratio(geometric_mean(better), geometric_mean(worse))
    if ratio is None:
        return replace(base, reason="The sides are too far apart for any ratio: look at how they were measured.")

    sign = 1 if higher_is_better else -1
    g, delta = hedges_g(a, b), cliffs_delta(a, b)
    squares, df = sum(float(np.log(side).var() * len(side)) for side in (a, b)), len(a) + len(b) - 2
    cv = None
    if df:
        cv = math.sqrt(squares / df)
    sds = None
    if min(len(a), len(b)) > 1:
        sds = (_sd_of_logs(a), _sd_of_logs(b))
    result = replace(
        base,
        ratio=ratio,
        cv=cv,
        sds=sds,
        hedges_g=None if g is None else sign * g,
        cliffs_delta=None if delta is None or g is None else sign * delta,
    )
    if look and not look.after:
        return replace(
            result,
            reason=f"The plan takes its first verdict after {look.looks[0]} repeats.",
            needs_more=look.lacking,
        )

    confidence = 1 - result.level
    if blocks and (blocked := blocked_interval(blocks, confidence)):
        return judged(_blocked(result, *blocked, len(blocks.common)))

    interval = welch_of_sessions(better, worse, spread) if spread else log_welch(better, worse, confidence)
    analysis = "Welch's t"
    if spread:
        analysis = "Welch's t, with the variation between sessions"
    own, other = noises
    if interval and own and other:
        ordered = (other, own)
        if higher_is_better:
            ordered = (own, other)
        interval = pooled_welch(better, worse, ordered, spread.between if spread else None, confidence)
        result = replace(result, sds=(math.sqrt(own.variance), math.sqrt(other.variance)))
        analysis += "; noise of the rungs pooled"
    result = replace(result, analysis=f"{analysis}.")
    if interval:
        return judged(_with(result, interval))

    return _without_interval(result)


def compare_sessions(
    new: Sequence[Session],
    base: Sequence[Session],
    history: Sequence[Session],
    *,
    higher_is_better: bool,
    threshold: float,
    spread: SessionSpread | None,
    is_period: bool = False,
) -> Comparison:
    """The verdict of sessions, each with its runs and newest first; nothing that is handed in raises.

    The first sessions up to a look are compared; of a period, whose end no result decides, all of them: those of a week
    follow one another and resemble their neighbours.

    `history` are sessions of the same test, `spread` is that of the machines: they say how sessions vary.
    """
    blank = _blank_of_sessions(new, base, threshold, spread)
    if blank.reason:
        return blank

    sign = 1 if higher_is_better else -1
    used, _ = look(len(new))
    if is_period:
        used = len(new)
    means = _log_means(new, sign)[-used:]
    own = _log_means(base, sign)
    before = _log_means(history, sign)
    if is_period:
        interval, sd = _compare_periods(means, own, before, threshold, spread)
    else:
        older = find_level(before)
        squares = math.fsum((mean - fmean(own)) ** 2 for mean in own) + older.squares
        level = SessionLevel(tuple(own), squares, len(own) - 1 + older.degrees)
        interval, sd = session_interval(means, level, spread)
    ratio = compute_ratio(bounded_exp(fmean(means)), bounded_exp(fmean(own)))
    comparison = replace(blank, ratio=ratio, n_a=len(means), n_b=len(own), cv=sd or None, sds=(sd, sd))
    if interval is None or ratio is None:
        return _without_interval(comparison)

    later = 0.0
    if means[:-1]:
        later = fmean(means[:-1]) - fmean(own)
    confirmed = abs(math.expm1(later)) >= threshold - ROUNDING and (later > 0) == (interval.ratio > 1)
    return judged(_with(replace(comparison, confirmed=confirmed), interval))


def _compare_periods(
    means: Sequence[float],
    base: Sequence[float],
    history: Sequence[float],
    threshold: float,
    spread: SessionSpread | None,
) -> tuple[RatioInterval | None, float]:
    """The ratio of two periods with the noise of their sessions and of the levels before, and its standard deviation.

    All are logarithms of session means, newest first.
    """
    levels = chain.from_iterable(map(split_levels, (means, base, history)))
    noise = estimate_noise(levels, -math.log(1 - threshold), spread)
    if noise is None:
        return None, 0.0
    interval = compute_interval(fmean(means) - fmean(base), noise.error(len(means), len(base)), noise.degrees)
    return interval, noise.sd


def follow_sessions(
    new: Sequence[Session],
    base: Sequence[Session],
    tracker: LevelTracker,
    level: Level,
    *,
    history: Sequence[Session],
    earlier: Sequence[Session],
    since: Sequence[Session],
    later: Sequence[Session],
    higher_is_better: bool,
) -> Comparison:
    """The verdict of the newest sessions of a test, each with its runs and newest first.

    The level is that of `history` and `base`; of a pinned base its own. `since` are sessions between it and the new
    ones: a loss that began there is one of the new sessions too; those `later` than the new ones may confirm a loss.
    What is open in the level of another branch is no loss of a branch. The level of a commit, what was asked for, is
    that of the sessions that had left the level with all of it, else its own; the ratio is that of the new sessions
    alone, which those beside them confirm. `tracker` is new: it has the threshold, the share of the error and the
    spread.
    """
    blank = _blank_of_sessions(new, base, tracker.threshold, tracker.spread)
    if blank.reason:
        return blank

    sign = 1 if higher_is_better else -1
    own, means = _log_means(base, sign), _log_means(new, sign)
    if earlier:
        tracker.add_all(reversed(_log_means(earlier, sign)))
        tracker.begin()

    before = _log_means(history, sign)
    tracker.add_all(reversed(before if level is Level.PINNED else [*own, *before]))
    has_left = level is Level.COMMIT and bool(tracker.tail)
    if level is Level.PINNED or (has_left and tracker.tail[-len(own) :] != own[::-1]):
        tracker.begin(own)
    elif has_left or (level is Level.OTHER_BRANCH and tracker.is_open):
        tracker.begin(tracker.tail)

    tracker.is_fixed = level.is_fixed
    tracker.add_all(reversed(_log_means(since, sign)))
    estimate = tracker.estimate()
    tracker.add_all(reversed(means))
    is_gain = tracker.side > 0 and tracker.is_shifted()
    confirming = _add_confirming(tracker, _log_means(later, sign))
    in_a_row = means
    if tracker.is_open or is_gain:
        estimate, in_a_row = tracker.estimate(), tracker.tail
        if level is not Level.COMMIT:
            means = in_a_row[: len(in_a_row) - confirming]

    centre, sessions, sd = fmean(own), len(own), 0.0
    if estimate:
        centre, sessions, sd = estimate.mean, estimate.sessions, estimate.sd
    open_sessions = len(in_a_row) - confirming if tracker.is_open else 0
    blank = replace(blank, n_b=sessions, cv=sd or None, sds=(sd, sd), open_sessions=open_sessions)

    def compare(means: Sequence[float]) -> Comparison:
        ratio = compute_ratio(bounded_exp(fmean(means)), bounded_exp(centre))
        comparison = replace(blank, ratio=ratio, n_a=len(means))
        interval = None
        if estimate:
            interval = compute_interval(fmean(means) - centre, estimate.error(len(means)), estimate.degrees)
        if interval is None or ratio is None:
            return _without_interval(comparison)

        confirmed = tracker.is_open if interval.ratio < 1 else is_gain or len(new) > MIN_TAIL
        adjusted_p = min(interval.p / tracker.share, 1.0)
        return judged(_with(replace(comparison, confirmed=confirmed, adjusted_p=adjusted_p), interval))

    comparison = compare(means)
    if in_a_row == means or not comparison.is_large or comparison.outcome != Outcome.INCONCLUSIVE:
        return comparison
    return _confirm(comparison, compare(in_a_row))


def _add_confirming(tracker: LevelTracker, later: Sequence[float]) -> int:
    """Adds sessions, the newest first, until they show that a loss lasts, or that it is over; how many."""
    for number, mean in enumerate(reversed(later)):
        if tracker.is_open or tracker.side >= 0:
            return number
        tracker.add(mean)
    return len(later)


def _confirm(comparison: Comparison, in_a_row: Comparison) -> Comparison:
    """With the outcome of more sessions in a row, where these are decided."""
    if in_a_row.outcome not in (Outcome.FASTER, Outcome.SLOWER):
        return comparison

    reason = DIFFERENCE_IN_A_ROW.format(
        sessions=counted(in_a_row.n_a, "session"),
        interval=interval_text(in_a_row),
        threshold=plain_percent(comparison.threshold),
    )
    return replace(
        comparison,
        outcome=in_a_row.outcome,
        reason=reason,
        needs_more=None,
        p=in_a_row.p,
        adjusted_p=in_a_row.adjusted_p,
    )


def _blank_of_sessions(
    new: Sequence[Session], base: Sequence[Session], threshold: float, spread: SessionSpread | None
) -> Comparison:
    """Without a ratio; the reason says where there can be none."""
    blank = Comparison(len(new), len(base), threshold=threshold, spread=spread, unit="session")
    for name, side in (("first", new), ("second", base)):
        if why := unusable(list(chain.from_iterable(side))):
            return replace(blank, reason=f"The {name} side {why}: no ratio.")
    return blank


def _log_means(sessions: Sequence[Session], sign: int) -> list[float]:
    """ln of the geometric mean of each session that has one; higher is better."""
    return [sign * compute_log_mean(session) for session in sessions if session and not unusable(session)]


def not_comparable(comparison: Comparison, stops: Sequence[str]) -> Comparison:
    """The comparison without a verdict, for the reasons that the gate gave."""
    return replace(comparison, outcome=Outcome.NOT_COMPARABLE, reason=" ".join(stops), needs_more=None)


def widen(comparison: Comparison, below: float, above: float, *, is_certain: bool = False) -> Comparison:
    """The comparison where the ratio may be `below` to `above` times what the measured values tell.

    For what no repeat shows: a ceiling above the last rung, a load between two rungs. 0 <= `below` <= 1 <= `above`.
    The ends of the interval move out by these factors; p is that at which the interval would reach 1. Where the range
    `is_certain`, no estimate itself, the interval is that of a partially identified parameter (Imbens and Manski 2004):
    where the range is wide next to the noise a miss at the far end is unlikely, so the quantile lies between the
    two-sided and the one-sided, and whatever the true factor is, the interval holds the ratio with 95 %. At most one of
    the factors is without bound (0, infinite): the ratio is then known in one direction.
    """
    if below == above == 1:
        return comparison

    widened = replace(comparison, below=comparison.below * below, above=comparison.above * above)
    if comparison.ratio is None or not comparison.low or comparison.high is None or comparison.df is None:
        return widened

    from scipy.special import stdtr, stdtrit

    reach = math.log(comparison.ratio / comparison.low)
    error = reach / float(stdtrit(comparison.df, 1 - comparison.level / 2))
    if is_certain:
        room = math.log(above / below) / error
        # Rounded down, for the cache: the quantile is a little too large at most.
        df = math.floor(10 * comparison.df) / 10 if comparison.df > 1 else comparison.df
        reach = _quantile_beside(df, math.floor(10 * min(room, 10.0)) / 10, comparison.level) * error
        nearest = max(math.log(comparison.ratio * below), -math.log(comparison.ratio * above), 0.0) / error
        p = 1.0
        if nearest:
            p = float(stdtr(comparison.df, -nearest) + stdtr(comparison.df, -nearest - room))
    else:
        nearest = max(comparison.ratio * below, 1 / (comparison.ratio * above), 1.0)
        p = float(2 * stdtr(comparison.df, -math.log(nearest) / error))

    low, high = (comparison.ratio * factor * math.exp(sign * reach) for factor, sign in ((below, -1), (above, 1)))
    return judged(replace(widened, low=low, high=high, p=_overall(comparison, p)))


@lru_cache(maxsize=4096)
def _quantile_beside(df: float, room: float, level: float) -> float:
    """c with P(T > c) + P(T > c + room) = level, by bisection between the one-sided and the two-sided quantile.

    `room` is how many standard errors further away the other end lies.
    """
    from scipy.special import stdtr, stdtrit

    low, high = float(stdtrit(df, 1 - level)), float(stdtrit(df, 1 - level / 2))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        missed = stdtr(df, -middle) + stdtr(df, -middle - room)
        low, high = (middle, high) if missed > level else (low, middle)
    return high


def judged(comparison: Comparison) -> Comparison:
    """The outcome of a comparison with an interval; of its adjusted p where it stands among others.

    Faster or slower: the interval excludes 1 (and the adjusted p is below 5 %), and |ratio - 1| is at least the
    threshold and the noise floor. Equivalent: the interval lies within 1 ± threshold. Else inconclusive.
    """
    assert (
        comparison.ratio is not None
        and comparison.low is not None
        and comparison.high is not None
        and comparison.p is not None
    )
    interval = interval_text(comparison)
    excludes = comparison.low > 1 or comparison.high < 1
    if excludes and comparison.is_large and (comparison.adjusted_p or comparison.p) < ALPHA:
        outcome = Outcome.FASTER if comparison.ratio > 1 else Outcome.SLOWER
        reason = (
            f"The interval {interval} excludes 1, and the difference is {plain_percent(comparison.threshold)} or more."
        )
        return replace(comparison, outcome=outcome, reason=reason, needs_more=None)
    if comparison.low >= 1 - comparison.threshold and comparison.high <= 1 + comparison.threshold:
        reason = f"The whole interval {interval} lies within {plain_percent(comparison.threshold)} of 1."
        return replace(comparison, outcome=Outcome.EQUIVALENT, reason=reason, needs_more=None)

    return _inconclusive(comparison, excludes)


def _inconclusive(comparison: Comparison, excludes: bool) -> Comparison:
    interval = interval_text(comparison)
    if excludes and comparison.is_large:
        others = "the comparisons of this table"
        if comparison.unit == "session":
            others = "the tests of this commit"
        why = (
            f"Alone the interval {interval} would exclude 1, but among {others} one as clear is to be expected by "
            f"chance (adjusted p {significant(comparison.adjusted_p or 0.0, 2)})"
        )
    elif excludes:
        threshold = plain_percent(comparison.threshold)
        why = f"There is a difference, {interval}, but whether it is {threshold} or more is open"
    elif comparison.hidden_difference:
        why = NO_DIFFERENCE.format(interval=interval, share=hidden_text(comparison.hidden_difference))
    else:
        why = f"The interval {interval} holds 1, and differences of {plain_percent(comparison.threshold)} or more"

    if comparison.look:
        following = comparison.look.following
        advice = "No look is left."
        if following:
            advice = f"Raise each rung to {following} repeats, the next look."
        return replace(
            comparison, outcome=Outcome.INCONCLUSIVE, reason=f"{why}. {advice}", needs_more=comparison.look.lacking
        )  # fmt: skip

    more = _more(comparison)
    if more is None and comparison.unit == "run" and comparison.spread and _more(replace(comparison, spread=None)):
        floor = plain_percent(comparison.spread.relative)
        advice = f"More runs do not decide it: sessions differ by up to {floor} here. Measure both in one session."
    elif more is None and (comparison.below, comparison.above) != (1.0, 1.0):
        advice = "More runs do not decide it, rungs nearer to what is compared may."
    elif more is None:
        advice = f"With a ratio and repeats like these no sensible number of {comparison.unit}s decides it."
    else:
        repeats = min(comparison.n_a, comparison.n_b) + more
        advice = f"Raise each side to {repeats} {comparison.unit}s ({more} more)."

    return replace(comparison, outcome=Outcome.INCONCLUSIVE, reason=f"{why}. {advice}", needs_more=more)


def _more(comparison: Comparison) -> int | None:
    """The least repeats that the shorter side lacks for a verdict, if the ratio and the spreads stayed as they are.

    Faster or slower: the interval excludes 1, and the difference is large enough. Equivalent: the interval lies within
    1 ± threshold; 1 itself it need not exclude. None where neither comes within a thousand.
    """
    assert comparison.ratio is not None and comparison.sds is not None and comparison.p is not None
    from scipy.special import stdtrit

    have = min(comparison.n_a, comparison.n_b)
    n = np.arange(have + 1, MAX_REPEATS + 1)
    n_a, n_b = np.maximum(n, comparison.n_a), np.maximum(n, comparison.n_b)
    part_a, part_b = comparison.sds[0] ** 2 / n_a, comparison.sds[1] ** 2 / n_b
    df = cautious((part_a + part_b) ** 2 / (part_a**2 / (n_a - 1) + part_b**2 / (n_b - 1)), n_a, n_b)
    if comparison.is_blocked and comparison.df is not None:
        df = comparison.df * (n - 1) / (have - 1)
    error = np.sqrt(part_a + part_b)
    if comparison.spread and comparison.unit == "run":  # More runs of the same sessions say nothing of other sessions.
        variance, df = comparison.spread.add_to(part_a + part_b, df)
        error = np.sqrt(variance)

    distance = math.log(comparison.ratio)
    lowest = distance + math.log(comparison.below) if comparison.below else -math.inf
    highest = distance + math.log(comparison.above)
    # How far the interval may reach to lie within the threshold, and to exclude 1.
    within = min(lowest - math.log(1 - comparison.threshold), math.log(1 + comparison.threshold) - highest)
    beyond = max(lowest, -highest) if comparison.is_large else -math.inf
    # Among others its p counts as many times as now.
    times = 1.0
    if comparison.adjusted_p and comparison.p:
        times = max(comparison.adjusted_p / comparison.p, 1.0)
    shares = (1 + CONFIDENCE) / 2, 1 - ALPHA / 2 / times
    # Student's t is larger than the normal quantile, which is cheap: most numbers of runs need no more.
    normal = [float(stdtrit(math.inf, share)) for share in shares]
    open_n = np.flatnonzero(error <= max(within / normal[0], beyond / normal[1]))
    for start in range(0, len(open_n), T_QUANTILES):
        part = open_n[start : start + T_QUANTILES]
        decided = stdtrit(df[part], shares[0]) * error[part] <= within
        decided |= stdtrit(df[part], shares[1]) * error[part] < beyond
        if decided.any():
            return int(n[part[np.argmax(decided)]]) - have

    return None


def _without_interval(comparison: Comparison) -> Comparison:
    """One run on a side, or values that do not vary: the ratio is shown, and nothing is claimed of it."""
    have = min(comparison.n_a, comparison.n_b)
    if comparison.unit == "session" and not comparison.cv:
        reason = (
            f"{counted(comparison.n_a, 'session')} against {counted(comparison.n_b, 'session')}: how much this test "
            "varies between sessions is not known, however many runs each has. Measure it in another session, such as "
            "a new CI job."
        )
        return replace(comparison, reason=reason, needs_more=1)
    if have > 1:
        more = max(PUBLISHABLE_REPEATS - have, 1)
        reason = (
            "All runs of each side agree to the last digit: that says nothing of how much the next would differ, so "
            "there is no interval."
        )
        return replace(comparison, reason=reason, needs_more=more)

    # Of one run each nobody knows how runs differ, unless the machines' noise was measured.
    cv = comparison.cv or (math.sqrt(comparison.spread.variance) if comparison.spread else 0.0)
    needed = repeats_needed(cv, comparison.threshold) or MIN_REPEATS
    sides = "1 run each"
    if comparison.n_a != comparison.n_b:
        sides = f"{counted(comparison.n_a, 'run')} against {counted(comparison.n_b, 'run')}"
    return replace(comparison, reason=f"{sides}: no interval.", needs_more=max(needed - have, 1))


def hidden_text(share: float) -> str:
    """ "6.4 %": rounded up, so that what it says is not found is not."""
    return f"{significant(100 * share, 2, ROUND_CEILING)} %"


def times_text(comparison: Comparison) -> str:
    """ "1.25" or "≥ 1.74" times: the quotient of the values of both sides, with a sign where one of them is a bound."""
    sign = {"at least": "≥ ", "at most": "≤ "}.get(comparison.bound, "")
    return f"{sign}{times(comparison.ratio)}" if comparison.ratio is not None else times(None)


def finite(value: float | None) -> float | None:
    """None for an end of an interval without bound, and for no number: JSON has neither."""
    if value is not None and math.isfinite(value):
        return value
    return None


def interval_text(comparison: Comparison) -> str:
    """ "[3.57, 3.68]": three digits, and one more where an end would read as 1 that is not.

    The end of a bound is rounded to the side on which it stays true.
    """
    if comparison.low is None or comparison.high is None:
        return ""
    digits = 3
    if any(0 < abs(end - 1) < 0.005 for end in (comparison.low, comparison.high)):
        digits = 4
    rounding = {"at least": ROUND_FLOOR, "at most": ROUND_CEILING}.get(comparison.bound, ROUND_HALF_UP)
    ends = (
        significant(end, digits, rounding) if math.isfinite(end) else "∞" for end in (comparison.low, comparison.high)
    )
    return f"[{', '.join(ends)}]"


def _with(comparison: Comparison, interval: RatioInterval) -> Comparison:
    p = _overall(comparison, interval.p)
    return replace(comparison, ratio=interval.ratio, low=interval.low, high=interval.high, df=interval.df, p=p)


def _overall(comparison: Comparison, p: float) -> float:
    """p over all looks of the plan, so that it is below 5 % where it is below the level of its look."""
    if comparison.look:
        return comparison.look.overall_p(p)
    return p


def _blocked(comparison: Comparison, interval: RatioInterval, analysis: str, n: int) -> Comparison:
    """With the interval of so many blocks; each side takes half of the variance of a block's ratio."""
    from scipy.special import stdtrit

    error = math.log(interval.high / interval.ratio) / float(stdtrit(interval.df, 1 - comparison.level / 2))
    sd = error * math.sqrt(n / 2)
    comparison = replace(comparison, n_a=n, n_b=n, sds=(sd, sd), analysis=analysis, is_blocked=True)
    return _with(comparison, interval)


def _sd_of_logs(values: Sequence[float]) -> float:
    return float(np.log(values).std(ddof=1))

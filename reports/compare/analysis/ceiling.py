"""The throughput ceiling of a load ladder, by a stated rule that a reader can check by hand."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import Any, ClassVar, Final, Literal

from reports.compare.analysis.ratios import Noise
from reports.compare.analysis.top_estimate import Top, estimate_top
from runs.results.measures.sustained_load import MAX_ERRORS, SUSTAINED, Outcome, judge_arrivals, judge_target

# A rung this close to the highest one counts as having reached it.
NEAR_CEILING = 0.95
# Rungs below this share of the highest do not show how much the runs at the top vary.
ALIKE = 0.5
# Fewer repeats of a rung than this show nothing of how much they vary.
MIN_REPEATS = 2
# Less than this gained per doubling of the threads means that more threads bring nothing.
MIN_GAIN_PER_DOUBLING = 0.05
# All threads wait for the database: offering more needs more of them.
BUSY = 0.95
# As long as latency has not risen beyond this, it was not the database that gave out.
LATENCY_RISEN = 2.0
# More than this above the ceiling, and what rungs that were not sustained reached is worth a sentence.
CLEARLY_MORE = 1.02
# A difference that three digits show.
VISIBLY_MORE = 1.005
# Threads for a target: this many times what p99 keeps busy.
THREADS_TO_SPARE = 1.5

# What a ceiling's notes may say.
NON_MONOTONE: Final = "non_monotone"  # a target failed below one that was sustained, which counts
THREAD_LIMITED: Final = "thread_limited"  # the target above it lacked threads, so it says nothing of the database
CLIENT_LIMITED: Final = "client_limited"  # the clients were at their limit at the load that sets the ceiling
NOT_KNOWN: Final = "not_known"  # no run counts of the target above the ceiling, and none says that it failed


@dataclass(frozen=True, slots=True)
class Rung:
    """One point of a ladder. `latency_s` is the mean service time of all operations; None where it was not measured."""

    threads: int
    throughput_ops_s: float
    latency_s: float | None = None
    target_ops_s: float | None = None
    error_ratio: float | None = None  # failed of all operations; None: nobody knows
    response_s: float | None = None  # mean response time, where a target was set and it was measured
    p99_s: float | None = None  # service time of the slowest operation
    backlog_growing: bool = False
    offered_ops_s: float | None = None  # of an open load: what arrived
    dropped_share: float = 0.0  # of the arrivals
    repeats_ops_s: tuple[float, ...] = ()  # of the runs that count
    repeats: tuple[int, ...] = ()  # their numbers, which are those of the passes over the ladder
    # Of a rung that does not count: its target failed, or its numbers are not to be trusted and say nothing of it.
    rejected: Literal["", "failed", "unknown"] = ""
    client_limited: bool = False  # the clients were at their limit in every repeat, by the checks V02 and V03

    @property
    def load(self) -> float:
        """The value that the ladder raises: the target in ops/s where there is one, else the threads."""
        return self.target_ops_s or float(self.threads)

    @property
    def by_repeat(self) -> dict[int, float]:
        """The throughput of each numbered repeat."""
        return dict(zip(self.repeats, self.repeats_ops_s, strict=False))


class Ladder(StrEnum):
    """What the end of a ladder shows."""

    SHORT = "short"  # Throughput still grew on the last rung: the ceiling lies higher.
    SATURATED = "saturated"  # The end gained less than the least gain per doubling, beyond the noise of the repeats.
    RETROGRADE = "retrograde"  # Saturated, and the last rung lies clearly below the ceiling.
    FIRST = "first"  # The first rung is as high as any: what lies below it was not measured.
    OPEN = "open"  # The runs do not show whether throughput still grows, as single runs never do.


class Status(StrEnum):
    """How far a ceiling is known. Every page, figure and export states it as this says."""

    CLIENT_LIMITED = "client limited"  # a lower bound: clients or threads were at their limit, not the database
    LOWER_BOUND = "lower bound"  # the ladder ends below it
    BRACKETED = "bracketed"  # repeats show it, and that it lies neither below nor above the ladder
    UNCONFIRMED = "unconfirmed"  # a single run decides it, or the repeats leave its end open


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The throughput at the top of a ladder and whether the ladder was long enough to show it.

    Of threads with repeats it is an estimate with a 95 % interval (`estimate_top`), else the highest measured one.
    """

    min_gain: ClassVar[float] = MIN_GAIN_PER_DOUBLING
    throughput_ops_s: float
    threads: int  # of the rung that measured the highest
    saturation_threads: int  # the fewest threads within 5 % of it
    last_gain: float | None  # of the last step, per doubling of the threads; None: one rung only
    ladder: Ladder
    rungs: int
    highest_ops_s: float  # measured, of the rungs that it may be made of: too high on average where several are alike
    target_ops_s: float | None = None
    low_ops_s: float | None = None  # of the interval; None: no repeats, or a ladder of targets, which has a bracket
    high_ops_s: float | None = None
    repeats_ops_s: tuple[float, ...] = ()  # what it is the geometric mean of: a value for each pass, or the rung's runs
    repeats: tuple[int, ...] = ()  # the numbers of these passes
    noise: Noise | None = None  # of one of them
    selection: float = 1.0  # the highest mean of a rung over the estimate, which may have selected a lower rung
    plateau: tuple[int, ...] = ()  # the threads of the rungs that it is made of
    saturation_ops_s: float = 0.0  # the most that any rung achieved, sustained or not
    bracket: tuple[float, float | None] | None = None  # targets: last sustained (0: none), first not (None: all were)
    notes: tuple[str, ...] = ()
    marginal: tuple[float, ...] = ()  # targets that were missed by 2 to 5 %
    threads_needed: int | None = None  # for the target above it, which lacked threads
    headroom: float = 1.0  # how many times higher it may lie by what the ladder shows; infinite: no upper bound
    failed_runs: int = 0  # that were offered the first target that was not sustained, or more, and did less
    limit: str = ""  # of latency, which the search that chose the targets sought: "READ p99 at most 5 ms"

    @property
    def by_repeat(self) -> dict[int, float]:
        """The values behind the mean, by the number of the pass."""
        return dict(zip(self.repeats, self.repeats_ops_s, strict=False))

    @property
    def reached_more(self) -> bool:
        """Whether some rung that was not sustained did clearly more."""
        return self.saturation_ops_s > CLEARLY_MORE * self.throughput_ops_s

    @property
    def is_below_highest(self) -> bool:
        """Whether its value lies visibly below the highest point of its curve, which is high by luck too."""
        return self.is_estimate and self.highest_ops_s > VISIBLY_MORE * self.throughput_ops_s

    @property
    def is_lower_bound(self) -> bool:
        return self.ladder is Ladder.SHORT or CLIENT_LIMITED in self.notes

    @property
    def is_bracketed(self) -> bool:
        """Whether the ladder shows that the ceiling lies neither below its first nor above its last rung."""
        return self.ladder in (Ladder.SATURATED, Ladder.RETROGRADE) and not self.is_lower_bound

    @property
    def is_confirmed(self) -> bool:
        """Whether repeats decide it: of targets both the last that was sustained and the next one."""
        if self.bracket:
            fewest = min(len(self.repeats_ops_s), self.failed_runs)
            return self.target_ops_s is not None and fewest >= MIN_REPEATS
        return self.is_estimate

    @property
    def range_ops_s(self) -> tuple[float, float] | None:
        """Where it lies: the 95 % interval of repeats; of targets from the last sustained to the next, which failed.

        None of lower bounds of targets and of single runs.
        """
        if self.low_ops_s is not None and self.high_ops_s is not None:
            return self.low_ops_s, self.high_ops_s
        failed = None
        if self.bracket and self.target_ops_s and not self.is_lower_bound:
            failed = self.bracket[1]
        if not failed:
            return None
        return (self.throughput_ops_s, failed)

    @property
    def status(self) -> Status:
        if {CLIENT_LIMITED, THREAD_LIMITED} & set(self.notes):
            return Status.CLIENT_LIMITED
        if self.is_lower_bound:
            return Status.LOWER_BOUND
        if self.is_bracketed and self.is_confirmed:
            return Status.BRACKETED
        return Status.UNCONFIRMED

    @property
    def is_estimate(self) -> bool:
        """Whether repeats confirm it; without, it is the highest that was measured."""
        return self.low_ops_s is not None


def gain_per_doubling(before: Rung, after: Rung) -> float:
    """g = (X_i / X_(i-1)) ** (1 / log2(N_i / N_(i-1))) - 1 (analysis 1.b); nan where it has no meaning."""
    if before.throughput_ops_s <= 0 or after.threads <= before.threads:
        return math.nan
    ratio = max(after.throughput_ops_s, 0.0) / before.throughput_ops_s
    return float(ratio ** (1 / math.log2(after.threads / before.threads)) - 1)


def thread_ceiling(rungs: Sequence[Rung]) -> Ceiling | None:
    """The ceiling of a ladder of thread counts (analysis 1.b); None for no rung with a throughput.

    With repeats it is the estimate of `estimate_top`, and the end of the ladder is judged beyond their noise.
    Without it is the highest throughput, and the end is open unless the last rung is that. N_sat is the fewest threads
    with X >= 0.95 of it. The rungs are those that count: rejected and excluded ones are left out before.
    """
    ladder = sorted((rung for rung in rungs if rung.throughput_ops_s > 0), key=lambda rung: rung.threads)
    if not ladder:
        return None

    highest = max(ladder, key=lambda rung: rung.throughput_ops_s)
    alike = [rung for rung in ladder if rung.throughput_ops_s >= ALIKE * highest.throughput_ops_s]
    repeats = _common_repeats(alike, ladder[-1])
    top = _top(alike, repeats)
    throughput_ops_s, rungs_at_top = highest.throughput_ops_s, [highest]
    estimate: dict[str, Any] = {"repeats_ops_s": highest.repeats_ops_s, "repeats": highest.repeats}
    if top:
        throughput_ops_s, rungs_at_top = math.exp(top.log), [alike[i] for i in top.places]
        estimate = {
            "low_ops_s": math.exp(top.low),
            "high_ops_s": math.exp(top.high),
            "repeats_ops_s": tuple(map(math.exp, top.passes)),
            "repeats": repeats,
            "noise": top.noise,
            "selection": max(math.exp(top.highest - top.log), 1.0),
        }

    near = NEAR_CEILING * throughput_ops_s
    return Ceiling(
        throughput_ops_s=throughput_ops_s,
        threads=highest.threads,
        saturation_threads=next((rung.threads for rung in ladder if rung.throughput_ops_s >= near), highest.threads),
        last_gain=gain_per_doubling(ladder[-2], ladder[-1]) if len(ladder) > 1 else None,
        ladder=_judge_end(ladder, alike, highest, top),
        rungs=len(ladder),
        highest_ops_s=highest.throughput_ops_s,
        plateau=tuple(rung.threads for rung in rungs_at_top),
        saturation_ops_s=highest.throughput_ops_s,
        notes=(CLIENT_LIMITED,) if all(rung.client_limited for rung in rungs_at_top) else (),
        **estimate,
    )


def _common_repeats(alike: Sequence[Rung], last: Rung) -> tuple[int, ...]:
    """The passes that all rungs near the top have; none where the last rung has no repeats."""
    if len(last.repeats_ops_s) < MIN_REPEATS:
        return ()
    return tuple(sorted(set.intersection(*(set(rung.by_repeat) for rung in alike))))


def _top(alike: Sequence[Rung], repeats: Sequence[int]) -> Top | None:
    """The top out of these passes; None for fewer than two, or for identical ones."""
    if len(repeats) < MIN_REPEATS:
        return None
    passes = [[rung.by_repeat[j] for j in repeats] for rung in alike]
    if min(map(min, passes)) <= 0:
        return None
    logs = [[math.log(value) for value in rung] for rung in passes]
    return estimate_top(logs, [math.log2(max(rung.threads, 1)) for rung in alike], math.log1p(MIN_GAIN_PER_DOUBLING))


def end_as_measured(ladder: Sequence[Rung]) -> Ladder:
    """The end of an ascending ladder by its numbers as they stand, whatever their noise (analysis 1.b).

    Saturated where the last rung gained less than 5 % per doubling or lies below X_max, retrograde below 0.95 X_max.
    """
    last = ladder[-1]
    highest_ops_s = max(rung.throughput_ops_s for rung in ladder)
    if last.throughput_ops_s < NEAR_CEILING * highest_ops_s:
        return Ladder.RETROGRADE
    has_gained = len(ladder) == 1 or gain_per_doubling(ladder[-2], last) >= MIN_GAIN_PER_DOUBLING
    if has_gained and last.throughput_ops_s >= highest_ops_s:
        return Ladder.SHORT
    return Ladder.SATURATED


def _judge_end(ladder: Sequence[Rung], alike: Sequence[Rung], highest: Rung, top: Top | None) -> Ladder:
    """The ladder's state by its ends beyond noise; without repeats by whether the last rung is the highest."""
    first = ladder[0]
    last = ladder[-1]
    measured = end_as_measured(ladder)
    if len(ladder) > 1 and (highest is first or (top and alike[0] is first and 0 in top.places)):
        return Ladder.FIRST
    if top is None:
        if measured is Ladder.SHORT:
            return Ladder.SHORT
        return Ladder.OPEN
    if alike[-1] is not last:
        return Ladder.RETROGRADE
    if top.has_ended:
        fell = last.throughput_ops_s < NEAR_CEILING * math.exp(top.log) and len(alike) - 1 not in top.places
        if fell:
            return Ladder.RETROGRADE
        return Ladder.SATURATED

    # A rung that did more than twice as much as all others has none beside it that shows how much its runs vary.
    leads = len(alike) == 1 and all(
        ops_s > rung.throughput_ops_s for rung in ladder[:-1] for ops_s in last.repeats_ops_s
    )
    if measured is Ladder.SHORT and (top.is_growing or leads):
        return Ladder.SHORT

    return Ladder.OPEN


def target_ceiling(rungs: Sequence[Rung], unthrottled_ops_s: Sequence[float] = ()) -> Ceiling | None:
    """The ceiling of a ladder of targets (analysis 1.c); None for no rung with a target and a throughput.

    A target is sustained when achieved / target >= 0.98, at most 0.1 % of the operations failed and no backlog grew.
    The ceiling is what the highest sustained target achieved; the bracket runs from it to the next target. A target
    that failed below a sustained one is a disturbance, which is noted. Nothing sustained: the highest throughput that
    was reached at all; under open load, where what was dropped cost nothing, there is no ceiling. The ladder is too
    short while its last target is sustained, where the target above the ceiling lacked threads, and where nobody knows
    whether it failed. Where the clients were at their limit on that target, the ceiling is a lower bound too. None too
    where only rejected rungs are there. `unthrottled_ops_s` are runs without a target, such as the probe of a search:
    one that did less than a target shows too that it is not sustained.
    """
    ladder = _best_of_each_target(rungs)
    counted = [rung for rung in ladder if not rung.rejected]
    if not counted:
        return None

    judged = [judged_rung(rung) for rung in ladder]
    sustained = max((i + 1 for i, outcome in enumerate(judged) if outcome == "sustained"), default=0)
    if not sustained and any(rung.offered_ops_s is not None for rung in ladder):
        return None
    fastest = max(counted, key=lambda rung: (not rung.backlog_growing, rung.throughput_ops_s))
    best = fastest
    if sustained:
        best = ladder[sustained - 1]
    failed = None
    if sustained < len(ladder):
        failed = ladder[sustained]
    unknown = failed is not None and failed.rejected == "unknown"
    limited = failed is not None and not unknown and thread_limited(failed, counted[0])
    of_clients = failed is not None and not unknown and failed.client_limited
    failed_runs = 0
    if failed and not unknown:
        failed_runs = _failed_runs(_target(failed), ladder[sustained:], unthrottled_ops_s)
    below = zip(ladder[:sustained], judged[:sustained], strict=True)
    contradicted = any(outcome != "sustained" and rung.rejected != "unknown" for rung, outcome in below)
    notes = (
        (NON_MONOTONE, contradicted), (THREAD_LIMITED, limited), (CLIENT_LIMITED, of_clients), (NOT_KNOWN, unknown),
    )  # fmt: skip

    return Ceiling(
        throughput_ops_s=best.throughput_ops_s,
        threads=best.threads,
        saturation_threads=best.threads,
        last_gain=None,
        ladder=Ladder.SHORT if failed is None or limited or unknown else Ladder.SATURATED,
        rungs=len(ladder),
        highest_ops_s=best.throughput_ops_s,
        target_ops_s=best.target_ops_s if sustained else None,
        repeats_ops_s=best.repeats_ops_s,
        plateau=(best.threads,),
        saturation_ops_s=max(rung.throughput_ops_s for rung in counted),
        bracket=(_target(ladder[sustained - 1]) if sustained else 0.0, _target(failed) if failed else None),
        notes=tuple(note for note, holds in notes if holds),
        marginal=tuple(_target(rung) for rung, outcome in zip(ladder, judged, strict=True) if outcome == "marginal"),
        # 1.5 · target · p99 (analysis 1.c), p99 in seconds.
        threads_needed=math.ceil(THREADS_TO_SPARE * _target(failed) * failed.p99_s)
        if failed and limited and failed.p99_s
        else None,
        failed_runs=failed_runs,
    )


def _failed_runs(target_ops_s: float, rungs: Sequence[Rung], unthrottled_ops_s: Sequence[float]) -> int:
    """How many runs were offered at least the target, and did less."""
    failed = [rung for rung in rungs if rung.rejected != "unknown" and judged_rung(rung) != "sustained"]
    below = sum(ops_s < SUSTAINED * target_ops_s for ops_s in unthrottled_ops_s)
    return sum(max(len(rung.repeats_ops_s), 1) for rung in failed) + below


def judged_rung(rung: Rung) -> Outcome:
    """Whether the rung's target was sustained, by the rule for single runs; unknown errors are none."""
    if rung.backlog_growing or rung.rejected:
        return "failed"
    if rung.offered_ops_s is not None:
        # What arrived varies from run to run. The load was sustained where nearly none of it was dropped.
        return judge_arrivals(rung.dropped_share, rung.error_ratio or 0.0)
    return judge_target(rung.throughput_ops_s, _target(rung), rung.error_ratio or 0.0)


def _best_of_each_target(rungs: Sequence[Rung]) -> list[Rung]:
    """One rung for each target, ascending: with several thread counts, one that sustained it, else the fastest.

    Rungs that count come before rejected ones, and those that failed before those that say nothing.
    """
    usable = sorted((rung for rung in rungs if rung.target_ops_s and rung.throughput_ops_s > 0), key=_target)
    ranks = ("unknown", "failed", "")
    return [
        max(
            same,
            key=lambda rung: (judged_rung(rung) == "sustained", ranks.index(rung.rejected), rung.throughput_ops_s),
        )
        for _, same in groupby(usable, key=_target)
    ]


def thread_limited(rung: Rung, lowest: Rung) -> bool:
    """Whether a target failed for lack of threads: X·R/N >= 0.95 while R <= 2 R of the lowest target (analysis 1.c)."""
    if rung.latency_s is None or lowest.latency_s is None or rung.threads <= 0 or rung is lowest:
        return False
    busy = rung.throughput_ops_s * rung.latency_s / rung.threads
    reached = rung.throughput_ops_s / _target(rung) >= SUSTAINED
    errors = (rung.error_ratio or 0.0) > MAX_ERRORS
    return not reached and not errors and busy >= BUSY and rung.latency_s <= LATENCY_RISEN * lowest.latency_s


def _target(rung: Rung) -> float:
    return rung.target_ops_s or 0.0


def within_ceiling(rung: Rung, stated: Ceiling | None) -> bool:
    """Whether a ladder's stated ceiling covers the rung: of targets, those sustained up to it; of threads, every one.

    Of targets without one that was sustained, none.
    """
    if stated is None or stated.bracket is None or not rung.target_ops_s:
        return True
    most = stated.target_ops_s or 0.0
    low = rung.target_ops_s <= most and rung.throughput_ops_s <= stated.throughput_ops_s
    return low and judged_rung(rung) == "sustained"


def ceiling(rungs: Sequence[Rung], unthrottled_ops_s: Sequence[float] = ()) -> Ceiling | None:
    """The ceiling of either kind of ladder: of targets where every rung has one."""
    targets = bool(rungs) and all(rung.target_ops_s for rung in rungs)
    estimate = target_ceiling(rungs, unthrottled_ops_s) if targets else thread_ceiling(rungs)
    return estimate and replace(estimate, headroom=headroom(estimate, rungs))


def headroom(estimate: Ceiling, rungs: Sequence[Rung]) -> float:
    """How many times higher the true ceiling may lie than the rung that shows it, the noise of the runs aside.

    Of a lower bound it is infinite. Of targets it reaches up to the next one, which failed. Of threads the peak may lie
    between the rungs: at the peak of the Universal Scalability Law through the highest rung and its neighbours, by
    which N / X is a parabola a + b·N + c·N² and the peak 1 / (b + 2·sqrt(a·c)). Where the last rung is the highest and
    gained g per doubling, gains that halve with each further doubling bring 1 / (1 - g) at most.
    """
    ladder = sorted((rung for rung in rungs if rung.throughput_ops_s > 0), key=lambda rung: rung.threads)
    as_measured = not estimate.bracket and end_as_measured(ladder) is Ladder.SHORT
    if estimate.is_lower_bound or as_measured or (estimate.is_estimate and not estimate.is_bracketed):
        return math.inf
    if estimate.bracket and estimate.bracket[1]:
        return max(estimate.bracket[1] / estimate.throughput_ops_s, 1.0)

    at = next((i for i, rung in enumerate(ladder) if rung.threads == estimate.threads), 0)
    if at == len(ladder) - 1:
        return 1 / (1 - min(max(estimate.last_gain or 0.0, 0.0), MIN_GAIN_PER_DOUBLING))
    if at == 0:
        if estimate.threads == 1:
            return 1.0
        return math.inf

    n = [float(rung.threads) for rung in ladder[at - 1 : at + 2]]
    r = [rung.threads / rung.throughput_ops_s for rung in ladder[at - 1 : at + 2]]
    if not n[0] < n[1] < n[2]:
        return 1.0

    rises = [(r[i + 1] - r[i]) / (n[i + 1] - n[i]) for i in (0, 1)]
    c = (rises[1] - rises[0]) / (n[2] - n[0])
    b = rises[0] - c * (n[0] + n[1])
    a = r[0] - b * n[0] - c * n[0] ** 2
    if a <= 0 or c <= 0 or not n[0] < math.sqrt(a / c) < n[2]:
        return 1.0

    return max(1 / (b + 2 * math.sqrt(a * c)) / estimate.highest_ops_s, 1.0)

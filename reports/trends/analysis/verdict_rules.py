"""Is new code better or worse than what it is judged against? Three keys, or it is inconclusive.

1. The effect is beyond the practical threshold: 5 % of throughput and of a mean, 10 % of a p99, or what was asked for.
2. The interval agrees, by Holm's p among all metrics of the verdict (`multiple`), shared with the other tests of the
   commit and with later looks. Its unit is the session (`sessions`): a CI job.
3. The environments are comparable (`comparability`): what changed with the machines is nobody's fault.

A single new session only screens. It flags a metric that is worse by the threshold with a one-sided p below 5 %. A
regression is a loss that later sessions show too: of a repeated job, or of later commits. It lasts until they are back
at the level, or a person accepts the new one (`baseline_levels`): then it passes as an accepted loss.

A metric holds where its interval excludes a loss as large as the threshold, whether or not it excludes a gain. The
verdict is "pass" where every metric holds; one open metric makes it inconclusive, unless another one decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from operator import itemgetter
from typing import Final, Literal

from benchsite.core.formatting import counted, enumerated, listed, plain_percent, significant
from reports.compare.analysis.blocks import Blocks
from reports.compare.analysis.comparability import EnvironmentAnswer
from reports.compare.analysis.multiple import adjusted
from reports.compare.analysis.repeat_comparison import (
    LATENCY_THRESHOLD,
    THRESHOLD,
    Comparison,
    Outcome,
    compare_sessions,
    compare_values,
    follow_sessions,
    hidden_text,
    interval_text,
    not_comparable,
)
from reports.trends.analysis.baseline_levels import Level, LevelTracker
from reports.trends.analysis.sessions import Session, SessionSpread, look
from reports.trends.messages import (
    COMPARED,
    ENVIRONMENTS_DIFFER,
    IMPROVEMENT,
    LATER_CONFIRM,
    LEVEL_ACCEPTED,
    LOSS_ACCEPTED,
    LOSS_EXCLUDED,
    MEASURE_AGAIN,
    MORE_MAY_DECIDE,
    NEW_JOB_DECIDES,
    NO_DECISION,
    NO_DIFFERENCE_IN,
    NO_LOSS,
    NOT_CONFIRMED,
    NOT_JUDGED,
    ONE_SESSION_WORSE,
    ONLY_ALIKE,
    REGRESSION,
    SHARE_OF,
    UNDECIDED,
    UNDECIDED_METRICS,
    WORSE_AND_BETTER,
)

ALGORITHM: Final = "three keys, levels of sessions 1, Bonferroni and Holm"
VERSION: Final = 7  # changes with any rule that could change a verdict
# An interval that ends at the threshold itself excludes a loss beyond it.
_ROUNDING: Final = 1e-12
SCREENING_P: Final = 0.05  # one-sided, for each metric
# Of fewer operations the slowest hundredth is fewer than ten of them.
MIN_P99_OPERATIONS: Final = 1000
MAX_NAMED: Final = 2  # metrics in a headline


class Verdict(StrEnum):
    PASS = "pass"
    IMPROVEMENT = "improvement"
    REGRESSION = "regression"
    MIXED = "mixed"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"


class State(StrEnum):
    """What is said of one metric."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    HELD = "held"
    ACCEPTED = "accepted"  # a loss, or a suspected one, at a level that a person accepted
    FLAGGED = "flagged"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARABLE = "not comparable"


STATES: Final = {
    Outcome.FASTER: State.IMPROVED,
    Outcome.SLOWER: State.REGRESSED,
    Outcome.EQUIVALENT: State.HELD,
    Outcome.NOT_COMPARABLE: State.NOT_COMPARABLE,
}


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of both sides: sessions, newest first, with one value for each run. Throughput in ops/s, else µs."""

    name: str  # "throughput", "READ p99"
    statistic: str  # "throughput", "mean" or "p99": what a threshold is named by
    higher_is_better: bool
    new: tuple[Session, ...]
    base: tuple[Session, ...]
    kind: str = ""  # of a latency: "service" or "response"
    history: tuple[Session, ...] = ()  # of the same test at the level of the base, before it
    earlier: tuple[Session, ...] = ()  # before a level that a person accepted: they say how sessions vary
    since: tuple[Session, ...] = ()  # between the base and the new ones
    accepted_since: tuple[Session, ...] = ()  # the newest of `since`, from a level on that a person accepted
    later: tuple[Session, ...] = ()  # than the new ones: they may confirm a loss
    accepted: str = ""  # with what the level of the new sessions begins, where a person accepted it after the base
    # Both sides are one session of one plan: the repeats that it interleaves, higher is better; none: as it lists them.
    blocks: Blocks | None = None

    @property
    def unit(self) -> Literal["ops/s", "µs"]:
        return "ops/s" if self.higher_is_better else "µs"


@dataclass(frozen=True, slots=True)
class MetricVerdict:
    metric: Metric
    comparison: Comparison
    state: State
    reason: str  # a sentence with the numbers in it


@dataclass(frozen=True, slots=True)
class Judgement:
    """`flagged`: screened as worse, to be measured again in a new session."""

    verdict: Verdict
    metrics: tuple[MetricVerdict, ...]
    reasons: tuple[str, ...]  # the first says what was found
    # Sessions, or repeats of one plan, that the shorter side lacks; None: nothing is lacking, or no number helps.
    needs_more: int | None = None
    flagged: bool = False
    certainty: str = ""  # a sentence: how sure the verdict is


def get_threshold(metric: Metric, thresholds: Mapping[str, float]) -> float:
    """By the metric's own name, else by its statistic, else the usual one."""
    usual = LATENCY_THRESHOLD if metric.statistic == "p99" else THRESHOLD
    return thresholds.get(metric.name, thresholds.get(metric.statistic, usual))


def judge(
    metrics: Sequence[Metric],
    environment: EnvironmentAnswer,
    *,
    thresholds: Mapping[str, float] | None = None,
    spread: SessionSpread | None = None,
    level: Level = Level.SIDE,
    tests: int = 1,
) -> Judgement:
    """The verdict of these metrics; nothing that is handed in raises. At least one metric has values on both sides.

    `spread` is that of the machines' sessions; `tests` is how many tests of the commit share the error.
    """
    tests = max(tests, 1)
    comparisons, judged_metrics = [], []
    for metric in metrics:
        threshold = get_threshold(metric, thresholds or {})
        # The machines' spread is that of throughput: percentiles vary more.
        metric_spread = None if metric.statistic == "p99" else spread
        if not level.is_followed:
            comparisons.append(_compare(metric, threshold, metric_spread, level))
        else:
            make_tracker = partial(LevelTracker, threshold, 1 / (len(metrics) * tests), metric_spread)
            comparisons.append(_follow(metric, make_tracker(), level))
            if metric.accepted_since and not _is_at_accepted(metric, make_tracker()):
                metric = replace(metric, accepted="")
        judged_metrics.append(metric)

    if not environment.comparable:
        comparisons = [not_comparable(comparison, environment.stops) for comparison in comparisons]
    elif not level.is_followed:
        error_share = 1.0  # No result decides when a period ends.
        if level is not Level.PERIOD:
            _, error_share = look(len(metrics[0].new))
        comparisons = adjusted(comparisons, tests / error_share)

    judged = tuple(map(_judge_metric, judged_metrics, comparisons))
    needs_more = _count_lacking(judged) if environment.comparable else None
    verdict = _combine_states(judged)
    reasons = [_build_headline(verdict, judged, environment)]
    order = (
        State.REGRESSED, State.FLAGGED, State.ACCEPTED, State.IMPROVED, State.INCONCLUSIVE, State.NOT_COMPARABLE,
        State.HELD,
    )  # fmt: skip
    for state in order:
        reasons += [judgement.reason for judgement in judged if judgement.state is state]
    return Judgement(
        verdict,
        judged,
        reasons=tuple(reasons),
        needs_more=needs_more,
        flagged=any(judgement.state is State.FLAGGED for judgement in judged),
        certainty=_build_certainty(verdict, judged, environment, needs_more),
    )


def _count_lacking(judged: Sequence[MetricVerdict]) -> int | None:
    """As `Judgement.needs_more`."""
    undecided = [judgement for judgement in judged if judgement.state in (State.INCONCLUSIVE, State.FLAGGED)]
    lacking = [judgement.comparison.needs_more for judgement in undecided]
    if None in lacking:
        return None
    return max((count for count in lacking if count), default=None)


def _compare(metric: Metric, threshold: float, spread: SessionSpread | None, level: Level) -> Comparison:
    if metric.blocks:
        return compare_values(
            metric.new[0],
            metric.base[0],
            higher_is_better=metric.higher_is_better,
            threshold=threshold,
            blocks=metric.blocks,
        )
    return compare_sessions(
        metric.new,
        metric.base,
        metric.history,
        higher_is_better=metric.higher_is_better,
        threshold=threshold,
        spread=spread,
        is_period=level is Level.PERIOD,
    )


def _follow(metric: Metric, tracker: LevelTracker, level: Level) -> Comparison:
    return follow_sessions(
        metric.new,
        metric.base,
        tracker,
        level,
        history=metric.history,
        earlier=metric.earlier,
        since=metric.since,
        later=metric.later,
        higher_is_better=metric.higher_is_better,
    )


def _is_at_accepted(metric: Metric, tracker: LevelTracker) -> bool:
    """Whether the new sessions have lost nothing since a level that a person accepted after the base."""
    before = metric.since[len(metric.accepted_since) :]
    at_accepted = replace(
        metric,
        base=metric.accepted_since,
        history=(),
        earlier=(*before, *metric.base, *metric.history, *metric.earlier),
        since=(),
        accepted="",
    )
    verdict = _judge_metric(at_accepted, _follow(at_accepted, tracker, Level.BRANCH))
    if verdict.state is State.INCONCLUSIVE:
        # Half of the sessions at a level lie below its mean.
        return (verdict.comparison.ratio or 0.0) > 1 - verdict.comparison.threshold
    return verdict.state in (State.HELD, State.IMPROVED)


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict over several tests: a loss and a gain are mixed, either alone decides, an open one keeps it open."""
    distinct = set(verdicts)
    if Verdict.MIXED in distinct or distinct >= {Verdict.REGRESSION, Verdict.IMPROVEMENT}:
        return Verdict.MIXED
    order = (Verdict.REGRESSION, Verdict.IMPROVEMENT, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.PASS)
    return next((verdict for verdict in order if verdict in distinct), Verdict.INCONCLUSIVE)


def _judge_metric(metric: Metric, comparison: Comparison) -> MetricVerdict:
    state = STATES.get(comparison.outcome, State.INCONCLUSIVE)
    if state in (State.IMPROVED, State.REGRESSED) and not comparison.confirmed:
        state = State.INCONCLUSIVE
    is_open = state is State.INCONCLUSIVE
    if is_open and _excludes_loss(comparison):
        state = State.HELD
        comparison = replace(comparison, needs_more=None)
    elif is_open and _is_suspicious(comparison):
        # To be repeated in a new session.
        state = State.FLAGGED
        comparison = replace(comparison, needs_more=1)
    if metric.accepted and state in (State.REGRESSED, State.FLAGGED):
        state = State.ACCEPTED
        comparison = replace(comparison, needs_more=None)

    return MetricVerdict(metric, comparison, state, _build_reason(metric, comparison, state))


def _excludes_loss(comparison: Comparison) -> bool:
    """Whether the interval excludes a loss as large as the threshold."""
    return comparison.low is not None and comparison.low >= 1 - comparison.threshold - _ROUNDING


def _is_suspicious(comparison: Comparison) -> bool:
    """Whether the only session is worse by the threshold, with a one-sided p below 5 %."""
    if comparison.n_a > 1 or comparison.ratio is None or comparison.p is None:
        return False
    is_worse = comparison.ratio <= 1 - comparison.threshold + _ROUNDING
    return is_worse and comparison.p < 2 * SCREENING_P


def _combine_states(judged: Sequence[MetricVerdict]) -> Verdict:
    states = {judgement.state for judgement in judged}
    if states >= {State.REGRESSED, State.IMPROVED}:
        return Verdict.MIXED
    if State.REGRESSED in states:
        return Verdict.REGRESSION
    if State.ACCEPTED in states and State.FLAGGED not in states:
        return Verdict.PASS
    if State.IMPROVED in states:
        return Verdict.IMPROVEMENT
    if states == {State.HELD}:
        return Verdict.PASS
    return Verdict.INCONCLUSIVE


def _build_headline(verdict: Verdict, judged: Sequence[MetricVerdict], environment: EnvironmentAnswer) -> str:
    """What was found, in at most 20 words."""

    def changes(state: State, most: int = MAX_NAMED) -> str:
        return _enumerate_names([_describe_change(judgement) for judgement in judged if judgement.state is state], most)

    if not environment.comparable:
        fields = _enumerate_names([difference.field.replace("_", " ") for difference in environment.differs])
        return ENVIRONMENTS_DIFFER.format(fields=fields)
    if State.FLAGGED in {judgement.state for judgement in judged}:
        return ONE_SESSION_WORSE.format(metrics=_name_metrics(judged, State.FLAGGED))

    match verdict:
        case Verdict.REGRESSION:
            return REGRESSION.format(changes=changes(State.REGRESSED))
        case Verdict.IMPROVEMENT:
            return IMPROVEMENT.format(changes=changes(State.IMPROVED))
        case Verdict.MIXED:
            return WORSE_AND_BETTER.format(worse=changes(State.REGRESSED, 1), better=changes(State.IMPROVED, 1))
        case Verdict.PASS if State.ACCEPTED in {judgement.state for judgement in judged}:
            return LOSS_ACCEPTED.format(changes=changes(State.ACCEPTED))
        case Verdict.PASS:
            return NO_LOSS.format(metrics=_name_metrics(judged, State.HELD))
    return _describe_no_difference(judged) or NO_DECISION.format(changes=changes(State.INCONCLUSIVE))


def _build_certainty(
    verdict: Verdict, judged: Sequence[MetricVerdict], environment: EnvironmentAnswer, needs_more: int | None
) -> str:
    """How sure it is, in at most 15 words."""
    states = {judgement.state for judgement in judged}
    if not environment.comparable:
        return ONLY_ALIKE
    if State.FLAGGED in states:
        return NEW_JOB_DECIDES
    comparison = judged[0].comparison
    unit = _get_unit(comparison)
    undecided = more = ""
    if verdict is not Verdict.INCONCLUSIVE and State.INCONCLUSIVE in states:
        undecided = UNDECIDED_METRICS.format(metrics=_name_metrics(judged, State.INCONCLUSIVE, 1))
    regressed = [judgement.comparison for judgement in judged if judgement.state is State.REGRESSED]
    if any(loss.open_sessions == 1 for loss in regressed):
        more = LATER_CONFIRM
    elif needs_more:
        more = MORE_MAY_DECIDE.format(repeats=counted(needs_more, f"more {unit}"))
    new = counted(comparison.n_a, unit)
    return COMPARED.format(new=new, base=comparison.n_b, undecided=undecided, more=more)


def _name_metrics(judged: Sequence[MetricVerdict], state: State, most: int = MAX_NAMED) -> str:
    return _enumerate_names([judgement.metric.name for judgement in judged if judgement.state is state], most)


def _get_unit(comparison: Comparison) -> str:
    return "block" if comparison.is_blocked else comparison.unit


def _describe_no_difference(judged: Sequence[MetricVerdict]) -> str:
    """What an inconclusive verdict found where none of its open metrics shows a difference; empty otherwise."""
    undecided = [judgement for judgement in judged if judgement.state is State.INCONCLUSIVE]
    hidden = {judgement.metric.name: judgement.comparison.hidden_difference for judgement in undecided}
    shares = {name: share for name, share in hidden.items() if share}
    if not shares or len(shares) < len(hidden):
        return ""
    metrics = _name_metrics(judged, State.INCONCLUSIVE)
    name, largest = max(shares.items(), key=itemgetter(1))
    share = hidden_text(largest)
    if len(set(map(hidden_text, shares.values()))) > 1:
        share = SHARE_OF.format(share=share, metric=name)
    return NO_DIFFERENCE_IN.format(metrics=metrics, share=share)


def _describe_change(judgement: MetricVerdict) -> str:
    """ "throughput 12 % lower" """
    if judgement.comparison.ratio is None:
        return f"{judgement.metric.name} unknown"
    change = _compute_relative_change(judgement.metric, judgement.comparison)
    return f"{judgement.metric.name} {_describe_move(change, f'{significant(100 * abs(change), 2)} %')}"


def _describe_move(change: float, size: str) -> str:
    """What rounds to nothing went nowhere."""
    if abs(change) < 5e-5:
        return "the same"
    direction = "higher" if change > 0 else "lower"
    return f"{size} {direction}"


def _compute_relative_change(metric: Metric, comparison: Comparison) -> float:
    """The ratio says how many times better the new side is; people read how far the value itself went."""
    if not comparison.ratio:
        return 0.0
    return comparison.ratio - 1 if metric.higher_is_better else 1 / comparison.ratio - 1


def _build_reason(metric: Metric, comparison: Comparison, state: State) -> str:
    """ "Throughput is 12.0 % lower: ratio 0.88 [0.86, 0.90]. The interval excludes 1 ..." """
    name = metric.name[0].upper() + metric.name[1:]
    if comparison.ratio is None:
        return f"{name}: {comparison.reason}"

    change = _compute_relative_change(metric, comparison)
    moved = _describe_move(change, plain_percent(abs(change)))
    ratio = significant(comparison.ratio, 3)
    if comparison.low is None:
        reason = NOT_JUDGED if state is State.NOT_COMPARABLE else comparison.reason
        return f"{name} is {moved} (ratio {ratio}). {reason}"

    # The reasons below it repeat the interval, but for those of a state that is stated here.
    interval = interval_text(comparison)
    if state not in (State.REGRESSED, State.IMPROVED, State.INCONCLUSIVE) or interval not in comparison.reason:
        ratio += f" {interval}"

    measured = (
        f"{name} is {moved}: ratio {ratio}, {counted(comparison.n_a, _get_unit(comparison))} against {comparison.n_b}."
    )
    return f"{measured} {_explain_state(metric, comparison, state)}"


def _explain_state(metric: Metric, comparison: Comparison, state: State) -> str:
    if state is State.ACCEPTED:
        return LEVEL_ACCEPTED.format(name=metric.accepted)
    if state is State.HELD:
        return LOSS_EXCLUDED.format(threshold=plain_percent(comparison.threshold))
    if state is State.NOT_COMPARABLE:
        return NOT_JUDGED
    if state is State.FLAGGED:
        return MEASURE_AGAIN
    if comparison.confirmed or comparison.outcome not in (Outcome.FASTER, Outcome.SLOWER):
        return comparison.reason
    return NOT_CONFIRMED if comparison.n_a > 1 else UNDECIDED


def _enumerate_names(names: Sequence[str], most: int = MAX_NAMED) -> str:
    distinct = list(dict.fromkeys(names))
    if len(distinct) > most:
        return listed(distinct, most)
    return enumerated(distinct) or "nothing"

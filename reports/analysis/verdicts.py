"""Is new code better or worse than what it is judged against? Three keys, or it is inconclusive.

1. The effect is beyond the practical threshold: 5 % of throughput and of a mean, 10 % of a p99, or what was asked for.
2. The interval agrees, by Holm's p among all metrics of the verdict (`reports.analysis.multiple`), shared with the
   other tests of the commit and with later looks. Its unit is the session (`reports.analysis.sessions`): a CI job.
3. The environments are comparable (`reports.analysis.gate`): what changed with the machines is nobody's fault.

A single new session only screens. It flags a metric that is worse by the threshold with a one-sided p below 5 %; the
test is then repeated in a new session, and a regression is one that this session shows by itself too.

A metric holds where its interval excludes a loss as large as the threshold, whether or not it excludes a gain. The
verdict is "pass" where every metric holds; one open metric makes it inconclusive, unless another one decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

from benchsite.formatting import THIN, percent, significant
from reports.analysis import repeat_comparison
from reports.analysis.multiple import adjusted
from reports.analysis.repeat_comparison import Comparison, Outcome, compare_sessions, interval_text, not_comparable
from reports.analysis.sessions import Session, SessionSpread, look

ALGORITHM: Final = "three keys, session means 1, Holm"
VERSION: Final = 2  # changes with any rule that could change a verdict
# An interval that ends at the threshold itself excludes a loss beyond it.
_ROUNDING: Final = 1e-12
SCREENING_P: Final = 0.05  # one-sided, for each metric


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
    FLAGGED = "flagged"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of both sides: sessions, newest first, with one value for each run. Throughput in ops/s, else µs."""

    name: str  # "throughput", "READ p99"
    statistic: str  # "throughput", "mean" or "p99": what a threshold is named by
    higher_is_better: bool
    new: tuple[Session, ...]
    base: tuple[Session, ...]
    kind: str = ""  # of a latency: "service" or "response"
    history: tuple[Session, ...] = ()  # of the same test, before the base

    @property
    def unit(self) -> Literal["ops/s", "µs"]:
        return "ops/s" if self.higher_is_better else "µs"


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two environments: in a word for programs, and as a sentence."""

    field: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Environment:
    """Whether the sides were measured under the same conditions. What nobody knows stops nothing, and is said."""

    differs: tuple[Difference, ...] = ()
    ignored: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def comparable(self) -> bool:
        return not self.differs


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
    reasons: tuple[str, ...]  # the first says the verdict
    needs_more: int | None = None  # sessions that the shorter side lacks; None: nothing is lacking, or no number helps
    flagged: bool = False


def threshold_of(metric: Metric, thresholds: Mapping[str, float]) -> float:
    """By the metric's own name, else by its statistic, else the usual one."""
    usual = repeat_comparison.LATENCY_THRESHOLD if metric.statistic == "p99" else repeat_comparison.THRESHOLD
    return thresholds.get(metric.name, thresholds.get(metric.statistic, usual))


def judge(
    metrics: Sequence[Metric],
    environment: Environment,
    *,
    thresholds: Mapping[str, float] | None = None,
    spread: SessionSpread | None = None,
    extend: bool = False,
    tests: int = 1,
) -> Judgement:
    """The verdict of these metrics; nothing that is handed in raises. At least one metric has values on both sides.

    `spread` is that of the machines' sessions; with `extend` the base is the level of the history up to it; `tests` is
    how many tests of the commit share the error.
    """
    found = [
        compare_sessions(
            one.new,
            one.base,
            one.history,
            higher_is_better=one.higher_is_better,
            threshold=threshold_of(one, thresholds or {}),
            spread=spread,
            extend=extend,
        )
        for one in metrics
    ]
    if environment.comparable:
        found = adjusted(found, max(tests, 1) / look(len(metrics[0].new))[1])
    else:
        stops = [one.sentence for one in environment.differs]
        found = [not_comparable(one, stops) for one in found]
    judged = tuple(_judged(metric, one) for metric, one in zip(metrics, found, strict=True))
    verdict = _verdict(judged)
    flagged = any(one.state is State.FLAGGED for one in judged)
    open_ones = [one for one in judged if one.state in (State.INCONCLUSIVE, State.FLAGGED)]
    lacking = [one.comparison.needs_more for one in open_ones]
    needs = max((more for more in lacking if more is not None), default=None) if None not in lacking else None
    first = _headline(verdict, judged, environment)
    return Judgement(verdict, judged, (first, *(one.reason for one in _telling_first(judged))), needs, flagged)


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """Of several tests: a loss and a gain are mixed, a loss or a gain alone decides, what is open keeps it open."""
    said = set(verdicts)
    if Verdict.MIXED in said or said >= {Verdict.REGRESSION, Verdict.IMPROVEMENT}:
        return Verdict.MIXED
    order = (Verdict.REGRESSION, Verdict.IMPROVEMENT, Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.PASS)
    return next((one for one in order if one in said), Verdict.INCONCLUSIVE)


def _judged(metric: Metric, found: Comparison) -> MetricVerdict:
    state = {
        Outcome.FASTER: State.IMPROVED,
        Outcome.SLOWER: State.REGRESSED,
        Outcome.EQUIVALENT: State.HELD,
        Outcome.NOT_COMPARABLE: State.NOT_COMPARABLE,
    }.get(found.outcome, State.INCONCLUSIVE)
    if state in (State.IMPROVED, State.REGRESSED) and not found.confirmed:
        state = State.INCONCLUSIVE
    if state is State.INCONCLUSIVE and found.low is not None and found.low >= 1 - found.threshold - _ROUNDING:
        state, found = State.HELD, replace(found, needs_more=None)
    if state is State.INCONCLUSIVE and _is_flagged(found):
        state, found = State.FLAGGED, replace(found, needs_more=1)
    return MetricVerdict(metric, found, state, _reason(metric, found, state))


def _is_flagged(found: Comparison) -> bool:
    """Whether its only session is worse by the threshold with a one-sided p below 5 %: to be repeated in a new one."""
    if found.n_a > 1 or found.ratio is None or found.p is None:
        return False
    return found.ratio <= 1 - found.threshold + _ROUNDING and found.p < 2 * SCREENING_P


def _verdict(judged: Sequence[MetricVerdict]) -> Verdict:
    states = {one.state for one in judged}
    if State.REGRESSED in states:
        return Verdict.MIXED if State.IMPROVED in states else Verdict.REGRESSION
    if State.IMPROVED in states:
        return Verdict.IMPROVEMENT
    return Verdict.PASS if states == {State.HELD} else Verdict.INCONCLUSIVE


def _telling_first(judged: Sequence[MetricVerdict]) -> list[MetricVerdict]:
    order = (State.REGRESSED, State.FLAGGED, State.IMPROVED, State.INCONCLUSIVE, State.NOT_COMPARABLE, State.HELD)
    return sorted(judged, key=lambda one: order.index(one.state))


def _headline(verdict: Verdict, judged: Sequence[MetricVerdict], environment: Environment) -> str:
    def names(*states: State) -> str:
        return _listed([one.metric.name for one in judged if one.state in states])

    if not environment.comparable:
        what = _listed([one.field.replace("_", " ") for one in environment.differs])
        return f"Inconclusive: the environments are not comparable, for they differ in {what}."
    open_states = (State.INCONCLUSIVE, State.FLAGGED)
    if State.FLAGGED in {one.state for one in judged}:
        worse = names(State.FLAGGED)
        return f"Inconclusive: one session is worse in {worse}. Measure this test again in a new CI job."
    said = {
        Verdict.REGRESSION: f"Regression: worse in {names(State.REGRESSED)}.",
        Verdict.IMPROVEMENT: f"Improvement: better in {names(State.IMPROVED)}.",
        Verdict.MIXED: f"Mixed: worse in {names(State.REGRESSED)}, better in {names(State.IMPROVED)}.",
        Verdict.PASS: f"Pass: no loss in {names(State.HELD)}.",
    }.get(verdict, f"Inconclusive: open in {names(*open_states)}.")
    if verdict is Verdict.INCONCLUSIVE or State.INCONCLUSIVE not in {one.state for one in judged}:
        return said
    return f"{said} Open in {names(State.INCONCLUSIVE)}."


def _reason(metric: Metric, found: Comparison, state: State) -> str:
    """ "Throughput is 12.0 % lower: ratio 0.88 [0.86, 0.90]. The interval excludes 1 ..." """
    name = metric.name[0].upper() + metric.name[1:]
    if found.ratio is None:
        return f"{name}: {found.reason}"
    # The ratio says how many times better the new side is; people read how far the value itself went.
    change = found.ratio - 1 if metric.higher_is_better else 1 / found.ratio - 1
    # What rounds to nothing went nowhere.
    moved = f"{_percent(abs(change))} {'higher' if change > 0 else 'lower'}" if abs(change) >= 5e-5 else "the same"
    ratio = significant(found.ratio, 3)
    if found.low is None:
        why = found.reason
        if state is State.NOT_COMPARABLE:
            why = "Not judged, because the environments are not comparable."
        return f"{name} is {moved} (ratio {ratio}). {why}"
    said_below = state in (State.REGRESSED, State.IMPROVED, State.INCONCLUSIVE) and interval_text(found) in found.reason
    interval = "" if said_below else f" {interval_text(found)}"
    shown = f"{name} is {moved}: ratio {ratio}{interval}, {_sessions(found.n_a)} against {found.n_b}."
    if state is State.HELD:
        return f"{shown} A loss of {_percent(found.threshold)} or more is excluded."
    if state is State.NOT_COMPARABLE:
        return f"{shown} Not judged, because the environments are not comparable."
    if state is State.FLAGGED:
        return f"{shown} One session does not decide: measure it again in a new one."
    if not found.confirmed and found.outcome in (Outcome.FASTER, Outcome.SLOWER):
        return f"{shown} {'No later session confirms it.' if found.n_a > 1 else 'One session does not decide.'}"
    return f"{shown} {found.reason}"


def _sessions(count: int) -> str:
    return f"{count} session" if count == 1 else f"{count} sessions"


def _percent(share: float) -> str:
    return percent(share).replace(THIN, " ")


def _listed(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"

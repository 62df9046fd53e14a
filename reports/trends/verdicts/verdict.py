"""`compute_verdict` judges some runs against others."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from typing import Any, Final, Literal, TypeVar, cast

from benchsite.accounts.models import Team
from reports.compare.analysis.blocks import Blocks
from reports.compare.analysis.comparability import DiffersAnswer, EnvironmentAnswer, gate
from reports.compare.analysis.ratios import unusable
from reports.compare.analysis.repeat_comparison import Comparison, finite
from reports.compare.curves import Curve, Point, collect_operations, collect_points, detect_kind
from reports.compare.queries.curves import run_curve, run_points
from reports.compare.queries.sweep_facts import get_profile
from reports.trends.analysis.baseline_levels import Level
from reports.trends.analysis.sessions import Session, compute_mean, largest_spread
from reports.trends.analysis.verdict_rules import (
    MIN_P99_OPERATIONS,
    Metric,
    MetricVerdict,
    State,
    judge,
)
from reports.trends.messages import (
    BETWEEN_TWO_VALUES,
    NOT_EVERY_RUN_MEASURED,
    RUN_CLOSES_MATRIX,
    RUN_REJECTED,
    SAME_RUNS,
    TOO_FEW_OPERATIONS,
)
from reports.trends.queries.baselines import MAX_HISTORY, get_hardware, measured_points
from reports.trends.queries.noise import session_key, session_spreads
from reports.trends.verdicts.serialization import LeftOutAnswer, MetricAnswer, SideAnswer, VerdictDocument
from runs.checks import Profile, judge_pair
from runs.checks.spec_facts import side_facts
from runs.models import Matrix, Run, Status, Verdict as Validity
from runs.queue.spec import RunSpec

T = TypeVar("T")
STATISTICS: Final = ("mean", "p99")
# What is measured once per client says nothing of the database under load.
NOT_JUDGED: Final = frozenset({"CLEANUP", "INIT"})
# What a verdict is about: other code. A changed version is what changed code looks like.
VARYING: Final = ("version",)
# More runs say nothing more, and would make a verdict slow.
MAX_RUNS = 50


@dataclass(frozen=True, slots=True)
class Against:
    """What runs are judged against. No run: there is nothing yet."""

    runs: Sequence[Run] = ()
    chosen: str = ""  # how, as a sentence
    name: str = ""  # of a baseline or a build
    thresholds: Mapping[str, float] = field(default_factory=dict)  # shares by metric ("READ p99") or statistic ("p99")
    level: Level = Level.SIDE
    duplicates: Sequence[Run] = ()  # of the same output as one of those that are judged: they are no history of it


@dataclass(frozen=True, slots=True)
class RunsAround:
    """Runs of the same test beside the two sides: counted, without specs, the newest first."""

    history: Sequence[Run] = ()  # before the base
    since: Sequence[Run] = ()  # between the base and the new ones
    later: Sequence[Run] = ()  # after the new ones
    at_level: int = MAX_HISTORY  # runs of the history since a person accepted a level
    accepted: Run | None = None  # with which a level begins that a person accepted after the base
    accepted_since: int = 0  # runs of those since, from that level on; 0: it begins with the new ones

    @property
    def parts(self) -> dict[str, Sequence[Run]]:
        """The runs by the names of the fields of `Metric`."""
        return {
            "history": self.history[: self.at_level],
            "earlier": self.history[self.at_level :],
            "since": self.since,
            "accepted_since": self.since[: self.accepted_since],
            "later": self.later,
        }


def collect_metrics(
    new: Sequence[Sequence[Curve]],
    base: Sequence[Sequence[Curve]],
    around: Mapping[str, Sequence[Sequence[Point]]],
) -> tuple[list[Metric], list[str]]:
    """The metrics that both sides have, throughput first; and sentences about those that cannot be judged.

    Sides are sessions, each with its runs as curves of one rung; `around` has those of `RunsAround.parts`, as sessions
    of points. A session of these that lacks a metric is left out of it.
    """
    new_points = [collect_points(session) for session in new]
    base_points = [collect_points(session) for session in base]
    others: dict[str, Any] = {part: _collect_throughputs(sessions) for part, sessions in around.items()}
    throughput = Metric(
        name="throughput",
        statistic="throughput",
        higher_is_better=True,
        new=_collect_throughputs(new_points),
        base=_collect_throughputs(base_points),
        **others,
    )
    metrics = [throughput]
    notes: list[str] = []
    curves = list(chain.from_iterable((*new, *base)))
    # Response time where every run has it, for overload shows there alone; else service time.
    kind = detect_kind(curves)
    names = [name for name in collect_operations(curves) if name not in NOT_JUDGED and not name.endswith("FAILED")]
    for name, statistic in product(names, STATISTICS):
        new_values, new_reason = _collect_latencies(new_points, "new", name, kind, statistic)
        base_values, base_reason = _collect_latencies(base_points, "base", name, kind, statistic)
        if new_reason or base_reason:
            notes.append(f"{name} {statistic} is not judged: {new_reason or base_reason}")
            continue

        others = {
            part: _collect_latencies(sessions, "base", name, kind, statistic)[0] for part, sessions in around.items()
        }
        latency = Metric(
            name=f"{name} {statistic}",
            statistic=statistic,
            higher_is_better=False,
            new=new_values,
            base=base_values,
            kind=kind,
            **others,
        )
        metrics.append(latency)

    return metrics, notes


Values = tuple[float, ...]


def _collect_throughputs(sessions: Sequence[Sequence[Point]]) -> tuple[Values, ...]:
    return tuple(tuple(point.throughput_ops_s.geomean for point in session) for session in sessions)


def _collect_latencies(
    sessions: Sequence[Sequence[Point]], side: str, name: str, kind: str, statistic: str
) -> tuple[tuple[Values, ...], str]:
    """The values of those sessions of a side that have them, and why one has none."""
    readings = [_read_latencies(session, side, name, kind, statistic) for session in sessions]
    reason = next((reason for _, reason in readings if reason), "")
    return tuple(values for values, _ in readings if values), reason


def _read_latencies(session: Sequence[Point], side: str, name: str, kind: str, statistic: str) -> tuple[Values, str]:
    """The values of a session's runs, or why there are none."""
    operations = [point.operation(name, kind) for point in session]
    measured = [operation for operation in operations if operation]
    if len(measured) < len(session):
        return (), NOT_EVERY_RUN_MEASURED.format(side=side, kind=kind)
    if statistic == "p99" and any(row.ok is not None and row.ok < MIN_P99_OPERATIONS for row in measured):
        return (), TOO_FEW_OPERATIONS.format(side=side, limit=MIN_P99_OPERATIONS)
    means = [operation.geomean_us(statistic) for operation in measured]
    values = tuple(mean for mean in means if mean is not None)
    if len(values) < len(means):
        return (), BETWEEN_TWO_VALUES.format(side=side)
    return values, ""


def compare_environments(new: Mapping[Run, Curve], base: Mapping[Run, Curve], profile: Profile) -> EnvironmentAnswer:
    """The differences between the first run of the baseline and any other one, be it new or of the baseline."""
    reference, *others = [*base, *new]
    curves = {**base, **new}
    # Without a name of its own, so that what is said of ten runs is said once.
    run_sides = {
        run: side_facts("one of the sides", cast(RunSpec, run.spec), str(run.evidence.get("server_version") or ""))
        for run in curves
    }
    differs: dict[DiffersAnswer, None] = {}
    ignored: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for run in others:
        findings = judge_pair(run_sides[reference], run_sides[run], profile)
        judged = gate(curves[reference], curves[run], findings, VARYING, declared=True)
        differs |= dict.fromkeys(judged.differs)
        differs |= dict.fromkeys(_compare_machines(reference, run))
        ignored |= dict.fromkeys(judged.ignored)
        unknown |= dict.fromkeys(judged.unknown)

    return EnvironmentAnswer(not differs, tuple(differs), tuple(ignored), tuple(unknown))


def _compare_machines(a: Run, b: Run) -> list[DiffersAnswer]:
    """What says that other machines did it, where nobody knows the machines' facts."""
    cluster_a, cluster_b = a.spec["cluster"]["name"], b.spec["cluster"]["name"]
    hardware_a, hardware_b = get_hardware(a), get_hardware(b)
    differs = []
    if cluster_a and cluster_b and cluster_a != cluster_b:
        differs.append(DiffersAnswer("cluster", f"The clusters differ: {cluster_a} and {cluster_b}."))
    if hardware_a and hardware_b and _normalise(hardware_a) != _normalise(hardware_b):
        detail = f"The hardware is stated differently: “{hardware_a[:80]}” and “{hardware_b[:80]}”."
        differs.append(DiffersAnswer("hardware", detail))
    return differs


def _normalise(text: str) -> str:
    return " ".join(text.lower().split())


def compute_verdict(
    team: Team,
    new_runs: Sequence[Run],
    against: Against,
    around: RunsAround = RunsAround(),
    *,
    tests: int = 1,
    order: str = "",
) -> VerdictDocument:
    """The verdict of new runs against others, all of them the team's; at most nine queries, however many they are.

    Runs that are rejected or excluded never count; where no new one does, the verdict is "error". `tests` is the number
    of tests that share the commit's error. `order` is that of the one plan that measured both sides; empty: several.
    """
    left_out = [*_list_left_out("new", new_runs), *_list_left_out("base", against.runs)]
    lacking = [answer.reason for answer in left_out if answer.side == "new"]
    new = [run for run in new_runs if not why_not(run)][:MAX_RUNS]
    old = [run for run in against.runs if not why_not(run)][:MAX_RUNS]
    headline = "No verdict: no new run counts." if lacking else "No verdict: there is no new run."
    document = VerdictDocument(
        "error",
        (headline, *lacking),
        new=build_side(new),
        base=replace(build_side(against.runs, against.name, against.chosen), runs=tuple(run.pk for run in old)),
        left_out=tuple(left_out),
        test=new_runs[0].config_key if new_runs else "",
    )
    if not new:
        return document
    if set(new) == set(old):
        return replace(document, verdict="inconclusive", reasons=(SAME_RUNS,))

    points = run_points([*new, *old]) if old else {}
    new_curves = {run: run_curve(run, points[run.pk]) for run in new if run.pk in points}
    base_curves = {run: run_curve(run, points[run.pk]) for run in old if run.pk in points}
    if not new_curves or not base_curves:
        return replace(document, verdict="inconclusive", reasons=("Not judged: no run of the baseline counts.",))

    environment = compare_environments(new_curves, base_curves, get_profile(team, [*new, *old]))
    clusters = {curve.setup.cluster_name for curve in (*new_curves.values(), *base_curves.values())}
    spread = largest_spread(clusters, session_spreads(team, clusters))
    metrics, notes = _collect_metrics_of_runs(new_curves, base_curves, around, order)
    judgement = judge(
        metrics, environment, thresholds=against.thresholds, spread=spread, level=against.level, tests=tests
    )
    accepted_run = None
    if around.accepted and any(verdict.state is State.ACCEPTED for verdict in judgement.metrics):
        accepted_run = around.accepted.pk
    document = replace(
        document,
        accepted_run=accepted_run,
        verdict=judgement.verdict.value,
        reasons=(*judgement.reasons, *notes, *lacking),
        metrics=tuple(_build_metric_answer(verdict, against.level) for verdict in judgement.metrics),
        environment=environment,
        needs_more_repeats=judgement.needs_more,
        noise_floor=spread.relative if spread else None,
        flagged=judgement.flagged,
        certainty=judgement.certainty,
        tests=tests,
    )
    onset = find_onset(judgement.metrics, [*new_curves, *around.since, *base_curves, *around.history])
    if onset is None:
        return document

    headline, *reasons = document.reasons
    if onset.commit != new[0].commit:
        reasons.insert(0, f"It began with commit {onset.commit[:12]} and lasts.")
    return replace(document, reasons=(headline, *reasons), since=onset.commit, since_run=onset.pk)


def _collect_metrics_of_runs(
    new: Mapping[Run, Curve], base: Mapping[Run, Curve], around: RunsAround, order: str
) -> tuple[list[Metric], list[str]]:
    """The metrics of the sessions of both sides and of those around them, and sentences about those not judged."""
    points = measured_points([*around.history, *around.since, *around.later])
    others = {part: by_session({run: points[run.pk] for run in runs}) for part, runs in around.parts.items()}
    if order:
        # One plan measured both sides: each is one session, in blocks.
        metrics, notes = collect_metrics([list(new.values())], [list(base.values())], others)
        new_repeats = [run.repeat for run in new]
        base_repeats = [run.repeat for run in base]
        metrics = [add_blocks(metric, new_repeats, base_repeats, order) for metric in metrics]
    else:
        metrics, notes = collect_metrics(by_session(new), by_session(base), others)

    if around.accepted:
        name = around.accepted.commit[:12] or f"“{around.accepted.name}”"
        begins_with_new = not around.accepted_since
        metrics = [
            replace(metric, accepted=name) if begins_with_new or metric.accepted_since else metric for metric in metrics
        ]
    return metrics, notes


def add_blocks(metric: Metric, new: Sequence[int], base: Sequence[int], order: str) -> Metric:
    """The metric of sides that one plan measured; `new` and `base` are the numbers of the repeats, as its values."""
    if order == Matrix.Order.AS_LISTED:
        return replace(metric, blocks=Blocks({}, {}))
    exponent = 1 if metric.higher_is_better else -1
    new_blocks = _group_by_repeat(new, metric.new, exponent)
    base_blocks = _group_by_repeat(base, metric.base, exponent)
    return replace(metric, blocks=Blocks(new_blocks, base_blocks))


def _group_by_repeat(repeats: Sequence[int], sessions: Sequence[Session], exponent: int) -> dict[int, float]:
    """The values of the only session by their repeat, higher is better; those without a logarithm are left out."""
    (session,) = sessions
    return {repeat: value**exponent for repeat, value in zip(repeats, session, strict=True) if value > 0}


def find_onset(metrics: Sequence[MetricVerdict], runs: Iterable[Run]) -> Run | None:
    """A run of the first session of the open loss that lasts longest; None: none is open."""
    losses = [verdict.comparison for verdict in metrics if verdict.state is State.REGRESSED]
    lasting = max((comparison.open_sessions for comparison in losses), default=0)
    if not lasting:
        return None
    # Sessions and their runs are newest first.
    sessions = by_session({run: run for run in runs})
    first_session = sessions[:lasting][-1]
    return first_session[-1]


def by_session(measured: Mapping[Run, T]) -> list[list[T]]:
    """The values of each session, in the order of the runs."""
    sessions: dict[str, list[T]] = {}
    for run, value in measured.items():
        at = run.started_at or run.finished_at
        origin = run.matrix_id or run.commit or run.sweep_id
        key = session_key(run.session, origin, at.astimezone(dt.UTC).date() if at else None)
        sessions.setdefault(key, []).append(value)
    return list(sessions.values())


def why_not(run: Run) -> str:
    """Why a run counts for no verdict, as a sentence; empty: it counts."""
    if run.status != Status.SUCCEEDED:
        reason = f", {run.get_reason_display()}" if run.reason else ""
        return f"“{run.name}” did not succeed: {run.get_status_display()}{reason}."
    if run.excluded_reason:
        return f"“{run.name}” is excluded: {run.excluded_reason[:200]}"
    if run.verdict == Validity.REJECT and not run.verdict_override:
        return RUN_REJECTED.format(run=run.name)
    if run.is_bracket:
        return RUN_CLOSES_MATRIX.format(run=run.name)
    if run.throughput_ops_s:
        return ""

    return f"“{run.name}” has no throughput."


def _list_left_out(side: Literal["new", "base"], runs: Sequence[Run]) -> list[LeftOutAnswer]:
    return [
        LeftOutAnswer(run=run.pk, name=run.name, side=side, reason=reason) for run in runs if (reason := why_not(run))
    ]


def build_side(runs: Sequence[Run], name: str = "", chosen: str = "") -> SideAnswer:
    """The side of these runs: what they have in common, the name of their baseline and how they were chosen."""
    return SideAnswer(
        runs=tuple(run.pk for run in runs),
        commit=get_common(run.commit for run in runs),
        branch=get_common(run.branch for run in runs),
        name=name,
        chosen=chosen,
    )


def get_common(values: Iterable[str]) -> str:
    """The value of all; empty where they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else ""


def _select_sessions(
    metric: Metric, comparison: Comparison, level: Level
) -> tuple[Sequence[Session], Sequence[Session]]:
    """The sessions of both sides that the comparison is made of."""
    if metric.blocks:
        return metric.new, metric.base
    if not level.is_followed:
        # A look uses the first sessions; both are newest first.
        return metric.new[-comparison.n_a :], metric.base[: comparison.n_b]
    base = [*metric.base, *metric.history]
    sessions = [*metric.new, *metric.since, *base]
    new = sessions[: comparison.n_a]
    if comparison.open_sessions and not level.is_fixed:
        # The level stands before the whole of the loss, which may have begun before the base.
        base = sessions[comparison.open_sessions :]
    return new, base[: comparison.n_b]


def _build_metric_answer(verdict: MetricVerdict, level: Level) -> MetricAnswer:
    metric, comparison = verdict.metric, verdict.comparison
    new, base = _select_sessions(metric, comparison, level)
    return MetricAnswer(
        name=metric.name,
        unit=metric.unit,
        kind=metric.kind,
        state=verdict.state.value,
        new=_compute_mean(new),
        base=_compute_mean(base),
        new_measured=_compute_mean(metric.new),
        base_measured=_compute_mean(metric.base),
        ratio=comparison.ratio,
        low=finite(comparison.low),
        high=finite(comparison.high),
        new_runs=sum(map(len, metric.new)),
        base_runs=sum(map(len, metric.base)),
        new_sessions=comparison.n_a,
        base_sessions=comparison.n_b,
        threshold=comparison.threshold,
        p=comparison.p,
        adjusted_p=comparison.adjusted_p,
        needs_more_repeats=comparison.needs_more,
        reason=verdict.reason,
    )


def _compute_mean(sessions: Sequence[Session]) -> float | None:
    """The mean whose ratio is the ratio; None where a value has no logarithm."""
    if not sessions or any(unusable(session) for session in sessions):
        return None
    return compute_mean(sessions)

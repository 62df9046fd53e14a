"""`compute_verdict` judges some runs against others."""

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean
from typing import Final, Literal, TypeVar, cast

from benchsite.accounts.models import Team
from reports.compare.analysis.blocks import Blocks
from reports.compare.analysis.comparability import gate
from reports.compare.analysis.ratios import unusable
from reports.compare.analysis.repeat_comparison import finite
from reports.compare.curves import Curve, Point, collect_operations, collect_points, detect_kind
from reports.compare.queries.curves import run_curve, run_points
from reports.compare.queries.sides import get_profile
from reports.trends.analysis.sessions import Session, compute_log_mean, largest_spread
from reports.trends.analysis.verdicts import DiffersAnswer, EnvironmentAnswer, Level, Metric, MetricVerdict, judge
from reports.trends.messages import (
    BETWEEN_TWO_VALUES,
    NOT_EVERY_RUN_MEASURED,
    RUN_CLOSES_MATRIX,
    RUN_REJECTED,
    TOO_FEW_OPERATIONS,
)
from reports.trends.queries.baselines import MAX_HISTORY, measured_points
from reports.trends.queries.noise import session_key, session_spreads
from reports.trends.verdicts.serialization import LeftOutAnswer, MetricAnswer, SideAnswer, VerdictDocument
from runs.checks import Profile, judge_pair
from runs.checks.spec_facts import side_facts
from runs.models import Matrix, Run, Status, Verdict as Validity
from runs.queue.spec import RunSpec

T = TypeVar("T")
STATISTICS: Final = ("mean", "p99")
# Of fewer operations the slowest hundredth is fewer than ten of them.
MIN_FOR_P99: Final = 1000
# What is measured once per client says nothing of the database under load.
NOT_JUDGED: Final = frozenset({"CLEANUP", "INIT"})
# What a verdict is about: other code. A changed version is what changed code looks like.
VARYING: Final = ("version",)
# More runs say nothing more, and would make a verdict slow.
MAX_RUNS = 50


@dataclass(frozen=True, slots=True)
class Followed:
    """Runs of the same test beside the two sides: counted, without specs, the newest first."""

    level: Level = Level.SIDE
    history: Sequence[Run] = ()  # before the base
    since: Sequence[Run] = ()  # between the base and the new ones
    at_level: int = MAX_HISTORY  # runs of the history since a person accepted a level
    is_accepted: bool = False  # the new runs begin the level that a person accepted

    @property
    def parts(self) -> tuple[Sequence[Run], Sequence[Run], Sequence[Run]]:
        """The runs at the base's level, the earlier ones, and those since."""
        return self.history[: self.at_level], self.history[self.at_level :], self.since


def collect_metrics(
    new: Sequence[Sequence[Curve]],
    base: Sequence[Sequence[Curve]],
    others: Sequence[Sequence[Sequence[Point]]] = ((), (), ()),
) -> tuple[list[Metric], list[str]]:
    """The metrics that both sides have, throughput first; and sentences about those that cannot be judged.

    Sides are sessions, each with its runs as curves of one rung; `others` are the history at the level of the base, the
    one before it and what is since, as sessions of points. A session of these that lacks a metric is left out of it.
    """
    sides = [collect_points(session) for session in (*new, *base)]
    history, earlier, since = map(_throughputs, others)
    parted = _parted(_throughputs(sides), len(new))
    metrics = [Metric("throughput", "throughput", True, *parted, history=history, earlier=earlier, since=since)]
    notes: list[str] = []
    curves = list(chain.from_iterable((*new, *base)))
    # Response time where every run has it, for overload shows there alone; else service time.
    kind = detect_kind(curves)
    for name in collect_operations(curves):
        if name in NOT_JUDGED or name.endswith("FAILED"):
            continue
        for statistic in STATISTICS:
            values, reasons = [], []
            for number, session in enumerate(sides):
                session_values, why = _values(session, "new" if number < len(new) else "base", name, kind, statistic)
                values.append(session_values)
                if why:
                    reasons.append(why)

            if reasons:
                notes.append(f"{name} {statistic} is not judged: {reasons[0]}")
                continue

            history, earlier, since = (_measured(sessions, name, kind, statistic) for sessions in others)
            parted = _parted(values, len(new))
            metrics.append(
                Metric(
                    f"{name} {statistic}",
                    statistic,
                    False,
                    *parted,
                    kind,
                    history=history,
                    earlier=earlier,
                    since=since,
                )
            )

    return metrics, notes


Values = tuple[float, ...]


def _measured(sessions: Sequence[Sequence[Point]], name: str, kind: str, statistic: str) -> tuple[Values, ...]:
    values = (_values(session, "base", name, kind, statistic)[0] for session in sessions)
    return tuple(session for session in values if session)


def _throughputs(sessions: Sequence[Sequence[Point]]) -> tuple[Values, ...]:
    return tuple(tuple(point.throughput_ops_s.median for point in session) for session in sessions)


def _parted(sessions: Sequence[Values], new: int) -> tuple[tuple[Values, ...], tuple[Values, ...]]:
    return tuple(sessions[:new]), tuple(sessions[new:])


def _values(session: Sequence[Point], who: str, name: str, kind: str, statistic: str) -> tuple[Values, str]:
    """The values of a session's runs, or why there are none."""
    operations = [row for point in session if (row := point.operation(name, kind))]
    if len(operations) < len(session):
        return (), NOT_EVERY_RUN_MEASURED.format(side=who, kind=kind)
    if statistic == "p99" and any(row.ok is not None and row.ok < MIN_FOR_P99 for row in operations):
        return (), TOO_FEW_OPERATIONS.format(side=who, limit=MIN_FOR_P99)
    values = [row.median_us(statistic) for row in operations]
    if None in values:
        return (), BETWEEN_TWO_VALUES.format(side=who)
    return tuple(value for value in values if value is not None), ""


def compare_environments(new: Mapping[Run, Curve], base: Mapping[Run, Curve], profile: Profile) -> EnvironmentAnswer:
    """The differences between the first run of the baseline and any other one, be it new or of the baseline."""
    reference, *others = [*base, *new]
    curves = {**base, **new}
    # Without a name of its own, so that what is said of ten runs is said once.
    facts = {
        run: side_facts("one of the sides", cast(RunSpec, run.spec), str(run.evidence.get("server_version") or ""))
        for run in curves
    }
    differs: dict[DiffersAnswer, None] = {}
    ignored: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for run in others:
        findings = judge_pair(facts[reference], facts[run], profile)
        judged = gate(curves[reference], curves[run], findings, VARYING, declared=True)
        differs |= dict.fromkeys(map(DiffersAnswer, judged.fields, judged.stops))
        differs |= dict.fromkeys(_elsewhere(reference, run))
        ignored |= dict.fromkeys(judged.ignored)
        unknown |= dict.fromkeys(judged.unknown)

    return EnvironmentAnswer(not differs, tuple(differs), tuple(ignored), tuple(unknown))


def _elsewhere(a: Run, b: Run) -> list[DiffersAnswer]:
    """What says that other machines did it, where nobody knows the machines' facts."""
    specs = [cast(RunSpec, run.spec) for run in (a, b)]
    clusters = [spec["cluster"]["name"] for spec in specs]
    hardware = [spec["stated"]["hardware"] if "stated" in spec else "" for spec in specs]
    differs = []
    if all(clusters) and clusters[0] != clusters[1]:
        differs.append(DiffersAnswer("cluster", f"The clusters differ: {clusters[0]} and {clusters[1]}."))
    if all(hardware) and _plain(hardware[0]) != _plain(hardware[1]):
        texts = " and ".join(f"“{text[:80]}”" for text in hardware)
        differs.append(DiffersAnswer("hardware", f"The hardware is stated differently: {texts}."))
    return differs


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def compute_verdict(
    team: Team,
    new_runs: Sequence[Run],
    base_runs: Sequence[Run],
    *,
    base: SideAnswer | None = None,
    thresholds: Mapping[str, float] | None = None,
    followed: Followed = Followed(),
    tests: int = 1,
    order: str = "",
) -> VerdictDocument:
    """The verdict of new runs against others, all of them the team's; at most nine queries, however many they are.

    Runs that are rejected or excluded never count; where no new one does, the verdict is "error". `base` says how the
    baseline was chosen. `thresholds` are shares by metric ("READ p99") or by statistic ("p99"). `tests` is the number
    of tests that share the commit's error. `order` is that of the one plan that measured both sides; empty: several.
    """
    left_out = [*_left_out("new", new_runs), *_left_out("base", base_runs)]
    new, other = ([run for run in runs if not why_not(run)][:MAX_RUNS] for runs in (new_runs, base_runs))
    points = {}
    if new and other:
        points = run_points([*new, *other])
    sides = [{run: run_curve(run, points[run.pk]) for run in runs if run.pk in points} for runs in (new, other)]
    lacking = [answer.reason for answer in left_out if answer.side == "new"]
    test = ""
    if new_runs:
        test = new_runs[0].config_key
    blank = VerdictDocument(
        "error",
        ("Error: no new run counts." if lacking else "Error: there is no new run.", *lacking),
        new=build_side(new),
        base=replace(base, runs=tuple(run.pk for run in other)) if base else build_side(other),
        left_out=tuple(left_out),
        test=test,
    )
    if not new:
        return blank
    if not all(sides):
        return replace(blank, verdict="inconclusive", reasons=("Inconclusive: no run of the baseline counts.",))

    environment = compare_environments(sides[0], sides[1], get_profile(team, [*new, *other]))
    clusters = {curve.setup.cluster_name for curve in (*sides[0].values(), *sides[1].values())}
    spread = largest_spread(clusters, session_spreads(team, clusters))
    beside = measured_points([*followed.history, *followed.since])
    others = [by_session({run: beside[run.pk] for run in runs}) for runs in followed.parts]
    sessions = [[list(side.values())] if order else by_session(side) for side in sides]
    metrics, notes = collect_metrics(sessions[0], sessions[1], others)
    if order:
        repeats = [[run.repeat for run in side] for side in sides]
        metrics = [add_blocks(metric, repeats[0], repeats[1], order) for metric in metrics]

    if followed.is_accepted:
        metrics = [replace(metric, is_accepted=True) for metric in metrics]
    judgement = judge(metrics, environment, thresholds=thresholds, spread=spread, level=followed.level, tests=tests)
    since = find_onset(judgement.metrics, [*sides[0], *followed.since, *sides[1], *followed.history])
    lasting = []
    if since and since.commit != new[0].commit:
        lasting = [f"It began with commit {since.commit[:12]} and lasts."]
    needs_more_repeats = None
    if environment.comparable:
        needs_more_repeats = judgement.needs_more
    noise_floor = None
    if spread:
        noise_floor = spread.relative

    return replace(
        blank,
        verdict=judgement.verdict.value,
        reasons=(judgement.reasons[0], *lasting, *judgement.reasons[1:], *notes, *lacking),
        metrics=tuple(_metric(verdict) for verdict in judgement.metrics),
        environment=environment,
        needs_more_repeats=needs_more_repeats,
        noise_floor=noise_floor,
        flagged=judgement.flagged,
        tests=tests,
        since=since.commit if since else "",
        since_run=since.pk if since else None,
    )


def add_blocks(metric: Metric, new: Sequence[int], base: Sequence[int], order: str) -> Metric:
    """The metric of sides that one plan measured; `new` and `base` are the numbers of the repeats, as its values."""
    if order == Matrix.Order.AS_LISTED:
        return replace(metric, blocks=Blocks({}, {}))
    exponent = 1 if metric.higher_is_better else -1
    a, b = (
        {repeat: value**exponent for repeat, value in zip(repeats, session, strict=True) if value > 0}
        for repeats, (session,) in ((new, metric.new), (base, metric.base))
    )
    return replace(metric, blocks=Blocks(a, b))


def find_onset(metrics: Sequence[MetricVerdict], runs: Iterable[Run]) -> Run | None:
    """A run of the first session of the open loss that lasts longest; None: none is open."""
    sessions = max((verdict.comparison.n_a for verdict in metrics if verdict.comparison.is_open), default=0)
    if not sessions:
        return None
    return by_session({run: run for run in runs})[:sessions][-1][-1]


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
        reason = ""
        if run.reason:
            reason = f", {run.get_reason_display()}"
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


def _left_out(side: Literal["new", "base"], runs: Sequence[Run]) -> list[LeftOutAnswer]:
    return [LeftOutAnswer(run.pk, run.name, side, why) for run in runs if (why := why_not(run))]


def build_side(runs: Sequence[Run], name: str = "", chosen: str = "") -> SideAnswer:
    """The side of these runs: what they have in common, the name of their baseline and how they were chosen."""
    commits = {run.commit for run in runs}
    branches = {run.branch for run in runs}
    return SideAnswer(
        tuple(run.pk for run in runs),
        commits.pop() if len(commits) == 1 else "",
        branches.pop() if len(branches) == 1 else "",
        name,
        chosen,
    )


def _metric(verdict: MetricVerdict) -> MetricAnswer:
    metric, comparison = verdict.metric, verdict.comparison
    sessions = [*metric.new, *metric.since, *metric.base, *metric.history]
    level = sessions[comparison.n_a :] if comparison.is_open else [*metric.base, *metric.history]
    new, base = sessions[: comparison.n_a], level[: comparison.n_b]
    if metric.blocks:
        new, base = list(metric.new), list(metric.base)

    return MetricAnswer(
        name=metric.name,
        unit=metric.unit,
        kind=metric.kind,
        state=verdict.state.value,
        new=_mean(new),
        base=_mean(base),
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


def _mean(sessions: Sequence[Session]) -> float | None:
    """The geometric mean, whose ratio is the ratio; None where a value has no logarithm."""
    if not sessions or any(unusable(session) for session in sessions):
        return None
    return math.exp(fmean(compute_log_mean(session) for session in sessions))

"""`compute_verdict` judges some runs against others."""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter
from statistics import fmean
from typing import Final, Literal, cast
from uuid import UUID

from benchsite.accounts.models import Team
from reports.compare.analysis.comparability import gate
from reports.compare.analysis.ratios import unusable
from reports.compare.analysis.repeat_comparison import finite
from reports.compare.curves import Curve, Point, collect_operations, detect_kind
from reports.compare.queries.curves import run_curve, run_points
from reports.compare.queries.sides import get_profile
from reports.trends.analysis.sessions import Session, compute_log_mean, largest_spread
from reports.trends.analysis.verdicts import DiffersAnswer, EnvironmentAnswer, Metric, MetricVerdict, judge
from reports.trends.queries.noise import session_key, session_spreads
from reports.trends.verdicts.serialization import LeftOutAnswer, MetricAnswer, SideAnswer, VerdictDocument
from runs.checks import Profile, judge_pair
from runs.checks.spec_facts import side_facts
from runs.models import Run
from runs.models.run import Status
from runs.models.run import Verdict as Validity
from runs.queue.spec import RunSpec

STATISTICS: Final = ("mean", "p99")
# Of fewer operations the slowest hundredth is fewer than ten of them.
MIN_FOR_P99: Final = 1000
# What is measured once per client says nothing of the database under load.
NOT_JUDGED: Final = frozenset({"CLEANUP", "INIT"})
# What a verdict is about: other code. A changed version is what changed code looks like.
VARYING: Final = ("version",)
# More runs say nothing more, and would make a verdict slow.
MAX_RUNS = 50


def collect_metrics(
    new: Sequence[Sequence[Curve]], base: Sequence[Sequence[Curve]], history: Sequence[Sequence[Curve]] = ()
) -> tuple[list[Metric], list[str]]:
    """The metrics that both sides have, throughput first; and sentences about those that cannot be judged.

    Sides and history are sessions, each with its runs as curves of one rung. A session of the history that does not
    have a metric is left out of it.
    """
    points = [list(map(_collect_points, side)) for side in (new, base, history)]
    mine, others, older = map(_throughputs, points)
    metrics = [Metric("throughput", "throughput", True, mine, others, history=older)]
    notes: list[str] = []
    curves = list(chain(*new, *base))
    # Response time where every run has it, for overload shows there alone; else service time.
    kind = detect_kind(curves)
    for name in collect_operations(curves):
        if name in NOT_JUDGED or name.endswith("FAILED"):
            continue
        for statistic in STATISTICS:
            read = partial(_read_values, name=name, kind=kind, statistic=statistic)
            sides = [list(map(read, side)) for side in points]
            reasons = [f"a run of the new side {reason}" for _, reason in sides[0] if reason]
            reasons += [f"a run of the base side {reason}" for _, reason in sides[1] if reason]
            if reasons:
                notes.append(f"{name} {statistic} is not judged: {reasons[0]}")
                continue
            mine, others, older = map(_without_reasons, sides)
            metrics.append(Metric(f"{name} {statistic}", statistic, False, mine, others, kind, older))
    return metrics, notes


def _collect_points(session: Sequence[Curve]) -> list[Point]:
    return list(chain.from_iterable(curve.points for curve in session))


Values = tuple[float, ...]


def _throughputs(sessions: Sequence[Sequence[Point]]) -> tuple[Values, ...]:
    return tuple(tuple(map(attrgetter("throughput_ops_s.median"), session)) for session in sessions)


def _without_reasons(side: Sequence[tuple[Values, str]]) -> tuple[Values, ...]:
    return tuple(values for values, _ in side if values)


def _read_values(session: Sequence[Point], name: str, kind: str, statistic: str) -> tuple[Values, str]:
    """The values of a session's runs, or why a run has none."""
    values = []
    for point in session:
        operation = point.operation(name, kind)
        if not operation:
            return (), f"did not measure its {kind} times."
        if statistic == "p99" and operation.ok is not None and operation.ok < MIN_FOR_P99:
            return (), f"did it less than {MIN_FOR_P99} times."
        value = operation.median_us(statistic)
        if value is None:
            return (), "knows only two values between which it lies."
        values.append(value)
    return tuple(values), ""


def compare_environments(new: Mapping[Run, Curve], base: Mapping[Run, Curve], profile: Profile) -> EnvironmentAnswer:
    """What differs between the first run of the baseline and any other one, be it new or of the baseline."""
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
    hardware = [spec.get("stated", {}).get("hardware", "") for spec in specs]
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
    history: Sequence[Run] = (),
    extend: bool = False,
    tests: int = 1,
) -> VerdictDocument:
    """The verdict of new runs against others, all of them the team's; at most eight queries, however many they are.

    Runs that are rejected or excluded never count; where no new one does, the verdict is "error". `base` says how the
    baseline was chosen. `thresholds` are shares by metric ("READ p99") or by statistic ("p99"). `history` are counted
    runs of the same test before those of the baseline, newest first: they say how sessions vary, and with `extend` the
    baseline is the level that they have with it. `tests` is the number of tests that share the commit's error.
    """
    new, left_out = _choose("new", new_runs)
    other, others_left_out = _choose("base", base_runs)
    lacking = [answer.reason for answer in left_out]
    side = build_side(other)
    if base:
        side = replace(base, runs=side.runs)
    blank = VerdictDocument(
        "error",
        ("Error: there is no new run.",),
        new=build_side(new),
        base=side,
        left_out=(*left_out, *others_left_out),
        test=next((run.config_key for run in new_runs), ""),
    )
    if not new and lacking:
        return replace(blank, reasons=("Error: no new run counts.", *lacking))
    if not new:
        return blank
    points = run_points([*new, *other, *history])
    sides = [_build_curves(runs, points) for runs in (new, other, history)]
    if not other or not all(sides[:2]):
        return replace(blank, verdict="inconclusive", reasons=("Inconclusive: no run of the baseline counts.",))
    environment = compare_environments(sides[0], sides[1], get_profile(team, [*new, *other]))
    clusters = {curve.setup.cluster_name for curve in (*sides[0].values(), *sides[1].values())}
    spread = largest_spread(clusters, session_spreads(team, clusters))
    metrics, notes = collect_metrics(*(by_session(side) for side in sides))
    judgement = judge(metrics, environment, thresholds=thresholds, spread=spread, extend=extend, tests=tests)
    return replace(
        blank,
        verdict=judgement.verdict.value,
        reasons=(*judgement.reasons, *notes, *lacking),
        metrics=tuple(_metric(verdict) for verdict in judgement.metrics),
        environment=environment,
        needs_more_repeats=judgement.needs_more,
        noise_floor=spread.relative if spread else None,
        flagged=judgement.flagged,
        tests=tests,
    )


def by_session(curves: Mapping[Run, Curve]) -> list[list[Curve]]:
    """The runs of each session, in their order."""
    sessions: dict[str, list[Curve]] = {}
    for run, curve in curves.items():
        at = run.started_at or run.finished_at
        key = session_key(run.session, run.matrix_id, at and at.astimezone(dt.UTC).date())
        sessions.setdefault(key, []).append(curve)
    return list(sessions.values())


def why_not(run: Run) -> str:
    """Why a run counts for no verdict, as a sentence; empty: it counts."""
    if run.status != Status.SUCCEEDED:
        status = ", ".join(filter(None, (run.get_status_display(), run.get_reason_display())))
        return f"“{run.name}” did not succeed: {status}."
    if run.excluded_reason:
        return f"“{run.name}” is excluded: {run.excluded_reason[:200]}"
    if run.verdict == Validity.REJECT and not run.verdict_override:
        return f"“{run.name}” is rejected by its validity checks."
    if run.is_bracket:
        return f"“{run.name}” is the repeat that closes a matrix."
    if not run.throughput_ops_s:
        return f"“{run.name}” has no throughput."
    return ""


def _choose(side: Literal["new", "base"], runs: Sequence[Run]) -> tuple[list[Run], list[LeftOutAnswer]]:
    """The newest that count, and those that do not."""
    reasons = {run: why_not(run) for run in runs}
    left_out = [LeftOutAnswer(run.pk, run.name, side, reason) for run, reason in reasons.items() if reason]
    return [run for run, reason in reasons.items() if not reason][:MAX_RUNS], left_out


def _build_curves(runs: Sequence[Run], points: Mapping[UUID, Point]) -> dict[Run, Curve]:
    return {run: run_curve(run, points[run.pk]) for run in runs if run.pk in points}


def build_side(runs: Sequence[Run], name: str = "", chosen: str = "") -> SideAnswer:
    """What the runs have in common, with the name of their baseline and how they were chosen."""
    keys = tuple(run.pk for run in runs)
    return SideAnswer(keys, _only({run.commit for run in runs}), _only({run.branch for run in runs}), name, chosen)


def _only(texts: set[str]) -> str:
    """The one that all have in common; empty where they have several."""
    if len(texts) == 1:
        return texts.pop()
    return ""


def _metric(verdict: MetricVerdict) -> MetricAnswer:
    metric, comparison = verdict.metric, verdict.comparison
    return MetricAnswer(
        name=metric.name,
        unit=metric.unit,
        kind=metric.kind,
        state=verdict.state.value,
        new=_mean(metric.new[-comparison.n_a :]),
        base=_mean([*metric.base, *metric.history][: comparison.n_b]),
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

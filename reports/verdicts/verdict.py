"""`verdict_of`: what is said of some runs against others."""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Literal

from benchsite.teams.models import Team
from reports.analysis.ratios import unusable
from reports.analysis.repeat_comparison import finite
from reports.analysis.sessions import Session, largest_spread, mean_of
from reports.analysis.verdicts import MetricVerdict, judge
from reports.curves import Curve
from reports.queries.curves import run_curve, run_points
from reports.queries.noise import session_key, session_spreads
from reports.queries.sides import profile_of
from reports.verdicts.serialization import (
    LeftOutAnswer,
    MetricAnswer,
    SideAnswer,
    VerdictDocument,
)
from reports.verdicts.sides import environment_of, metrics_of
from runs.models import Run
from runs.models.run import Status
from runs.models.run import Verdict as Validity

# More runs say nothing more, and would make a verdict slow.
MAX_RUNS = 50


def verdict_of(
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
    left_out = [*_left_out("new", new_runs), *_left_out("base", base_runs)]
    new, other = ([run for run in runs if not why_not(run)][:MAX_RUNS] for runs in (new_runs, base_runs))
    points = run_points([*new, *other, *history]) if new and other else {}
    sides = [
        {run: run_curve(run, points[run.pk]) for run in runs if run.pk in points} for runs in (new, other, history)
    ]
    lacking = [answer.reason for answer in left_out if answer.side == "new"]
    blank = VerdictDocument(
        "error",
        ("Error: no new run counts." if lacking else "Error: there is no new run.", *lacking),
        new=side_of(new),
        base=replace(base, runs=tuple(run.pk for run in other)) if base else side_of(other),
        left_out=tuple(left_out),
        test=new_runs[0].config_key if new_runs else "",
    )
    if not new:
        return blank
    if not all(sides[:2]):
        return replace(blank, verdict="inconclusive", reasons=("Inconclusive: no run of the baseline counts.",))
    environment = environment_of(sides[0], sides[1], profile_of(team, [*new, *other]))
    clusters = {curve.setup.cluster_name for side in sides[:2] for curve in side.values()}
    spread = largest_spread(clusters, session_spreads(team, clusters))
    metrics, notes = metrics_of(*(by_session(side) for side in sides))
    judgement = judge(metrics, environment, thresholds=thresholds, spread=spread, extend=extend, tests=tests)
    return replace(
        blank,
        verdict=judgement.verdict.value,
        reasons=(*judgement.reasons, *notes, *lacking),
        metrics=tuple(_metric(verdict) for verdict in judgement.metrics),
        environment=environment,
        needs_more_repeats=judgement.needs_more if environment.comparable else None,
        noise_floor=spread.relative if spread else None,
        flagged=judgement.flagged,
        tests=tests,
    )


def by_session(curves: Mapping[Run, Curve]) -> list[list[Curve]]:
    """The runs of each session, in their order."""
    sessions: dict[str, list[Curve]] = {}
    for run, curve in curves.items():
        at = run.started_at or run.finished_at
        key = session_key(run.session, run.matrix_id, at.astimezone(dt.UTC).date() if at else None)
        sessions.setdefault(key, []).append(curve)
    return list(sessions.values())


def why_not(run: Run) -> str:
    """Why a run counts for no verdict, as a sentence; empty: it counts."""
    if run.status != Status.SUCCEEDED:
        reason = f", {run.get_reason_display()}" if run.reason else ""
        return f"“{run.name}” did not succeed: {run.get_status_display()}{reason}."
    if run.excluded_reason:
        return f"“{run.name}” is excluded: {run.excluded_reason[:200]}"
    if run.verdict == Validity.REJECT and not run.verdict_override:
        return f"“{run.name}” is rejected by its validity checks."
    if run.is_bracket:
        return f"“{run.name}” is the repeat that closes a matrix."
    return "" if run.throughput_ops_s else f"“{run.name}” has no throughput."


def _left_out(side: Literal["new", "base"], runs: Sequence[Run]) -> list[LeftOutAnswer]:
    return [LeftOutAnswer(run.pk, run.name, side, why) for run in runs if (why := why_not(run))]


def side_of(runs: Sequence[Run], name: str = "", chosen: str = "") -> SideAnswer:
    """What the runs have in common, with the name of their baseline and how they were chosen."""
    commits, branches = ({getattr(run, name) for run in runs} for name in ("commit", "branch"))
    return SideAnswer(
        tuple(run.pk for run in runs),
        commits.pop() if len(commits) == 1 else "",
        branches.pop() if len(branches) == 1 else "",
        name,
        chosen,
    )


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
    return math.exp(fmean(mean_of(session) for session in sessions))

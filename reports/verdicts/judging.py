"""`verdict_of`: what is said of some runs against others."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from benchsite.teams.models import Team
from reports.analysis.noise import largest_floor
from reports.analysis.verdicts import Environment, MetricVerdict, Verdict, judge
from reports.curves import Curve
from reports.queries.curves import run_points
from reports.queries.noise import noise_floors
from reports.verdicts.answers import Differs, EnvironmentAnswer, LeftOut, MetricAnswer, Side, VerdictAnswer
from reports.verdicts.sides import curve_of, environment_of, metrics_of
from runs.models import Run
from runs.models.plan import Purpose
from runs.models.run import Status
from runs.models.run import Verdict as Validity
from runs.thresholds import thresholds_of
from runs.validity import Profile

# More runs say nothing more, and would make a verdict slow.
MOST_RUNS = 50


def verdict_of(
    team: Team,
    new_runs: Sequence[Run],
    base_runs: Sequence[Run],
    *,
    base: Side | None = None,
    thresholds: Mapping[str, float] | None = None,
) -> VerdictAnswer:
    """The verdict of new runs against others, all of them the team's; at most eight queries, however many they are.

    Runs that are rejected or excluded never count; where no new one does, the verdict is "error". `base` says how the
    baseline was chosen. `thresholds` are shares by metric ("READ p99") or by statistic ("p99").
    """
    left_out = [
        LeftOut(run.pk, run.name, side, why)
        for side, runs in (("new", new_runs), ("base", base_runs))
        for run in runs
        if (why := why_not(run))
    ]
    new, other = ([run for run in runs if not why_not(run)][:MOST_RUNS] for runs in (new_runs, base_runs))
    points = run_points([*new, *other]) if new and other else {}
    sides = [{run: curve_of(run, points[run.pk]) for run in runs if run.pk in points} for runs in (new, other)]
    theirs = base and replace(base, runs=side_of(other).runs)
    blank = VerdictAnswer(
        Verdict.ERROR,
        (_nothing_counts(left_out), *_of("new", left_out)),
        new=side_of(new),
        base=theirs or side_of(other),
        left_out=tuple(left_out),
        test=new_runs[0].config_key if new_runs else "",
    )
    if not new:
        return blank
    if not all(sides):
        return replace(blank, verdict=Verdict.INCONCLUSIVE, reasons=("Inconclusive: no run of the baseline counts.",))
    environment = environment_of(sides[0], sides[1], _profile(team, [*new, *other]))
    floor = _noise(team, [*sides[0].values(), *sides[1].values()])
    metrics, notes = metrics_of(list(sides[0].values()), list(sides[1].values()))
    found = judge(metrics, environment, thresholds=thresholds, noise_floor=floor)
    return replace(
        blank,
        verdict=found.verdict,
        reasons=(*found.reasons, *notes, *_of("new", left_out)),
        metrics=tuple(_metric(one) for one in found.metrics),
        environment=_environment(environment),
        needs_more_repeats=found.needs_more if environment.comparable else None,
        noise_floor=floor,
    )


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


def side_of(runs: Sequence[Run]) -> Side:
    """What the runs have in common."""
    commits, branches = ({getattr(run, name) for run in runs} for name in ("commit", "branch"))
    return Side(
        tuple(run.pk for run in runs),
        commits.pop() if len(commits) == 1 else "",
        branches.pop() if len(branches) == 1 else "",
    )


def _nothing_counts(left_out: Sequence[LeftOut]) -> str:
    return "Error: no new run counts." if _of("new", left_out) else "Error: there is no new run."


def _of(side: str, left_out: Sequence[LeftOut]) -> list[str]:
    return [one.reason for one in left_out if one.side == side]


def _profile(team: Team, runs: Sequence[Run]) -> Profile:
    purposes = {run.purpose for run in runs}
    return thresholds_of(team, purposes.pop() if len(purposes) == 1 else Purpose.MEASURED)


def _noise(team: Team, curves: Sequence[Curve]) -> float | None:
    names = {curve.setup.cluster_name for curve in curves}
    found = largest_floor(names, noise_floors(team, names))
    return found.relative if found else None


def _environment(found: Environment) -> EnvironmentAnswer:
    return EnvironmentAnswer(
        found.comparable,
        tuple(Differs(one.field, one.sentence) for one in found.differs),
        found.ignored,
        found.unknown,
    )


def _metric(one: MetricVerdict) -> MetricAnswer:
    metric, found = one.metric, one.comparison
    return MetricAnswer(
        name=metric.name,
        unit=metric.unit,
        kind=metric.kind,
        state=str(one.state),
        new=_mean(metric.new),
        base=_mean(metric.base),
        ratio=found.ratio,
        low=_finite(found.low),
        high=_finite(found.high),
        new_runs=found.n_a,
        base_runs=found.n_b,
        threshold=found.threshold,
        p=found.p,
        adjusted_p=found.adjusted_p,
        needs_more_repeats=found.needs_more,
        reason=one.reason,
    )


def _mean(values: Sequence[float]) -> float | None:
    """The geometric mean, whose ratio is the ratio; None where a value has no logarithm."""
    kept = [math.log(value) for value in values if value > 0 and math.isfinite(value)]
    return math.exp(fmean(kept)) if kept and len(kept) == len(values) else None


def _finite(value: float | None) -> float | None:
    """JSON knows no infinity: an end that reaches beyond any number is not sent."""
    return value if value is None or math.isfinite(value) else None

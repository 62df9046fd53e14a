"""What follows when a run has ended: the next trial of a search; what a fixed ladder gives up is in `early_stop`.

Everything is decided from rows, so a scheduler that starts again goes on where it was. A decision and the run that it
orders are inserted in one transaction under a lock on their sweep; where nothing has ended since, nothing is decided.
"""

import logging
import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q
from django.utils.text import capfirst

from benchsite.core.formatting import counted, latency, percent, throughput
from runs.checks import CLIENT_LIMITS, RUN_CHECKS
from runs.models import Finding, Matrix, Measurement, MeasurementSet, Phase, Run, SearchDecision, Status, Sweep, Verdict
from runs.queue import lifecycle
from runs.queue.database_retries import DATABASE_ERRORS, contained
from runs.queue.early_stop import TO_COME, repeat_missed_targets, stop_early
from runs.queue.messages import (
    BETWEEN_BOUNDS,
    CLIENTS_AT_LIMIT,
    CONFIRM,
    FASTER_THAN_MEAN,
    GO_DOWN,
    GO_UP,
    LOWER_BOUND,
    NO_BOUND,
    NO_LOAD_KEEPS_LIMITS,
    ONE_MORE_DECIDES,
    PEAK_BETWEEN,
    SINGLE_TRIAL,
    SLOWER_THAN_MEAN,
    START_BELOW,
    TRIALS_SPENT,
)
from runs.queue.spec import SearchSpec, SloSpec
from runs.results.measures.search import (
    CONFIRMATIONS,
    Goal,
    Rule,
    State,
    Step,
    Trial,
    best_load,
    bracket,
    capacity_ops_s,
    is_confirmed,
    peak_ops_s,
    search_target,
    search_threads,
    undecided_step,
)
from runs.results.measures.sustained_load import MAX_DROPPED, SUSTAINED

log = logging.getLogger(__name__)
# Checks that reject a run whose load was too much for the database or the clients: such a trial is not sustained.
OVERLOAD: Final = frozenset({"V03", "V07", "V09", "V10"})
BACKLOG: Final = "V10"
TITLES: Final = {check.id: check.title for check in RUN_CHECKS}
REOPENED: Final = frozenset({State.SEARCHING, State.FAILED})  # by runs that have ended since
ANSWERED: Final = frozenset({State.BRACKETED, State.SPENT, State.CLIENT_LIMITED})  # later runs change the answer only


@dataclass(frozen=True, slots=True)
class RunTrial:
    """A trial of a search with its run; `trial` is None where it has no usable result."""

    run: Run
    trial: Trial | None
    text: str  # what came out, as a sentence
    client_limited: bool = False


def steer(matrix_ids: Collection[UUID]) -> None:
    """Decide what follows in these matrices, of which runs have ended. What cannot be decided ends its search alone."""
    matrices = Matrix.objects.filter(pk__in=matrix_ids)
    for matrix in matrices:
        with contained("Missed targets of matrix %s cannot be repeated.", matrix.pk):
            repeat_missed_targets(matrix)
        for sweep_id in _open_sweeps(matrix):
            try:
                with transaction.atomic():
                    if matrix.search is not None:
                        _search_on(sweep_id)
                    else:
                        stop_early(matrix, sweep_id)
            except DATABASE_ERRORS:
                raise
            except Exception as error:
                log.exception("What follows in sweep %s cannot be decided.", sweep_id)
                if matrix.search is not None:
                    text = f"The search could not go on ({type(error).__name__}: {error})."
                    _decide(sweep_id, Step(State.FAILED, Rule.END), text)


def _open_sweeps(matrix: Matrix) -> list[UUID]:
    """Those whose search may go on, or that have runs to cancel."""
    sweeps = Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE)
    if matrix.search is not None:
        unfinished = Run.objects.filter(TO_COME, matrix=matrix, is_bracket=False).values("sweep")
        return list(sweeps.exclude(pk__in=unfinished).values_list("pk", flat=True))
    queued = Run.objects.filter(matrix=matrix, status=Status.QUEUED, phase=Phase.MEASURE, is_bracket=False)
    return list(sweeps.filter(pk__in=queued.values("sweep")).values_list("pk", flat=True))


def _search_on(sweep_id: UUID) -> None:
    """Order the next trial, or end the search; nothing while a trial is to come or where the search has ended."""
    sweep = Sweep.lock(sweep_id)
    last = sweep.decisions.last()
    if last is None or sweep.measured_runs.filter(TO_COME).exists():
        return

    if State(last.state) in ANSWERED and sweep.ladder == Matrix.Ladder.TARGET:
        _answer_again(sweep, last)
    if State(last.state) not in REOPENED:
        return

    trials = get_trials(sweep)
    if not trials or (last.run is None and not any(_ended_since(trial.run, last) for trial in trials)):
        return

    newest = trials[-1]
    if newest.trial is None and (newest.run.status == Status.CANCELLED or last.rule == Rule.REPEAT):
        failure = Step(State.FAILED, Rule.END, last.low, last.high)
        _decide(sweep_id, failure, f"Ended without an answer: {newest.text}")
        return
    if newest.trial is None:
        repetition = Step(State.SEARCHING, Rule.REPEAT, last.low, last.high, newest.run.load)
        _order(sweep, newest.run, repetition, capfirst(newest.text))
        return

    step = next_step(sweep, trials)
    if step.next_load is not None:
        _order(sweep, newest.run, step, _explain_step(step, sweep, newest))
        return

    _end_with_answer(sweep, step, trials)
    if sweep.ladder == Matrix.Ladder.TARGET:
        _measure_curve(sweep, step, trials)


def _answer_again(sweep: Sweep, last: SearchDecision) -> None:
    """Decide the answer of a search over targets with the runs that ended since: its curve, or two more rungs.

    Where runs of a target of the curve disagree, or no run or a single one shows the upper end, another run decides: at
    most as many as the plan has repeats.
    """
    ended = sweep.runs.filter(status=Status.SUCCEEDED, phase=Phase.MEASURE, finished_at__gt=last.decided_at)
    if last.run is None and not ended.exists():
        return

    trials = get_trials(sweep)
    probe, targets = _split(trials)
    low, high = bracket(targets)
    step = undecided_step(probe, targets)
    if step and step.rule == Rule.RAISE and _is_client_limited(low, trials):
        step = None  # A higher target would measure the clients again.
    answered = Q(run__isnull=False, state__in=ANSWERED)
    if step and search_spec(sweep).get("curve_percent") and sweep.decisions.filter(answered).count() < _repeats(sweep):
        step = replace(step, state=State(last.state))
        _order(sweep, trials[-1].run, step, _explain_step(step, sweep, trials[-1]))
        return

    is_answered = step is None and is_confirmed(probe, targets)
    state = State.BRACKETED if is_answered else State.SPENT
    _end_with_answer(sweep, Step(state, Rule.END, low, high), trials)


def _end_with_answer(sweep: Sweep, step: Step, trials: Sequence[RunTrial]) -> None:
    """End the search with its value; called client limited where the clients set it.

    A target that was sustained is no limit, of clients or database.
    """
    is_target = sweep.ladder == Matrix.Ladder.TARGET
    load = step.high if is_target else best_load([trial.trial for trial in trials if trial.trial])
    if step.state in (State.BRACKETED, State.SPENT) and _is_client_limited(load, trials):
        step = replace(step, state=State.CLIENT_LIMITED)
    value = ceiling_ops_s(sweep, step, trials)
    _decide(sweep.pk, step, _explain_answer(step, sweep, value, trials), value_ops_s=value)


def _repeats(sweep: Sweep) -> int:
    assert sweep.matrix is not None
    return sweep.matrix.repeats


def _measure_curve(sweep: Sweep, end: Step, trials: Sequence[RunTrial]) -> None:
    """Order the rungs up to the highest target sustained, pass by pass, in the place of the search's last trial.

    At 100 % the search's own trials count as the first repeats. At least one run is a fresh one of that target, so it
    confirms it or refutes it. Where the trials were spent before a target was sustained, 100 % is the least that the
    database did under a target.
    """
    targets = [trial.trial for trial in trials if trial.trial is not None and trial.run.target_ops_s]
    if end.low is not None:
        full, text = end.low, "% of the highest target that the search has sustained."
    elif targets and end.state == State.SPENT and all(trial.is_short for trial in targets):
        full = math.floor(min(trial.throughput_ops_s for trial in targets))
        text = "% of the lowest throughput of the trials, of which none reached its target."
    else:
        return

    at_full = sum(trial.load == full for trial in targets)
    run, queued_at = trials[-1].run, trials[-1].run.created_at
    for repeat in range(_repeats(sweep)):
        for share in search_spec(sweep).get("curve_percent", []):
            if share == 100 and repeat < min(at_full, _repeats(sweep) - 1):
                continue
            # Each behind the one before, with its own load in between where it needs one.
            queued_at += timedelta(microseconds=1)
            target = max(round(share / 100 * full), 1)
            lifecycle.run_at(run, run.threads, target, f"{share} {text}", queued_at=queued_at)


def search_spec(sweep: Sweep) -> SearchSpec:
    """The search of the sweep's matrix."""
    assert sweep.matrix is not None and sweep.matrix.search is not None
    spec: SearchSpec = sweep.matrix.search
    return spec


def next_step(sweep: Sweep, trials: Sequence[RunTrial]) -> Step:
    """The next step of the pure search after these trials."""
    assert sweep.matrix is not None
    spec = search_spec(sweep)
    first = trials[0].run
    goal = Goal(width=spec["width"], max_trials=spec["max_trials"], confirmations=CONFIRMATIONS)
    if sweep.ladder == Matrix.Ladder.TARGET:
        probe, targets = _split(trials)
        return search_target(probe, targets, goal)
    clients = len(first.spec["generators"]) * first.spec["load"]["processes"]
    goal = replace(goal, confirmations=sweep.matrix.repeats, min_load=clients)
    return search_threads(first.threads, [trial.trial for trial in trials if trial.trial], goal)


def _split(trials: Iterable[RunTrial]) -> tuple[float, list[Trial]]:
    """The throughput of the runs without a target, and the trials of targets."""
    probes_ops_s, targets = [], []
    for run_trial in trials:
        if run_trial.trial and run_trial.run.target_ops_s:
            targets.append(run_trial.trial)
        elif run_trial.trial:
            probes_ops_s.append(run_trial.trial.throughput_ops_s)
    return statistics.fmean(probes_ops_s), targets


def ceiling_ops_s(sweep: Sweep, step: Step, trials: Sequence[RunTrial]) -> float | None:
    """The answer. Of threads: the throughput at the peak. Of targets: the capacity where all that
    failed fell short of their targets, else the conditional throughput, which is the mean at the lower bound.

    The capacity may lie below a lower bound that fast runs sustained. It stays the answer, as raising it to the
    conditional throughput makes it less accurate (docs/evidence/searches.md).
    """
    if sweep.ladder == Matrix.Ladder.THREADS:
        return peak_ops_s([trial.trial for trial in trials if trial.trial])
    probe, targets = _split(trials)
    failed = [trial for trial in targets if not trial.sustained]
    if failed and all(trial.is_short for trial in failed):
        return capacity_ops_s(probe, targets)
    low_ops_s = [trial.throughput_ops_s for trial in targets if trial.load == step.low]
    return statistics.fmean(low_ops_s) if low_ops_s else None


def get_trials(sweep: Sweep) -> list[RunTrial]:
    """The ended trials of a search in the order of their ends, without failed ones that were repeated. Four queries."""
    rows = sweep.measured_runs.exclude(TO_COME).select_related("needs")
    rows = rows.order_by("finished_at", "pk")
    runs = list(rows.filter(Q(status=Status.SUCCEEDED) | ~Exists(Run.objects.filter(rerun_of=OuterRef("pk")))))
    spec = search_spec(sweep)
    sets = {stored.run_id: stored for stored in MeasurementSet.objects.filter(run__in=runs, is_current=True)}
    severities: dict[UUID, dict[str, str]] = defaultdict(dict)
    findings = Finding.objects.filter(measurement_set__in=sets.values())
    for run_id, check, severity in findings.values_list("measurement_set__run", "check_id", "severity"):
        severities[run_id][check] = severity

    latencies_us = _get_latencies_us(list(sets.values()), spec["slo"])
    trials = []
    for run in runs:
        is_probe = sweep.ladder == Matrix.Ladder.TARGET and not run.target_ops_s
        trial = _judge_trial(
            run, sets.get(run.pk), severities[run.pk], spec, latencies_us.get(run.pk), is_probe=is_probe
        )
        trials.append(trial)
    return trials


def _get_latencies_us(sets: Sequence[MeasurementSet], slo: SloSpec | None) -> dict[UUID, float]:
    if slo is None:
        return {}
    rows = Measurement.objects.filter(
        measurement_set__in=sets, operation=slo["operation"], latency_kind=slo["kind"]
    ).values_list("measurement_set__run", f"{slo['statistic']}_us")
    return {run_id: value for run_id, value in rows if value is not None}


def _judge_trial(
    run: Run,
    cut: MeasurementSet | None,
    severities: dict[str, str],
    spec: SearchSpec,
    latency_us: float | None,
    *,
    is_probe: bool,
) -> RunTrial:
    """`is_probe`: it only shows where the search of targets may begin, so no limit of latency holds for it."""
    rejected_by = {check for check, severity in severities.items() if severity == Verdict.REJECT}
    problem = _explain_unusable(run, rejected_by - OVERLOAD)
    slo = spec["slo"]
    if not problem and (run.throughput_ops_s is None or cut is None):
        problem = f"{run.name} has no throughput."
    elif not problem and slo is not None and not is_probe and latency_us is None:
        problem = f"{run.name} has no {slo['operation']} {slo['statistic']} ({slo['kind']} time)."
    if problem:
        return RunTrial(run, None, problem)

    assert run.throughput_ops_s is not None and cut is not None
    target, reached = run.target_ops_s, run.throughput_ops_s
    if target:
        reached = min(reached, target)  # More is a backlog from before the window, which V31 reports.
    is_short = target is not None and reached < SUSTAINED * target
    broken = []
    if target and cut.arrivals:
        dropped_share = cut.arrivals["dropped"] / max(cut.arrivals["offered"], 1)
        is_short = dropped_share > MAX_DROPPED
        if is_short:
            broken = [f"{percent(dropped_share)} of the arrivals dropped"]
    elif target and is_short:
        broken = [f"{percent(reached / target)} of the target"]

    errors = 0.0
    if cut.operations:
        errors = (cut.failed or 0) / cut.operations
    if errors > spec["max_error_rate"]:
        broken.append(f"{percent(errors)} errors")
    if BACKLOG in rejected_by:
        broken.append("a growing backlog")
    if slo is not None and not is_probe and latency_us is not None and latency_us > slo["limit_us"]:
        broken.append(f"{slo['operation']} {slo['statistic']} {latency(latency_us)}")

    text = "sustained"
    if broken:
        text = f"not sustained: {', '.join(broken)}"
    trial = Trial(load=run.load, throughput_ops_s=reached, sustained=not broken, is_short=is_short)
    client_limited = any(severities.get(check) in (Verdict.WARN, Verdict.REJECT) for check in CLIENT_LIMITS)
    return RunTrial(run, trial, text, client_limited)


def _explain_unusable(run: Run, disqualifying: Collection[str]) -> str:
    """Why a run says nothing of its load; empty: it does, unless its numbers are missing.

    `disqualifying` are the checks that reject it for another reason than its load.
    """
    if run.status != Status.SUCCEEDED:
        cause = run
        if run.needs and run.needs.status == Status.FAILED:
            cause = run.needs
        return f"{cause.get_reason_display()}. {cause.reason_detail}".strip()
    if run.excluded_reason:
        return f"{run.name} is not counted: {run.excluded_reason}."
    if run.verdict == Verdict.REJECT and not run.verdict_override and disqualifying:
        checks = (f"{TITLES.get(check, '')} ({check})".strip() for check in sorted(disqualifying))
        return f"{run.name} is not counted: rejected by {', '.join(checks)}."
    return ""


def _ended_since(run: Run, decision: SearchDecision) -> bool:
    is_later = run.finished_at is not None and run.finished_at > decision.decided_at
    return is_later and run.status != Status.CANCELLED


def _is_client_limited(load: int | None, trials: Sequence[RunTrial]) -> bool:
    """Whether the clients were at their limit in every trial at a load."""
    flags = [trial.client_limited for trial in trials if trial.trial and trial.trial.load == load]
    return bool(flags) and all(flags)


def _order(sweep: Sweep, run: Run, step: Step, text: str) -> None:
    """The next trial, as a run in the place of the last one."""
    assert step.next_load is not None
    repeats = step.rule == Rule.REPEAT
    threads, target = step.next_load, None
    # A probe that is repeated has no target.
    if sweep.ladder == Matrix.Ladder.TARGET and (run.target_ops_s or not repeats):
        threads, target = run.threads, step.next_load
    trial = lifecycle.run_at(run, threads, target, text, queued_at=run.created_at, repeats=repeats)
    _decide(sweep.pk, step, text, run=trial)


def _decide(sweep_id: UUID, step: Step, text: str, **fields: Any) -> None:
    last_number = SearchDecision.objects.filter(sweep=sweep_id).aggregate(last=Max("number"))["last"] or 0
    SearchDecision.objects.create(
        sweep_id=sweep_id,
        number=last_number + 1,
        rule=step.rule,
        state=step.state,
        sentence=text,
        low=step.low,
        high=step.high,
        **fields,
    )


def named_load(sweep: Sweep, load: int | None) -> str:
    """ "41.2k ops/s" or "16 threads"."""
    if load is None:
        return "none"
    if sweep.ladder == Matrix.Ladder.TARGET:
        return throughput(load)
    return counted(load, "thread")


def _explain_step(step: Step, sweep: Sweep, last: RunTrial) -> str:
    """Why this load is next, in one sentence."""
    load, low, high = (named_load(sweep, value) for value in (step.next_load, step.low, step.high))
    # After a search over targets, the last run may be a lower rung of its curve, or one without a result.
    previous, ends = low, f"{low} and {high}"
    if sweep.ladder == Matrix.Ladder.THREADS:
        ends = "the peak"
        if last.trial:
            previous = named_load(sweep, last.trial.load)

    return {
        Rule.START: START_BELOW.format(load=load),
        Rule.RAISE: GO_UP.format(before=previous, load=load),
        Rule.LOWER: GO_DOWN.format(load=load),
        Rule.BISECT: BETWEEN_BOUNDS.format(load=load, ends=ends),
        Rule.DECIDE: ONE_MORE_DECIDES.format(load=load),
        Rule.CONFIRM: CONFIRM.format(load=load),
    }[step.rule]  # fmt: skip


def _explain_answer(step: Step, sweep: Sweep, value: float | None, trials: Sequence[RunTrial]) -> str:
    low, high = named_load(sweep, step.low), named_load(sweep, step.high)
    between = f"Sustained: {low}. Not sustained: {high}."
    if sweep.ladder == Matrix.Ladder.THREADS:
        between = f"Neighbours: {low}, {high}."
        if step.low and step.high:
            between = PEAK_BETWEEN.format(low=low, high=high)

    estimate = ""
    if value is not None:
        estimate = f" Estimate: {throughput(value)}."
    if value is not None and sweep.ladder == Matrix.Ladder.TARGET:
        if value < SUSTAINED * (step.low or 0):
            estimate = FASTER_THAN_MEAN.format(estimate=throughput(value), low=low)
        elif value > (step.high or math.inf):
            estimate = SLOWER_THAN_MEAN.format(estimate=throughput(value), high=high)

    open_end = SINGLE_TRIAL
    if sweep.ladder == Matrix.Ladder.THREADS:
        open_end = TRIALS_SPENT
    elif not (step.low and step.high):
        open_end = NO_BOUND.format(side="an upper" if step.low else "a lower")
        if _is_client_limited(step.low, trials):
            open_end += CLIENTS_AT_LIMIT.format(low=low)

    return {
        State.BRACKETED: f"{between}{estimate}",
        State.SPENT: f"{between}{estimate} Unconfirmed: {open_end}.",
        State.CLIENT_LIMITED: LOWER_BOUND.format(between=between, estimate=estimate),
        State.NO_LOAD: NO_LOAD_KEEPS_LIMITS.format(high=high, last=trials[-1].text),
    }[step.state]

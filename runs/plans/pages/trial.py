"""What a trial run says of the cells of a plan: which can be measured, and what to do about the others."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.utils.text import capfirst

from runs.models import Finding, Matrix, Phase, Run, Status, Verdict
from runs.queue.next_runs import OVERLOAD
from runs.queue.remedies import remedy
from runs.queue.reruns import find_replaced
from runs.results.pages.run_list import HEAVY


def get_newest_trial(matrix: Matrix) -> dict[str, Any] | None:
    """The newest trial run of a plan, in three queries; None: there is none.

    Its cells are the sweeps of the plan, each by its first and last rung; `exclusions` say why cells were not tried.
    """
    trial = matrix.trials.order_by("-created_at").first()
    if trial is None:
        return None

    runs = trial.runs.defer(*HEAVY).select_related("sweep", "needs").order_by("position", "id")
    sweeps: dict[str, list[Run]] = {}
    for run in runs:
        if run.phase == Phase.MEASURE and run.sweep is not None:
            sweeps.setdefault(run.sweep.name, []).append(run)

    rejecting = Finding.objects.filter(
        measurement_set__run__matrix=trial, measurement_set__is_current=True, severity=Finding.Severity.REJECT
    ).select_related("measurement_set")
    findings: dict[UUID, list[Finding]] = defaultdict(list)
    for finding in rejecting:
        findings[finding.measurement_set.run_id].append(finding)

    cells = [_cell(name, repeated, findings) for name, repeated in sweeps.items()]
    states = Counter(cell["state"] for cell in cells)
    return {
        "matrix": trial,
        "cells": cells,
        "unfinished": states["waits"],
        "failed": states["failed"],
        "passed": states["passed"],
        "exclusions": list(dict.fromkeys(rule.get("reason", "") for rule in trial.exclusions)),
    }


def _cell(name: str, runs: Sequence[Run], findings: Mapping[UUID, list[Finding]]) -> dict[str, Any]:
    """`state` is passed, failed, cancelled or waits; `run` is the one that says so."""
    replaced = find_replaced(runs)
    states = {run: _state(run, findings) for run in runs if run.pk not in replaced}
    state = next(state for state in ("failed", "cancelled", "waits", "passed") if state in states.values())
    run = next(run for run in states if states[run] == state)
    cell = {"name": name, "state": state, "run": run, "problem": "", "remedy": ""}
    if state != "failed":
        return cell
    if run.status == Status.SUCCEEDED:
        finding = next((finding for finding in findings.get(run.pk, []) if finding.check_id not in OVERLOAD), None)
        return cell | ({"problem": finding.message, "remedy": finding.remedy} if finding else {})

    cause = run.needs if run.status != Status.FAILED else run
    assert cause is not None  # `_state` calls no other cancelled run failed.
    problem = f"{capfirst(cause.get_reason_display())}. {cause.reason_detail}"
    return cell | {"run": cause, "problem": problem, "remedy": remedy(cause.reason)}


def _state(run: Run, findings: Mapping[UUID, list[Finding]]) -> str:
    if run.status not in Status.terminal():
        return "waits"
    if run.status == Status.SUCCEEDED:
        checks = {finding.check_id for finding in findings.get(run.pk, [])}
        is_overloaded = bool(checks) and checks <= OVERLOAD  # The last rung of a ladder may lie beyond the ceiling.
        if run.verdict == Verdict.REJECT and not is_overloaded:
            return "failed"
        return "passed"
    if run.status == Status.CANCELLED and not (run.needs and run.needs.status == Status.FAILED):
        return "cancelled"
    return "failed"

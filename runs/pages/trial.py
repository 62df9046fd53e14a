"""What a trial run says of the cells of a plan: which can be measured, and what to do about the others."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils.text import capfirst

from runs.failure_hints import remedy
from runs.models import Finding, Matrix, Run
from runs.models.run import Phase, Status, Verdict
from runs.next_runs import OVERLOAD
from runs.pages.run_list import HEAVY


@dataclass(frozen=True, slots=True)
class TrialCell:
    """One sweep of the plan, by its first and last rung. `state`: passed, failed, cancelled or waits."""

    name: str
    state: str
    run: Run  # the one that says so
    problem: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    matrix: Matrix
    cells: tuple[TrialCell, ...]

    @property
    def unfinished(self) -> int:
        return sum(cell.state == "waits" for cell in self.cells)

    @property
    def failed(self) -> int:
        return sum(cell.state == "failed" for cell in self.cells)

    @property
    def passed(self) -> int:
        return sum(cell.state == "passed" for cell in self.cells)

    @property
    def exclusions(self) -> list[str]:
        """Why cells were not tried."""
        return list(dict.fromkeys(rule.get("reason", "") for rule in self.matrix.exclusions))


def trial_of(matrix: Matrix) -> Trial | None:
    """The newest trial run of a plan, in three queries; None: there is none."""
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
    return Trial(trial, tuple(_cell(name, repeated, findings) for name, repeated in sweeps.items()))


def _cell(name: str, runs: Sequence[Run], findings: Mapping[UUID, list[Finding]]) -> TrialCell:
    replaced = {run.rerun_of_id for run in runs}
    states = {run: _state(run, findings) for run in runs if run.pk not in replaced}
    state = next(state for state in ("failed", "cancelled", "waits", "passed") if state in states.values())
    run = next(run for run in states if states[run] == state)
    if state != "failed":
        return TrialCell(name, state, run)
    if run.status == Status.SUCCEEDED:
        finding = next((finding for finding in findings.get(run.pk, []) if finding.check_id not in OVERLOAD), None)
        return TrialCell(name, state, run, finding.message if finding else "", finding.remedy if finding else "")
    cause = run if run.status == Status.FAILED else run.needs
    assert cause is not None  # `_state` calls no other cancelled run failed.
    problem = f"{capfirst(cause.get_reason_display())}. {cause.reason_detail}"
    return TrialCell(name, state, cause, problem, remedy(cause.reason))


def _state(run: Run, findings: Mapping[UUID, list[Finding]]) -> str:
    if run.status not in Status.terminal():
        return "waits"
    if run.status == Status.SUCCEEDED:
        checks = {finding.check_id for finding in findings.get(run.pk, [])}
        is_overloaded = bool(checks) and checks <= OVERLOAD  # The last rung of a ladder may lie beyond the ceiling.
        return "failed" if run.verdict == Verdict.REJECT and not is_overloaded else "passed"
    if run.status == Status.CANCELLED and not (run.needs and run.needs.status == Status.FAILED):
        return "cancelled"
    return "failed"

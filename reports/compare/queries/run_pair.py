"""Two runs with everything that is recorded of them, for the page that asks why they differ."""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, cast

from django.db.models import Q, QuerySet

from reports.compare.analysis.run_sides import RunSide
from reports.compare.curves import Curve
from reports.compare.queries.curves import run_curve, run_points
from runs.checks import CheckResult, Severity
from runs.checks.spec_facts import side_facts
from runs.models import ClientRun, Finding, MeasurementSet, Run, Status, Verdict
from runs.queue.spec import RunSpec

MAX_OTHERS: Final = 20  # runs of one kind that the menu offers
COUNTS: Final = Q(status=Status.SUCCEEDED, throughput_ops_s__gt=0, excluded_reason="", is_bracket=False) & (
    ~Q(verdict=Verdict.REJECT) | ~Q(verdict_override="")
)


def runs_with_matrix() -> QuerySet[Run]:
    """Runs as a comparison of two needs them."""
    return Run.objects.select_related("sweep__matrix", "matrix")


def run_sides(a: Run, b: Run) -> tuple[RunSide, RunSide]:
    """Both runs as plain values, called A and B. Nine queries."""
    runs = [a, b]
    points = run_points(runs)
    findings = _findings(runs)
    java = _java(runs)
    repeats = _repeats(runs)
    uses = dict(MeasurementSet.objects.filter(run__in=runs, is_current=True).values_list("run_id", "server_use"))

    def side(run: Run, label: str) -> RunSide:
        version = str(run.evidence.get("server_version") or "")
        facts = side_facts(label, cast(RunSpec, run.spec), version, server_use=uses.get(run.pk, {}))
        point = points.get(run.pk)

        return RunSide(
            run,
            facts,
            run_curve(run, point),
            point,
            findings=tuple(findings[run.pk]),
            java=tuple(java[run.pk]),
            repeats_ops_s=tuple(repeats[run.pk]),
        )

    return side(a, "A"), side(b, "B")


def _findings(runs: Sequence[Run]) -> dict[uuid.UUID, list[CheckResult]]:
    findings: dict[uuid.UUID, list[CheckResult]] = defaultdict(list)
    rows = Finding.objects.filter(measurement_set__run__in=runs, measurement_set__is_current=True)
    fields = ("check_id", "severity", "title", "measured", "threshold", "message", "remedy")
    for run_id, check_id, severity, *texts in rows.order_by("check_id").values_list("measurement_set__run_id", *fields):
        findings[run_id].append(CheckResult(check_id, cast(Severity, severity), *texts))
    return findings


def _java(runs: Sequence[Run]) -> dict[uuid.UUID, list[str]]:
    """The versions of Java of each run's clients."""
    versions: dict[uuid.UUID, list[str]] = defaultdict(list)
    rows = ClientRun.objects.filter(run__in=runs).exclude(facts__java_version=None).exclude(facts__java_version="")
    for run_id, version in rows.order_by("facts__java_version").values_list("run_id", "facts__java_version").distinct():
        versions[run_id].append(str(version))
    return versions


def _repeats(runs: Sequence[Run]) -> dict[uuid.UUID, list[float]]:
    """Of each run the throughputs of its rung, itself among them; of two repeats of one rung, or of a run that does not
    count, its own alone."""
    repeats: dict[uuid.UUID, list[float]] = {run.pk: [run.throughput_ops_s or 0.0] for run in runs}
    cells = {run.pk: (run.sweep_id, run.threads, run.target_ops_s) for run in runs}
    values_by_cell: dict[tuple[Any, ...], dict[uuid.UUID, float]] = defaultdict(dict)
    rows = Run.objects.filter(COUNTS, sweep__in=[run.sweep_id for run in runs if run.sweep_id]).order_by("repeat")
    for pk, *cell, value in rows.values_list("pk", "sweep_id", "threads", "target_ops_s", "throughput_ops_s"):
        values_by_cell[tuple(cell)][pk] = value or 0.0
    if len(set(cells.values())) == len(runs):
        repeats |= {pk: list(values_by_cell[cell].values()) for pk, cell in cells.items() if pk in values_by_cell[cell]}
    return repeats


def find_comparable_runs(run: Run) -> list[Run]:
    """The runs to compare a run with: the newest of the same test, then the other rungs and repeats of its sweep.

    The first is the one before it, where there is one. Two queries.
    """
    ended = runs_with_matrix().filter(team=run.team_id, status=Status.SUCCEEDED).exclude(pk=run.pk).defer("evidence")
    same = []
    if run.config_key:
        same = list(ended.filter(config_key=run.config_key).order_by("-finished_at")[:MAX_OTHERS])
    earlier = [other for other in same if run.finished_at and other.finished_at and other.finished_at < run.finished_at]
    same = earlier + [other for other in same if other not in earlier]
    same_keys = {other.pk for other in same}
    swept: list[Run] = []
    if run.sweep_id:
        rungs = ended.filter(sweep=run.sweep_id).order_by("target_ops_s", "threads", "repeat")[: 2 * MAX_OTHERS]
        swept = sorted((other for other in rungs if other.pk not in same_keys), key=lambda other: _far(run, other))[
            :MAX_OTHERS
        ]

    return same + swept


def _far(run: Run, other: Run) -> tuple[int, int, int]:
    """How far a run of the same sweep is: repeats of its rung first, then the nearest rungs."""
    return (
        abs((run.target_ops_s or 0) - (other.target_ops_s or 0)),
        abs(run.threads - other.threads),
        other.repeat,
    )


def run_at_ceiling(curve: Curve, team_id: uuid.UUID) -> Run | None:
    """The median run of the rung that shows a sweep's ceiling; None where none counts. One query."""
    runs = curve.ceiling_rung.run_ids if curve.ceiling_rung else ()
    if not runs:
        return None
    return middle(runs_with_matrix().filter(team=team_id, pk__in=runs))


def middle(runs: QuerySet[Run]) -> Run | None:
    """The run whose throughput is the median; of an even number the lower one of the middle."""
    ordered = list(runs.order_by("throughput_ops_s", "pk"))
    if not ordered:
        return None
    return ordered[(len(ordered) - 1) // 2]

"""V02 judged again when runs of its sweep have ended: it refers to the lowest rung, which may be measured later.

Nothing is read but rows: what V02 measured of the run itself stays as it was recorded.
"""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from runs.checks import RUN_CHECKS
from runs.checks.concurrency import REFERENCE_RUNG, beside_lowest_rung
from runs.checks.team_thresholds import get_thresholds
from runs.models import Finding, RunEvent, Status
from runs.results.recording.recut import adopt, locked
from runs.results.recording.rows import FINDING_FIELDS, copy_fields, finding_rows
from runs.results.recording.run_context import get_service_times, low_latency_us, lowest_rungs
from runs.ycsb import ALGORITHM_VERSION

THREAD_LIMIT: Final = next(check for check in RUN_CHECKS if check.id == "V02")
# All threads were busy and the target was missed: only then does the lowest rung matter.
DEPENDS: Final = Q(measured__contains=REFERENCE_RUNG) | Q(severity=Finding.Severity.NOT_ASSESSED) & ~Q(measured="")


def judge_again(matrix_ids: Collection[UUID]) -> int:
    """Judge V02 beside the lowest rungs as they are now; answers how many findings changed.

    One query where no run depends on a lowest rung, a constant number of them where no finding changes.
    """
    findings = list(
        Finding.objects.filter(
            DEPENDS,
            check_id=THREAD_LIMIT.id,
            algorithm_version=ALGORITHM_VERSION,
            measurement_set__is_current=True,
            measurement_set__run__matrix__in=matrix_ids,
            measurement_set__run__status=Status.SUCCEEDED,
            measurement_set__run__target_ops_s__isnull=False,
        )
        .select_related("measurement_set__run")
        .defer("measurement_set__clients", "measurement_set__run__spec", "measurement_set__run__evidence")
        .prefetch_related("measurement_set__measurements")
        .order_by("measurement_set__run")
    )
    runs = [finding.measurement_set.run for finding in findings]
    lowest = lowest_rungs({run.sweep_id for run in runs if run.sweep_id})
    keys = {(run.team_id, run.purpose) for run in runs}
    profiles = {key: get_thresholds(*key) for key in keys}
    changed = 0
    for finding, run in zip(findings, runs, strict=True):
        profile = profiles[run.team_id, run.purpose]
        measured, _, _ = finding.measured.partition(REFERENCE_RUNG)
        outcome = beside_lowest_rung(
            measured,
            get_service_times(finding.measurement_set.measurements.all()),
            run.threads,
            run.target_ops_s or 0,
            low_latency_us(run, lowest),
            profile,
        )
        result = THREAD_LIMIT.finding(outcome, str(THREAD_LIMIT.limits), profile)
        (row,) = finding_rows(finding.measurement_set, [result])
        changed += _replace_finding(finding, row)

    return changed


def _replace_finding(stored: Finding, fresh: Finding) -> bool:
    """Whether the finding changed; not where its run was cut again meanwhile."""
    if copy_fields(stored, FINDING_FIELDS) == copy_fields(fresh, FINDING_FIELDS):
        return False

    measurement_set = stored.measurement_set
    with transaction.atomic():
        before = locked(measurement_set.run)
        current = Finding.objects.filter(pk=stored.pk, measurement_set__is_current=True)
        if not current.update(**{name: getattr(fresh, name) for name in FINDING_FIELDS}):
            return False
        adopt(measurement_set.run, measurement_set, before)
        if fresh.severity != stored.severity:
            severities = f"{stored.get_severity_display()}, now {fresh.get_severity_display()}"
            text = f"V02 judged again beside the lowest rung of the sweep: {severities}."
            RunEvent.objects.create(run=measurement_set.run, kind="note", text=text)

    return True

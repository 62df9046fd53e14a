"""The runs behind a comparison: what each of them came to, what the checks say of it, and a digest of its numbers."""

import hashlib
import json
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reports.compare.curves import Curve
from reports.compare.queries.curves import COLUMNS
from runs.models import Artifact, Finding, Measurement, MeasurementSet, Run, Status

_NUMBERS: Final = (
    "number", "warmup_s", "tail_s", "window_s", "operations", "failed", "throughput_ops_s", "clients_merged",
    "clients_expected", "reader_version", "algorithm_version",
)  # fmt: skip
_SET: Final = ("id", "run_id", *_NUMBERS)
_MEASURED: Final = ("measurement_set_id", "operation", "latency_kind", "count", "ok", "failed", *COLUMNS.values())


@dataclass(frozen=True, slots=True)
class SourceRun:
    """One run of a compared sweep that has ended."""

    row: Run  # without its spec and its evidence
    cut: Mapping[str, Any]  # its current measurement set; empty: nothing was measured
    sha256: str  # over that and its artifacts' digests; empty: nothing was measured
    findings: Sequence[Finding]


def source_runs(curves: Sequence[Curve]) -> list[SourceRun]:
    """Every run of these sweeps that has ended, in the order of the curves and of their plan. Five queries."""
    order: dict[uuid.UUID | None, int] = {curve.sweep_id: position for position, curve in enumerate(curves)}
    rows = list(
        Run.objects.filter(sweep__in=order, is_bracket=False, status__in=Status.terminal())
        .order_by("position", "threads", "target_ops_s", "repeat", "id")
        .only("sweep", "name", "status", "reason", "purpose", "verdict", "verdict_override", "excluded_reason")
    )
    rows.sort(key=lambda row: order[row.sweep_id])
    current = MeasurementSet.objects.filter(run__in=[row.pk for row in rows], is_current=True)
    cuts = {cut["run_id"]: cut for cut in current.values(*_SET)}
    digests = _compute_digests(cuts)
    findings = _read_findings([cut["id"] for cut in cuts.values()])
    source_runs = []
    for row in rows:
        cut = cuts.get(row.pk, {})
        source_runs.append(SourceRun(row, cut, digests.get(row.pk, ""), findings.get(cut.get("id"), ())))
    return source_runs


def _compute_digests(cuts: Mapping[uuid.UUID, Mapping[str, Any]]) -> dict[uuid.UUID, str]:
    """Run -> SHA-256 of its numbers: whoever keeps the run can see whether it still is what was reported."""
    measured: dict[uuid.UUID, list[list[Any]]] = defaultdict(list)
    sets = [cut["id"] for cut in cuts.values()]
    rows = Measurement.objects.filter(measurement_set__in=sets).order_by("operation", "latency_kind")
    for set_id, *values in rows.values_list(*_MEASURED):
        measured[set_id].append(values)

    files: dict[uuid.UUID, list[str]] = defaultdict(list)
    for run_id, sha256 in Artifact.objects.filter(run__in=cuts).order_by("sha256").values_list("run_id", "sha256"):
        files[run_id].append(sha256)

    digests = {}
    for run_id, cut in cuts.items():
        numbers = [[cut[name] for name in _NUMBERS], measured[cut["id"]], files[run_id]]
        text = json.dumps(numbers, separators=(",", ":"))
        digests[run_id] = hashlib.sha256(text.encode()).hexdigest()

    return digests


def _read_findings(sets: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[Finding]]:
    findings: dict[uuid.UUID, list[Finding]] = defaultdict(list)
    for finding in Finding.objects.filter(measurement_set__in=sets).order_by("check_id"):
        findings[finding.measurement_set_id].append(finding)
    return findings

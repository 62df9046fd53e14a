"""`var/demo/summary.json`: what the quick study measured, for people and programs that want no browser."""

import json
from pathlib import Path
from typing import Any

from reports.compare.ladder_text import ladder_says
from reports.compare.queries import curves
from runs.models import Matrix, Measurement, Run, Sweep
from runs.models.result import LatencyKind
from runs.models.run import Phase, Status


def summary(matrix: Matrix, urls: dict[str, str]) -> dict[str, Any]:
    """Latencies are service time in microseconds of all clients merged over the measured window."""
    runs = Run.objects.filter(matrix=matrix)
    sweeps = Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE).select_related("workload", "database")
    return {
        "runs": runs.count(),
        "succeeded": runs.filter(status=Status.SUCCEEDED).count(),
        "sweeps": [_sweep(sweep) for sweep in sweeps.order_by("system", "created_at", "name")],
        "urls": urls,
    }


def write_summary(path: Path, content: dict[str, Any]) -> None:
    """Whole or not at all: a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(content, indent=2) + "\n")
    draft.replace(path)


def _sweep(sweep: Sweep) -> dict[str, Any]:
    runs = sweep.runs.filter(status=Status.SUCCEEDED, excluded_reason="").order_by("threads", "target_ops_s", "repeat")
    if sweep.decisions.exists():
        runs = runs.exclude(target_ops_s=None)  # The probe of the search is no rung.
    points = [_point(run) for run in runs.prefetch_related("measurement_sets__measurements")]
    ceiling = curves([sweep])[0].ceiling
    return {
        "system": sweep.system,
        "database": sweep.database.name if sweep.database else "",
        "mode": sweep.mode,
        "workload": sweep.workload.short_name if sweep.workload else "",
        "ceiling_ops_s": ceiling.throughput_ops_s if ceiling else None,
        "ceiling_range_ops_s": ceiling.range_ops_s if ceiling else None,
        "ceiling_status": ceiling.status if ceiling else None,
        "ceiling_says": ladder_says(ceiling) if ceiling else None,
        "points": points,
    }


def _point(run: Run) -> dict[str, Any]:
    current = next((stored for stored in run.measurement_sets.all() if stored.is_current), None)
    measured = (
        {m.operation: m for m in current.measurements.all() if m.latency_kind == LatencyKind.SERVICE} if current else {}
    )
    return {
        "threads": run.threads,
        "target_ops_s": run.target_ops_s,
        "throughput_ops_s": run.throughput_ops_s,
        "read_p99_us": _p99(measured.get("READ")),
        "update_p99_us": _p99(measured.get("UPDATE")),
        "clients_merged": current.clients_merged if current else 0,
        "verdict": run.verdict,
    }


def _p99(measurement: Measurement | None) -> float | None:
    return measurement.p99_us if measurement else None

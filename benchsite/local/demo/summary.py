"""`var/demo/summary.json`: what the quick study measured, for people and programs that want no browser."""

import json
from pathlib import Path
from typing import Any

from reports.compare.ladder_text import ladder_says
from reports.compare.pages.answer import judge_selection
from reports.compare.pages.answer_messages import certainty, sentence
from reports.compare.pages.baseline_ratios import Judging
from reports.compare.queries import curves, get_profile, sides_by_sweep
from reports.compare.selection import Selection
from runs.models import LatencyKind, Matrix, Phase, Run, Status, Sweep


def summary(matrix: Matrix, urls: dict[str, str]) -> dict[str, Any]:
    """Latencies are service time in microseconds of all clients merged over the measured window."""
    runs = Run.objects.filter(matrix=matrix)
    sweeps = Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE).select_related("workload", "database")
    measured = curves(sweeps)
    judging = Judging(sides_by_sweep(measured), get_profile(matrix.team, measured), {})
    answer, _ = judge_selection(Selection(), measured, judging, None)

    return {
        "findings": list(map(sentence, answer.findings)),
        "certainty": certainty(answer),
        "runs": runs.count(),
        "succeeded": runs.filter(status=Status.SUCCEEDED).count(),
        "sweeps": [_describe_sweep(sweep) for sweep in sweeps.order_by("system", "created_at", "name")],
        "urls": urls,
    }


def write_summary(path: Path, content: dict[str, Any]) -> None:
    """Whole or not at all: a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(content, indent=2) + "\n")
    draft.replace(path)


def _describe_sweep(sweep: Sweep) -> dict[str, Any]:
    runs = sweep.runs.filter(status=Status.SUCCEEDED, excluded_reason="").order_by("threads", "target_ops_s", "repeat")
    points = [_describe_point(run) for run in runs.prefetch_related("measurement_sets__measurements")]
    entry: dict[str, Any] = {"system": sweep.system, "database": "", "mode": sweep.mode, "workload": ""}
    if sweep.database:
        entry["database"] = sweep.database.name
    if sweep.workload:
        entry["workload"] = sweep.workload.short_name
    entry |= dict.fromkeys(("ceiling_ops_s", "ceiling_range_ops_s", "ceiling_status", "ceiling_says"))
    (curve,) = curves([sweep])
    ceiling = curve.ceiling
    if ceiling:
        entry |= {
            "ceiling_ops_s": ceiling.throughput_ops_s,
            "ceiling_range_ops_s": ceiling.range_ops_s,
            "ceiling_status": ceiling.status,
            "ceiling_says": ladder_says(ceiling),
        }

    return {**entry, "points": points}


def _describe_point(run: Run) -> dict[str, Any]:
    p99_us: dict[str, float | None] = {}
    clients = 0
    for measurement_set in run.measurement_sets.all():
        if not measurement_set.is_current:
            continue
        clients = measurement_set.clients_merged
        for measurement in measurement_set.measurements.all():
            if measurement.latency_kind == LatencyKind.SERVICE:
                p99_us[measurement.operation] = measurement.p99_us

    return {
        "threads": run.threads,
        "target_ops_s": run.target_ops_s,
        "throughput_ops_s": run.throughput_ops_s,
        "read_p99_us": p99_us.get("READ"),
        "update_p99_us": p99_us.get("UPDATE"),
        "clients_merged": clients,
        "verdict": run.verdict,
    }

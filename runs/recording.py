"""From the clients' stored output to rows: merge, measurement set, series, findings. Idempotent, in one transaction."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import numpy as np
from django.db import transaction

from runs import artifacts, lifecycle
from runs.models import Artifact, ClientRun, Finding, Measurement, MeasurementSet, Run, Series
from runs.models.run import Phase
from runs.spec import RunSpec
from runs.validity import CheckResult, facts_of, judge_run, profile, worst
from runs.ycsb.errors import YcsbError
from runs.ycsb.hdr import IntervalLog, read_log
from runs.ycsb.merge import ClientOutput, MergedOperation, MergedRun, merge
from runs.ycsb.series import pack, series_of, total_rate
from runs.ycsb.summary import Summary, parse_summary

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)


@dataclass(frozen=True, slots=True)
class Collected:
    """The merged run, and what its client rows know that the logs do not."""

    merged: MergedRun
    clients: tuple[ClientRun, ...]


def collect(run: Run) -> Collected:
    """Read every client's artifacts and merge them exactly. Raises YcsbError where there is nothing to merge."""
    spec = cast(RunSpec, run.spec)
    clients = tuple(run.client_runs.select_related("load_generator__machine").prefetch_related("artifacts"))
    measure = run.phase == Phase.MEASURE
    merged = merge(
        [_output(client) for client in clients],
        warmup_s=spec["window"]["warmup_s"] if measure else 0.0,
        measure_s=spec["window"]["max_measure_s"] if measure else None,
        phase="measure" if measure else "load",
    )
    return Collected(merged, clients)


def record(run: Run, claim: uuid.UUID, collected: Collected, *, rows: int | None) -> list[CheckResult]:
    """Store measurements, series, findings and the run's verdict, or nothing of them; doing it again replaces them.

    Fenced on `claim`: raises ClaimLost where the run was ended meanwhile.
    """
    merged = collected.merged
    findings = judge(run, collected, rows)
    with transaction.atomic():
        run.measurement_sets.filter(number=1).delete()
        run.series.all().delete()
        kept = _measurement_set(run, merged)
        Measurement.objects.bulk_create(_measurement(kept, operation) for operation in merged.operations)
        Series.objects.bulk_create(_series(run, merged))
        Finding.objects.bulk_create(_finding(kept, result, merged.algorithm_version) for result in findings)
        for intervals in merged.intervals:
            artifacts.store(run, "intervals", f"{intervals.name}.intervals", intervals.to_bytes())
        lifecycle.note(run.pk, claim, verdict=worst(findings), throughput_ops_s=merged.throughput_ops_s)
    return findings


def judge(run: Run, collected: Collected, rows: int | None) -> list[CheckResult]:
    """All validity checks over one merged run, with the thresholds of its purpose."""
    spec = cast(RunSpec, run.spec)
    hosts = {machine["id"] for machine in spec["cluster"]["machines"]}
    generators = {client.number: client.load_generator for client in collected.clients if client.load_generator}
    cores = {number: int(g.machine.facts.get("cores", {}).get("value", 0)) for number, g in generators.items()}
    measure = run.phase == Phase.MEASURE
    facts = facts_of(
        collected.merged,
        threads=spec["load"]["threads"],
        target_ops_s=spec["load"]["target_ops_s"],
        workload=spec["workload"]["properties"],
        rows_loaded=rows,
        measure_s=spec["window"]["min_measure_s"] if measure else None,
        rate_ops_s=[float(rate) for rate in total_rate(collected.merged)] if measure else None,
        client_on_database_host=any(generator["machine"]["id"] in hosts for generator in spec["generators"]),
        machines={number: g.machine.name for number, g in generators.items()},
        cpu_percent={c.number: c.cpu_percent for c in collected.clients if c.cpu_percent is not None},
        cores={number: found for number, found in cores.items() if found},
    )
    return judge_run(facts, profile(spec["purpose"]))


def _output(client: ClientRun) -> ClientOutput:
    stored = list(client.artifacts.all())
    return ClientOutput(
        number=client.number,
        logs=[_log(artifact) for artifact in stored if artifact.kind == "hdr"],
        summary=_summary(stored),
        clock_offset_s=client.clock_offset_s or 0.0,
        started_s=client.facts.get("started_epoch_s"),
        threads=client.order["threads"],
    )


def _log(artifact: Artifact) -> IntervalLog:
    return read_log(artifacts.open_artifact(artifact).decode("utf-8", errors="replace").splitlines())


def _summary(stored: list[Artifact]) -> Summary | None:
    for artifact in stored:
        if artifact.kind == "summary":
            try:
                return parse_summary(artifacts.open_artifact(artifact).decode("utf-8", errors="replace"))
            except YcsbError:
                return None
    return None


def _measurement_set(run: Run, merged: MergedRun) -> MeasurementSet:
    return MeasurementSet.objects.create(
        run=run,
        number=1,
        warmup_s=merged.warmup_s,
        window_from=datetime.fromtimestamp(merged.window.from_s, UTC),
        window_to=datetime.fromtimestamp(merged.window.to_s, UTC),
        window_s=merged.window.length_s,
        clients_merged=merged.clients_merged,
        clients_expected=merged.clients_expected,
        operations=merged.total_operations,
        failed=merged.failed_operations,
        throughput_ops_s=merged.throughput_ops_s,
        throughput_sum_ops_s=merged.throughput_sum_ops_s,
        throughput_wall_ops_s=merged.throughput_wall_ops_s,
        overlap=merged.overlap,
        clients=[
            {
                "number": client.number,
                "throughput_ops_s": client.throughput_ops_s,
                "operations": client.operations,
                "failed": client.failed,
                "started_s": client.started_s,
                "ended_s": client.ended_s,
                "runtime_ms": client.runtime_ms,
                "threads": client.threads,
            }
            for client in merged.clients
        ],
        reader_version=merged.reader_version,
        algorithm_version=merged.algorithm_version,
    )


def _measurement(kept: MeasurementSet, operation: MergedOperation) -> Measurement:
    histogram = operation.histogram
    p50, p90, p95, p99, p999, p9999 = histogram.percentiles(PERCENTILES)
    return Measurement(
        measurement_set=kept,
        operation=operation.operation,
        latency_kind=operation.kind,
        count=operation.count,
        ok=operation.ok,
        failed=operation.failed,
        mean_us=histogram.mean,
        min_us=histogram.min,
        max_us=histogram.max,
        p50_us=p50,
        p90_us=p90,
        p95_us=p95,
        p99_us=p99,
        p999_us=p999,
        p9999_us=p9999,
        returns=dict(operation.returns),
    )


def _series(run: Run, merged: MergedRun) -> Iterator[Series]:
    base = run.starts_at.timestamp() if run.starts_at else None
    for series in series_of(merged, base_s=base):
        yield Series(
            run=run,
            operation=series.operation,
            latency_kind=series.kind,
            interval_s=series.interval_s,
            points=int(np.size(series.points)),
            data=pack(series),
            reader_version=merged.reader_version,
        )


def _finding(kept: MeasurementSet, result: CheckResult, version: int) -> Finding:
    return Finding(
        measurement_set=kept,
        check_id=result.check_id,
        severity=result.severity,
        title=result.title,
        measured=result.measured,
        threshold=result.threshold,
        message=result.message,
        remedy=result.remedy,
        algorithm_version=version,
    )

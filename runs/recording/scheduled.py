"""A run that Benchsite made itself: its clients' stored output is merged, judged and recorded."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import cast

from django.db import transaction

from runs import artifacts, lifecycle
from runs.models import Artifact, ClientRun, Run
from runs.models.run import Phase
from runs.recording.intervals import FreshIntervals, Gathering, store_intervals
from runs.recording.rows import write_series, write_set
from runs.recording.surroundings import summary_of, surroundings_of
from runs.spec import RunSpec
from runs.thresholds import thresholds_of
from runs.validity import CheckResult, facts_of, judge_run, worst
from runs.ycsb.ingest import ClientLogs, ingest
from runs.ycsb.logscan import LogSource
from runs.ycsb.merge import MergedRun
from runs.ycsb.series import Series, total_rate
from runs.ycsb.window import Cut


@dataclass(frozen=True, slots=True)
class Collected:
    """The merged run with its series, and what its client rows know that the logs do not."""

    merged: MergedRun
    series: tuple[Series, ...]
    intervals: tuple[FreshIntervals, ...]  # of the whole run, to be stored and cut again
    clients: tuple[ClientRun, ...]


def collect(run: Run) -> Collected:
    """Read every client's artifacts and merge them exactly. Raises YcsbError where there is nothing to merge."""
    spec = cast(RunSpec, run.spec)
    clients = clients_of(run)
    cut = Cut(phase="load")
    if run.phase == Phase.MEASURE:
        cut = Cut(spec["window"]["warmup_s"], spec["window"]["max_measure_s"])
    base_s = run.starts_at.timestamp() if run.starts_at else None
    gathering = Gathering()
    found = ingest([_logs(client) for client in clients], cut, base_s=base_s, keep=gathering)
    return Collected(found.merged, found.series, tuple(gathering.fresh), clients)


def clients_of(run: Run) -> tuple[ClientRun, ...]:
    """The run's clients with what reading and judging ask of them."""
    return tuple(run.client_runs.select_related("load_generator__machine").prefetch_related("artifacts"))


def record(run: Run, claim: uuid.UUID, collected: Collected, *, rows: int | None) -> list[CheckResult]:
    """Store measurements, series, findings and the run's verdict, or nothing of them; doing it again replaces them.

    Fenced on `claim`: raises ClaimLost where the run was ended meanwhile.
    """
    spec = cast(RunSpec, run.spec)
    asked_s = spec["window"]["min_measure_s"] if run.phase == Phase.MEASURE else None
    merged = collected.merged
    findings = judge(run, merged, collected.series, collected.clients, rows=rows, asked_s=asked_s)
    with transaction.atomic():
        run.measurement_sets.filter(number=1).delete()
        write_set(run, 1, merged, findings)
        write_series(run, collected.series, merged.reader_version)
        store_intervals(run, collected.intervals)
        lifecycle.note(run.pk, claim, verdict=worst(findings), throughput_ops_s=merged.throughput_ops_s)
    return findings


def judge(
    run: Run,
    merged: MergedRun,
    series: Sequence[Series],
    clients: Sequence[ClientRun],
    *,
    rows: int | None,
    asked_s: float | None,
) -> list[CheckResult]:
    """All validity checks over one merged run, with the team's thresholds of its purpose.

    `series` is of the whole run. `asked_s` is how long the window was to be: of a run that is cut again, what the cut
    leaves of the plan.
    """
    spec = cast(RunSpec, run.spec)
    thresholds = thresholds_of(run.team_id, spec["purpose"])
    measure = run.phase == Phase.MEASURE
    facts = facts_of(
        merged,
        threads=spec["load"]["threads"],
        target_ops_s=spec["load"]["target_ops_s"],
        workload=spec["workload"]["properties"],
        rows_loaded=rows,
        measure_s=asked_s,
        rate_ops_s=[float(rate) for rate in total_rate(merged)] if measure else None,
        series=series if measure else (),
        known=surroundings_of(run, spec, clients, thresholds),
    )
    return judge_run(facts, thresholds)


def _logs(client: ClientRun) -> ClientLogs:
    return ClientLogs(
        number=client.number,
        logs=[_source(artifact) for artifact in client.artifacts.all() if artifact.kind == "hdr"],
        summary=summary_of(client),
        clock_offset_s=client.clock_offset_s or 0.0,
        threads=client.order["threads"],
        response_only=client.order.get("properties", {}).get("measurement.interval") == "intended",
    )


def _source(artifact: Artifact) -> LogSource:
    return LogSource(lambda: artifacts.chunks(artifact.sha256), PurePath(artifact.name).stem)

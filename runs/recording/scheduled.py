"""A run that Benchsite made itself: its clients' stored output is merged, judged and recorded."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from django.db import transaction

from runs import artifacts, lifecycle
from runs.models import Artifact, ClientRun, Run
from runs.models.run import Phase
from runs.recording.rows import write_intervals, write_series, write_set
from runs.recording.surroundings import summary_of, surroundings_of
from runs.spec import RunSpec
from runs.thresholds import thresholds_of
from runs.validity import CheckResult, facts_of, judge_run, worst
from runs.ycsb.hdr import IntervalLog, read_log
from runs.ycsb.merge import ClientOutput, MergedRun, merge
from runs.ycsb.series import Series, series_of, total_rate


@dataclass(frozen=True, slots=True)
class Collected:
    """The merged run with its series, and what its client rows know that the logs do not."""

    merged: MergedRun
    series: tuple[Series, ...]
    clients: tuple[ClientRun, ...]


def collect(run: Run) -> Collected:
    """Read every client's artifacts and merge them exactly. Raises YcsbError where there is nothing to merge."""
    spec = cast(RunSpec, run.spec)
    clients = clients_of(run)
    measure = run.phase == Phase.MEASURE
    merged = merge(
        [_output(client) for client in clients],
        warmup_s=spec["window"]["warmup_s"] if measure else 0.0,
        measure_s=spec["window"]["max_measure_s"] if measure else None,
        phase="measure" if measure else "load",
    )
    base = run.starts_at.timestamp() if run.starts_at else None
    return Collected(merged, series_of(merged, base_s=base), clients)


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
        write_intervals(run, merged.intervals)
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


def _output(client: ClientRun) -> ClientOutput:
    stored = list(client.artifacts.all())
    return ClientOutput(
        number=client.number,
        logs=[_log(artifact) for artifact in stored if artifact.kind == "hdr"],
        summary=summary_of(client),
        clock_offset_s=client.clock_offset_s or 0.0,
        started_s=client.facts.get("started_epoch_s"),
        threads=client.order["threads"],
    )


def _log(artifact: Artifact) -> IntervalLog:
    return read_log(artifacts.open_artifact(artifact).decode("utf-8", errors="replace").splitlines())

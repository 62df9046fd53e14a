"""A run that Benchsite made itself: its clients' stored output is merged, judged and recorded."""

import io
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any, Final, cast

from django.db import transaction
from django.db.models import F, Max

from runs.catalog import GO_FLAVOUR, generators
from runs.checks import CheckResult, compute_verdict
from runs.checks.over_time import over_time
from runs.checks.spec_findings import collect_findings
from runs.checks.team_thresholds import get_thresholds
from runs.models import ClientRun, Phase, Run, Status
from runs.queue import lifecycle
from runs.queue.spec import GroupSpec, RunSpec, WindowSpec, build_group_spec, list_groups, max_warmup_s
from runs.results import artifacts
from runs.results.measures.steady import extend_warmup
from runs.results.messages import (
    MODE_NOT_READ_BACK,
    NO_CLIENT_STARTED,
    NOT_BROKEN_BY_INFRASTRUCTURE,
    RECORDS_NOT_COUNTED,
)
from runs.results.recording.arrivals import add_arrivals
from runs.results.recording.client_merge import Collected, merge_logs
from runs.results.recording.groups import CollectedGroup, GroupResult, build_group_result
from runs.results.recording.intervals import store_intervals
from runs.results.recording.rows import write_series, write_set
from runs.results.recording.run_context import build_run_context, read_clock_steps, read_summary
from runs.uploads.judgement import Merged
from runs.ycsb.clients import summarised_run
from runs.ycsb.command import TAIL_S
from runs.ycsb.errors import YcsbError
from runs.ycsb.file_grouping import ClientFiles, RunFiles
from runs.ycsb.ingest import ingest
from runs.ycsb.logscan import LogSource
from runs.ycsb.merged import ClientLogs, MergedRun, Phase as YcsbPhase
from runs.ycsb.readers.file_reader import read_file
from runs.ycsb.series import Series
from runs.ycsb.window import Cut

# The kinds of artifacts without which a client's output is not complete, and their files.
OUTPUT_FILES: Final = {"summary": "summary.txt", "hdr": "*.hdr"}
# The CPU time of clients in shorter windows is mostly that of a JVM which compiles.
MIN_RATED_S: Final = 10


def collect(run: Run) -> Collected:
    """Read every client's artifacts and merge them exactly. Raises YcsbError where there is nothing to merge."""
    spec = _read_spec(run)
    all_clients = get_clients(run)
    clients = select_group(all_clients, "")
    if spec["client"]["flavour"] == GO_FLAVOUR:
        # go-ycsb has left its warm-up out, and no histograms that could be cut.
        files = tuple(_read_report(client) for client in clients)
        summarised = summarised_run(RunFiles(cast(YcsbPhase, spec["phase"]), files))
        assert summarised is not None  # None is for clients with histograms.
        return Collected(summarised, summarised.series, clients=clients)

    cut, window = _build_cut(spec), spec["window"]
    logs = [_list_logs(client) for client in clients]
    if run.phase == Phase.MEASURE and "settle_s" in window:
        cut = _find_settled_cut(merge_logs(logs, Cut(window["warmup_s"]), _start_s(run)), window)
    collected = merge_logs(logs, cut, _start_s(run))
    assert isinstance(collected.merged, MergedRun)
    groups = tuple(_collect_group(run, spec, group, cut, all_clients) for group in list_groups(spec))
    return replace(collected, merged=add_arrivals(collected.merged, clients), clients=clients, groups=groups)


def _read_spec(run: Run) -> RunSpec:
    """Its window is at most as long as it was when the clients ended by their operations."""
    spec = cast(RunSpec, run.spec)
    if run.ends_at is None or run.starts_at is None:
        return spec
    lasted_s = round((run.ends_at - run.starts_at).total_seconds())
    window: WindowSpec = {**spec["window"], "max_measure_s": lasted_s - max_warmup_s(spec["window"]) - TAIL_S}
    return {**spec, "window": window}


def _build_cut(spec: RunSpec) -> Cut:
    if spec["phase"] == Phase.MEASURE:
        return Cut(spec["window"]["warmup_s"], spec["window"]["max_measure_s"])
    return Cut(phase="load")


def _start_s(run: Run) -> float | None:
    return run.starts_at.timestamp() if run.starts_at else None


def _collect_group(
    run: Run, spec: RunSpec, group: GroupSpec, cut: Cut, all_clients: Sequence[ClientRun]
) -> CollectedGroup:
    """The clients of a group, merged over their own window; nothing of them is kept for cutting again.

    One that stands from the beginning is cut as the ladder.
    """
    group_spec, clients = build_group_spec(spec, group), select_group(all_clients, group["name"])
    if group["start_s"] is not None:
        cut = _build_cut(group_spec)
    try:
        merged, series = ingest([_list_logs(client) for client in clients], cut, base_s=_start_s(run))
        return CollectedGroup(group, group_spec, clients, add_arrivals(merged, clients), series)
    except YcsbError as error:
        return CollectedGroup(group, group_spec, clients, problem=str(error))


def _find_settled_cut(whole: Collected, window: WindowSpec) -> Cut:
    """A warm-up until the run is steady. What the plan allowed for that and was not needed is measured, too."""
    assert isinstance(whole.merged, MergedRun)
    assert window["max_measure_s"] is not None  # Only uploads may not know it.
    warmup_s = window["warmup_s"]
    seconds = over_time(whole.series, whole.merged.window, whole.merged.warmup_s)
    if seconds is not None:
        warmup_s = extend_warmup(seconds.rate_ops_s, seconds.p95_us, warmup_s=warmup_s, settle_s=window["settle_s"])
    return Cut(warmup_s, max_warmup_s(window) - warmup_s + window["max_measure_s"])


def get_clients(run: Run) -> tuple[ClientRun, ...]:
    """The run's clients, those of its groups too, with what reading and judging ask of them."""
    return tuple(run.client_runs.select_related("load_generator__machine").prefetch_related("artifacts"))


def select_group(clients: Sequence[ClientRun], name: str) -> tuple[ClientRun, ...]:
    """Those of a group; of the ladder where the name is empty."""
    return tuple(client for client in clients if client.group == name)


def record(run: Run, claim: uuid.UUID, collected: Collected, *, rows: int | None) -> list[CheckResult]:
    """Store measurements, series, findings and the run's verdict, or nothing of them; doing it again replaces them.

    Fenced on `claim`: raises ClaimLost where the run was ended meanwhile.
    """
    with transaction.atomic():
        findings = _write(run, collected, rows)
        throughput = collected.merged.throughput_ops_s
        if throughput is None:
            raise YcsbError("The reports of go-ycsb state no throughput: no operation succeeded.")
        lifecycle.note(
            run.pk, claim, throughput_ops_s=throughput, **compute_verdict(finding.severity for finding in findings)
        )
        if run.phase == Phase.MEASURE and (run.spec["window"]["min_measure_s"] or 0) >= MIN_RATED_S:
            generators.note_core_rate(collected.clients, throughput)
    return findings


def complete(run: Run) -> None:
    """Record a failed run whose output turned out complete after its end, and have it succeed.

    Raises Incomplete with everything that is missing, TransitionRefused where the run was no such run any more, and
    OSError or YcsbError where the output cannot be read.
    """
    missing = missing_evidence(run)
    if missing:
        raise Incomplete("; ".join(missing))

    collected = collect(run)
    late = Max("client_runs__output_stored_at") - F("finished_at")
    late_by = Run.objects.annotate(late=late).get(pk=run.pk).late
    when = "stored in time"
    # The previous release did not write down when output was stored.
    if late_by is not None and round(late_by.total_seconds()) > 0:
        when = f"stored {round(late_by.total_seconds())} s late"
    with transaction.atomic():
        findings = _write(run, collected, run.evidence.get("rows"))
        lifecycle.complete(
            run.pk,
            f"Completed from the clients' output, {when}.",
            throughput_ops_s=collected.merged.throughput_ops_s,
            **compute_verdict(finding.severity for finding in findings),
        )


class Incomplete(Exception):
    """Something that a success needs is missing. The message lists what."""


def missing_evidence(run: Run) -> list[str]:
    """Evidence that a run broken by infrastructure lacks, in words; empty where it can be completed."""
    missing = missing_output(run)
    if run.status != Status.FAILED or run.reason not in lifecycle.INFRASTRUCTURE:
        missing.append(NOT_BROKEN_BY_INFRASTRUCTURE)
    for when in ("before", "after"):
        if not run.evidence.get("mode_stated") and not run.evidence.get(when, {}).get("in_force"):
            missing.append(MODE_NOT_READ_BACK.format(when=when))
    if run.phase == Phase.LOAD and run.evidence.get("rows") is None:
        missing.append(RECORDS_NOT_COUNTED)
    return missing


def missing_output(run: Run) -> list[str]:
    """For each client whose output is not complete: which client, where it ran, and which files are missing."""
    clients = get_clients(run)
    if not clients:
        return [NO_CLIENT_STARTED]

    output = OUTPUT_FILES
    if cast(RunSpec, run.spec)["client"]["flavour"] == GO_FLAVOUR:
        output = {"stdout": "stdout.txt"}
    lines = []
    for client in clients:
        if client.state == ClientRun.State.FINISHED:
            continue
        label = f"client {client.number}"
        if client.load_generator:
            label += f" on {client.load_generator.name}"
        kinds = {artifact.kind for artifact in client.artifacts.all()}
        files = [name for kind, name in output.items() if kind not in kinds] or ["its result"]
        lines.append(f"{label}: {', '.join(files)}")

    return lines


def _write(run: Run, collected: Collected, rows: int | None) -> list[CheckResult]:
    """The caller holds the transaction."""
    merged = collected.merged
    asked_s = None
    if run.phase == Phase.MEASURE:
        asked_s = cast(RunSpec, run.spec)["window"]["min_measure_s"]
    groups = judge_groups(run, collected)
    findings = judge(run, merged, collected.series, collected.clients, rows=rows, asked_s=asked_s, groups=groups)
    run.measurement_sets.filter(number=1).delete()
    write_set(run, 1, merged, findings, groups=groups)
    write_series(run, collected.series, merged.reader_version)
    store_intervals(run, collected.intervals)
    return findings


def judge(
    run: Run,
    merged: Merged,
    series: Sequence[Series],
    clients: Sequence[ClientRun],
    *,
    rows: int | None,
    asked_s: float | None,
    groups: Sequence[Mapping[str, Any]] = (),
) -> list[CheckResult]:
    """The run's findings, by the team's thresholds of its purpose; `groups` are `GroupResult`."""
    spec = cast(RunSpec, run.spec)
    thresholds = get_thresholds(run.team_id, spec["purpose"])
    context = build_run_context(run, spec, clients, thresholds)
    context = replace(context, groups=groups)
    workload = spec["workload"]["properties"]
    return collect_findings(spec, thresholds, merged, series, context, workload=workload, rows=rows, asked_s=asked_s)


def judge_groups(run: Run, collected: Collected) -> list[GroupResult]:
    """What is stored of the groups beside the ladder, each with findings of its own."""
    return [build_group_result(group, _judge_group(run, group)) for group in collected.groups]


def _judge_group(run: Run, collected: CollectedGroup) -> list[CheckResult]:
    """The checks of a run over the group alone: what compares it with other runs of its sweep is left out."""
    if collected.merged is None:
        return []

    spec = collected.spec
    thresholds = get_thresholds(run.team_id, spec["purpose"])
    context = build_run_context(run, spec, collected.clients, thresholds)
    context = replace(context, low_latency_us=None, probe=None, inserted_records=None, operations_asked=0)
    findings = collect_findings(
        spec,
        thresholds,
        collected.merged,
        collected.series,
        context,
        workload=spec["workload"]["properties"],
        asked_s=spec["window"]["min_measure_s"],
    )
    # New records are counted for all clients of the run together.
    return [finding for finding in findings if finding.check_id != "V39"]


def _read_report(client: ClientRun) -> ClientFiles:
    """The last report of go-ycsb. Raises YcsbError where there is none."""
    for artifact in client.artifacts.all():
        if artifact.kind != "stdout":
            continue
        reports, *_ = read_file(artifact.name, io.BytesIO(artifacts.open_artifact(artifact)))
        if not reports.runs:
            continue
        report = reports.runs[-1]
        # Its own run time has the warm-up in it; what it counts has not.
        total = report.operations.get("TOTAL")
        measured_ms = None
        if total and total.count and total.rate_ops_s:
            measured_ms = total.count / total.rate_ops_s * 1000
        return ClientFiles(client.number, (artifact.name,), replace(report, runtime_ms=measured_ms), ())
    raise YcsbError(f"Client {client.number} left no report of go-ycsb.")


def _list_logs(client: ClientRun) -> ClientLogs:
    stepped_s, steps = read_clock_steps(client)
    logs = []
    for artifact in client.artifacts.all():
        if artifact.kind == "hdr":
            logs.append(LogSource(partial(artifacts.chunks, artifact.sha256), PurePath(artifact.name).stem))
    return ClientLogs(
        number=client.number,
        logs=logs,
        summary=read_summary(client),
        clock_offset_s=(client.clock_offset_s or 0.0) - stepped_s,
        clock_steps=steps,
        threads=client.order["threads"],
        response_only=client.order.get("properties", {}).get("measurement.interval") == "intended",
    )

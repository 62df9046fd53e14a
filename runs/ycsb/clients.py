"""The clients of a run as people bring them: grouped from their files, merged exactly or with bounds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from runs.ycsb.clock_steps import ClockStep
from runs.ycsb.duplicate_outputs import collect_numbers, find_copies
from runs.ycsb.evidence import LOAD, OWN, ClientEvidence
from runs.ycsb.failure_symptoms import describe
from runs.ycsb.file_grouping import ClientFiles, RunFiles
from runs.ycsb.form_defaults import build_workload, get_servers, read_database, read_durability, stated_options
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.ingest import ingest
from runs.ycsb.logscan import LogSource
from runs.ycsb.merged import ClientLogs, MergedRun
from runs.ycsb.messages import NO_HISTOGRAMS, NO_HISTOGRAMS_OF
from runs.ycsb.numbers import whole
from runs.ycsb.operation import ReadOperation, parse_name
from runs.ycsb.properties import WORKLOAD_PROPERTIES
from runs.ycsb.property_names import misspelt
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.summary import Summary
from runs.ycsb.summary_client import SummaryClient
from runs.ycsb.summary_counts import is_response
from runs.ycsb.summary_run import SummarisedRun, summarise
from runs.ycsb.window import Cut

_PERCENTILES: Final = (50.0, 95.0, 99.0, 99.9)
# What a client's JVM prints of itself, in percent of its run time.
_COLLECTING: Final = "TOTAL_GC_TIME_%"


def merge_run(run: RunFiles) -> MergedRun | SummarisedRun:
    """The whole run: exactly, where every client left histograms of everything it counted; else with bounds, and why in
    `notes`. Raises MergeError.
    """
    summarised = summarised_run(run)
    if summarised is not None:
        return summarised
    merged, _ = ingest([collect_logs(client) for client in run.clients], Cut(phase="load"), has_series=False)
    return with_evidence(replace(merged, phase=run.phase or "measure", notes=tuple(map(str, run.notes))), run.clients)


def summarised_run(run: RunFiles) -> SummarisedRun | None:
    """The run with bounds, and why in its `notes`; None where every client left histograms of all it counted."""
    reasons = list(filter(None, map(_explain_missing_histograms, run.clients)))
    if not reasons:
        return None
    notes = list(map(str, run.notes))
    # What a single client states of itself is no bound.
    if len(run.clients) > 1:
        notes.insert(0, f"The percentiles are bounds: {'; '.join(reasons)}.")
    summarised = summarise([_summary_client(client) for client in run.clients], notes=notes)
    steps = {client.number: client.status_clock_steps for client in summarised.clients}
    evidence = collect_evidence(run.clients, steps)
    clients = tuple(replace(client, evidence=evidence[client.number]) for client in summarised.clients)
    return replace(summarised, clients=clients)


def with_evidence(merged: MergedRun, clients: Sequence[ClientFiles]) -> MergedRun:
    """The run with what its clients' files say beside its numbers."""
    steps = {}
    for client in clients:
        progress = _summary_client(client).progress
        if progress is not None:
            steps[client.number] = progress.clock_steps
    evidence = collect_evidence(clients, steps)
    merged_clients = [replace(client, evidence=evidence[client.number]) for client in merged.clients]
    return replace(merged, clients=tuple(merged_clients))


def collect_evidence(
    clients: Sequence[ClientFiles], clock_steps: Mapping[int, Sequence[ClockStep]]
) -> dict[int, ClientEvidence]:
    """By client number; `clock_steps` are those of the status lines."""
    numbers = {}
    if len(clients) > 1:
        numbers = {client.number: collect_numbers(client.summary, client.logs) for client in clients}
    copies = find_copies(numbers)
    options: dict[int, dict[str, str]] = {}
    for client in clients:
        options[client.number] = stated_options(client.summary) if client.summary else {}
    # Of the first client that names any.
    servers = next(filter(None, map(get_servers, options.values())), frozenset())

    evidence = {}
    for client in clients:
        evidence[client.number] = replace(
            _collect_client_evidence(client, options[client.number], servers),
            copy_of=copies.get(client.number),
            clock_steps=clock_steps.get(client.number, ()),
        )
    return evidence


def _collect_client_evidence(
    client: ClientFiles, options: Mapping[str, str], first_servers: frozenset[str]
) -> ClientEvidence:
    run = client.summary
    if run is None:
        return ClientEvidence()

    servers = get_servers(options)
    properties = {**build_workload(options), **read_durability(options), **read_database(options)}
    if run.exact_version:
        properties["version"] = run.exact_version
    properties |= {name: options[name] for name in OWN if name in options}

    return ClientEvidence(
        properties=properties,
        written=sorted(options.keys() & {*WORKLOAD_PROPERTIES, *LOAD}),
        has_properties=bool(options),
        unknown=misspelt(options),
        has_messages=bool(run.command or run.status or run.symptoms),
        messages=tuple(describe([symptom]) for symptom in run.symptoms),
        gc_share=_compute_gc_share(run.process),
        elsewhere=bool(servers) and servers.isdisjoint(first_servers),
    )


def _compute_gc_share(process: Mapping[str, float]) -> float | None:
    """Share of the run time: the printed total, or the sum of the collectors where that is more."""
    percents = {name.split()[0]: value for name, value in process.items() if name.startswith(_COLLECTING)}
    total = percents.pop(_COLLECTING, 0.0)
    if not percents and not total:
        return None
    return max(total, sum(percents.values())) / 100


def _explain_missing_histograms(client: ClientFiles) -> str:
    """Why the client's histograms do not say everything; empty when they do."""
    if not any(log.total for log in client.logs):
        return NO_HISTOGRAMS.format(number=client.number)
    if client.summary is None:
        return ""
    measured = {parse_name(log.operation) for log in client.logs}
    absent = []
    for name, operation in sorted(client.summary.operations.items()):
        parsed = parse_name(name)
        if operation.count and parsed.is_operation and parsed not in measured:
            absent.append(name)
    if not absent:
        return ""
    return NO_HISTOGRAMS_OF.format(number=client.number, operations=", ".join(absent))


def _get_threads(run: ReadRun | None) -> int | None:
    if run is None:
        return None
    stated = whole(run.properties.get("threadcount", ""))
    return stated if stated is not None and stated > 0 else None


def collect_logs(client: ClientFiles, logs: Sequence[LogSource | IntervalLog] | None = None) -> ClientLogs:
    """The client as it goes into the merge; with other `logs` than those in memory."""
    run = client.summary
    summary = None
    if run is not None:
        summary = Summary(run.runtime_ms, run.throughput_ops_s, run.operations)
    return ClientLogs(
        number=client.number,
        logs=client.logs if logs is None else logs,
        summary=summary,
        threads=_get_threads(run),
        response_only=run is not None and is_response(run),
    )


def _summary_client(client: ClientFiles) -> SummaryClient:
    run = client.summary or ReadRun(format="hdr-log")
    if not run.operations and client.logs:
        run = replace(run, operations=stated_by_logs(client.logs))
    return SummaryClient(client.number, run, client.clock_offset_s, threads=_get_threads(run))


def stated_by_logs(logs: Iterable[IntervalLog]) -> dict[str, ReadOperation]:
    """The operations of a summary, computed from histograms."""
    operations: dict[str, ReadOperation] = {}
    for log in logs:
        histogram = log.histogram()
        if not histogram.count:
            continue
        values = zip(_PERCENTILES, histogram.percentiles(_PERCENTILES), strict=True)
        operations[log.operation] = ReadOperation(
            count=histogram.count,
            mean_us=histogram.mean,
            min_us=histogram.min,
            max_us=histogram.max,
            percentiles_us={f"{percentile:g}": float(value) for percentile, value in values if value is not None},
        )

    return operations

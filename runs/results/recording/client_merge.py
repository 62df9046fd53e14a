"""The clients of a run merged: from histogram logs of any length, from raw points, or with bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import cast

from runs.models import ClientRun, Phase
from runs.queue.spec import RunSpec
from runs.results.artifacts import Compressing
from runs.results.recording.intervals import FreshIntervals, gather
from runs.uploads.file_pipeline import Reads, read_chunks, read_whole
from runs.ycsb.clients import collect_logs, summarised_run, with_evidence
from runs.ycsb.errors import HistogramError
from runs.ycsb.grouping import ClientFiles, RunFiles
from runs.ycsb.ingest import ClientLogs, ingest
from runs.ycsb.logscan import LogSource
from runs.ycsb.merged import MergedRun, Phase as YcsbPhase
from runs.ycsb.readers.hdrlog import get_operation
from runs.ycsb.series import Series
from runs.ycsb.summary_run import SummarisedRun
from runs.ycsb.window import Cut

Merged = MergedRun | SummarisedRun


@dataclass(frozen=True, slots=True)
class Collected:
    """A run's numbers, its series, and what it can be cut again from."""

    merged: Merged
    series: tuple[Series, ...]
    intervals: FreshIntervals = field(default_factory=dict)  # of the whole run
    clients: tuple[ClientRun, ...] = ()  # of a scheduled run: what their rows know that the logs do not


def merge_logs(clients: Sequence[ClientLogs], cut: Cut, base_s: float | None = None) -> Collected:
    """Exactly, from the histogram logs of every client. Raises YcsbError where there is nothing to merge."""
    fresh: dict[str, Compressing] = {}
    merged, series = ingest(clients, cut, base_s=base_s, keep=partial(gather, fresh))
    return Collected(merged, series, fresh)


def merge_upload(files: RunFiles, reads: Reads, spec: RunSpec) -> Collected:
    """The clients of an uploaded run, as its uploader stated it. Raises YcsbError."""
    files = replace(files, phase=cast(YcsbPhase, spec["phase"]))
    # Of logs that were not kept whole one interval each is here: enough to see whether every client left them.
    summarised = summarised_run(files)
    if summarised is not None:
        return Collected(summarised, summarised.series)
    measured = spec["phase"] == Phase.MEASURE
    cut = Cut(float(spec["window"]["warmup_s"])) if measured else Cut(phase="load")
    if reads.whole:
        return _merge_clients(files, [collect_logs(client) for client in files.clients], cut)
    if all(_are_logs(client, reads) for client in files.clients):
        try:
            return _merge_clients(files, [_unread(client, reads) for client in files.clients], cut)
        except HistogramError:
            pass  # A log is damaged: what stands before the damage was read, and counts.
    clients = [collect_logs(client, read_whole(client.logs, reads)) for client in files.clients]
    return _merge_clients(files, clients, cut)


def _merge_clients(files: RunFiles, clients: Sequence[ClientLogs], cut: Cut) -> Collected:
    collected = merge_logs(clients, cut)
    assert isinstance(collected.merged, MergedRun)
    return replace(
        collected, merged=replace(with_evidence(collected.merged, files.clients), notes=tuple(map(str, files.notes)))
    )


def get_times(merged: Merged) -> tuple[datetime | None, datetime | None]:
    """When its first client began and its last one ended, by their own clocks; None where nothing says so."""
    begins = [client.started_s for client in merged.clients if client.started_s is not None]
    ends = [client.ended_s for client in merged.clients if client.ended_s is not None]
    return (
        datetime.fromtimestamp(min(begins), UTC) if begins else None,
        datetime.fromtimestamp(max(ends), UTC) if ends else None,
    )


def _are_logs(client: ClientFiles, reads: Reads) -> bool:
    """Whether its histograms are whole log files, which can be decoded again piece by piece."""
    origins = [reads.origin(log) for log in client.logs]
    if any(log.operation != stored.operation for log, (_, stored) in zip(client.logs, origins, strict=True)):
        return False
    known = {id(stored) for _, stored in origins}
    return all(file.format == "hdr-log" and known.issuperset(map(id, file.logs)) for file, _ in origins)


def _unread(client: ClientFiles, reads: Reads) -> ClientLogs:
    """The client with its log files as they lie in the storage."""
    names = dict.fromkeys(reads.origin(log)[0].name for log in client.logs)
    sources = [LogSource(partial(read_chunks, reads.members[name]), get_operation(name)) for name in names]
    return collect_logs(client, sources)

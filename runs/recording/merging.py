"""The clients of a run merged: from histogram logs of any length, from raw points, or with bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast

from runs.models import ClientRun
from runs.models.run import Phase
from runs.recording.intervals import FreshIntervals, Gathering, fresh_intervals
from runs.spec import RunSpec
from runs.uploading.reading import Reads, chunks_of, read_whole
from runs.ycsb.clients import ClientFiles, RunFiles, merge_run, output_of, with_evidence
from runs.ycsb.errors import HistogramError
from runs.ycsb.ingest import ClientLogs, ingest
from runs.ycsb.logscan import LogSource
from runs.ycsb.merged import MergedRun
from runs.ycsb.merged import Phase as YcsbPhase
from runs.ycsb.readers.hdrlog import operation_of
from runs.ycsb.series import Series, series_of
from runs.ycsb.summarised import SummarisedRun
from runs.ycsb.window import Cut

Merged = MergedRun | SummarisedRun


@dataclass(frozen=True, slots=True)
class Collected:
    """A run's numbers, its series, and what it can be cut again from."""

    merged: Merged
    series: tuple[Series, ...]
    intervals: tuple[FreshIntervals, ...] = ()  # of the whole run
    clients: tuple[ClientRun, ...] = ()  # of a scheduled run: what their rows know that the logs do not


def merge_logs(clients: Sequence[ClientLogs], cut: Cut, base_s: float | None = None) -> Collected:
    """Exactly, from the histogram logs of every client. Raises YcsbError where there is nothing to merge."""
    gathering = Gathering()
    ingested = ingest(clients, cut, base_s=base_s, keep=gathering)
    return Collected(ingested.merged, ingested.series, tuple(gathering.fresh))


def merge_upload(files: RunFiles, reads: Reads, spec: RunSpec) -> Collected:
    """The clients of an uploaded run, as its uploader stated it. Raises YcsbError."""
    files = replace(files, phase=cast(YcsbPhase, spec["phase"]))
    measured = spec["phase"] == Phase.MEASURE
    if reads.whole:
        return _merged(files, float(spec["window"]["warmup_s"]) if measured else 0.0)
    # What was read has its histograms as one interval each: enough to see whether every client left them.
    overall = merge_run(files, entire=True)
    if isinstance(overall, SummarisedRun):
        return Collected(overall, overall.series)
    warmup_s = float(spec["window"]["warmup_s"]) if measured else 0.0
    if all(_are_logs(client, reads) for client in files.clients):
        try:
            cut = Cut(warmup_s=warmup_s, phase="measure" if measured else "load")
            collected = merge_logs([_client_logs(client, reads) for client in files.clients], cut)
            assert isinstance(collected.merged, MergedRun)
            return replace(collected, merged=with_evidence(collected.merged, files.clients))
        except HistogramError:
            pass  # A log is damaged: what stands before the damage was read, and counts.
    clients = tuple(replace(client, logs=read_whole(client.logs, reads)) for client in files.clients)
    return _merged(replace(files, clients=clients), warmup_s)


def times_of(merged: Merged) -> tuple[datetime | None, datetime | None]:
    """When its first client began and its last one ended, by their own clocks; None where nothing says so."""
    begins = [client.started_s for client in merged.clients if client.started_s is not None]
    ends = [client.ended_s for client in merged.clients if client.ended_s is not None]
    return (
        datetime.fromtimestamp(min(begins), UTC) if begins else None,
        datetime.fromtimestamp(max(ends), UTC) if ends else None,
    )


def _merged(files: RunFiles, warmup_s: float) -> Collected:
    """From what is in memory, once and for all."""
    merged = merge_run(files, warmup_s=warmup_s)
    if isinstance(merged, SummarisedRun):
        return Collected(merged, merged.series)
    return Collected(merged, tuple(series_of(merged)), fresh_intervals(merged.intervals))


def _are_logs(client: ClientFiles, reads: Reads) -> bool:
    """Whether its histograms are whole log files, which can be decoded again piece by piece."""
    origins = [(log, *reads.origin(log)) for log in client.logs]
    known = {id(stands) for _, _, stands in origins}
    return all(
        file.format == "hdr-log"
        and stands.operation == log.operation
        and all(id(one) in known for run in file.runs for one in run.logs)
        for log, file, stands in origins
    )


def _client_logs(client: ClientFiles, reads: Reads) -> ClientLogs:
    said = output_of(client)
    names = dict.fromkeys(reads.origin(log)[0].name for log in client.logs)
    return ClientLogs(
        number=client.number,
        logs=[_source(name, reads) for name in names],
        summary=said.summary,
        threads=said.threads,
        response_only=said.response_only,
    )


def _source(name: str, reads: Reads) -> LogSource:
    member = reads.members[name]
    return LogSource(lambda: chunks_of(member), operation_of(name))

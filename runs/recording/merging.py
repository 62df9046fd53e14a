"""The clients of an uploaded run merged: from histogram logs of any length, from raw points, or with bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

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
class MergedUpload:
    """One run of an upload: its numbers, its series, and what it can be cut again from."""

    merged: Merged
    series: tuple[Series, ...]
    intervals: tuple[FreshIntervals, ...] = ()


def merge_upload(files: RunFiles, reads: Reads, spec: RunSpec) -> MergedUpload:
    """As its uploader stated it. Raises YcsbError."""
    files = replace(files, phase=cast(YcsbPhase, spec["phase"]))
    measured = spec["phase"] == Phase.MEASURE
    if reads.whole:
        return _merged(files, float(spec["window"]["warmup_s"]) if measured else 0.0)
    # What was read has its histograms as one interval each: enough to see whether every client left them.
    overall = merge_run(files, entire=True)
    if isinstance(overall, SummarisedRun):
        return MergedUpload(overall, overall.series)
    warmup_s = float(spec["window"]["warmup_s"]) if measured else 0.0
    if all(_are_logs(client, reads) for client in files.clients):
        try:
            return _from_logs(files.clients, reads, Cut(warmup_s=warmup_s, phase="measure" if measured else "load"))
        except HistogramError:
            pass  # A log is damaged: what stands before the damage was read, and counts.
    clients = tuple(replace(client, logs=read_whole(client.logs, reads)) for client in files.clients)
    return _merged(replace(files, clients=clients), warmup_s)


def _merged(files: RunFiles, warmup_s: float) -> MergedUpload:
    """From what is in memory, once and for all."""
    merged = merge_run(files, warmup_s=warmup_s)
    if isinstance(merged, SummarisedRun):
        return MergedUpload(merged, merged.series)
    return MergedUpload(merged, tuple(series_of(merged)), fresh_intervals(merged.intervals))


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


def _from_logs(clients: Sequence[ClientFiles], reads: Reads, cut: Cut) -> MergedUpload:
    gathering = Gathering()
    found = ingest([_client_logs(client, reads) for client in clients], cut, keep=gathering)
    return MergedUpload(with_evidence(found.merged, clients), found.series, tuple(gathering.fresh))


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

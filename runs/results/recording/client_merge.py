"""The clients of a run merged: from histogram logs of any length, from raw points, or with bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from runs.models import ClientRun
from runs.queue.spec import RunSpec
from runs.results.artifacts import Compressing
from runs.results.recording.groups import CollectedGroup
from runs.results.recording.intervals import FreshIntervals, gather
from runs.uploads.judgement import Merged, merge_files
from runs.uploads.reads import Reads
from runs.ycsb.file_grouping import RunFiles
from runs.ycsb.ingest import ingest
from runs.ycsb.merged import ClientLogs, MergedRun
from runs.ycsb.series import Series
from runs.ycsb.window import Cut


@dataclass(frozen=True, slots=True)
class Collected:
    """A run's numbers, its series, and what it can be cut again from."""

    merged: Merged
    series: tuple[Series, ...]
    intervals: FreshIntervals = field(default_factory=dict)  # of the whole run
    clients: tuple[ClientRun, ...] = ()  # of a scheduled run: what their rows know that the logs do not
    groups: tuple[CollectedGroup, ...] = ()  # beside them


def merge_logs(clients: Sequence[ClientLogs], cut: Cut, base_s: float | None) -> Collected:
    """Exactly, from the histogram logs of every client. Raises YcsbError where there is nothing to merge."""
    fresh: dict[str, Compressing] = {}
    merged, series = ingest(clients, cut, base_s=base_s, keep=partial(gather, fresh))
    return Collected(merged, series, fresh)


def merge_upload(files: RunFiles, reads: Reads, spec: RunSpec) -> Collected:
    """The clients of an uploaded run, as its uploader stated it. Raises YcsbError."""
    fresh: dict[str, Compressing] = {}

    def merge(clients: Sequence[ClientLogs], cut: Cut) -> tuple[MergedRun, tuple[Series, ...]]:
        fresh.clear()  # A damaged log is merged a second time.
        return ingest(clients, cut, keep=partial(gather, fresh))

    merged, series = merge_files(files, reads, spec, merge)
    return Collected(merged, series, fresh)


def get_times(merged: Merged) -> tuple[datetime | None, datetime | None]:
    """When its first client began and its last one ended, by their own clocks; None where nothing says so."""
    begins = [client.started_s for client in merged.clients if client.started_s is not None]
    ends = [client.ended_s for client in merged.clients if client.ended_s is not None]
    return (
        datetime.fromtimestamp(min(begins), UTC) if begins else None,
        datetime.fromtimestamp(max(ends), UTC) if ends else None,
    )

"""Runs that people bring along: what an upload's files say and what was stated becomes runs, all of them or none."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Final, cast

from django.db import transaction
from django.db.models import Max, Model

from runs.builds import read_commit_time
from runs.checks import CheckResult, Profile, compute_verdict
from runs.checks.team_thresholds import get_thresholds
from runs.models import Artifact, ClientRun, Matrix, Phase, Run, Sweep, Upload
from runs.queue import lifecycle
from runs.queue.spec import RunSpec
from runs.results import artifacts
from runs.results.denormalised_columns import config_key, sweep_columns
from runs.results.messages import FILES_REGROUPED
from runs.results.recording.bulk_insert import insert_together
from runs.results.recording.client_merge import Collected, get_times, merge_upload
from runs.results.recording.intervals import INTERVALS
from runs.results.recording.rows import client_row, finding_rows, measurement_rows, series_rows, set_row
from runs.uploads import staging, upload_lifecycle
from runs.uploads.file_pipeline import Progress, read_members
from runs.uploads.judgement import build_spec, judge_by
from runs.uploads.metadata import RunMetadata, StatedRun, label_curve, read_tests
from runs.uploads.reads import Reads, runs_in
from runs.ycsb.command import split_command
from runs.ycsb.errors import OutputError
from runs.ycsb.file_grouping import ClientFiles, RunFiles
from runs.ycsb.form_defaults import read_hints
from runs.ycsb.redact import allow_names

# What a file is kept as, by what it was recognised as; anything else is a summary.
KINDS: Final = {"hdr-log": "hdr", "ycsb-raw": "raw"}
MAX_ARTIFACT: Final = 200
MAX_PROPERTIES: Final = 1_000
MAX_SESSION: Final = 200


@dataclass(frozen=True, slots=True)
class UploadedRun:
    """One run of an upload, merged and judged, before anything of it is stored."""

    stated: StatedRun
    files: RunFiles
    collected: Collected
    spec: RunSpec
    findings: tuple[CheckResult, ...]


def keep_files(reads: Reads, runs: Iterable[UploadedRun]) -> None:
    """Hold what these runs of an upload have as artifacts until the transaction ends, and keep the upload's files."""
    # Also what no run is made of: whoever computes them again reads the whole upload again.
    members = [member for member in reads.members.values() if member.sha256]
    intervals = chain.from_iterable(run.collected.intervals.values() for run in runs)
    digests = [member.sha256 for member in members]
    digests += [content.digest for content in intervals]
    artifacts.hold(digests)
    for member in members:
        # It lies under its hash, so it does no harm when nothing comes of it.
        if member.content is not None:
            artifacts.keep(member.sha256, member.content)
        elif member.path:
            with staging.compressed(member.path) as compressed:
                artifacts.keep_compressed(member.sha256, compressed)


def save_runs(
    upload: Upload,
    metadata: RunMetadata,
    runs: Sequence[UploadedRun],
    reads: Reads,
    before: Sequence[Sequence[Model]] = (),
    after: Callable[[Sequence[Run]], Sequence[Model]] = lambda runs: (),
) -> list[Run]:
    """Their rows, curves and artifacts, between the rows `before`, of which the others speak, and those that `after`
    makes of the runs.

    The caller holds the transaction, and has kept the files.
    """
    by_phase: defaultdict[str, list[UploadedRun]] = defaultdict(list)
    for run in runs:
        by_phase[run.stated.phase].append(run)
    sweeps = {phase: _find_sweep(upload, metadata, phase_runs, phase) for phase, phase_runs in by_phase.items()}
    # Only on a curve that was there before there are other repeats; without one the database is not even asked.
    last_repeats = _read_last_repeats([sweep.pk for sweep in sweeps.values() if str(sweep.pk) == metadata.sweep])
    rows, ends = [], []
    for uploaded in runs:
        began, ended = get_times(uploaded.collected.merged)
        rows.append(_build_run(upload, metadata, uploaded, sweeps[uploaded.stated.phase], last_repeats, began))
        ends.append((rows[-1], ended))
    actor = ""
    if runs:
        actor = runs[0].spec["stated"]["by"]
    events = lifecycle.ended(ends, actor=actor)
    new_sweeps = [sweep for sweep in sweeps.values() if sweep._state.adding]
    numbers, clients = _build_numbers(rows, runs), _build_clients(rows, runs, reads)
    insert_together(*before, new_sweeps, rows, events, *numbers, *clients, after(rows))
    return rows


Rung = tuple[uuid.UUID, int, int | None]  # sweep, threads, target in ops/s


def _read_last_repeats(sweeps: Collection[uuid.UUID]) -> dict[Rung, int]:
    if not sweeps:
        return {}
    rungs = Run.objects.filter(sweep__in=sweeps).values_list("sweep", "threads", "target_ops_s")
    return {(sweep, threads, target): last for sweep, threads, target, last in rungs.annotate(Max("repeat")).order_by()}


def _build_run(
    upload: Upload,
    metadata: RunMetadata,
    uploaded: UploadedRun,
    sweep: Sweep,
    last_repeats: dict[Rung, int],
    began: datetime | None,
) -> Run:
    threads, target_ops_s = uploaded.spec["load"]["threads"], uploaded.spec["load"]["target_ops_s"]
    rung = sweep.pk, threads, target_ops_s
    last = last_repeats.get(rung, 0)
    repeat = uploaded.stated.repeat or last + 1
    last_repeats[rung] = max(repeat, last)
    load = ""
    if threads:
        load += f" {threads}t"
    if target_ops_s:
        load += f" @{target_ops_s}"

    return Run(
        team_id=upload.team_id,
        sweep=sweep,
        source=Run.Source.UPLOADED,
        upload=upload,
        position=uploaded.stated.index,
        phase=uploaded.stated.phase,
        name=f"{sweep.name}{load} r{repeat}",
        spec=uploaded.spec,
        config_key=config_key(uploaded.spec),
        commit=metadata.commit,
        branch=metadata.branch,
        committed_at=read_commit_time(metadata.committed_at),
        session=(metadata.session or metadata.ci_url)[:MAX_SESSION],
        system=sweep.system,
        mode=sweep.mode,
        workload_name=metadata.workload.name,
        purpose=sweep.purpose,
        threads=threads,
        target_ops_s=target_ops_s,
        repeat=repeat,
        started_at=began,
        starts_at=began,
        throughput_ops_s=uploaded.collected.merged.throughput_ops_s,
        tags=metadata.tags,
        notes=metadata.notes,
        **compute_verdict(finding.severity for finding in uploaded.findings),
    )


def _build_numbers(rows: Sequence[Run], runs: Sequence[UploadedRun]) -> tuple[list[Model], ...]:
    """Rows of sets, operations, findings and series."""
    sets: list[Model] = []
    operations: list[Model] = []
    findings: list[Model] = []
    series: list[Model] = []
    for run, uploaded in zip(rows, runs, strict=True):
        merged = uploaded.collected.merged
        measurement_set = set_row(run, 1, merged)
        sets.append(measurement_set)
        operations += measurement_rows(measurement_set, merged)
        findings += finding_rows(measurement_set, uploaded.findings)
        series += series_rows(run, uploaded.collected.series, merged.reader_version)
    return sets, operations, findings, series


def _build_clients(
    rows: Sequence[Run], runs: Sequence[UploadedRun], reads: Reads
) -> tuple[list[ClientRun], list[Artifact]]:
    """The clients, and whatever they left, as artifacts."""
    clients: list[ClientRun] = []
    outputs: list[Artifact] = []
    formats = {file.name: file.format for file in reads.files}
    for run, uploaded in zip(rows, runs, strict=True):
        for files in uploaded.files.clients:
            client = _build_client(run, files)
            clients.append(client)
            # Of two whose long names end alike the last one has the name, as on disk.
            members = {}
            for name in files.names:
                kind = KINDS.get(formats.get(name) or "", "summary")
                members[kind, name[-MAX_ARTIFACT:]] = reads.members[name]
            for (kind, name), member in members.items():
                outputs.append(_build_artifact(run, kind, name, member.sha256, member.size, client))
        for name, content in uploaded.collected.intervals.items():
            artifacts.keep_compressed(content.digest, content.compressed())
            outputs.append(_build_artifact(run, INTERVALS, name, content.digest, content.size))

    return clients, outputs


def _build_client(run: Run, client: ClientFiles) -> ClientRun:
    summary = client.summary
    if summary is None:
        return client_row(run, client.number, {}, finished_at=run.finished_at)
    properties = dict(islice(summary.properties.items(), MAX_PROPERTIES))
    stated = {"threads": read_hints([summary]).threads or 0, "properties": properties}
    command = list(split_command(summary.command))
    return client_row(run, client.number, stated, finished_at=run.finished_at, command=command)


def _build_artifact(
    run: Run, kind: str, name: str, digest: str, size: int, client: ClientRun | None = None
) -> Artifact:
    return Artifact(
        team_id=run.team_id, run_id=run.pk, client_run=client, kind=kind, name=name, sha256=digest, size=size
    )


def record_upload(upload: Upload, claim: uuid.UUID) -> list[Run]:
    """Save the runs that were asked for, of all tests in one transaction. Raises YcsbError, or UploadGone where it was
    discarded.
    """
    tests = read_tests(upload.stated)
    progress = Progress(upload.pk, claim)
    with allow_names(upload.team.harmless_properties):
        reads = read_members(list(upload.files.all()), progress)
        groups = runs_in(reads, upload.grouping, upload.utc_offsets)
        progress.begin("merging, judging and saving", 0)
        judged = [judged_runs(upload, metadata, groups, reads) for metadata in tests]
    with transaction.atomic():
        # First of all the fence: nobody else saves this upload, or has saved it.
        upload_lifecycle.saved(upload.pk, claim)
        keep_files(reads, chain.from_iterable(judged))
        saved: list[Run] = []
        for metadata, runs in zip(tests, judged, strict=True):
            saved += save_runs(upload, metadata, runs, reads)
        return saved


def judged_runs(upload: Upload, metadata: RunMetadata, groups: Sequence[RunFiles], reads: Reads) -> list[UploadedRun]:
    """The runs that were asked for, merged and judged; nothing is stored. Raises YcsbError."""
    profile = get_thresholds(upload.team_id, metadata.purpose)
    return [_judge(upload, metadata, run, groups[run.index], reads, profile) for run in metadata.runs]


def collect(run: Run) -> Collected:
    """An uploaded run, read and merged once more from what is kept of its upload. Raises YcsbError or OSError."""
    assert run.upload is not None  # Every uploaded run has one.
    with allow_names(run.team.harmless_properties):
        reads = read_members(list(run.upload.files.all()))
    groups = runs_in(reads, run.upload.grouping, run.upload.utc_offsets)
    return merge_upload(_find_group(run, groups), reads, cast(RunSpec, run.spec))


def _find_group(run: Run, groups: Sequence[RunFiles]) -> RunFiles:
    """The files of a saved run: an earlier version may have grouped the upload otherwise. Raises OutputError."""
    names = run.spec["stated"]["files"]
    of_same_files = [position for position, group in enumerate(groups) if group.names == names]
    if run.position in of_same_files:
        return groups[run.position]
    if len(of_same_files) == 1:
        return groups[of_same_files[0]]
    raise OutputError(FILES_REGROUPED)


def _judge(
    upload: Upload, metadata: RunMetadata, run: StatedRun, files: RunFiles, reads: Reads, profile: Profile
) -> UploadedRun:
    uploader = ""
    if upload.user:
        uploader = upload.user.get_username()
    spec = build_spec(metadata, run, files, upload_id=str(upload.pk), by=uploader)
    collected = merge_upload(files, reads, spec)
    findings = judge_by(profile, spec, collected.merged, collected.series)
    return UploadedRun(stated=run, files=files, collected=collected, spec=spec, findings=tuple(findings))


def _find_sweep(upload: Upload, metadata: RunMetadata, runs: Sequence[UploadedRun], phase: str) -> Sweep:
    """The curve that these runs of one phase are points of: the chosen one, or a new one, which is stored with its
    runs. Loads have curves of their own.
    """
    if phase == Phase.MEASURE and metadata.sweep:
        return Sweep.objects.select_for_update().get(pk=metadata.sweep, team=upload.team_id, matrix=None)

    ladder = Matrix.Ladder.THREADS
    if any(run.stated.target_ops_s for run in runs):
        ladder = Matrix.Ladder.TARGET

    return Sweep(
        team_id=upload.team_id,
        workload_id=metadata.workload.id or None,
        phase=phase,
        name=label_curve(metadata, phase),
        system=metadata.system,
        mode=metadata.mode,
        purpose=metadata.purpose,
        ladder=ladder,
        tags=metadata.tags,
        notes=metadata.notes,
        **sweep_columns(runs[0].spec),
    )

"""Runs that people bring along: what an upload's files say and what was stated becomes runs, all of them or none."""

import uuid
from collections.abc import Callable, Sequence
from typing import cast

from django.db import transaction
from django.db.models import Model

from runs.checks import Profile
from runs.checks.team_thresholds import get_thresholds
from runs.models import Matrix, Phase, Run, Sweep, Upload
from runs.queue.spec import RunSpec
from runs.results.denormalised_columns import sweep_columns
from runs.results.recording.client_merge import Collected, merge_upload
from runs.results.recording.upload_rows import UploadedRun, insert_runs
from runs.uploads import upload_lifecycle
from runs.uploads.file_pipeline import Progress, read_members
from runs.uploads.judgement import build_spec, judge_by
from runs.uploads.metadata import RunMetadata, StatedRun
from runs.uploads.reads import Reads, runs_in
from runs.ycsb.grouping import RunFiles
from runs.ycsb.redact import allow_names


def record_upload(upload: Upload, claim: uuid.UUID) -> list[Run]:
    """Save the runs that were asked for, in one transaction. Raises YcsbError, or UploadGone where it was discarded."""
    metadata = RunMetadata.model_validate(upload.stated)
    progress = Progress(upload.pk, claim)
    with allow_names(upload.team.harmless_properties):
        reads = read_members(list(upload.files.all()), progress)
        groups = runs_in(reads, upload.grouping, upload.utc_offsets)
        progress.begin("merging, judging and saving", 0)
        runs = judged_runs(upload, metadata, groups, reads)
    with transaction.atomic():
        # First of all the fence: nobody else saves this upload, or has saved it.
        upload_lifecycle.saved(upload.pk, claim)
        return save_runs(upload, metadata, runs, reads)


def judged_runs(upload: Upload, metadata: RunMetadata, groups: Sequence[RunFiles], reads: Reads) -> list[UploadedRun]:
    """The runs that were asked for, merged and judged; nothing is stored. Raises YcsbError."""
    profile = get_thresholds(upload.team_id, metadata.purpose)
    return [_judged(upload, metadata, run, groups[run.index], reads, profile) for run in metadata.runs]


def save_runs(
    upload: Upload,
    metadata: RunMetadata,
    runs: Sequence[UploadedRun],
    reads: Reads,
    before: Sequence[Sequence[Model]] = (),
    after: Callable[[Sequence[Run]], Sequence[Model]] = lambda runs: (),
) -> list[Run]:
    """Their rows, curves and artifacts, between the rows `before` and those that `after` makes.

    The caller holds the transaction.
    """
    phases = {run.stated.phase for run in runs}
    sweeps: dict[str, Sweep] = {phase: _sweep(upload, metadata, runs, phase) for phase in phases}
    return insert_runs(upload, metadata, runs, sweeps, reads, before, after)


def collect(run: Run) -> Collected:
    """An uploaded run, read and merged once more from what is kept of its upload. Raises YcsbError or OSError."""
    assert run.upload is not None  # Every uploaded run has one.
    with allow_names(run.team.harmless_properties):
        reads = read_members(list(run.upload.files.all()))
    groups = runs_in(reads, run.upload.grouping, run.upload.utc_offsets)
    return merge_upload(groups[run.position], reads, cast(RunSpec, run.spec))


def _judged(
    upload: Upload, metadata: RunMetadata, run: StatedRun, files: RunFiles, reads: Reads, profile: Profile
) -> UploadedRun:
    by = ""
    if upload.user:
        by = upload.user.get_username()
    spec = build_spec(metadata, run, files, upload_id=str(upload.pk), by=by)
    collected = merge_upload(files, reads, spec)
    return UploadedRun(run, files, collected, spec, tuple(judge_by(profile, spec, collected.merged, collected.series)))


def _sweep(upload: Upload, metadata: RunMetadata, runs: Sequence[UploadedRun], phase: str) -> Sweep:
    """The curve these runs are points of: the chosen one, or a new one. Loads have curves of their own."""
    if phase == Phase.MEASURE and metadata.sweep:
        return Sweep.objects.select_for_update().get(pk=metadata.sweep, team=upload.team_id, matrix=None)
    label = "load"
    if phase == Phase.MEASURE:
        label = metadata.workload.short_name
    throttled = any(run.stated.target_ops_s for run in runs if run.stated.phase == phase)
    return Sweep(  # stored with its runs
        team_id=upload.team_id,
        workload_id=metadata.workload.id or None,
        phase=phase,
        name=f"{metadata.database} {metadata.mode} {label}",
        system=metadata.system,
        mode=metadata.mode,
        purpose=metadata.purpose,
        ladder=Matrix.Ladder.TARGET if throttled else Matrix.Ladder.THREADS,
        tags=metadata.tags,
        notes=metadata.notes,
        **sweep_columns(next(uploaded.spec for uploaded in runs if uploaded.stated.phase == phase)),
    )

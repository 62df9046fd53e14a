"""Runs that people bring along: what an upload's files say and what was stated becomes runs, all of them or none."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, cast

from django.db import transaction
from django.db.models import Model

from runs.catalog import OTHER_SYSTEM, STOCK_FLAVOUR, UNKNOWN_MODE, load_catalog, recognise
from runs.checks import CheckResult, Profile, Surroundings
from runs.checks.spec_facts import cluster_facts, shared_machine
from runs.checks.team_thresholds import get_thresholds
from runs.models import Matrix, Phase, Run, Sweep, Upload
from runs.queue.spec import RunSpec
from runs.results.denormalised_columns import sweep_columns
from runs.results.recording.client_merge import Collected, Merged, merge_upload
from runs.results.recording.run_context import collect_findings
from runs.results.recording.upload_rows import UploadedRun, insert_runs
from runs.uploads import upload_lifecycle
from runs.uploads.file_pipeline import Progress, Reads, read_members, runs_in
from runs.uploads.metadata import RunMetadata, StatedRun, checked, make_spec
from runs.ycsb.errors import MergeError
from runs.ycsb.grouping import RunFiles
from runs.ycsb.redact import allow_names
from runs.ycsb.series import Series

STOCK: Final = "ycsb"
FLAVOURS: Final = frozenset({"go-ycsb", "ycsb-cpp", "ycsb-c"})
# No workload has so many: what states more states nonsense, and would fill tables.
MAX_OPERATIONS: Final = 1_000


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


def judge_by(thresholds: Profile, spec: RunSpec, merged: Merged, series: Sequence[Series]) -> list[CheckResult]:
    """All validity checks over an uploaded run: what is not stated is not assessed."""
    known = Surroundings(
        client_on_database_host=shared_machine(spec),
        cluster=cluster_facts(spec),
        durability=spec["mode"]["record"],
        mode_properties=_mode_properties(spec["system"], spec["mode"]["slug"]),
        made_elsewhere=True,
        other_system=_other_system(spec, merged),
    )
    return collect_findings(spec, thresholds, merged, series, known, workload=checked(spec["workload"]))


def _other_system(spec: RunSpec, merged: Merged) -> str:
    """The system whose binding the command lines name, where another one is stated."""
    bindings = {each.properties.get("db", "") for client in merged.clients if (each := client.evidence) is not None}
    slugs = {recognise(binding) for binding in bindings if binding} - {None, spec["system"]}
    is_stated = spec["system"] != OTHER_SYSTEM
    if is_stated:
        return ", ".join(load_catalog().system(slug).name for slug in sorted(filter(None, slugs)))
    return ""


@lru_cache(maxsize=256)
def _mode_properties(system: str, mode: str) -> Mapping[str, str]:
    """The properties that the mode gives to a stock YCSB client."""
    if system == OTHER_SYSTEM or mode == UNKNOWN_MODE:
        return {}
    modes = load_catalog().system(system, STOCK_FLAVOUR).modes
    if mode in modes:
        return modes[mode].client_properties
    return {}


def _judged(
    upload: Upload, metadata: RunMetadata, run: StatedRun, files: RunFiles, reads: Reads, profile: Profile
) -> UploadedRun:
    first = next(iter(files.summaries), None)
    by = ""
    if upload.user:
        by = upload.user.get_username()
    version = ""
    if first:
        version = first.version or ""
    flavour = STOCK
    if first is not None and first.format in FLAVOURS:
        flavour = first.format
    spec = make_spec(
        metadata,
        run,
        catalog=load_catalog(),
        upload_id=str(upload.pk),
        by=by,
        files=files.names,
        clients=len(files.clients),
        version=version,
        flavour=flavour,
    )
    collected = merge_upload(files, reads, spec)
    if (number := len(collected.merged.operations)) > MAX_OPERATIONS:
        raise MergeError(
            f"The files state {number:,} operations, and a run has at most {MAX_OPERATIONS:,}: "
            "they are not what a client printed."
        )
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

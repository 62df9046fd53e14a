"""Runs that people bring along: what an upload's files say and what was stated becomes runs, all of them or none."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from django.db import transaction
from django.db.models import Max

from runs import artifacts, lifecycle
from runs.catalog import load_catalog
from runs.copies import config_key, sweep_columns
from runs.models import ClientRun, Run, Sweep, Upload, UploadedFile
from runs.models.plan import Matrix
from runs.models.run import Phase
from runs.recording.intervals import store_intervals
from runs.recording.merging import Merged, MergedUpload, merge_upload
from runs.recording.rows import write_series, write_set
from runs.spec import ClientOrder, RunSpec
from runs.thresholds import thresholds_of
from runs.uploading import incoming, life
from runs.uploading.hints import hints_of, words_of
from runs.uploading.life import member_of
from runs.uploading.reading import Progress, Reads, read_members, runs_in
from runs.uploading.stated import Stated, StatedRun, checked, spec_of
from runs.validity import CheckResult, Surroundings, facts_of, facts_of_summary, judge_run, worst
from runs.validity.stated import cluster_facts, shared_machine
from runs.ycsb.clients import ClientFiles, RunFiles
from runs.ycsb.merged import Phase as YcsbPhase
from runs.ycsb.series import Series, total_rate
from runs.ycsb.summarised import SummarisedRun

# What a file is kept as, by what it was recognised as; anything else is a summary.
KINDS: Final = {"hdr-log": "hdr", "ycsb-raw": "raw"}
STOCK: Final = "ycsb"
FLAVOURS: Final = frozenset({"go-ycsb", "ycsb-cpp", "ycsb-c"})
LONGEST_ARTIFACT: Final = 200
MOST_PROPERTIES: Final = 1_000


@dataclass(frozen=True, slots=True)
class UploadedRun:
    """One run of an upload, merged and judged, before anything of it is stored."""

    stated: StatedRun
    files: RunFiles
    found: MergedUpload
    spec: RunSpec
    findings: tuple[CheckResult, ...]


def record_upload(upload: Upload, claim: uuid.UUID) -> list[Run]:
    """Save the runs that were asked for, in one transaction. Raises YcsbError, or UploadGone where it was discarded."""
    stated = cast(Stated, upload.stated)
    kept = list(upload.files.all())
    progress = Progress(upload.pk, claim)
    reads = read_members([member_of(one) for one in kept], progress)
    found = runs_in(reads, upload.grouping)
    progress.begin("merging, judging and saving", 0)
    runs = [_judged(upload, stated, one, found[one["index"]], reads) for one in stated["runs"]]
    _keep_content(kept)
    with transaction.atomic():
        # First of all the fence: nobody else saves this upload, or has saved it.
        life.saved(upload.pk, claim)
        sweeps = {phase: _sweep(upload, stated, runs, phase) for phase in {one.stated["phase"] for one in runs}}
        files = _Files({one.name: one for one in kept}, {one.name: one.format for one in reads.files})
        return [_insert(upload, one, sweeps[one.stated["phase"]], files) for one in runs]


def collect(run: Run) -> MergedUpload:
    """An uploaded run, read and merged once more from what is kept of its upload. Raises YcsbError or OSError."""
    assert run.upload is not None  # Every uploaded run has one.
    reads = read_members([member_of(one) for one in run.upload.files.all()])
    return merge_upload(runs_in(reads, run.upload.grouping)[run.position], reads, cast(RunSpec, run.spec))


def judge(team_id: uuid.UUID, spec: RunSpec, merged: Merged, series: Sequence[Series]) -> list[CheckResult]:
    """All validity checks over an uploaded run, with its team's thresholds: what nobody stated is not assessed."""
    thresholds = thresholds_of(team_id, spec["purpose"])
    phase, measured = cast(YcsbPhase, spec["phase"]), spec["phase"] == Phase.MEASURE
    stated: Any = {
        "threads": spec["load"]["threads"],
        "target_ops_s": spec["load"]["target_ops_s"],
        "workload": checked(spec["workload"]),
        "known": Surroundings(
            client_on_database_host=shared_machine(spec),
            cluster=cluster_facts(spec),
            durability=spec["mode"]["record"],
            made_elsewhere=True,
        ),
    }
    if isinstance(merged, SummarisedRun):
        facts = facts_of_summary(merged, phase=phase, **stated)
    else:
        rate = [float(rate) for rate in total_rate(merged)] if measured else None
        facts = facts_of(merged, rate_ops_s=rate, series=series if measured else (), **stated)
    return judge_run(facts, thresholds)


def _judged(upload: Upload, stated: Stated, run: StatedRun, files: RunFiles, reads: Reads) -> UploadedRun:
    first = next((client.summary for client in files.clients if client.summary is not None), None)
    spec = spec_of(
        stated,
        run,
        catalog=load_catalog(),
        upload_id=str(upload.pk),
        by=upload.user.get_username() if upload.user else "",
        files=[name for client in files.clients for name in client.names],
        clients=len(files.clients),
        version=(first.version or "") if first else "",
        flavour=(first.format if first.format in FLAVOURS else STOCK) if first else STOCK,
    )
    found = merge_upload(files, reads, spec)
    return UploadedRun(run, files, found, spec, tuple(judge(upload.team_id, spec, found.merged, found.series)))


def _keep_content(kept: Sequence[UploadedFile]) -> None:
    """Files lie under their hash, so it does no harm when nothing comes of it."""
    for one in kept:
        if one.path:
            with incoming.compressed(one.path) as compressed:
                artifacts.keep_compressed(one.sha256, compressed)


def _sweep(upload: Upload, stated: Stated, runs: Sequence[UploadedRun], phase: str) -> Sweep:
    """The curve these runs are points of: the chosen one, or a new one. Loads have curves of their own."""
    if phase == Phase.MEASURE and stated["sweep"]:
        return Sweep.objects.select_for_update().get(pk=stated["sweep"], team=upload.team_id, matrix=None)
    what = stated["workload"]["short_name"] if phase == Phase.MEASURE else "load"
    throttled = any(one.stated["target_ops_s"] for one in runs if one.stated["phase"] == phase)
    return Sweep.objects.create(
        team_id=upload.team_id,
        workload_id=stated["workload"]["id"] or None,
        phase=phase,
        name=f"{stated['database']} {stated['mode']} {what}",
        system=stated["system"],
        mode=stated["mode"],
        purpose=stated["purpose"],
        ladder=Matrix.Ladder.TARGET if throttled else Matrix.Ladder.THREADS,
        tags=stated["tags"],
        notes=stated["notes"],
        **sweep_columns(next(one.spec for one in runs if one.stated["phase"] == phase)),
    )


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of an upload by their names."""

    stored: Mapping[str, UploadedFile]
    formats: Mapping[str, str | None]


def _insert(upload: Upload, one: UploadedRun, sweep: Sweep, files: _Files) -> Run:
    """The rows of one run. The caller holds the transaction."""
    load, stated = one.spec["load"], cast(Stated, upload.stated)
    rung = Run.objects.filter(sweep=sweep, threads=load["threads"], target_ops_s=load["target_ops_s"])
    repeat = one.stated["repeat"] or (rung.aggregate(most=Max("repeat"))["most"] or 0) + 1
    target = f" @{load['target_ops_s']}" if load["target_ops_s"] else ""
    began, ended = _times(one.found.merged)
    run = Run(
        team_id=upload.team_id,
        sweep=sweep,
        source=Run.Source.UPLOADED,
        upload=upload,
        position=one.stated["index"],
        phase=one.stated["phase"],
        name=f"{sweep.name} {load['threads']}t{target} r{repeat}",
        spec=one.spec,
        config_key=config_key(one.spec),
        commit=stated.get("commit", ""),
        branch=stated.get("branch", ""),
        system=sweep.system,
        mode=sweep.mode,
        workload_name=stated["workload"]["name"],
        purpose=sweep.purpose,
        threads=load["threads"],
        target_ops_s=load["target_ops_s"],
        repeat=repeat,
        started_at=began,
        starts_at=began,
        verdict=worst(one.findings),
        throughput_ops_s=one.found.merged.throughput_ops_s,
        tags=stated["tags"],
        notes=stated["notes"],
    )
    lifecycle.insert_ended(run, ended_at=ended, actor=one.spec["stated"]["by"])
    write_set(run, 1, one.found.merged, one.findings)
    write_series(run, one.found.series, one.found.merged.reader_version)
    store_intervals(run, one.found.intervals)
    for client in one.files.clients:
        _insert_client(run, client, files)
    return run


def _insert_client(run: Run, client: ClientFiles, files: _Files) -> None:
    said = client.summary
    order: ClientOrder = {
        "binding": "",
        "digest": "",
        "java_class": "",
        "phase": run.phase,
        "threads": (hints_of([said]).threads if said is not None else None) or 0,
        "target_ops_s": None,
        "duration_s": None,
        "deadline_s": 0,
        "properties": dict(list(said.properties.items())[:MOST_PROPERTIES]) if said is not None else {},
    }
    row = ClientRun.objects.create(
        run=run,
        number=client.number,
        process_number=client.number,
        state=ClientRun.State.FINISHED,
        finished_at=run.finished_at,
        order=order,
        command=words_of(said.command) if said is not None else [],
    )
    for name in dict.fromkeys(client.names):
        stored = files.stored[name]
        kind = KINDS.get(files.formats.get(name) or "", "summary")
        artifacts.attach(run, kind, name[-LONGEST_ARTIFACT:], stored.sha256, stored.size, row)


def _times(merged: Merged) -> tuple[datetime | None, datetime | None]:
    """When its first client began and its last one ended, by their own clocks; None where nothing says so."""
    begins = [client.started_s for client in merged.clients if client.started_s is not None]
    ends = [client.ended_s for client in merged.clients if client.ended_s is not None]
    return _instant(min(begins, default=None)), _instant(max(ends, default=None))


def _instant(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)

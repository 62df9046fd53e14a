"""Outputs that people made with a kit, into the planned cells: merged and judged as those of scheduled runs are."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Final, cast

from django.db import transaction
from django.db.models.functions import Now

from runs import artifacts, lifecycle
from runs.kits.cells import KINDS, KitClient, cell_name, stations_of
from runs.kits.outputs import HISTOGRAMS, FilledCell, OutputFile, Sorted, Waiting, is_manifest, sort_files
from runs.kits.plan import digest_of
from runs.kits.plan_file import read_plan
from runs.models import Matrix, Run, Upload, UploadedFile
from runs.models.run import Phase, Status
from runs.recording.client_merge import Collected, merge_logs, times_of
from runs.recording.intervals import store_intervals
from runs.recording.rows import client_row, write_series, write_set
from runs.recording.scheduled_runs import judge
from runs.spec import RunSpec
from runs.uploading import staging, upload_lifecycle
from runs.uploading.file_pipeline import Progress, chunks_of, redact_all
from runs.validity import CheckResult, verdict_of
from runs.ycsb.errors import YcsbError
from runs.ycsb.ingest import ClientLogs
from runs.ycsb.logscan import LogSource
from runs.ycsb.redact import allow_names
from runs.ycsb.summary import parse_summary
from runs.ycsb.window import Cut

# Of one upload: five thousand runs of one client leave about as many.
MAX_FILES: Final = 30_000
MAX_MANIFEST: Final = 10_000
MAX_ARTIFACT: Final = 200


class OutputsRefused(YcsbError):
    """These outputs do not fit their cells. Nothing of them is stored."""


@dataclass(frozen=True, slots=True)
class _Filled:
    """One cell merged and judged, before anything of it is stored."""

    run: Run
    collected: Collected
    findings: Sequence[CheckResult]
    clients: Sequence[Mapping[str, UploadedFile]]
    orders: Sequence[KitClient]


def read_outputs(upload: Upload, claim: uuid.UUID) -> None:
    """READING -> RECOGNISED: every file unpacked, without its secrets, and in its place. Raises UploadGone."""
    assert upload.matrix is not None
    stored = list(upload.files.all())
    with allow_names(upload.team.harmless_properties):
        kept = redact_all(upload.pk, stored, Progress(upload.pk, claim), most=MAX_FILES)
    # The page of imports knows nothing of cells: for it there are no runs in these files.
    recognised = {"files": [], "runs": [], "more_runs": 0, "outputs": sorted_into(upload.matrix, kept)}
    upload_lifecycle.recognise(upload.pk, claim, kept, recognised)
    for file in stored:
        staging.drop(file.path)


def sorted_into(matrix: Matrix, members: Sequence[UploadedFile]) -> Sorted:
    """Which file goes where, by what waits now."""
    cells = {cell_name_of(run): _waiting(run) for run in matrix.runs.only("name", "position", "status", "spec")}
    manifests = [
        b"".join(chunks_of(member)).decode("utf-8", "replace")
        for member in members
        if is_manifest(member.name) and not member.error and member.size <= MAX_MANIFEST
    ]
    brought = [OutputFile(file.name, file.sha256, file.error) for file in members]
    return sort_files(brought, cells, manifests, digest_of(matrix.plan))


def cell_name_of(run: Run) -> str:
    """What a kit calls the cell of a stored run."""
    return cell_name(run)  # type: ignore[arg-type]  # it has a position and a name, as a planned run has


def _waiting(run: Run) -> Waiting:
    spec = cast(RunSpec, run.spec)
    return Waiting(len(spec["generators"]) * spec["load"]["processes"], run.status == Status.QUEUED, run.name)


def record_outputs(upload: Upload, claim: uuid.UUID) -> list[Run]:
    """Fill all cells in one transaction, or none. Raises OutputsRefused or another YcsbError, and UploadGone."""
    matrix = upload.matrix
    assert matrix is not None
    members = {file.name: file for file in upload.files.all()}
    placed = sorted_into(matrix, list(members.values()))
    if placed["problems"]:
        raise OutputsRefused(" ".join(placed["problems"]))
    progress = Progress(upload.pk, claim)
    progress.begin("merging, judging and saving", len(placed["cells"]))
    orders = {cell.name: cell.clients for station in stations_of(read_plan(matrix.plan)) for cell in station.cells}
    runs = {cell_name_of(run): run for run in matrix.runs.select_related("sweep", "matrix")}
    filled = []
    for number, cell in enumerate(placed["cells"]):
        filled.append(_judged(runs[cell["cell"]], cell, members, orders[cell["cell"]]))
        progress.file(1)(number)
    with transaction.atomic():
        upload_lifecycle.saved(upload.pk, claim)
        # Nobody who deletes a run meanwhile takes away content that these runs have too.
        artifacts.hold(
            member.sha256 for cell_filled in filled for held in cell_filled.clients for member in held.values()
        )
        for cell_filled in filled:
            _store(upload, cell_filled)
    return [cell_filled.run for cell_filled in filled]


def _judged(run: Run, cell: FilledCell, members: Mapping[str, UploadedFile], orders: Sequence[KitClient]) -> _Filled:
    spec = cast(RunSpec, run.spec)
    clients = [{kind: members[name] for kind, name in held.items()} for held in cell["clients"]]
    measured = run.phase == Phase.MEASURE
    cut = Cut(spec["window"]["warmup_s"], spec["window"]["max_measure_s"]) if measured else Cut(phase="load")
    try:
        collected = merge_logs([_logs(order, held) for order, held in zip(orders, clients, strict=True)], cut)
    except YcsbError as error:
        raise OutputsRefused(f"{run.name}: {error}") from error
    asked_s = spec["window"]["min_measure_s"] if measured else None
    findings = judge(run, collected.merged, collected.series, (), rows=None, asked_s=asked_s)
    return _Filled(run, collected, findings, clients, orders)


def _logs(order: KitClient, held: Mapping[str, UploadedFile]) -> ClientLogs:
    summary = b"".join(chunks_of(held["summary.txt"])).decode("utf-8", "replace")
    return ClientLogs(
        number=order.number,
        logs=[
            LogSource(partial(chunks_of, member), PurePath(file_name).stem)
            for file_name, member in sorted(held.items())
            if file_name.endswith(HISTOGRAMS)
        ],
        summary=parse_summary(summary),
        threads=order.threads,
        response_only=order.properties.get("measurement.interval") == "intended",
    )


def _store(upload: Upload, filled: _Filled) -> None:
    """The rows of one cell. The caller holds the transaction."""
    run, merged = filled.run, filled.collected.merged
    for order, held in zip(filled.orders, filled.clients, strict=True):
        stated = {
            "binding": cast(RunSpec, run.spec)["client"]["binding"],
            "threads": order.threads,
            "target_ops_s": order.target_ops_s,
            "duration_s": order.duration_s,
            "properties": dict(order.properties),
        }
        row = client_row(run, order.number, stated, finished_at=Now())
        row.save(force_insert=True)
        for file_name, member in held.items():
            with staging.compressed(member.path) as compressed:
                artifacts.keep_compressed(member.sha256, compressed)
            kind = KINDS.get(file_name, "hdr")
            artifacts.attach(run, kind, file_name[-MAX_ARTIFACT:], member.sha256, member.size, row)
    write_set(run, 1, merged, filled.findings)
    write_series(run, filled.collected.series, merged.reader_version)
    store_intervals(run, filled.collected.intervals)
    began_at, ended_at = times_of(merged)
    try:
        lifecycle.fill(
            run,
            began_at=began_at,
            ended_at=ended_at,
            actor=upload.user.get_username() if upload.user else "",
            throughput_ops_s=merged.throughput_ops_s,
            upload=upload,
            **verdict_of(finding.severity for finding in filled.findings),
        )
    except lifecycle.TransitionRefused as error:
        raise OutputsRefused(str(error)) from error

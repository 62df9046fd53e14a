"""What an upload of some files would become, without a database: its runs with their findings, or the refusal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runs.catalog import recognise
from runs.checks import CheckResult, profile
from runs.results.recording.client_merge import merge_upload
from runs.uploads.inline import read_at_once
from runs.uploads.judgement import Merged, build_spec, judge_by
from runs.uploads.metadata import RunMetadata, StatedRun, describe_workload
from runs.uploads.reads import Reads, runs_in
from runs.uploads.upload_errors import ResultRefused, check_files
from runs.ycsb.errors import YcsbError
from runs.ycsb.file_grouping import RunFiles
from runs.ycsb.form_defaults import read_hints


@dataclass(frozen=True)
class JudgedRun:
    files: RunFiles
    merged: Merged
    findings: Mapping[str, CheckResult]
    properties: Mapping[str, str]

    @property
    def operations(self) -> dict[str, int | None]:
        """The successful operations by name, response times left out."""
        return {entry.operation: entry.ok for entry in self.merged.operations if entry.kind == "service" and entry.ok}

    def checks(self, severity: str) -> set[str]:
        return {check_id for check_id, finding in self.findings.items() if finding.severity == severity}

    @property
    def sentences(self) -> str:
        messages = [finding.message for finding in self.findings.values()]
        return "\n".join([*self.merged.notes, *map(str, self.files.notes), *messages])


@dataclass(frozen=True)
class JudgedUpload:
    refusal: str
    runs: tuple[JudgedRun, ...]
    reads: Reads

    @property
    def sentences(self) -> str:
        """Everything that a person is told, of files and of runs."""
        files = [note.text for file in self.reads.files for note in file.warnings]
        runs = [note.text for file in self.reads.files for run in file.runs for note in run.warnings]
        return "\n".join([self.refusal, *files, *runs, *(run.sentences for run in self.runs)])


def judge_files(
    files: Mapping[str, bytes],
    *,
    grouping: str = "told",
    threads: int | None = None,
    properties: Mapping[str, str] | None = None,
    purpose: str = "smoke",
    only: Sequence[int] | None = None,
) -> JudgedUpload:
    """The upload of these files, with what their command lines tell stated, and `threads` and `properties`."""
    reads = read_at_once([(name, content) for name, content in files.items()])
    try:
        check_files(reads)
    except ResultRefused as error:
        faults = [f"{place.file} line {place.line}: {why}" for place, why in error.faults]
        return JudgedUpload("\n".join([str(error), *faults]), (), reads)
    groups = runs_in(reads, grouping)
    try:
        runs = tuple(
            _judged(group, index, reads, threads, properties or {}, purpose)
            for index, group in enumerate(groups)
            if only is None or index in only
        )
    except YcsbError as error:
        return JudgedUpload(str(error), (), reads)
    return JudgedUpload("", runs, reads)


def _judged(
    group: RunFiles, index: int, reads: Reads, threads: int | None, properties: Mapping[str, str], purpose: str
) -> JudgedRun:
    hints = read_hints([client.summary for client in group.clients if client.summary is not None])
    known = recognise(hints.binding, hints.connection) if hints.binding else None
    workload = describe_workload("A", {**hints.properties, **properties})
    metadata = RunMetadata(system=known or "other", database="Database", workload=workload, purpose=purpose)
    load = threads or hints.threads or 8
    stated = StatedRun(index=index, phase=group.phase or "measure", threads=load, target_ops_s=hints.target_ops_s)
    spec = build_spec(metadata, stated, group, upload_id="u")
    collected = merge_upload(group, reads, spec)
    findings = judge_by(profile(purpose), spec, collected.merged, collected.series)
    return JudgedRun(group, collected.merged, {finding.check_id: finding for finding in findings}, hints.properties)


def files_below(folder: Path, *names: str) -> dict[str, bytes]:
    """The files of a folder by their names in it; all of them but its README, or these."""
    paths = [folder / name for name in names] if names else sorted(folder.rglob("*"))
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in paths
        if path.is_file() and path.name != "README"
    }

"""Results read and judged as the site does it, without a site: plain values for the terminal, JSON and HTML."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from benchsite_client import messages
from benchsite_client.upload import name_option
from runs.catalog import OTHER_SYSTEM, UNKNOWN_MODE, load_catalog
from runs.checks import compute_verdict, profile
from runs.checks.results import find_worst
from runs.uploads.inline import TooMuchAtOnce, read_at_once
from runs.uploads.judgement import build_spec, judge_by, merge_files
from runs.uploads.manifest import Manifest, ManifestRefused, build_manifest
from runs.uploads.metadata import RunMetadata, StatedRun
from runs.uploads.metadata_merge import merge_metadata
from runs.uploads.reads import Reads, runs_in
from runs.uploads.upload_errors import FilePosition, ResultRefused, check_files
from runs.ycsb.errors import LimitExceeded, YcsbError
from runs.ycsb.file_grouping import RunFiles
from runs.ycsb.file_output import as_json
from runs.ycsb.merge_output import describe

MAX_EXPANDED: Final = 1 << 30  # bytes of all files together, unpacked: they are read in memory
FINDING_FIELDS: Final = ("check_id", "severity", "title", "measured", "threshold", "message", "remedy")


class StatementRefused(Exception):
    """What was stated beside the files is wrong."""


def judge(files: Iterable[tuple[str, bytes]], stated: Mapping[str, Any]) -> dict[str, Any]:
    """The report about files (names and contents), with `stated` as in the manifest of an upload.

    `runs` are merged and judged, `refusals` say which files cannot be read, `missing` what was neither stated nor in
    the files. Raises StatementRefused.
    """
    try:
        manifest = build_manifest(dict(stated))
        reads = read_at_once(files, most_expanded=MAX_EXPANDED)
    except (ManifestRefused, LimitExceeded) as error:
        raise StatementRefused(str(error)) from None
    except TooMuchAtOnce:
        raise StatementRefused(messages.TOO_LARGE.format(mib=MAX_EXPANDED >> 20)) from None
    groups = runs_in(reads, manifest.grouping, manifest.utc_offsets)
    metadata, faults = merge_metadata(manifest, groups)
    stated_faults = [fault for fault in faults if _get_field(fault[0]) in manifest.model_fields_set]
    if stated_faults:
        raise StatementRefused(" ".join(f"{name_option(pointer)}: {text}" for pointer, text in stated_faults))
    runs = [_judge_run(metadata, stated_run, groups[stated_run.index], reads) for stated_run in metadata.runs]
    refusals = _find_refusals(reads)
    return {
        "verdict": find_worst(run["verdict"] for run in runs) if runs else "reject",
        "files": [_describe_file(file) for file in map(as_json, reads.files)],
        "refusals": refusals,
        "missing": [
            *({"field": _get_field(pointer), "message": text} for pointer, text in faults),
            *_find_missing(manifest, metadata),
        ],
        "runs": runs,
    }


def _get_field(pointer: str) -> str:
    """The field of the manifest: #/manifest/threads."""
    return pointer.split("/")[2]


def _describe_file(file: Mapping[str, Any]) -> dict[str, Any]:
    names = ("file", "format", "version", "size", "warnings")
    return {**{name: file[name] for name in names}, "runs": len(file["runs"])}


def _find_refusals(reads: Reads) -> list[dict[str, Any]]:
    """The files that the site would refuse, and where in them."""
    try:
        check_files(reads)
    except ResultRefused as error:
        faults = error.faults or [(FilePosition(""), str(error))]
        return [{**asdict(position), "message": text} for position, text in faults]
    return []


def _find_missing(manifest: Manifest, metadata: RunMetadata) -> list[dict[str, str]]:
    """What no file holds and is not stated."""
    missing = []
    if metadata.mode == UNKNOWN_MODE:
        modes: list[str] = []
        if metadata.system != OTHER_SYSTEM:
            modes = list(load_catalog().system(metadata.system).modes)
        missing.append({"field": "mode", "message": messages.describe_missing_mode(modes)})
    if not manifest.cluster.hardware:
        missing.append({"field": "hardware", "message": messages.NO_HARDWARE})
    return missing


def _judge_run(metadata: RunMetadata, stated: StatedRun, files: RunFiles, reads: Reads) -> dict[str, Any]:
    try:
        spec = build_spec(metadata, stated, files)
        merged, series = merge_files(files, reads, spec)
        findings = judge_by(profile(metadata.purpose), spec, merged, series)
    except YcsbError as error:
        clients = [list(client.names) for client in files.clients]
        return {
            "phase": stated.phase, "clients": clients, "error": str(error), "verdict": "reject", "checks": 0,
            "checks_assessed": 0, "findings": [], "operations": {}, "warnings": [],
        }  # fmt: skip
    load = spec["load"]
    return {
        **describe(files, merged),
        "phase": stated.phase,
        "system": spec["system_name"],
        "mode": metadata.mode,
        "workload": metadata.workload.name,
        "threads": load["threads"] or None,
        "target_ops_s": load["target_ops_s"],
        "purpose": metadata.purpose,
        **compute_verdict(finding.severity for finding in findings),
        "findings": [{name: getattr(finding, name) for name in FINDING_FIELDS} for finding in findings],
    }

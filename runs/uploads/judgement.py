"""A run of uploaded files, merged and judged as it was stated. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final, cast

from runs.catalog import OTHER_SYSTEM, STOCK_FLAVOUR, UNKNOWN_MODE, UPLOAD_NAMES, load_catalog, recognise
from runs.checks import CheckResult, Profile, Surroundings
from runs.checks.spec_facts import cluster_facts, shared_machine
from runs.checks.spec_findings import collect_findings
from runs.queue.spec import (
    SPEC_VERSION,
    ClusterSpec,
    DatasetSpec,
    MachineSpec,
    ModeSpec,
    RunSpec,
    StatedSpec,
    WorkloadSpec,
)
from runs.uploads.metadata import RunMetadata, StatedRun
from runs.uploads.reads import Reads, read_chunks, read_whole
from runs.ycsb.clients import collect_logs, summarised_run, with_evidence
from runs.ycsb.errors import HistogramError, MergeError, PropertyError
from runs.ycsb.file_grouping import ClientFiles, RunFiles
from runs.ycsb.ingest import ingest
from runs.ycsb.logscan import LogSource
from runs.ycsb.merged import ClientLogs, MergedRun, Phase
from runs.ycsb.properties import check_stated_workload, dataset
from runs.ycsb.readers.hdrlog import get_operation
from runs.ycsb.series import Series
from runs.ycsb.summary_run import SummarisedRun
from runs.ycsb.window import Cut

GIB: Final = 1024**3
FLAVOURS: Final = frozenset({"go-ycsb", "ycsb-cpp", "ycsb-c"})
# No workload has so many: what states more states nonsense, and would fill tables.
MAX_OPERATIONS: Final = 1_000

Merged = MergedRun | SummarisedRun
Numbers = tuple[Merged, tuple[Series, ...]]
# Merges the histogram logs of clients. Raises YcsbError.
Merge = Callable[[Sequence[ClientLogs], Cut], tuple[MergedRun, tuple[Series, ...]]]


def build_spec(metadata: RunMetadata, run: StatedRun, files: RunFiles, *, upload_id: str = "", by: str = "") -> RunSpec:
    """The run of these files as it would have been submitted, as far as anybody knows; `by` is who uploads them."""
    catalog = load_catalog()
    system_name = metadata.system_name or UPLOAD_NAMES[OTHER_SYSTEM]
    if metadata.system != OTHER_SYSTEM:
        system_name = catalog.system(metadata.system).name
    stated: StatedSpec = {
        "by": by,
        "files": files.names,
        "hardware": metadata.hardware,
        "client_on_database_host": metadata.client_on_database_host,
    }
    if metadata.ci_url:
        stated["ci_url"] = metadata.ci_url
    workload = cast(WorkloadSpec, metadata.workload.model_dump())
    first = next(iter(files.summaries), None)
    return {
        "version": SPEC_VERSION,
        "phase": run.phase,
        "purpose": metadata.purpose,
        "system": metadata.system,
        "system_name": system_name,
        "catalog_digest": catalog.digest,
        "database": {
            "id": "",
            "name": metadata.database,
            "version": metadata.version,
            "replication_factor": metadata.replication_factor,
            "settings": {},
            "binding_properties": {},
        },
        "mode": _mode_spec(metadata),
        "workload": workload,
        "dataset": _dataset_spec(workload),
        "load": {"threads": run.threads, "target_ops_s": run.target_ops_s, "processes": len(files.clients)},
        "window": {
            "warmup_s": metadata.warmup_s if run.phase == "measure" else 0,
            "min_measure_s": None,
            "max_measure_s": None,
            "min_operations": 0,
        },
        "client": {
            "flavour": first.format if first and first.format in FLAVOURS else STOCK_FLAVOUR,
            "binding": "",
            "digest": "",
            "ycsb_version": (first and first.version) or "",
        },
        "cluster": _cluster_spec(metadata, upload_id),
        "generators": [],
        "load_policy": "",
        "resets": {},
        "priming": None,
        "stated": stated,
    }


def checked(workload: WorkloadSpec) -> dict[str, str] | None:
    """The workload's properties where they say all that a workload must, else None: what depends on them is unknown."""
    properties = _checked(tuple(workload["properties"].items()))
    return None if properties is None else dict(properties)


@lru_cache(maxsize=64)
def _checked(properties: tuple[tuple[str, str], ...]) -> dict[str, str] | None:
    """Kept, since the uploads of a pipeline state the same workload, and each asks several times."""
    try:
        return check_stated_workload(dict(properties))
    except PropertyError:
        return None


def _mode_spec(metadata: RunMetadata) -> ModeSpec:
    """The mode as the catalog has it. Of an unknown one there is no record, so nobody can compare by it."""
    # Which settings the server really had was not read back from it: none are claimed.
    spec: ModeSpec = {
        "slug": metadata.mode,
        "name": UPLOAD_NAMES[UNKNOWN_MODE],
        "record": {},
        "server_settings": {},
        "client_properties": {},
    }
    if metadata.system != OTHER_SYSTEM and metadata.mode != UNKNOWN_MODE:
        mode = load_catalog().system(metadata.system).mode(metadata.mode)
        spec["name"], spec["record"] = mode.name, mode.durability.as_dict()
    return spec


def _dataset_spec(workload: WorkloadSpec) -> DatasetSpec:
    properties = checked(workload)
    if properties is None:
        records = workload["properties"].get("recordcount", "")
        return {"records": int(records) if records.isdecimal() else None, "record_bytes": None, "fingerprint": ""}
    size = dataset(properties)
    return {"records": size.records, "record_bytes": size.record_bytes, "fingerprint": size.fingerprint}


def _cluster_spec(metadata: RunMetadata, upload_id: str) -> ClusterSpec:
    facts: dict[str, object] = {}
    if metadata.cores:
        facts["cores"] = {"value": metadata.cores, "how": "stated"}
    if metadata.memory_gib:
        facts["memory_bytes"] = {"value": round(metadata.memory_gib * GIB), "how": "stated"}
    nodes = metadata.nodes or (1 if facts else 0)
    machines: list[MachineSpec] = [
        # No machine of this site: the id only tells the nodes of this upload apart.
        {"id": f"{upload_id}/{number}", "name": f"node {number}", "facts": facts}
        for number in range(1, nodes + 1)
    ]
    return {"id": "", "name": metadata.runner, "provisioner": "", "machines": machines}


def merge_files(files: RunFiles, reads: Reads, spec: RunSpec, merge: Merge = ingest) -> Numbers:
    """The clients of a run as one, with its series: exactly by `merge`, else with bounds. Raises YcsbError."""
    merged, series = _merge_files(replace(files, phase=cast(Phase, spec["phase"])), reads, spec, merge)
    if (number := len(merged.operations)) > MAX_OPERATIONS:
        raise MergeError(
            f"The files state {number:,} operations, and a run has at most {MAX_OPERATIONS:,}: "
            "they are not what a client printed."
        )
    return merged, series


def _merge_files(files: RunFiles, reads: Reads, spec: RunSpec, merge: Merge) -> Numbers:
    # Of logs that were not kept whole one interval each is here: enough to see whether every client left them.
    summarised = summarised_run(files)
    if summarised is not None:
        return summarised, summarised.series

    cut = Cut(float(spec["window"]["warmup_s"])) if spec["phase"] == "measure" else Cut(phase="load")
    if reads.whole:
        return _merge_clients(files, [collect_logs(client) for client in files.clients], cut, merge)

    if all(_are_logs(client, reads) for client in files.clients):
        try:
            return _merge_clients(files, [_unread(client, reads) for client in files.clients], cut, merge)
        except HistogramError:
            pass  # A log is damaged: what stands before the damage was read, and counts.

    clients = [collect_logs(client, read_whole(client.logs, reads)) for client in files.clients]
    return _merge_clients(files, clients, cut, merge)


def _merge_clients(files: RunFiles, clients: Sequence[ClientLogs], cut: Cut, merge: Merge) -> Numbers:
    merged, series = merge(clients, cut)
    return replace(with_evidence(merged, files.clients), notes=tuple(map(str, files.notes))), series


def _are_logs(client: ClientFiles, reads: Reads) -> bool:
    """Whether its histograms are whole log files, which can be decoded again piece by piece."""
    origins = [reads.origin(log) for log in client.logs]
    if any(log.operation != stored.operation for log, (_, stored) in zip(client.logs, origins, strict=True)):
        return False
    logs = {id(stored) for _, stored in origins}
    return all(file.format == "hdr-log" and logs.issuperset(map(id, file.logs)) for file, _ in origins)


def _unread(client: ClientFiles, reads: Reads) -> ClientLogs:
    """The client with its log files as they are stored."""
    names = dict.fromkeys(reads.origin(log)[0].name for log in client.logs)
    sources = [
        LogSource(partial(read_chunks, reads.members[name], reads.opener), get_operation(name)) for name in names
    ]
    return collect_logs(client, sources)


def judge_by(thresholds: Profile, spec: RunSpec, merged: Merged, series: Sequence[Series]) -> list[CheckResult]:
    """All validity checks over an uploaded run: what is not stated is not assessed."""
    context = Surroundings(
        client_on_database_host=shared_machine(spec),
        cluster=cluster_facts(spec),
        durability=spec["mode"]["record"],
        mode_properties=_mode_properties(spec["system"], spec["mode"]["slug"]),
        made_elsewhere=True,
        other_system=_other_system(spec, merged),
    )
    return collect_findings(spec, thresholds, merged, series, context, workload=checked(spec["workload"]))


def _other_system(spec: RunSpec, merged: Merged) -> str:
    """The system whose binding the command lines name, where another one is stated."""
    if spec["system"] == OTHER_SYSTEM:
        return ""
    bindings = {each.properties.get("db", "") for client in merged.clients if (each := client.evidence) is not None}
    slugs = {recognise(binding) for binding in bindings if binding} - {None, spec["system"]}
    return ", ".join(load_catalog().system(slug).name for slug in sorted(filter(None, slugs)))


@lru_cache(maxsize=256)
def _mode_properties(system: str, mode: str) -> Mapping[str, str]:
    """The properties that the mode gives to a stock YCSB client."""
    if system == OTHER_SYSTEM or mode == UNKNOWN_MODE:
        return {}
    modes = load_catalog().system(system, STOCK_FLAVOUR).modes
    return modes[mode].client_properties if mode in modes else {}

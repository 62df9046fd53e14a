"""A run of uploaded files, merged and judged as it was stated. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final, cast

from runs.catalog import OTHER_SYSTEM, STOCK_FLAVOUR, UNKNOWN_MODE, load_catalog, recognise
from runs.checks import CheckResult, Profile, Surroundings
from runs.checks.spec_facts import cluster_facts, shared_machine
from runs.checks.spec_findings import collect_findings
from runs.queue.spec import RunSpec
from runs.uploads.metadata import RunMetadata, StatedRun, checked, make_spec
from runs.uploads.reads import Reads, read_chunks, read_whole
from runs.ycsb.clients import collect_logs, summarised_run, with_evidence
from runs.ycsb.errors import HistogramError, MergeError
from runs.ycsb.file_grouping import ClientFiles, RunFiles
from runs.ycsb.ingest import ingest
from runs.ycsb.logscan import LogSource
from runs.ycsb.merged import ClientLogs, MergedRun, Phase
from runs.ycsb.readers.hdrlog import get_operation
from runs.ycsb.series import Series
from runs.ycsb.summary_run import SummarisedRun
from runs.ycsb.window import Cut

STOCK: Final = "ycsb"
FLAVOURS: Final = frozenset({"go-ycsb", "ycsb-cpp", "ycsb-c"})
# No workload has so many: what states more states nonsense, and would fill tables.
MAX_OPERATIONS: Final = 1_000

Merged = MergedRun | SummarisedRun
Numbers = tuple[Merged, tuple[Series, ...]]
# Merges the histogram logs of clients. Raises YcsbError.
Merge = Callable[[Sequence[ClientLogs], Cut], tuple[MergedRun, tuple[Series, ...]]]


def build_spec(metadata: RunMetadata, run: StatedRun, files: RunFiles, *, upload_id: str = "", by: str = "") -> RunSpec:
    """The spec of a run of these files; `by` is who uploads them."""
    first = next(iter(files.summaries), None)
    version = ""
    if first:
        version = first.version or ""
    flavour = STOCK
    if first is not None and first.format in FLAVOURS:
        flavour = first.format

    return make_spec(
        metadata,
        run,
        catalog=load_catalog(),
        upload_id=upload_id,
        by=by,
        files=files.names,
        clients=len(files.clients),
        version=version,
        flavour=flavour,
    )


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

    cut = Cut(phase="load")
    if spec["phase"] == "measure":
        cut = Cut(float(spec["window"]["warmup_s"]))
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

"""What reading some files found, as JSON: what a person is shown before anything is saved. Pure.

Latencies are µs, throughput is ops/s. What a file does not state is null.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, Final, NotRequired, TypedDict, TypeVar

from runs.ycsb.block import Note
from runs.ycsb.errors import YcsbError
from runs.ycsb.file_grouping import RunFiles
from runs.ycsb.form_defaults import Hints
from runs.ycsb.merged import MergedOperation, MergedRun
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.results import ReadFile, ReadRun
from runs.ycsb.summary_run import SummarisedOperation, SummarisedRun

T = TypeVar("T")
# A file of a stranger may hold any number of anything; a page shows so many, and says how many more there are.
MAX_OPERATIONS: Final = 40
MAX_WARNINGS: Final = 30
MAX_RUNS_OF_A_FILE: Final = 60
MAX_RUNS: Final = 150  # that can be saved together: a form has only so many fields
MAX_LINES: Final = 6_000  # of operations, all files together
MAX_RETURNS: Final = 12
MAX_TEXT_LENGTH: Final = 600
MAX_NAME_LENGTH: Final = 60


class Warned(TypedDict):
    text: str
    line: int | None


class Operation(TypedDict):
    name: str
    count: int | None
    mean_us: float | None
    p95_us: float | None
    p99_us: float | None
    max_us: float | None
    returns: dict[str, int]


class FileRun(TypedDict):
    """One run of one client, in one file."""

    phase: str | None
    runtime_ms: float | None
    throughput_ops_s: float | None
    complete: bool
    lines: tuple[int, int]
    status_lines: int
    logs: int  # how many interval logs
    operations: list[Operation]
    more_operations: int
    warnings: list[Warned]


class File(TypedDict):
    name: str
    size: int
    format: str | None
    version: str | None
    error: str | None
    redacted_lines: int
    warnings: list[Warned]
    runs: list[FileRun]
    more_runs: int


class Merged(TypedDict):
    """One operation of all clients. A percentile is [low, high], high null without bound; equal ends: it is known."""

    name: str
    kind: str
    ok: int | None
    failed: int | None
    mean_us: float | None
    p95_us: list[float | None] | None
    p99_us: list[float | None] | None


class FoundRun(TypedDict):
    """One run, as it would be saved."""

    phase: str | None
    clients: list[list[str]]  # the names of each client's files
    missing: list[str]  # clients that could not be merged, and why
    notes: list[str]
    exact: bool  # merged from histograms; else bounds of what summaries state
    intervals: bool  # whether a warm-up can be cut
    throughput_ops_s: float | None
    stated_ops_s: NotRequired[float | None]  # by the clients, where this is less by failed operations
    basis: str
    window_s: float | None
    started_s: float | None
    operations: list[Merged]
    more_operations: int
    hints: dict[str, Any]  # of `runs.ycsb.form_defaults.Hints`
    error: str | None  # why it cannot be merged, and so not be saved
    is_doubtful: NotRequired[bool]  # whether its clients may be runs of their own; absent: read by an earlier version
    is_saved: NotRequired[bool]  # by an earlier import of these files


class Recognised(TypedDict):
    """`Upload.recognised`."""

    files: list[File]
    runs: list[FoundRun]
    more_runs: int  # that cannot be saved with these


def describe_file(read: ReadFile, redacted_lines: int) -> File:
    return {
        "name": read.name,
        "size": read.size,
        "format": read.format,
        "version": read.version,
        "error": read.error[:MAX_TEXT_LENGTH] if read.error else None,
        "redacted_lines": redacted_lines,
        "warnings": _warnings(read.warnings),
        "runs": [_file_run(run) for run in read.runs[:MAX_RUNS_OF_A_FILE]],
        "more_runs": max(len(read.runs) - MAX_RUNS_OF_A_FILE, 0),
    }


def shortened(files: Sequence[File]) -> list[File]:
    """No more lines than anybody reads: of the files at the end only the runs are told, and no operations."""
    lines = 0
    for file in files:
        for run in file["runs"]:
            lines += len(run["operations"])
            if lines > MAX_LINES:
                run["more_operations"] += len(run["operations"])
                run["operations"] = []
    return list(files)


def describe_run(files: RunFiles, merged: MergedRun | SummarisedRun | YcsbError, hints: Hints) -> FoundRun:
    """A run with its merge, or with the reason why there is none."""
    run: FoundRun = {
        "phase": files.phase,
        "clients": [list(client.names) for client in files.clients],
        "missing": [],
        "notes": list(map(str, files.notes)),
        "exact": False,
        "intervals": False,
        "throughput_ops_s": None,
        "stated_ops_s": None,
        "basis": "",
        "window_s": None,
        "started_s": None,
        "operations": [],
        "more_operations": 0,
        "hints": asdict(hints),
        "error": None,
        "is_doubtful": files.is_doubtful,
    }
    if isinstance(merged, YcsbError):
        run["error"] = str(merged)
        return run

    run["missing"] = [f"client {part.number}: {part.reason}" for part in merged.missing]
    run["throughput_ops_s"] = merged.throughput_ops_s
    if merged.basis != "window" and merged.throughput_sum_ops_s != merged.throughput_ops_s:
        run["stated_ops_s"] = merged.throughput_sum_ops_s
    if merged.window is not None:
        run["window_s"], run["started_s"] = merged.window.length_s, merged.window.from_s
    run["more_operations"] = max(len(merged.operations) - MAX_OPERATIONS, 0)
    run["operations"] = [_merged(operation) for operation in merged.operations[:MAX_OPERATIONS]]
    run["basis"] = merged.basis
    if isinstance(merged, MergedRun):
        run |= {"exact": True, "intervals": True}
    run["notes"] = list(merged.notes)
    return run


def _file_run(run: ReadRun) -> FileRun:
    return {
        "phase": run.phase,
        "runtime_ms": run.runtime_ms,
        "throughput_ops_s": run.throughput_ops_s,
        "complete": run.complete,
        "lines": (run.first_line, run.last_line),
        "status_lines": len(run.status),
        "logs": len(run.logs),
        "operations": [_operation(*named) for named in islice(run.operations.items(), MAX_OPERATIONS)],
        "more_operations": max(len(run.operations) - MAX_OPERATIONS, 0),
        "warnings": _warnings(run.warnings),
    }


def _operation(name: str, read: ReadOperation) -> Operation:
    return {
        "name": name[:MAX_NAME_LENGTH],
        "count": read.count,
        "mean_us": read.mean_us,
        "p95_us": _percentile(read.percentiles_us, 95),
        "p99_us": _percentile(read.percentiles_us, 99),
        "max_us": read.max_us,
        "returns": dict(islice(read.returns.items(), MAX_RETURNS)),
    }


def _percentile(percentiles_us: Mapping[str, T], percentile: float) -> T | None:
    """YCSB prints percentiles by name: 95, 99, 99.9; some versions write 99.0."""
    return next((value for name, value in percentiles_us.items() if _is(name, percentile)), None)


def _is(name: str, percentile: float) -> bool:
    try:
        return float(name) == percentile
    except ValueError:
        return False


def _merged(operation: MergedOperation | SummarisedOperation) -> Merged:
    limits: list[list[float | None] | None]
    if isinstance(operation, MergedOperation):
        values = operation.histogram.percentiles((95.0, 99.0))
        limits = [None if value is None else [value, value] for value in values]
    else:
        bounds = [_percentile(operation.percentiles_us, percentile) for percentile in (95.0, 99.0)]
        limits = [[bound.low_us, bound.high_us] if bound else None for bound in bounds]

    return {
        "name": operation.operation[:MAX_NAME_LENGTH],
        "kind": operation.kind,
        "ok": operation.ok,
        "failed": operation.failed,
        "mean_us": operation.mean_us,
        "p95_us": limits[0],
        "p99_us": limits[1],
    }


def _warnings(notes: Sequence[Note]) -> list[Warned]:
    warnings: list[Warned] = [{"text": note.text[:MAX_TEXT_LENGTH], "line": note.line} for note in notes[:MAX_WARNINGS]]
    if len(notes) > MAX_WARNINGS:
        warnings.append({"text": f"and {len(notes) - MAX_WARNINGS} more like these", "line": None})
    return warnings

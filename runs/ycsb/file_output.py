"""What was read of a file as `read_output` shows it: numbers as stated, in ms and µs, null where there is none."""

from collections.abc import Iterator
from typing import Any

from runs.ycsb.block import Note
from runs.ycsb.clients import stated_by_logs
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.results import ReadFile, ReadRun


def as_json(file: ReadFile) -> dict[str, Any]:
    """One file, with the warnings of its runs among its own."""
    return {
        "file": file.name,
        "format": file.format,
        "version": file.version,
        "error": file.error,
        "reason": file.reason or file.error,
        "quoted": list(file.quoted),
        "warnings": list(_warnings(file)),
        "size": file.size,
        "runs": [_run(run) for run in file.runs],
    }


def _warnings(file: ReadFile) -> Iterator[str]:
    for note in file.warnings:
        yield _text(note)
    for number, run in enumerate(file.runs, 1):
        label = ""
        if len(file.runs) > 1:
            label = f"run {number}: "
        for note in run.warnings:
            yield label + _text(note)


def _text(note: Note) -> str:
    if note.line is None:
        return note.text
    return f"line {note.line}: {note.text}"


def _run(run: ReadRun) -> dict[str, Any]:
    operations = stated_by_logs(run.logs) | dict(run.operations)
    symptoms = [{"meaning": symptom.meaning, "line": symptom.line, "times": symptom.times} for symptom in run.symptoms]
    return {
        "format": run.format,
        "version": run.version,
        "phase": run.phase,
        "runtime_ms": run.runtime_ms,
        "throughput_ops_s": run.throughput_ops_s,
        "complete": run.complete,
        "operations": {name: _operation(operation) for name, operation in operations.items()},
        "series": {name: _series(operation) for name, operation in operations.items() if operation.series},
        "computed": [log.operation for log in run.logs if log.operation not in run.operations],
        "status_lines": len(run.status),
        "source": run.source,
        "lines": [run.first_line, run.last_line],
        "process": dict(run.process),
        "symptoms": symptoms,
        "warnings": [_text(note) for note in run.warnings],
    }


def _series(operation: ReadOperation) -> list[list[float | None]]:
    return [[point.at_ms, point.mean_us] for point in operation.series]


def _operation(operation: ReadOperation) -> dict[str, Any]:
    return {
        "count": operation.count,
        "mean_us": operation.mean_us,
        "min_us": operation.min_us,
        "max_us": operation.max_us,
        "percentiles_us": dict(operation.percentiles_us),
        "returns": dict(operation.returns),
        "rate_ops_s": operation.rate_ops_s,
        "variance_us2": operation.variance_us2,
        "buckets_us": [[bucket.from_us, bucket.to_us, bucket.count] for bucket in operation.buckets],
        "extra": dict(operation.extra),
    }

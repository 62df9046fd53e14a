"""Real outputs of clients, and small logs made to order."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runs.ycsb.clients import merge_run
from runs.ycsb.encoded import Counts
from runs.ycsb.file_grouping import group
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.ingest import ingest
from runs.ycsb.merged import ClientLogs, MergedRun, Phase
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.results import ReadFile
from runs.ycsb.series import Series
from runs.ycsb.summary import Summary, parse_summary
from runs.ycsb.summary_run import SummarisedRun
from runs.ycsb.tests.hdrlogs import build_histogram, read_log
from runs.ycsb.window import Cut

DATA = Path(__file__).parent / "data"
GOLDEN = DATA / "golden.json"
SHARED = Path(__file__).parents[4] / "shared" / "data"


def client(name: str, number: int = 0, **more: Any) -> ClientLogs:
    """One recorded client; `name` is its folder below data."""
    folder = DATA / name
    summary = folder / "summary.txt"
    return ClientLogs(
        number=number,
        logs=logs(name),
        summary=parse_summary(summary.read_text()) if summary.exists() else None,
        **{"threads": 2, **more},
    )


def get_operation(run: MergedRun | SummarisedRun, name: str, kind: str = "service") -> Any:
    return next((entry for entry in run.operations if (entry.operation, entry.kind) == (name, kind)), None)


def merge_files(files: Sequence[ReadFile]) -> tuple[MergedRun | SummarisedRun, ...]:
    """Every run in these files."""
    return tuple(map(merge_run, group(files)))


@dataclass(frozen=True)
class Merged(MergedRun):
    """A merged run that can be asked for its series, second 0 of which is given."""

    series: Callable[[float | None], tuple[Series, ...]] = lambda base_s: ()


def merge(
    clients: Sequence[ClientLogs],
    *,
    warmup_s: float,
    measure_s: float | None = None,
    tail_s: float = 0.0,
    phase: Phase = "measure",
) -> Merged:
    """The clients merged from their logs."""
    cut = Cut(warmup_s, measure_s, tail_s, phase)
    merged = ingest(clients, cut, has_series=False)[0]
    numbers = {field.name: getattr(merged, field.name) for field in fields(MergedRun)}
    return Merged(**numbers, series=lambda base_s: ingest(clients, cut, base_s=base_s)[1])


def build_series(merged: Merged, *, base_s: float | None = None) -> tuple[Series, ...]:
    return merged.series(base_s)


def logs(name: str) -> list[IntervalLog]:
    return [read_log(path.read_text().splitlines()) for path in sorted((DATA / name).glob("*.hdr"))]


def made_log(
    operation: str,
    intervals: Sequence[tuple[float, float, Sequence[int]]],
    *,
    start_time_s: float = 1_700_000_000.0,
) -> IntervalLog:
    """A log of (start since start_time_s, length, latencies in µs) for every interval."""
    parts = [build_histogram(values).sparse() for _, _, values in intervals]
    return IntervalLog(
        operation=operation,
        start_time_s=start_time_s,
        start_s=np.array([start for start, _, _ in intervals], dtype=np.float64),
        length_s=np.array([length for _, length, _ in intervals], dtype=np.float64),
        max_us=np.array([max(values, default=0) for _, _, values in intervals], dtype=np.float64),
        counts=Counts(
            np.array([part[0].size for part in parts], dtype=np.int64),
            np.concatenate([np.zeros(0, dtype=np.int64), *(part[0] for part in parts)]).astype(np.int32),
            np.concatenate([np.zeros(0, dtype=np.int64), *(part[1] for part in parts)]).astype(np.int64),
        ),
    )


def steady_log(
    operation: str, seconds: int, per_second: int, *, first_s: float = 0.0, latency_us: int = 1000
) -> IntervalLog:
    """A log of equal seconds."""
    return made_log(operation, [(first_s + second, 1.0, [latency_us] * per_second) for second in range(seconds)])


def made_summary(runtime_ms: float, throughput: float, **counts: int) -> Summary:
    """A summary with nothing but counts; `READ_FAILED` stands for READ-FAILED."""
    operations = {
        name.replace("_", "-"): ReadOperation(count=count, returns={"OK": count} if "FAILED" not in name else {})
        for name, count in counts.items()
    }
    return Summary(runtime_ms, throughput, operations)


def golden(name: str) -> Any:
    """Values that were computed independently of this project, by their name in golden.json."""
    return json.loads(GOLDEN.read_text())[name]


def corpus() -> Path:
    """The folder of outputs that others published; the test is skipped where it is absent."""
    path = SHARED / "corpus"
    if not path.is_dir():
        pytest.skip("the corpus of published outputs is not on this machine")
    return path

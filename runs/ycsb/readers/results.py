"""What reading gives back: files, the runs found in them, the operations of a run.

Latencies are in microseconds and instants in seconds since the epoch whatever the file printed. None (or an empty
mapping) is what the file does not state; a reader never fills it in.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, Protocol

from runs.ycsb.block import Block, Note
from runs.ycsb.failure_symptoms import Symptom
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.merged import Phase
from runs.ycsb.operation import ReadOperation
from runs.ycsb.status import StatusLine

Format = Literal[
    "ycsb-text",  # summaries, status lines, buckets, time series and raw points of brianfrankcooper/YCSB
    "ycsb-json",  # JSONMeasurementsExporter and JSONArrayMeasurementsExporter
    "ycsb-raw",  # a file of raw points
    "hdr-log",
    "thumbtack",
    "load-generator",
    "go-ycsb",  # plain
    "go-ycsb-table",
    "go-ycsb-json",
    "go-ycsb-csv",  # its csv and raw points
    "ycsb-cpp",
    "ycsb-c",
    "properties",  # of a client; holds no result
]


class Reader(Protocol):
    """One format's reader. It is fed the blocks of one file in order and keeps no more than its result."""

    @property
    def closest(self) -> tuple[Note, ...]:
        """Without a run: the first lines that looked most like a result, redacted."""
        ...

    def feed(self, block: Block) -> None: ...

    def done(self) -> "tuple[ReadRun, ...]": ...


@dataclass(frozen=True, slots=True)
class ReadRun:
    """One run of one client."""

    format: Format
    phase: Phase | None = None
    runtime_ms: float | None = None
    throughput_ops_s: float | None = None  # as printed
    complete: bool = False  # its results are there to the end
    version: str | None = None  # "0.17.0"; "0.9.0-0.12.0" where only the layout tells
    operations: Mapping[str, ReadOperation] = field(default_factory=dict)
    status: Sequence[StatusLine] = ()  # of many lines a compact sequence that makes each as it is asked for
    logs: tuple[IntervalLog, ...] = ()  # interval histograms: of a log, or of raw points second by second
    properties: Mapping[str, str] = field(default_factory=dict)  # redacted
    command: str = ""  # redacted
    process: Mapping[str, float] = field(default_factory=dict)  # "TOTAL_GC_TIME Time(ms)": of the client itself
    symptoms: tuple[Symptom, ...] = ()
    warnings: tuple[Note, ...] = ()
    source: str = ""  # who wrote these lines, where a log shipper put several writers into one file: "client-2"
    first_line: int = 1
    last_line: int = 1

    @property
    def has_results(self) -> bool:
        """Whether anything was measured; a client's standard error may hold its command line and messages alone."""
        overall = self.runtime_ms is not None or self.throughput_ops_s is not None
        return overall or bool(self.operations or self.status or self.logs)

    @property
    def exact_version(self) -> str:
        """Empty where only the layout tells it."""
        if self.version is None or re.match(r"[\d.]+-\d", self.version):
            return ""
        return self.version


@dataclass(frozen=True, slots=True)
class ReadFile:
    """One file, or one member of an archive. Without any result `error` says why and what came closest."""

    name: str  # "client-1.txt", "results.zip/client-1.txt"
    format: Format | None = None
    version: str | None = None
    error: str | None = None
    reason: str = ""  # the first sentence of `error` where it quotes lines
    quoted: tuple[str, ...] = ()  # these lines, with their numbers
    warnings: tuple[Note, ...] = ()
    runs: tuple[ReadRun, ...] = ()
    preface: ReadRun | None = None  # without any result: the command line and the messages of a client
    size: int = 0  # bytes, unpacked

    @property
    def logs(self) -> list[IntervalLog]:
        """Logs of all runs."""
        return list(chain.from_iterable(run.logs for run in self.runs))

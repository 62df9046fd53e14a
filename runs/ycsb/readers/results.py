"""What reading gives back: files, the runs found in them, the operations of a run.

Latencies are in microseconds and instants in seconds since the epoch whatever the file printed. None (or an empty
mapping) is what the file does not state; a reader never fills it in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from runs.ycsb.hdr import IntervalLog
from runs.ycsb.merged import Phase
from runs.ycsb.status import StatusLine
from runs.ycsb.symptoms import Symptom

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
]


@dataclass(frozen=True, slots=True)
class Block:
    """Some whole lines of a file: UTF-8, ended by \\n, without byte order mark, escape sequences and carriage returns.

    Only the last block of a file may be `unterminated`: then its last line may have been cut in the middle.
    """

    data: bytes
    first_line: int  # from 1
    unterminated: bool = False


class Reader(Protocol):
    """One format's reader. It is fed the blocks of one file in order and keeps no more than its result."""

    def feed(self, block: Block) -> None: ...

    def done(self) -> "tuple[ReadRun, ...]": ...


@dataclass(frozen=True, slots=True)
class Note:
    """A warning about a file or a run, in plain words."""

    text: str
    line: int | None = None  # from 1


@dataclass(frozen=True, slots=True)
class OtherLine:
    """A line that is no measurement of an operation: a fork's own metric, chatter, noise."""

    line_number: int  # from 1
    text: str


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many values lie in [from_us, to_us); to_us is None for the overflow bucket."""

    from_us: float
    to_us: float | None
    count: int


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One row of a printed time series: milliseconds since the operation's first value."""

    at_ms: float
    mean_us: float | None
    rate_ops_s: float | None = None  # the third column of the Thumbtack lineage


@dataclass(frozen=True, slots=True)
class ReadOperation:
    """One metric as printed: READ, READ-FAILED, Intended-READ, HdrREAD, READ_ERROR, TOTAL, CLEANUP."""

    count: int | None = None
    mean_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    variance_us2: float | None = None
    percentiles_us: Mapping[str, float] = field(default_factory=dict)  # "99.9" -> µs
    # How coarse the percentiles are: 1000 where each is the floor of a bucket of 1 ms. None: as fine as HdrHistogram.
    resolution_us: float | None = None
    returns: Mapping[str, int] = field(default_factory=dict)
    buckets: tuple[Bucket, ...] = ()
    series: tuple[SeriesPoint, ...] = ()
    rate_ops_s: float | None = None  # where an operation states its own, as go-ycsb's do
    extra: Mapping[str, str] = field(default_factory=dict)  # every other key of this metric, as printed


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
    status: tuple[StatusLine, ...] = ()
    logs: tuple[IntervalLog, ...] = ()  # interval histograms: of a log, or of raw points second by second
    properties: Mapping[str, str] = field(default_factory=dict)  # redacted
    command: str = ""  # redacted
    process: Mapping[str, float] = field(default_factory=dict)  # "TOTAL_GC_TIME Time(ms)": of the client itself
    others: tuple[OtherLine, ...] = ()  # redacted, the first few hundred
    symptoms: tuple[Symptom, ...] = ()
    warnings: tuple[Note, ...] = ()
    first_line: int = 1
    last_line: int = 1


@dataclass(frozen=True, slots=True)
class ReadFile:
    """One file, or one member of an archive. Without any result `error` says why and what came closest."""

    name: str  # "client-1.txt", "results.zip/client-1.txt"
    format: Format | None = None
    version: str | None = None
    error: str | None = None
    warnings: tuple[Note, ...] = ()
    runs: tuple[ReadRun, ...] = ()
    size: int = 0  # bytes, unpacked

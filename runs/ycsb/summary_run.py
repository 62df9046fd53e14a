"""A run of which only summaries exist: what can be added is added exactly, and percentiles become bounds.

The counterpart of `runs.ycsb.merged.MergedRun` for clients that left no histograms.

Throughput is that of the window which the clients have in common, where their dated status lines tell it: the sum of
what each client did in it / its length. Without them it is the sum of what the clients state over their own windows.
Clients state all operations of a measurement, failed ones included, but only the successful inserts of a load; here it
is always the successful ones.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Final, Literal

from benchsite.core import formatting
from runs.ycsb import ALGORITHM_VERSION, READER_VERSION
from runs.ycsb.bounds import Bounds, added_buckets, find_overruled_percentiles, mean_bounds, percentile_bounds
from runs.ycsb.clock_steps import ClockStep
from runs.ycsb.contradictions import find_contradiction, status_coverage
from runs.ycsb.evidence import ClientEvidence
from runs.ycsb.merged import MissingClient, OfClients, Phase, Window
from runs.ycsb.messages import PERCENTILES_OVERRULED
from runs.ycsb.numbers import add_known_parts, added
from runs.ycsb.operation import VERIFY, Bucket, LatencyKind, ReadOperation, rank_measurement
from runs.ycsb.printed_series import series_of_clients
from runs.ycsb.progress import Progress, cleanup_s, counted_so_far, get_progress, overlap_windows, weighted_mean
from runs.ycsb.readers.results import Format, ReadRun
from runs.ycsb.series import Series
from runs.ycsb.summary import without_steps
from runs.ycsb.summary_counts import (
    Operations,
    StatedOperation,
    SummaryClient,
    collect_operations,
    counts_operations,
    printed_counts,
    verification_codes,
)

# From what the throughput was computed: the window that all clients have in common (by their status lines), the one
# client's own statement, or the sum of several clients' statements with nothing known about their windows.
ThroughputBasis = Literal["window", "stated", "sum"]


@dataclass(frozen=True, slots=True)
class SummarisedOperation:
    """One operation of all clients, whole run. Counts are None where a client does not state them."""

    operation: str
    kind: LatencyKind
    ok: int | None
    failed: int | None
    failures: Mapping[str, int]  # status -> count
    returns: Mapping[str, int]
    is_composite: bool
    mean_us: float | None
    min_us: float | None
    max_us: float | None
    percentiles_us: Mapping[str, Bounds]  # "99.9" -> bounds
    resolution_us: float | None = None
    variance_us2: float | None = None
    buckets: tuple[Bucket, ...] = ()  # of all clients, where all have the same
    mean_bounds_us: Bounds | None = None  # by those buckets
    failed_mean_us: float | None = None
    is_average: bool = False  # a client's counts are fractions
    contradiction: str = ""  # what a client's numbers say against each other, in words

    @property
    def count(self) -> int | None:
        if self.ok is None:
            return None
        return self.ok + (self.failed or 0)


@dataclass(frozen=True, slots=True)
class SummarisedClient:
    """One client as it stated itself."""

    number: int
    operations: int | None
    ok: int | None
    failed: int | None
    busy_us: float | None  # the sum of all service times: counts times means
    throughput_ops_s: float | None  # as printed
    runtime_ms: float | None
    threads: int | None
    printed_counts: Mapping[str, int] | None  # None: they are averages of several runs
    started_s: float | None = None  # by its status lines
    ended_s: float | None = None
    cleanup_s: float | None = None
    verified: Mapping[str, int] | None = None  # return code -> count of its verifications of data
    complete: bool = True
    format: Format | None = None
    status_interval_s: float | None = None  # how far apart its status lines are
    status_operations: int | None = None  # that they count, beside those of its summary
    status_coverage: float | None = None  # the part of its summary that they count line by line
    evidence: ClientEvidence | None = None
    status_clock_steps: tuple[ClockStep, ...] = ()  # in seconds since its start

    @property
    def covered_s(self) -> float:
        return max((self.runtime_ms or 0.0) / 1000, 0.0)

    @property
    def printed_throughput_ops_s(self) -> float | None:
        return self.throughput_ops_s

    @property
    def truncated(self) -> bool:
        return not self.complete


@dataclass(frozen=True, slots=True)
class SummarisedRun(OfClients):
    """Every number that summaries allow. `operations` is sorted by name, service before response times."""

    phase: Phase | None
    operations: tuple[SummarisedOperation, ...]
    clients: tuple[SummarisedClient, ...]
    missing: tuple[MissingClient, ...]
    total_operations: int | None  # failed ones included, a read-modify-write once
    ok_operations: int | None
    failed_operations: int | None
    throughput_ops_s: float | None  # successful operations, on `basis`
    basis: ThroughputBasis
    throughput_sum_ops_s: float | None
    throughput_wall_ops_s: float | None
    overlap: float | None  # None: nothing tells when the clients ran
    window: Window | None
    series: tuple[Series, ...] = ()  # of status lines and printed series
    reader_version: int = READER_VERSION
    notes: tuple[str, ...] = ()  # why there are no histograms, and what else a reader of the numbers must know
    algorithm_version: int = ALGORITHM_VERSION
    warmup_s: float = 0.0
    tail_s: float = 0.0


_NO_RESULT: Final = "it left neither a result nor a status line that counts an operation"


def summarise(clients: Sequence[SummaryClient], *, notes: Iterable[str] = ()) -> SummarisedRun:
    """Merge what the clients of one run state."""
    parts = [_Part.of(client) for client in sorted(clients, key=attrgetter("number"))]
    counted = [part for part in parts if part.says_something]
    total = add_known_parts(part.total for part in counted)
    progress = [part.progress for part in counted if part.progress is not None]
    window: Window | None = None
    whole: Window | None = None
    if len(progress) == len(counted):
        window, whole = overlap_windows(progress)
    overlap = throughput_wall_ops_s = None
    if whole is not None:
        overlap = window.length_s / whole.length_s if window is not None else 0.0
        if total is not None:
            throughput_wall_ops_s = total / whole.length_s

    throughput, basis = _compute_throughput(counted, window)
    series, complaints = series_of_clients([part.source for part in counted], progress)
    phase = None
    if len({part.run.phase for part in counted}) == 1:
        phase = counted[0].run.phase

    return SummarisedRun(
        phase=phase,
        operations=_summarise_operations(counted),
        clients=tuple(part.client() for part in counted),
        missing=tuple(MissingClient(part.number, _NO_RESULT) for part in parts if not part.says_something),
        total_operations=total,
        ok_operations=add_known_parts(part.ok for part in counted),
        failed_operations=add_known_parts(part.failed for part in counted),
        throughput_ops_s=throughput,
        basis=basis,
        throughput_sum_ops_s=add_known_parts(part.run.throughput_ops_s for part in counted),
        throughput_wall_ops_s=throughput_wall_ops_s,
        overlap=overlap,
        window=window,
        series=series,
        notes=(*notes, *complaints, *dict.fromkeys(_list_overruled(counted))),
    )


@dataclass(frozen=True)
class _Part:
    """One client, with what follows from its statements."""

    source: SummaryClient
    operations: Operations
    progress: Progress | None

    @classmethod
    def of(cls, client: SummaryClient) -> "_Part":
        progress = get_progress(client)
        if progress is not None:
            stepped_s = sum(step.by_s for step in progress.clock_steps)
            client = replace(client, run=without_steps(client.run, stepped_s))
        operations = collect_operations(client.run)
        if not operations and client.run.throughput_ops_s is None and progress is not None:
            # It was killed before its summary: its status lines still count and add.
            operations = collect_operations(replace(client.run, operations=counted_so_far(progress)))
        return cls(client, operations, progress)

    @property
    def run(self) -> ReadRun:
        return self.source.run

    @property
    def number(self) -> int:
        return self.source.number

    @property
    def says_something(self) -> bool:
        return bool(self.operations) or self.run.throughput_ops_s is not None or self.progress is not None

    @cached_property
    def _counting(self) -> list[StatedOperation]:
        """The operations that make up the workload, each seen from one moment only."""
        return [entry for entry in self.operations.values() if counts_operations(entry.name, self.run)]

    @cached_property
    def total(self) -> int | None:
        """Failed operations included, a read-modify-write once although its read and its update are counted too."""
        if self._counting and all(entry.count is not None for entry in self._counting):
            total = 0
            for entry in self._counting:
                count = entry.count or 0
                total += -count if entry.name.is_composite else count
            return max(total, 0)
        if self.progress is not None:
            return int(self.progress.done[-1])
        return None

    @cached_property
    def failed(self) -> int | None:
        if not self._counting:
            return None
        return add_known_parts(entry.failed for entry in self._plain)

    @cached_property
    def ok(self) -> int | None:
        total, failed = self.total, self.failed
        if total is None or failed is None:
            return None
        return max(total - failed, 0)

    @cached_property
    def _plain(self) -> list[StatedOperation]:
        return [entry for entry in self._counting if not entry.name.is_composite]

    @property
    def ok_share(self) -> float:
        """The share of successful operations of the workload among those that the client's own throughput counts."""
        ok, total, failed = self.ok, self.total, self.failed
        if ok is None or total is None or failed is None:
            return 1.0

        counted = total
        if self.run.format.startswith("go-ycsb"):
            # Its total has no failed operation in it, and both halves of a read-modify-write.
            counted = add_known_parts(entry.ok for entry in self._plain) or 0
        elif self.run.phase == "load":
            counted = ok

        return ok / counted if counted else 1.0

    @property
    def goodput_ops_s(self) -> float | None:
        """Successful operations per second by the client's own clock."""
        if self.run.throughput_ops_s is not None:
            return self.run.throughput_ops_s * self.ok_share
        if self.ok is not None and self.run.runtime_ms:
            return self.ok * 1000.0 / self.run.runtime_ms
        if self.progress is None or self.progress.ended_s <= self.progress.started_s:
            return None
        return float(self.progress.done[-1]) / (self.progress.ended_s - self.progress.started_s) * self.ok_share

    @property
    def busy_us(self) -> float | None:
        """Only service times are time in which a thread waited for the database."""
        plain = self._plain
        if not plain or any(entry.name.kind != "service" for entry in plain):
            return None
        total = 0.0
        for entry in plain:
            for latency in (*entry.latencies, *entry.failed_latencies):
                if latency.count is None or (latency.count and latency.mean_us is None):
                    return None
                total += latency.count * (latency.mean_us or 0.0)
        return total

    def client(self) -> SummarisedClient:
        run, progress = self.run, self.progress
        counts = None
        if not any(entry.is_average for entry in run.operations.values()):
            counts = printed_counts(run)
        verified: Mapping[str, int] | None = verification_codes(run.operations)
        started_s = ended_s = interval_s = done = coverage = None
        clock_steps: tuple[ClockStep, ...] = ()
        if progress is not None:
            verified = verified or _read_verification(progress)
            interval_s = progress.interval_s
            coverage = status_coverage(progress, run.operations)
            clock_steps = progress.clock_steps
            if progress.is_dated:
                started_s, ended_s = progress.started_s, progress.ended_s
            if run.operations:
                done = int(progress.done[-1])

        return SummarisedClient(
            number=self.number,
            operations=self.total,
            ok=self.ok,
            failed=self.failed,
            busy_us=self.busy_us,
            throughput_ops_s=run.throughput_ops_s,
            runtime_ms=run.runtime_ms,
            threads=self.source.threads,
            printed_counts=counts,
            started_s=started_s,
            ended_s=ended_s,
            cleanup_s=cleanup_s(run.operations),
            verified=verified,
            complete=run.complete,
            format=run.format,
            status_interval_s=interval_s,
            status_operations=done,
            status_coverage=coverage,
            status_clock_steps=clock_steps,
        )


def _read_verification(progress: Progress) -> Mapping[str, int] | None:
    """By the status lines, where a client was killed before its summary, or that was cut."""
    if not any(VERIFY in name for name in progress.names):
        return None
    return verification_codes(counted_so_far(progress))


def _compute_throughput(parts: Sequence[_Part], window: Window | None) -> tuple[float | None, ThroughputBasis]:
    if len(parts) == 1 and (parts[0].run.throughput_ops_s is not None or window is None):
        return parts[0].goodput_ops_s, "stated"
    if window is None:
        return add_known_parts(part.goodput_ops_s for part in parts), "sum"
    done = sum(part.progress.done_in(window) * part.ok_share for part in parts if part.progress is not None)
    return done / window.length_s, "window"


def _list_overruled(parts: Iterable[_Part]) -> Iterator[str]:
    """A sentence for each operation of a client whose stated percentiles are not those of its own counts by bucket."""
    for stated in chain.from_iterable(part.operations.values() for part in parts):
        for operation in stated.latencies:
            names = find_overruled_percentiles(operation)
            percentiles = [f"p{name} {formatting.latency(operation.percentiles_us[name])}" for name in names]
            if percentiles:
                yield PERCENTILES_OVERRULED.format(
                    operation=stated.name.operation, percentiles=formatting.enumerated(percentiles)
                )


def _summarise_operations(parts: Sequence[_Part]) -> tuple[SummarisedOperation, ...]:
    stated: defaultdict[tuple[str, LatencyKind], list[StatedOperation]] = defaultdict(list)
    for part in parts:
        for key, operation in part.operations.items():
            stated[key].append(operation)
    return tuple(_summarise_operation(stated[key]) for key in sorted(stated, key=rank_measurement))


def _summarise_operation(stated: Sequence[StatedOperation]) -> SummarisedOperation:
    """One operation of all clients. A client that does not name it did none of it."""
    values = _select_counting(statement.latencies for statement in stated)
    failed_values = _select_counting(statement.failed_latencies for statement in stated)
    buckets = added_buckets(values)
    min_us = _choose([entry.min_us for entry in values], min)
    max_us = _choose([entry.max_us for entry in values], max)
    resolutions_us = [entry.resolution_us for entry in values if entry.resolution_us is not None]
    contradictions = filter(None, map(find_contradiction, values))
    name = stated[0].name
    returns = {}
    if name.kind == "service":
        returns = added(statement.returns for statement in stated)

    return SummarisedOperation(
        operation=name.operation,
        kind=name.kind,
        ok=add_known_parts(statement.ok for statement in stated),
        failed=add_known_parts(statement.failed for statement in stated),
        failures=added(statement.failures for statement in stated),
        returns=returns,
        is_composite=name.is_composite,
        mean_us=_mean(values),
        min_us=min_us,
        max_us=max_us,
        percentiles_us=percentile_bounds(values),
        resolution_us=max(resolutions_us, default=None),
        variance_us2=_variance(values),
        buckets=buckets,
        mean_bounds_us=mean_bounds(buckets, min_us, max_us),
        failed_mean_us=_mean(failed_values),
        is_average=any(entry.is_average for entry in (*values, *failed_values)),
        contradiction=next(contradictions, ""),
    )


def _select_counting(latencies: Iterable[Iterable[ReadOperation]]) -> list[ReadOperation]:
    return [entry for entry in chain.from_iterable(latencies) if entry.count != 0]


def _mean(values: Sequence[ReadOperation]) -> float | None:
    if not values:
        return None
    return weighted_mean([entry.mean_us for entry in values], [entry.count for entry in values])


def _choose(values: Sequence[float | None], choose: Callable[[list[float]], float]) -> float | None:
    """None unless every client states the value."""
    stated = [value for value in values if value is not None]
    if not stated or len(stated) < len(values):
        return None
    return choose(stated)


def _variance(values: Sequence[ReadOperation]) -> float | None:
    """The variance of all values together: the mean of the squares minus the square of the mean."""
    if len(values) == 1:
        return values[0].variance_us2

    mean = _mean(values)
    if mean is None:
        return None

    squares = []
    for entry in values:
        square = None
        if entry.variance_us2 is not None and entry.mean_us is not None:
            square = entry.variance_us2 + entry.mean_us**2
        squares.append(square)
    mean_square = weighted_mean(squares, [entry.count for entry in values])
    return None if mean_square is None else max(mean_square - mean**2, 0.0)

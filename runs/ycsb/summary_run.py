"""A run of which only summaries exist: what can be added is added exactly, and percentiles become bounds.

The counterpart of `runs.ycsb.merged.MergedRun` for clients that left no histograms.

Throughput is that of the window which the clients have in common, where their dated status lines tell it: the sum of
what each client did in it / its length. Without them it is the sum of what the clients state over their own windows.
Clients state all operations of a measurement, failed ones included, but only the successful inserts of a load; here it
is always the successful ones.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from runs.ycsb.progress import Progress, cleanup_s, counted_so_far, overlap_windows, weighted_mean
from runs.ycsb.readers.results import Format
from runs.ycsb.series import Series
from runs.ycsb.summary_client import SummaryClient
from runs.ycsb.summary_counts import StatedOperation, printed_counts, verification_codes

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
    clients = sorted(clients, key=attrgetter("number"))
    counted = [client for client in clients if client.says_something]
    total = add_known_parts(client.total for client in counted)
    progress = [client.progress for client in counted if client.progress is not None]
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
    series, complaints = series_of_clients(counted)
    phase = None
    if len({client.run.phase for client in counted}) == 1:
        phase = counted[0].run.phase

    return SummarisedRun(
        phase=phase,
        operations=_summarise_operations(counted),
        clients=tuple(map(_describe_client, counted)),
        missing=tuple(MissingClient(client.number, _NO_RESULT) for client in clients if not client.says_something),
        total_operations=total,
        ok_operations=add_known_parts(client.ok for client in counted),
        failed_operations=add_known_parts(client.failed for client in counted),
        throughput_ops_s=throughput,
        basis=basis,
        throughput_sum_ops_s=add_known_parts(client.run.throughput_ops_s for client in counted),
        throughput_wall_ops_s=throughput_wall_ops_s,
        overlap=overlap,
        window=window,
        series=series,
        notes=(*notes, *complaints, *dict.fromkeys(_list_overruled(counted))),
    )


def _describe_client(client: SummaryClient) -> SummarisedClient:
    run, progress = client.run, client.progress
    counts = None
    if not any(operation.is_average for operation in run.operations.values()):
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
        number=client.number,
        operations=client.total,
        ok=client.ok,
        failed=client.failed,
        busy_us=client.busy_us,
        throughput_ops_s=run.throughput_ops_s,
        runtime_ms=run.runtime_ms,
        threads=client.threads,
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
    if not any(VERIFY in name for name in progress.lines.names):
        return None
    return verification_codes(counted_so_far(progress))


def _compute_throughput(
    clients: Sequence[SummaryClient], window: Window | None
) -> tuple[float | None, ThroughputBasis]:
    if len(clients) == 1 and (clients[0].run.throughput_ops_s is not None or window is None):
        return clients[0].goodput_ops_s, "stated"
    if window is None:
        return add_known_parts(client.goodput_ops_s for client in clients), "sum"
    done = 0.0
    for client in clients:
        if client.progress is not None:
            done += client.progress.done_in(window) * client.ok_share
    return done / window.length_s, "window"


def _list_overruled(clients: Iterable[SummaryClient]) -> Iterator[str]:
    """A sentence for each operation of a client whose stated percentiles are not those of its own counts by bucket."""
    for stated in chain.from_iterable(client.operations.values() for client in clients):
        for operation in stated.latencies:
            names = find_overruled_percentiles(operation)
            percentiles = [f"p{name} {formatting.latency(operation.percentiles_us[name])}" for name in names]
            if percentiles:
                yield PERCENTILES_OVERRULED.format(
                    operation=stated.name.operation, percentiles=formatting.enumerated(percentiles)
                )


def _summarise_operations(clients: Sequence[SummaryClient]) -> tuple[SummarisedOperation, ...]:
    stated: defaultdict[tuple[str, LatencyKind], list[StatedOperation]] = defaultdict(list)
    for client in clients:
        for key, operation in client.operations.items():
            stated[key].append(operation)
    return tuple(_summarise_operation(stated[key]) for key in sorted(stated, key=rank_measurement))


def _summarise_operation(stated: Sequence[StatedOperation]) -> SummarisedOperation:
    """One operation of all clients. A client that does not name it did none of it."""
    values = _select_counting(statement.latencies for statement in stated)
    failed_values = _select_counting(statement.failed_latencies for statement in stated)
    buckets = added_buckets(values)
    min_us = _choose([operation.min_us for operation in values], min)
    max_us = _choose([operation.max_us for operation in values], max)
    resolutions_us = [operation.resolution_us for operation in values if operation.resolution_us is not None]
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
        is_average=any(operation.is_average for operation in (*values, *failed_values)),
        contradiction=next(contradictions, ""),
    )


def _select_counting(latencies: Iterable[Iterable[ReadOperation]]) -> list[ReadOperation]:
    return [operation for operation in chain.from_iterable(latencies) if operation.count != 0]


def _mean(values: Sequence[ReadOperation]) -> float | None:
    if not values:
        return None
    return weighted_mean([operation.mean_us for operation in values], [operation.count for operation in values])


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
    for operation in values:
        square = None
        if operation.variance_us2 is not None and operation.mean_us is not None:
            square = operation.variance_us2 + operation.mean_us**2
        squares.append(square)
    mean_square = weighted_mean(squares, [operation.count for operation in values])
    return None if mean_square is None else max(mean_square - mean**2, 0.0)

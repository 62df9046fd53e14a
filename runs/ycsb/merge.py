"""All clients of a run, merged exactly over the window that they have in common (`runs.ycsb.window`).

Histograms are added index by index; throughput is the sum over clients of ok_k / L_k, where L_k is the length that the
client's own intervals cover, and never a count divided by a length in which it was not counted.

A run is cut again from its stored intervals, without its logs. Where those of ten seconds are kept together, the cut
takes whole tens: each client's covered length is that of what is taken, so its throughput stays exact.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from runs.ycsb.histogram import Histogram
from runs.ycsb.intervals import Batches, Timeline
from runs.ycsb.merged import ClientLogs, MergedClient, MergedOperation, MergedRun
from runs.ycsb.numbers import add_known_parts, added
from runs.ycsb.operation import LAGS, LatencyKind, MeasurementName, count_done, parse_name, rank_measurement
from runs.ycsb.progress import cleanup_s
from runs.ycsb.stored import StoredIntervals
from runs.ycsb.summary import Summary
from runs.ycsb.summary_counts import verification_codes
from runs.ycsb.window import MIN_S, Cut, Span, Windowed, overlap, regrouped, windowed, workload_kind


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of one measurement name by client number: over whole runs, and in the window."""

    name: MeasurementName
    printed_name: str
    whole: Mapping[int, int]  # of the clients that measured it
    window: Mapping[int, Histogram]
    batches: Batches  # of all clients in the window

    def histogram(self) -> Histogram:
        """All clients' in the window; nothing may be added to it."""
        histograms = list(self.window.values())
        if len(histograms) == 1:
            return histograms[0]
        return Histogram.merged(histograms)


def counted_in(
    window: Windowed, timeline: Timeline, histogram: Callable[[int], Histogram], batches: Batches
) -> Counted:
    """The counts of one measurement; `histogram` is that of one client in the window."""
    whole, in_window = {}, {}
    for span in window.spans:
        rows = timeline.client == span.number
        if rows.any():
            whole[span.number] = int(timeline.totals[rows].sum())
            in_window[span.number] = histogram(span.number)
    return Counted(timeline.parsed, timeline.name, whole, in_window, batches)


def assemble(
    window: Windowed,
    counted: Sequence[Counted],
    statements: Sequence[ClientLogs],
    *,
    timelines: Sequence[Timeline],
) -> MergedRun:
    """Every number of the run from the counts in its window."""
    kind = workload_kind(timelines)
    by_number = {statement.number: statement for statement in statements}
    clients = tuple(_merge_client(span, counted, by_number[span.number], kind) for span in window.spans)
    warmup_s = 0.0
    if window.cut.phase == "measure":
        warmup_s = window.cut.warmup_s
    throughput_sum_ops_s = None
    if not window.missing:
        throughput_sum_ops_s = add_known_parts(client.printed_throughput_ops_s for client in clients)

    return MergedRun(
        phase=window.cut.phase,
        window=window.window,
        warmup_s=warmup_s,
        operations=_merge_operations(counted, [by_number[number] for number in sorted(by_number)], kind),
        clients=clients,
        missing=window.missing,
        total_operations=sum(client.operations for client in clients),
        ok_operations=sum(client.ok for client in clients),
        failed_operations=sum(client.failed for client in clients),
        throughput_ops_s=sum(client.throughput_ops_s for client in clients),
        throughput_sum_ops_s=throughput_sum_ops_s,
        throughput_wall_ops_s=_compute_wall_throughput(clients),
        overlap=overlap(window.spans),
        longest_us=_sum_longest_us(counted, clients),
        timelines=tuple(timelines),
        lags={measured.printed_name: measured.histogram() for measured in counted if measured.printed_name in LAGS},
    )


def _merge_client(span: Span, counted: Sequence[Counted], statement: ClientLogs, kind: LatencyKind) -> MergedClient:
    number = span.number
    histograms = {measured.printed_name: measured.window[number] for measured in counted if number in measured.window}
    counts = {name: histogram.count for name, histogram in histograms.items()}
    log_counts = {measured.printed_name: measured.whole[number] for measured in counted if number in measured.whole}
    operations = _count_operations(counts, kind)
    failed = sum(count for name, count in counts.items() if parse_name(name).status and _is_plain(name, kind))
    ok = max(operations - failed, 0)
    busy_us = sum(histogram.total_us for name, histogram in histograms.items() if _is_plain(name, "service"))

    summary = statement.summary or Summary(None, None, {})
    runtime_ms = summary.runtime_ms
    init_s = None
    if runtime_ms is not None:
        init_s = max(runtime_ms / 1000 - (span.ended_s - span.started_s), 0.0)
    return MergedClient(
        number=number,
        started_s=span.started_s,
        ended_s=span.ended_s,
        covered_s=span.covered_s,
        intervals=span.intervals,
        operations=operations,
        ok=ok,
        failed=failed,
        busy_us=busy_us,
        throughput_ops_s=ok / span.covered_s,
        run_operations=_count_operations(log_counts, kind),
        log_counts=log_counts,
        runtime_ms=runtime_ms,
        printed_throughput_ops_s=summary.throughput_ops_s,
        printed_counts=statement.printed_counts,
        init_s=init_s,
        verified=verification_codes(summary.operations),
        cleanup_s=cleanup_s(summary.operations),
        truncated=statement.truncated,
        threads=statement.threads,
        evidence=statement.evidence,
        clock_steps=tuple(statement.clock_steps or ()),
    )


def _is_plain(name: str, kind: LatencyKind) -> bool:
    """Whether these are latencies of operations that are not made of others."""
    parsed = parse_name(name)
    return parsed.kind == kind and parsed.is_operation and not parsed.is_composite


def _count_operations(counts: Mapping[str, int], kind: LatencyKind) -> int:
    """Operations of the workload, failed ones included: a read-modify-write is counted once, not three times."""
    parsed = [(parse_name(name), count) for name, count in counts.items()]
    return count_done((name, count) for name, count in parsed if name.kind == kind and name.is_operation)


def _merge_operations(
    counted: Sequence[Counted], statements: Sequence[ClientLogs], workload_kind: LatencyKind
) -> tuple[MergedOperation, ...]:
    parts: defaultdict[tuple[str, LatencyKind], list[Counted]] = defaultdict(list)
    for measured in counted:
        if measured.name.is_operation:
            parts[measured.name.operation, measured.name.kind].append(measured)

    operations = []
    for operation, kind in sorted(parts, key=rank_measurement):
        stating = statements if kind == workload_kind else ()
        operations.append(_merge_operation(operation, kind, parts[operation, kind], stating))
    return tuple(operations)


def _merge_operation(
    name: str, kind: LatencyKind, measurements: Sequence[Counted], statements: Sequence[ClientLogs]
) -> MergedOperation:
    histograms = {measured.name.status: measured.histogram() for measured in measurements}
    batches = {measured.name.status: measured.batches for measured in measurements}
    printed = [statement.summary.operations.get(name) for statement in statements if statement.summary]
    failures = {status: histogram for status, histogram in histograms.items() if status}

    return MergedOperation(
        operation=name,
        kind=kind,
        histogram=histograms.get("", Histogram()),
        batches=batches.get("", Batches(0)),
        failed_histogram=Histogram.merged(failures.values()),
        failures={status: histogram.count for status, histogram in sorted(failures.items()) if histogram.count},
        returns=added(operation.returns for operation in printed if operation),
        is_composite=measurements[0].name.is_composite,
    )


def _compute_wall_throughput(clients: Sequence[MergedClient]) -> float:
    wall_s = max(client.ended_s for client in clients) - min(client.started_s for client in clients)
    return sum(client.run_operations for client in clients) / max(wall_s, MIN_S)


def _sum_longest_us(counted: Iterable[Counted], clients: Sequence[MergedClient]) -> float:
    threads = add_known_parts(client.threads for client in clients)
    if threads is None:
        return 0.0
    plain = [measured for measured in counted if _is_plain(measured.printed_name, "service")]
    everything = Histogram.merged(measured.histogram() for measured in plain)
    return everything.longest_total_us(threads)


def recut(stored: Sequence[StoredIntervals], clients: Sequence[ClientLogs], cut: Cut) -> MergedRun:
    """Every number of the run over another window. Raises MergeError where nothing is left of it."""
    window = window_stored(stored, [client.number for client in clients], cut)
    timelines = [part.timeline for part in stored]
    return assemble(window, [_count_stored(part, window) for part in stored], clients, timelines=timelines)


def window_stored(stored: Sequence[StoredIntervals], numbers: Sequence[int], cut: Cut) -> Windowed:
    """The window of these clients; its edges are those of intervals that are kept together."""
    window = windowed([part.timeline for part in stored], numbers, cut)
    if any(len(part.kept) != len(part.timeline) for part in stored):
        return regrouped(window, [part.kept for part in stored])
    return window


def _count_stored(part: StoredIntervals, windows: Windowed) -> Counted:
    inside = windows.inside(part.kept)
    batches = Batches(windows.batches)
    part.add_to(batches, windows.batch(part.kept), inside)
    return counted_in(windows, part.timeline, lambda number: part.histogram(number, inside), batches)

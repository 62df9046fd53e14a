"""All clients of a run, merged exactly over the window that they have in common.

The common window is W = [latest start of a client + warm-up, earliest end of a client], at most `measure_s` long. Of
every client the intervals whose middle lies in W are taken; the length L_k that they cover is the client's own, a
little more or less than W, so throughput is the sum over clients of ok_k / L_k, and never a count divided by a length
in which it was not counted.

A client's operations all end their intervals at the same status line, some milliseconds apart. Therefore one of them,
the one that was measured first, decides which part of the client lies in W, and the others follow it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from runs.ycsb.errors import MergeError
from runs.ycsb.grid import references
from runs.ycsb.histogram import Floats, Histogram
from runs.ycsb.intervals import Intervals, collect
from runs.ycsb.merged import (
    ClientOutput,
    MergedClient,
    MergedOperation,
    MergedRun,
    MissingClient,
    Phase,
    Window,
)
from runs.ycsb.names import LatencyKind

__all__ = [
    "ClientOutput",
    "MergedClient",
    "MergedOperation",
    "MergedRun",
    "MissingClient",
    "Phase",
    "Window",
    "merge",
    "merge_intervals",
]

# The logs' times have three decimals: nothing is shorter.
SHORTEST_S: Final = 0.001


def merge(
    clients: Sequence[ClientOutput],
    *,
    warmup_s: float,
    measure_s: float | None = None,
    phase: Phase = "measure",
) -> MergedRun:
    """Merge the clients of one run. In phase load there is no warm-up and the window is the whole run.

    A client without usable logs is named in `missing`; MergeError is raised when nothing at all can be merged.
    """
    intervals = collect([(client.number, client.clock_offset_s, client.logs) for client in clients])
    return merge_intervals(intervals, clients, warmup_s=warmup_s, measure_s=measure_s, phase=phase)


def merge_intervals(
    intervals: Sequence[Intervals],
    clients: Sequence[ClientOutput],
    *,
    warmup_s: float,
    measure_s: float | None = None,
    phase: Phase = "measure",
) -> MergedRun:
    """The same from stored intervals, to cut a run again; the logs of `clients` may be empty then."""
    if len({client.number for client in clients}) != len(clients):
        raise MergeError("Two clients of the run have the same number.")
    clients = sorted(clients, key=lambda client: client.number)
    found, missing = _spans(intervals, clients)
    window = _window(found, warmup_s, measure_s) if phase == "measure" else _whole(found)
    ranges = {span.client.number: _range(span, window, phase) for span in found}
    kept = {entry.name: entry.select(_inside(entry, ranges)) for entry in intervals}
    merged_clients = tuple(_client(span, ranges[span.client.number], intervals, kept) for span in found)
    operations = _operations(kept.values(), clients)
    return MergedRun(
        phase=phase,
        window=window,
        warmup_s=warmup_s if phase == "measure" else 0.0,
        operations=operations,
        clients=merged_clients,
        missing=missing,
        total_operations=sum(client.operations for client in merged_clients),
        ok_operations=sum(client.ok for client in merged_clients),
        failed_operations=sum(client.failed for client in merged_clients),
        throughput_ops_s=sum(client.throughput_ops_s for client in merged_clients),
        throughput_sum_ops_s=_printed_sum(merged_clients) if not missing else None,
        throughput_wall_ops_s=_wall(merged_clients),
        overlap=_overlap(found),
        init_share=_largest_share(merged_clients, "init_s"),
        cleanup_share=_largest_share(merged_clients, "cleanup_s"),
        longest_us=_longest(kept.values(), merged_clients),
        intervals=tuple(intervals),
    )


@dataclass(frozen=True, slots=True)
class _Span:
    """When one client worked, by the log of the operation that it measured first."""

    client: ClientOutput
    start_s: Floats
    end_s: Floats
    started_s: float
    ended_s: float


def _spans(
    intervals: Sequence[Intervals], clients: Sequence[ClientOutput]
) -> tuple[list[_Span], tuple[MissingClient, ...]]:
    """The clients that can be merged, and those that cannot. Raises MergeError when there is none of the first."""
    measured = [entry for entry in intervals if entry.parsed.is_operation]
    reference = references(measured)
    spans = [_span(client, measured, reference.get(client.number)) for client in clients]
    found = [span for span in spans if isinstance(span, _Span)]
    missing = tuple(span for span in spans if isinstance(span, MissingClient))
    if not found:
        reasons = "; ".join(f"client {entry.number}: {entry.reason}" for entry in missing) or "there is no client"
        raise MergeError(f"Nothing can be merged: {reasons}.")
    return found, missing


@dataclass(frozen=True, slots=True)
class _Range:
    """What is taken of one client: the intervals whose middle lies in [from_s, to_s)."""

    from_s: float
    to_s: float
    intervals: int
    covered_s: float


def _span(client: ClientOutput, measured: Sequence[Intervals], reference: Intervals | None) -> _Span | MissingClient:
    """The client's own start and end; a client without an operation in its logs is missing, with the reason."""
    if reference is None:
        return MissingClient(client.number, "it left no log of any operation")
    ended_s = max(
        (_last_tick(entry, client.number, reference) for entry in measured if entry.parsed.kind == "service"),
        default=-np.inf,
    )
    if not np.isfinite(ended_s):
        return MissingClient(client.number, "its logs do not count a single operation")
    return _Span(client, reference.start_s, reference.end_s, float(reference.start_s.min()), ended_s)


def _last_tick(entry: Intervals, number: int, reference: Intervals) -> float:
    """When the client's last interval with any of these operations ended, on the clock of its reference.

    The borders of the last intervals lie tens of milliseconds apart while a client stops, and the one with the latest
    border must not pull an idle interval of the reference into the window. -inf without any operation.
    """
    middles = entry.midpoint_s[(entry.client == number) & (entry.totals > 0)]
    if not middles.size:
        return -np.inf
    at = int(np.searchsorted(reference.start_s, middles.max(), side="right")) - 1
    return float(reference.end_s[max(at, 0)])


def _window(spans: Sequence[_Span], warmup_s: float, measure_s: float | None) -> Window:
    latest = max(spans, key=lambda span: span.started_s)
    earliest = min(spans, key=lambda span: span.ended_s)
    from_s, to_s = latest.started_s + warmup_s, earliest.ended_s
    if measure_s is not None:
        to_s = min(to_s, from_s + measure_s)
    if to_s <= from_s:
        raise MergeError(
            f"The clients have no common window: client {latest.client.number} began last, and {warmup_s:g} s of "
            f"warm-up later client {earliest.client.number} had already ended ({from_s - to_s:.1f} s before)."
        )
    return Window(from_s, to_s)


def _whole(spans: Sequence[_Span]) -> Window:
    return Window(min(span.started_s for span in spans), max(span.ended_s for span in spans))


def _range(span: _Span, window: Window, phase: Phase) -> _Range:
    if phase == "load":
        # Everything counts, so nothing is left out at the edges; the idle end of the log is no part of the length.
        covered_s = max(round(span.ended_s - span.started_s, 6), SHORTEST_S)
        return _Range(-np.inf, np.inf, span.start_s.size, covered_s)
    middle = (span.start_s + span.end_s) / 2
    inside = (middle >= window.from_s) & (middle < window.to_s)
    if not inside.any():
        raise MergeError(
            f"Client {span.client.number} has no interval in the window of {window.length_s:.1f} s: its intervals are "
            f"{float(np.median(span.end_s - span.start_s)):.1f} s long. Use a longer window or status.interval=1."
        )
    from_s, to_s = float(span.start_s[inside].min()), float(span.end_s[inside].max())
    return _Range(from_s, to_s, int(inside.sum()), max(round(to_s - from_s, 6), SHORTEST_S))


def _inside(entry: Intervals, ranges: Mapping[int, _Range]) -> npt.NDArray[np.bool_]:
    """Which intervals of one measurement lie in their own client's range."""
    middle = entry.midpoint_s
    inside = np.zeros(len(entry), dtype=np.bool_)
    for number, part in ranges.items():
        inside |= (entry.client == number) & (middle >= part.from_s) & (middle < part.to_s)
    return inside


def _client(span: _Span, part: _Range, whole: Sequence[Intervals], kept: Mapping[str, Intervals]) -> MergedClient:
    client, summary = span.client, span.client.summary
    number = client.number
    counts = {name: int(entry.totals[entry.client == number].sum()) for name, entry in kept.items()}
    log_counts = {
        entry.name: int(entry.totals[entry.client == number].sum()) for entry in whole if (entry.client == number).any()
    }
    operations = _operations_in(kept.values(), counts)
    failed = sum(counts[name] for name, entry in kept.items() if _is_failure(entry))
    ok = max(operations - failed, 0)
    busy = sum(entry.select(entry.client == number).busy_us() for entry in kept.values() if _is_plain(entry))
    runtime_ms = summary.runtime_ms if summary else None
    cleanup = summary.operations.get("CLEANUP") if summary else None
    return MergedClient(
        number=number,
        started_s=span.started_s,
        ended_s=span.ended_s,
        covered_s=part.covered_s,
        intervals=part.intervals,
        operations=operations,
        ok=ok,
        failed=failed,
        busy_us=busy,
        throughput_ops_s=ok / part.covered_s,
        run_operations=_operations_in(whole, log_counts),
        log_counts=log_counts,
        runtime_ms=runtime_ms,
        printed_throughput_ops_s=summary.throughput_ops_s if summary else None,
        printed_counts=summary.counts if summary else None,
        init_s=None if runtime_ms is None else max(runtime_ms / 1000 - (span.ended_s - span.started_s), 0.0),
        cleanup_s=None if cleanup is None or cleanup.max_us is None else cleanup.max_us / 1e6,
        truncated=any(log.truncated for log in client.logs),
        threads=client.threads,
    )


def _is_plain(entry: Intervals) -> bool:
    """Whether these are service times of operations that are not made of others."""
    return entry.parsed.kind == "service" and entry.parsed.is_operation and not entry.parsed.is_composite


def _is_failure(entry: Intervals) -> bool:
    return _is_plain(entry) and entry.parsed.status != ""


def _operations_in(entries: Iterable[Intervals], counts: Mapping[str, int]) -> int:
    """Operations of the workload, failed ones included: a read-modify-write is counted once, not three times."""
    total = 0
    for entry in entries:
        if entry.parsed.kind == "service" and entry.parsed.is_operation:
            total += -counts.get(entry.name, 0) if entry.parsed.is_composite else counts.get(entry.name, 0)
    return max(total, 0)


def _operations(kept: Iterable[Intervals], clients: Sequence[ClientOutput]) -> tuple[MergedOperation, ...]:
    parts: dict[tuple[str, LatencyKind], list[Intervals]] = {}
    for entry in kept:
        if entry.parsed.is_operation:
            parts.setdefault((entry.parsed.operation, entry.parsed.kind), []).append(entry)
    return tuple(
        _operation(name, kind, entries, clients)
        # Service before response times.
        for (name, kind), entries in sorted(parts.items(), key=lambda item: (item[0][0], item[0][1] != "service"))
    )


def _operation(
    name: str, kind: LatencyKind, entries: Sequence[Intervals], clients: Sequence[ClientOutput]
) -> MergedOperation:
    histograms = {entry.parsed.status: entry.histogram() for entry in entries}
    returns: dict[str, int] = {}
    for client in clients if kind == "service" else ():
        printed = client.summary.operations.get(name) if client.summary else None
        for code, count in (printed.returns if printed else {}).items():
            returns[code] = returns.get(code, 0) + count
    failures = {status: histogram for status, histogram in histograms.items() if status}
    return MergedOperation(
        operation=name,
        kind=kind,
        histogram=histograms.get("", Histogram()),
        failed_histogram=Histogram.merged(failures.values()),
        failures={status: histogram.count for status, histogram in sorted(failures.items()) if histogram.count},
        returns=returns,
        is_composite=entries[0].parsed.is_composite,
    )


def _printed_sum(clients: Sequence[MergedClient]) -> float | None:
    printed = [client.printed_throughput_ops_s for client in clients]
    return sum(value for value in printed if value is not None) if None not in printed else None


def _wall(clients: Sequence[MergedClient]) -> float:
    wall = max(client.ended_s for client in clients) - min(client.started_s for client in clients)
    return sum(client.run_operations for client in clients) / max(wall, SHORTEST_S)


def _overlap(spans: Sequence[_Span]) -> float:
    whole = _whole(spans).length_s
    common = min(span.ended_s for span in spans) - max(span.started_s for span in spans)
    return max(common, 0.0) / max(whole, SHORTEST_S) if whole > SHORTEST_S else 1.0


def _largest_share(clients: Sequence[MergedClient], what: Literal["init_s", "cleanup_s"]) -> float | None:
    shares = [
        (client.init_s if what == "init_s" else client.cleanup_s or 0.0, client.runtime_ms)
        for client in clients
        if client.runtime_ms
    ]
    return max(
        (seconds / (runtime / 1000) for seconds, runtime in shares if seconds is not None and runtime), default=None
    )


def _longest(kept: Iterable[Intervals], clients: Sequence[MergedClient]) -> float:
    threads = [client.threads for client in clients]
    if None in threads:
        return 0.0
    everything = Histogram.merged(entry.histogram() for entry in kept if _is_plain(entry))
    return everything.longest_total_us(sum(number for number in threads if number is not None))

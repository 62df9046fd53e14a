"""What status lines tell: when a client worked, how far it had come, and what it had counted when it was killed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from runs.ycsb.histogram import Floats
from runs.ycsb.merged import Window
from runs.ycsb.operation import ReadOperation
from runs.ycsb.stated import SummaryClient
from runs.ycsb.status import StatusLine, StatusOperation

# The printed times have three decimals: nothing is shorter.
_SHORTEST_S: Final = 0.001


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """Operations done so far, failed ones included, at the end of every status interval.

    Times are on the reference clock where the lines carry a date (`is_dated`), else they count from the client's start.
    """

    number: int
    is_dated: bool
    started_s: float
    ended_s: float  # when its last operation was counted
    at_s: Floats
    done: Floats

    def done_in(self, window: Window) -> float:
        """Operations in the window, the status intervals at its borders taken as even."""
        times = np.concatenate([[self.started_s], self.at_s])
        done = np.concatenate([[0.0], self.done])
        until, before = np.interp([window.to_s, window.from_s], times, done)
        return float(until - before)


def progress_of(client: SummaryClient) -> Progress | None:
    """None without status lines, or when they never count an operation."""
    lines = client.run.status
    if not lines or lines[-1].operations_done <= 0:
        return None
    at_s = times_of(lines, client.clock_offset_s)
    is_dated = lines[0].at_s is not None
    # The lines cut their seconds off, but the first one is written as the clock starts to run.
    started_s = at_s[0] - max(lines[0].elapsed_s, 0) if is_dated else 0.0
    done = np.maximum.accumulate(np.array([line.operations_done for line in lines], dtype=np.float64))
    return Progress(
        number=client.number,
        is_dated=is_dated,
        started_s=float(started_s),
        ended_s=float(at_s[np.searchsorted(done, done[-1])]),
        at_s=at_s,
        done=done,
    )


def times_of(lines: Sequence[StatusLine], clock_offset_s: float) -> Floats:
    """When each line was written, ascending even where the client's clock was set back."""
    if all(line.at_s is not None for line in lines):
        times = [line.at_s + clock_offset_s for line in lines if line.at_s is not None]
    else:
        times = [float(max(line.elapsed_s, 0)) for line in lines]
    steps = np.arange(len(times)) * _SHORTEST_S
    ascending: Floats = np.maximum.accumulate(np.array(times, dtype=np.float64) - steps) + steps
    return ascending


def common_window(clients: Sequence[Progress]) -> Window | None:
    """From the last start to the first end; None where nothing tells the time, or there is no such time."""
    if not clients or not all(client.is_dated for client in clients):
        return None
    window = Window(max(client.started_s for client in clients), min(client.ended_s for client in clients))
    return window if window.length_s > _SHORTEST_S else None


def whole_window(clients: Sequence[Progress]) -> Window | None:
    """From the first start to the last end."""
    if not clients or not all(client.is_dated for client in clients):
        return None
    return Window(min(client.started_s for client in clients), max(client.ended_s for client in clients))


def counted_so_far(lines: Sequence[StatusLine]) -> dict[str, ReadOperation]:
    """The operations of a client that left no summary, by the status lines it did leave. They have no percentiles."""
    parts: dict[str, list[StatusOperation]] = {}
    for line in lines:
        for name, operation in line.operations.items():
            if operation.count:
                parts.setdefault(name, []).append(operation)
    return {name: _added(operations) for name, operations in parts.items()}


def _added(operations: Sequence[StatusOperation]) -> ReadOperation:
    counts = [operation.count or 0 for operation in operations]
    means = [operation.avg for operation in operations]
    least = [operation.min for operation in operations]
    most = [operation.max for operation in operations]
    return ReadOperation(
        count=sum(counts),
        mean_us=weighted_mean(means, counts),
        min_us=None if None in least else min(value for value in least if value is not None),
        max_us=None if None in most else max(value for value in most if value is not None),
    )


def weighted_mean(means: Sequence[float | None], counts: Sequence[int | None]) -> float | None:
    """The mean of all values, from those of their parts; None where a part does not state its own."""
    known = [(mean, count) for mean, count in zip(means, counts, strict=True) if mean is not None and count is not None]
    total = sum(count for _, count in known)
    if len(known) < len(means) or not total:
        return means[0] if len(means) == 1 else None
    return sum(mean * count for mean, count in known) / total


def bookkeeping_s(operations: Mapping[str, ReadOperation], name: str = "CLEANUP") -> float | None:
    """How long the longest clean-up of a thread took."""
    operation = operations.get(name) or operations.get(f"Hdr{name}") or operations.get(f"Bucket{name}")
    return None if operation is None or operation.max_us is None else operation.max_us / 1e6

"""What status lines tell: when a client worked, how far it had come, and what it had counted when it was killed.

A client of half a day leaves tens of thousands of lines, so they are looked at as columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np

from runs.ycsb.clock_steps import ClockStep, find_steps
from runs.ycsb.histogram import Floats
from runs.ycsb.merged import Window
from runs.ycsb.numbers import are_moments
from runs.ycsb.operation import ReadOperation
from runs.ycsb.readers.statuses import StatusTable
from runs.ycsb.status import StatusLine

# The printed times have three decimals: nothing is shorter.
_MIN_S: Final = 0.001
ZONE_STEP_S: Final = 900  # time zones differ by whole quarters of an hour
_MAX_DRIFT_S: Final = 2.0  # between dates and seconds that are cut off
FIELDS: Final = ("count", "avg", "min", "max", "p50", "p99")

Columns = Mapping[str, Floats]  # by field; NaN where a line does not state it


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """Operations done so far, failed ones included, at the end of every status interval.

    Times are on the reference clock where the lines carry dates that can be (`is_dated`), else they count from the
    client's start.
    """

    is_dated: bool
    started_s: float
    ended_s: float  # when its last operation was counted
    at_s: Floats
    done: Floats
    lines: StatusTable
    zone_change_s: float = 0.0  # by how much its dates jumped; `at_s` is without it
    clock_steps: tuple[ClockStep, ...] = ()  # in seconds since its start; `at_s` is without them

    def operations(self) -> dict[str, Columns]:
        """The columns of each measurement name."""
        columns: dict[str, Columns] = {}
        for name in self.lines.names:
            columns[name] = {field: self.lines.column(name, field) for field in FIELDS}
        return columns

    @property
    def interval_s(self) -> float | None:
        """How far apart the lines are, but for the last one, which comes when the client ends."""
        if self.at_s.size > 1:
            return float(np.median(np.diff(self.at_s)))
        return None

    def done_in(self, window: Window) -> float:
        """Operations in the window, the status intervals at its borders taken as even."""
        times = np.concatenate([[self.started_s], self.at_s])
        done = np.concatenate([[0.0], self.done])
        until, before = np.interp([window.to_s, window.from_s], times, done)
        return float(until - before)


def get_progress(status: Sequence[StatusLine], clock_offset_s: float = 0.0) -> Progress | None:
    """Of one client's status lines, whose clock is behind the reference clock by the offset.

    None without lines, or when they never count an operation.
    """
    lines = StatusTable.of(status)
    if not lines or lines[-1].operations_done <= 0:
        return None
    if (np.diff(lines.operations_done) < 0).any():
        # A client counts upwards: something put its lines out of order, and its clock was not set.
        lines = StatusTable.of(sorted(lines, key=attrgetter("operations_done")))

    elapsed_s = lines.elapsed_s.astype(np.float64)
    done = lines.operations_done.astype(np.float64)
    zone_changes_s = _find_zone_changes(lines.at_s, elapsed_s)
    dates = lines.at_s - zone_changes_s + clock_offset_s
    first_s = max(float(elapsed_s[0]), 0.0)
    is_dated = are_moments(dates) and are_moments(dates[0] - first_s)
    times = dates if is_dated else elapsed_s
    steps_by_line = find_steps(times)
    for line, step in steps_by_line:
        times[line:] -= step.by_s

    # The times, ascending even where the client's clock was set back.
    steps = np.arange(times.size) * _MIN_S
    at_s: Floats = np.maximum.accumulate(times - steps) + steps
    done = np.maximum.accumulate(done)
    # The lines cut their seconds off, but the first one is written as the clock starts to run.
    started_s = 0.0
    if is_dated:
        started_s = float(at_s[0] - first_s)

    return Progress(
        is_dated=is_dated,
        started_s=started_s,
        ended_s=float(at_s[np.searchsorted(done, done[-1])]),
        at_s=at_s,
        done=done,
        lines=lines,
        zone_change_s=float(zone_changes_s[np.abs(zone_changes_s).argmax()]),
        clock_steps=tuple(ClockStep(step.at_s - started_s, step.by_s) for _, step in steps_by_line),
    )


def may_change_zone(lines: Sequence[StatusLine]) -> bool:
    """Whether the dates move against the seconds by as much as time zones do; cheaper than finding where."""
    table = StatusTable.of(lines)
    apart_s = table.at_s - table.elapsed_s
    range_s = np.nanmax(apart_s, initial=-np.inf) - np.nanmin(apart_s, initial=np.inf)
    return bool(range_s >= ZONE_STEP_S - _MAX_DRIFT_S)


def _find_zone_changes(dates: Floats, elapsed_s: Floats) -> Floats:
    """At each line by how much dates have jumped: daylight saving time moves them, and not the seconds beside them."""
    drift = np.diff(dates - elapsed_s, prepend=dates[0] - elapsed_s[0])
    jumps = np.round(np.nan_to_num(drift) / ZONE_STEP_S) * ZONE_STEP_S
    is_jump = np.abs(drift - jumps) <= _MAX_DRIFT_S
    return np.asarray(np.cumsum(np.where(is_jump, jumps, 0.0)))


def overlap_windows(clients: Sequence[Progress]) -> tuple[Window | None, Window | None]:
    """From the last start to the first end, and from the first start to the last end.

    None where nothing tells the time, or there is no such time.
    """
    if not clients or not all(client.is_dated for client in clients):
        return None, None
    starts = [client.started_s for client in clients]
    ends = [client.ended_s for client in clients]
    return _build_window(max(starts), min(ends)), _build_window(min(starts), max(ends))


def _build_window(from_s: float, to_s: float) -> Window | None:
    window = Window(from_s, to_s)
    return window if window.length_s > _MIN_S else None


def counted_so_far(progress: Progress) -> dict[str, ReadOperation]:
    """The operations of a client that left no summary, by the status lines it did leave. They have no percentiles."""
    operations: dict[str, ReadOperation] = {}
    for name, columns in progress.operations().items():
        counted = np.nan_to_num(columns["count"]) > 0
        if counted.any():
            operations[name] = _add_up({field: column[counted] for field, column in columns.items()})
    return operations


def _add_up(columns: Columns) -> ReadOperation:
    """A value that one of the intervals does not state makes that of all unknown."""
    count = columns["count"]
    total = float(count.sum())
    return ReadOperation(
        count=int(total),
        mean_us=_replace_nan(float(np.dot(count, columns["avg"])) / total),
        min_us=_replace_nan(float(columns["min"].min())),
        max_us=_replace_nan(float(columns["max"].max())),
    )


def _replace_nan(value: float) -> float | None:
    return None if np.isnan(value) else value


def weighted_mean(means: Sequence[float | None], counts: Sequence[int | None]) -> float | None:
    """The mean of all values, from those of their parts; None where a part does not state its own."""
    pairs = zip(means, counts, strict=True)
    stated = [(mean, count) for mean, count in pairs if mean is not None and count is not None]
    total = sum(count for _, count in stated)
    if len(stated) == len(means) and total:
        return sum(mean * count for mean, count in stated) / total
    # A part alone needs no weight.
    return means[0] if len(means) == 1 else None


def cleanup_s(operations: Mapping[str, ReadOperation]) -> float | None:
    """How long the longest clean-up of a thread took."""
    operation = operations.get("CLEANUP") or operations.get("HdrCLEANUP") or operations.get("BucketCLEANUP")
    if operation is None or operation.max_us is None:
        return None
    return operation.max_us / 1e6

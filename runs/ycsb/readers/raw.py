"""Files of raw points, as `measurementtype=raw` with `measurement.raw.output_file` writes them.

The file is opened to append to it, so a second run is found behind the first. Headlines, and whatever else stands
between the points, are lines of text as elsewhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

import numpy as np

from runs.ycsb.block import Block, Note
from runs.ycsb.encoded import Counts
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.histogram import Floats, Ints
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.readers.run_builder import detect_phase
from runs.ycsb.readers.text import TextReader

# Between the runs that were appended to one file; a database that stands still for longer ends a run too.
PAUSE_S: Final = 300.0
# Of one stretch of points; nobody appends so many, and times that leap make as many as there are points.
MAX_RUNS: Final = 100


class RawReader(TextReader):
    """Reads the blocks of one file."""

    def __init__(self) -> None:
        super().__init__("ycsb-raw")
        self._is_cut = False

    def feed(self, block: Block) -> None:
        super().feed(block)
        self._is_cut = block.unterminated

    def done(self) -> tuple[ReadRun, ...]:
        runs = list(chain.from_iterable(map(_runs, super().done())))
        if runs and self._is_cut:
            runs[-1] = replace(runs[-1], complete=False)
        return tuple(runs)


def _runs(run: ReadRun) -> Iterator[ReadRun]:
    """All points are written at once, when everything else is done: those of a run that is in the file are whole."""
    if run.operations or run.status:
        yield run
        return

    runs = []
    for logs in apart(run.logs):
        phase = run.phase if run.command else detect_phase(log.operation for log in logs)
        runs.append(replace(run, logs=logs, complete=True, phase=phase))

    if len(runs) == MAX_RUNS and _pauses(runs[-1].logs)[1].size:
        text = (
            f"There are more than {MAX_RUNS} runs with pauses between them in this file: the last of them has all the "
            "rest. Look whether the times are right, and cut the file if they are."
        )
        runs[-1] = replace(runs[-1], warnings=(*runs[-1].warnings, Note(text)))

    yield from runs


def apart(logs: Sequence[IntervalLog]) -> tuple[tuple[IntervalLog, ...], ...]:
    """The logs of each run, where pauses in which no operation of any kind ended lie between them.

    Of more runs than are told apart the last one has all that follow.
    """
    if not logs:
        return ()
    busy, breaks = _pauses(logs)
    breaks = breaks[: MAX_RUNS - 1]
    firsts, lasts = busy[np.append(0, breaks + 1)], busy[np.append(breaks, busy.size - 1)]
    parts = [_parts(log, firsts, lasts) for log in logs]
    runs = []
    for run in zip(*parts, strict=True):
        runs.append(tuple(part for part in run if part.count.size))
    return tuple(runs)


def _pauses(logs: Sequence[IntervalLog]) -> tuple[Floats, Ints]:
    """When intervals with operations began, and after which of them a pause follows."""
    busy = np.unique(np.concatenate([log.start_time_s + log.start_s[log.counts.sizes > 0] for log in logs]))
    return busy, np.flatnonzero(np.diff(busy) > PAUSE_S)


def _parts(log: IntervalLog, firsts: Floats, lasts: Floats) -> list[IntervalLog]:
    """For every run the intervals that began from its first instant to its last."""
    starts = log.start_time_s + log.start_s
    begins, ends = np.searchsorted(starts, firsts), np.searchsorted(starts, lasts, side="right")
    if firsts.size == 1 and begins[0] == 0 and ends[0] == len(log):
        return [log]
    return [_between(log, starts, begin, end) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]


def _between(log: IntervalLog, starts: Floats, begin: int, end: int) -> IntervalLog:
    """Some neighbouring intervals, which are the same for every operation."""
    offsets = log.offsets
    inside = slice(int(offsets[begin]), int(offsets[end]))
    return replace(
        log,
        start_time_s=float(starts[begin]),
        start_s=starts[begin:end] - starts[begin],
        length_s=log.length_s[begin:end],
        max_us=log.max_us[begin:end],
        counts=Counts(log.counts.sizes[begin:end], log.index[inside], log.count[inside]),
    )

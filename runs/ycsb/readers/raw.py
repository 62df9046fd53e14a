"""Files of raw points, as `measurementtype=raw` with `measurement.raw.output_file` writes them.

The file is opened to append to it, so a second run is found behind the first. Headlines, and whatever else stands
between the points, are lines of text as elsewhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from runs.ycsb.block import Block
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.operation import OtherLine
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.readers.text import TextReader

# Between the runs that were appended to one file; a database that stands still for longer ends a run too.
PAUSE_S: Final = 300.0


class RawReader:
    """Reads the blocks of one file."""

    def __init__(self) -> None:
        self._text = TextReader("ycsb-raw")
        self._is_cut = False

    @property
    def closest(self) -> tuple[OtherLine, ...]:
        """The lines that looked most like a result."""
        return self._text.closest

    def feed(self, block: Block) -> None:
        self._text.feed(block)
        self._is_cut = block.unterminated

    def done(self) -> tuple[ReadRun, ...]:
        runs = [part for run in self._text.done() for part in _runs(run)]
        if runs and self._is_cut:
            runs[-1] = replace(runs[-1], complete=False)
        return tuple(runs)


def _runs(run: ReadRun) -> Iterator[ReadRun]:
    """All points are written at once, when everything else is done: those of a run that is in the file are whole."""
    if run.operations or run.status:
        yield run
        return
    for logs in apart(run.logs):
        yield replace(run, logs=logs, complete=True)


def apart(logs: Sequence[IntervalLog]) -> tuple[tuple[IntervalLog, ...], ...]:
    """The logs of each run, where pauses in which no operation of any kind ended lie between them."""
    if not logs:
        return ()
    busy = np.unique(np.concatenate([log.start_time_s + log.start_s[np.diff(log.offsets) > 0] for log in logs]))
    breaks = np.flatnonzero(np.diff(busy) > PAUSE_S)
    firsts, lasts = busy[np.append(0, breaks + 1)], busy[np.append(breaks, busy.size - 1)]
    return tuple(
        tuple(part for log in logs if (part := _between(log, first, last)).count.size)
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)
    )


def _between(log: IntervalLog, first_s: float, last_s: float) -> IntervalLog:
    """The intervals that began from one instant to another."""
    starts = log.start_time_s + log.start_s
    begin, end = np.searchsorted(starts, first_s), np.searchsorted(starts, last_s, side="right")
    if begin == 0 and end == len(log):
        return log
    counts = slice(int(log.offsets[begin]), int(log.offsets[end]))
    return replace(
        log,
        start_time_s=first_s,
        start_s=starts[begin:end] - first_s,
        length_s=log.length_s[begin:end],
        max_us=log.max_us[begin:end],
        offsets=log.offsets[begin : end + 1] - log.offsets[begin],
        index=log.index[counts],
        count=log.count[counts],
    )

"""Which lines are of one run, where a file has several: one after the other, or load and run, or killed ones between.

Versions differ in what comes first, and streams that were put together differ once more. So a new run begins wherever
a line cannot belong to the run before it.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from runs.ycsb.errors import UnreadableFile
from runs.ycsb.operation import OVERALL
from runs.ycsb.readers.points import Points
from runs.ycsb.readers.results import Format, ReadRun
from runs.ycsb.readers.run_builder import RUNTIME, RunDraft
from runs.ycsb.readers.statuses import StatusReader, StatusTable, strip_digits
from runs.ycsb.stated_failures import read_sentence

MAX_RUNS: Final = 1_000
_AT_ONCE: Final = 4_000  # status lines
_REMEMBERED: Final = 4  # status lines among which one is looked for that was printed on both streams
_MIN_TWICE: Final = 3  # status lines of one second: so many are of several clients
_MIN_CUMULATIVE: Final = 3  # blocks: two may be two runs of which the second was longer
_SAME: Final = 0.01  # how far the last status may be from the summary of the same run


PendingStatus = tuple[bytes, bytes, int]  # a status line, the line without its digits, its number


class Segments:
    """The runs of one writer, in the order of its lines."""

    def __init__(self, source: str, reader: StatusReader) -> None:
        self.source = source
        self._reader = reader
        self._ended: list[RunDraft] = []
        self._run = RunDraft()
        self._pending: list[PendingStatus] = []
        self._recent: tuple[bytes, ...] = ()  # the last status lines that were read
        self._previous: tuple[str, str, str] | None = None  # the last line of a summary

    # --- lines ---------------------------------------------------------------------------------------------------

    def status(self, line: bytes, shape: bytes, number: int) -> None:
        """A status line. `shape` is the line without its digits."""
        self._pending.append((line, shape, number))
        if len(self._pending) >= _AT_ONCE:
            # The last one may go on in the next line.
            last = self._pending.pop()
            self.settle()
            self._pending.append(last)

    def continued(self, line: bytes) -> bool:
        """The next line of a status; False where there is none to go on."""
        if not self._pending:
            return False
        first, shape, number = self._pending[-1]
        self._pending[-1] = first + b"\n" + line, shape + b"\n" + strip_digits(line), number
        return True

    def measurement(self, metric: str, key: str, value: str, number: int) -> None:
        """One line of a summary."""
        self.settle()
        is_again = self._previous == (metric, key, value)
        self._previous = metric, key, value
        if is_again and (self._run.is_doubled or key in (RUNTIME, "Operations")):
            self._run.is_doubled = True
            return

        if metric == "OVERALL" and key == RUNTIME:
            # YCSB begins a summary with its run time; the Thumbtack lineage ends it so.
            if RUNTIME in self._run.overall:
                self._next(number)
            elif self._run.has_measurements:
                if self._run.is_thumbtack:
                    self._run.has_overall_last = True
                else:
                    self._next(number)
        elif (metric != "OVERALL" and self._run.has_overall_last) or (
            len(self._ended) < MAX_RUNS and self._run.states_otherwise(metric, key, value)
        ):
            self._next(number)

        self._run.take_measurement(metric, key, value, number)

    def row(self, metric: str, key: int, value: float, *, is_double: bool, rate: float | None, number: int) -> bool:
        """A row of buckets or of a series, where nothing but to keep it is to be done; else False."""
        if self._pending or self._run.is_doubled or self._run.has_overall_last or metric not in self._run.metrics:
            return False
        self._run.metrics[metric].rows.add(key, value, is_double=is_double, rate=rate)
        self._run.last_line = number
        self._previous = None
        return True

    def overflows(self, number: int) -> None:
        """There is more than one file may state."""
        self.settle()
        self._run.is_cut = True
        self._run.note("There are too many results in this file; those from here on were not read.", number)

    def rows_overflow(self, number: int) -> None:
        """There are more rows of printed series or buckets than one file may have."""
        self.settle()
        self._run.note("There are too many rows of a series in this file; those from here on were not kept.", number)

    def cut(self, metric: str, key: str, value: str, number: int) -> None:
        """The last line of the file, of whose value digits may be missing.

        A return code's count is kept where it makes up the number of operations, for then it is whole.
        """
        self.measurement(metric, key, value, number)
        if not (key.startswith("Return=") and self._run.returns_add_up(metric)):
            self._run.take_back(metric, key)
            self._run.is_cut = True
            self._run.note(
                f"The file ends in the middle of a line, so this value was left out: [{metric}], {key}", number
            )

    def command_line(self, arguments: str, number: int) -> None:
        self._begin(self._run.preamble.arguments is not None, number)
        self._run.preamble.take_command_line(arguments)

    def banner(self, version: str, number: int) -> None:
        self._begin(self._run.preamble.banner is not None, number)
        self._run.preamble.banner = version

    def echo(self, line: str, number: int) -> None:
        """A launcher's command comes first, or where Python kept it back at the very end of a run's output."""
        self.settle()
        if not (self._run.has_results and self._run.preamble.fits(line)):
            self._begin(self._run.preamble.echo is not None, number)
        self._run.preamble.take_echo(line)
        self._run.last_line = number

    @property
    def points(self) -> Points:
        """The raw points of the run at hand."""
        return self._run.points

    def begin_points(self, number: int) -> None:
        """They come before the summary of their run."""
        self.settle()
        if self._run.has_summary:
            self._next(number)

    def sentence(self, line: str) -> None:
        self._run.preamble.take_sentence(line)

    def symptom(self, line: str) -> None:
        self._run.symptoms.take(line)
        if total := read_sentence(line):
            self._run.process.setdefault(f"{OVERALL} {total[0]}", total[1])

    def broke_off(self) -> None:
        """The last line of the file is the beginning of one."""
        self.settle()
        self._run.is_cut |= self._run.has_summary

    def knows(self, metric: str) -> bool:
        """Whether something was measured under this name in the run at hand."""
        return metric == "OVERALL" or metric in self._run.metrics

    @property
    def has_results(self) -> bool:
        return bool(self._pending) or any(run.has_results for run in (*self._ended, self._run))

    def take_preface(self, other: "Segments") -> None:
        """What another writer says of itself that left no result: its lines are those of the first run here."""
        first = self._ended[0] if self._ended else self._run
        if other is not self and not first.preamble:
            first.preamble.adopt(other._run.preamble)
            first.symptoms.adopt(other._run.symptoms)
            other._run = RunDraft(other._run.last_line)

    # --- where a run begins --------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Read the status lines that are waiting, and share them out over the runs."""
        if not self._pending:
            return

        lines, shapes, numbers = zip(*self._pending, strict=True)
        self._pending = []
        statuses = self._reader.read(lines, shapes)
        repeated = _repeated(statuses, lines, self._recent)
        self._recent = lines[-_REMEMBERED:]
        if repeated:
            positions = [at for at in range(len(lines)) if at not in repeated]
            statuses, numbers = statuses.select(positions), tuple(numbers[at] for at in positions)

        # The count of operations only ever goes up; a line that is older than the one before it came late.
        is_start = (np.diff(statuses.operations_done) < 0) & ~(np.diff(statuses.at_s) < 0)
        if at := _written_at_once(statuses, is_start):
            raise UnreadableFile(
                f"Several clients wrote into this file at once: line {numbers[at]} goes on from none of the lines"
                f" before it ({int(statuses.operations_done[at]):,} operations after {int(statuses.elapsed_s[at])} s)."
                " Upload each client's output as a file of its own, or with the client's name in front of each line."
            )

        edges = [0, *(np.flatnonzero(is_start) + 1).tolist(), len(statuses)]
        for start, end in pairwise(edges if len(statuses) else []):
            self._take_statuses(statuses.select(slice(start, end)), numbers[start], numbers[end - 1])

    def _take_statuses(self, statuses: StatusTable, first_line: int, last_line: int) -> None:
        elapsed_s, operations, written_s = self._run.last_status
        is_later = int(statuses.operations_done[0]) >= operations or float(statuses.at_s[0]) < written_s
        goes_on = is_later and (
            not self._run.has_summary or (self._run.has_statuses and int(statuses.elapsed_s[0]) >= elapsed_s)
        )
        if not goes_on:
            self._next(first_line)
        self._run.take_statuses(statuses, last_line)

    def _begin(self, is_known: bool, number: int) -> None:
        """Begin a run at a line that a client prints once."""
        self.settle()
        if is_known or self._run.has_results:
            self._next(number)
        self._run.last_line = number

    def _next(self, number: int) -> None:
        if len(self._ended) < MAX_RUNS:
            self._ended.append(self._run)
        self._run = RunDraft(number)

    # --- the result ----------------------------------------------------------------------------------------------

    def done(self, run_format: Format) -> list[ReadRun]:
        """The runs; of a writer without any result, what it says of itself, which another file's results may be of."""
        self.settle()
        self._next(self._run.last_line)
        drafts: list[RunDraft] = []
        for run in self._ended:
            earlier = None
            if drafts:
                earlier = drafts[-1]
            if earlier is not None and run.has_same_statuses(earlier):
                continue
            if earlier is not None and _is_same_run(earlier, run):
                earlier.has_overall_last |= not earlier.overall and bool(run.overall)
                earlier.adopt(run)
            elif run.has_results:
                drafts.append(run)

        if not drafts:
            drafts = [run for run in self._ended if run.preamble or run.symptoms.most_telling()][-1:]
        drafts = _without_cumulative(drafts)
        return _without_repeated([run.done(run_format, self.source) for run in drafts])


def _written_at_once(statuses: StatusTable, is_start: np.ndarray) -> int:
    """The first status line that goes on from none before it, where several clients wrote them; 0 where one did.

    A client that starts anew starts after the last line of the one before, and counts its seconds from 0.
    """
    later = np.flatnonzero(is_start) + 1
    overlaps = statuses.at_s[later] - statuses.elapsed_s[later] < statuses.at_s[later - 1] - 1
    if overlaps.any():
        return int(later[overlaps][0])

    goes_on = np.isnan(statuses.at_s[later]) & (
        statuses.elapsed_s[later] >= np.maximum(statuses.elapsed_s[later - 1], 1)
    )
    twice = np.flatnonzero((np.diff(statuses.elapsed_s) == 0) & (np.diff(statuses.operations_done) > 0)) + 1
    if goes_on.sum() > 1:
        return int(later[goes_on][0])
    # With intervals of a second or more only the last second can have two lines.
    if twice.size >= max(_MIN_TWICE, len(statuses) // 3):
        return int(twice[0])

    return 0


def _repeated(statuses: StatusTable, lines: Sequence[bytes], before: Sequence[bytes]) -> set[int]:
    """The status lines that stand there a second time, because they were printed on both streams."""
    positions = {at for at, line in enumerate(lines[:_REMEMBERED]) if line in before[at:]}
    for distance in range(1, min(_REMEMBERED + 1, len(lines))):
        alike = statuses.operations_done[distance:] == statuses.operations_done[:-distance]
        alike &= statuses.elapsed_s[distance:] == statuses.elapsed_s[:-distance]
        positions.update(at + distance for at in np.flatnonzero(alike).tolist() if lines[at] == lines[at + distance])
    return positions


def _is_same_run(earlier: RunDraft, later: RunDraft) -> bool:
    """Whether two parts that came one after the other are of one run after all."""
    if not later.has_results:  # a launcher's command that was kept back to the end
        return (
            bool(later.preamble)
            and not earlier.preamble.echo
            and later.preamble.arguments is None
            and later.preamble.banner is None
        )
    if earlier.has_measurements and not earlier.overall and later.overall and not later.has_measurements:
        return not later.has_statuses and not later.preamble  # the totals were printed last
    if not (earlier.overall and later.has_statuses) or earlier.has_statuses or later.has_summary:
        return False

    # Standard error, with the status lines, was put behind standard output.
    runtime_ms, throughput = earlier.runtime_ms, earlier.throughput_ops_s
    if runtime_ms is None or throughput is None:
        return False

    expected = runtime_ms * throughput / 1000
    return abs(later.last_status[1] - expected) <= _SAME * abs(expected)


def _without_cumulative(drafts: list[RunDraft]) -> list[RunDraft]:
    """Some programs state a run at regular times, from its start on: the last of three such blocks or more counts."""
    distinct: list[RunDraft] = []
    start = 0
    while start < len(drafts):
        end = start + 1
        while end < len(drafts) and drafts[end].continues(drafts[end - 1], drafts[start]):
            end += 1
        if end - start >= _MIN_CUMULATIVE:
            drafts[end - 1].first_line = drafts[start].first_line
            drafts[end - 1].preamble.adopt(drafts[start].preamble)
            drafts[end - 1].note(f"The file states this run {end - start} times while it went on: the last one counts.")
            distinct.append(drafts[end - 1])
        else:
            distinct += drafts[start:end]
        start = end

    return distinct


def _without_repeated(runs: list[ReadRun]) -> list[ReadRun]:
    """Two runs never agree in every digit: the second is a copy."""
    distinct: dict[tuple[object, ...], ReadRun] = {}
    for position, run in enumerate(runs):
        is_telling = bool(run.operations) and bool(run.throughput_ops_s) and run.complete
        key = (run.runtime_ms, run.throughput_ops_s, repr(run.operations)) if is_telling else (position,)
        distinct.setdefault(key, run)
    return list(distinct.values())

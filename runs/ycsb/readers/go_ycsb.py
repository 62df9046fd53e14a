"""go-ycsb's output: its properties, the reports that count from the start, the final one, and raw points.

Every style of report stands in the same frame, so one reader takes them all. Only the report behind `Run finished` is
the result; those before it show how far the client had come.
"""

import re
from collections.abc import Sequence
from typing import Final

from runs.ycsb.block import Block, Note
from runs.ycsb.readers.go_report_lines import (
    BlockLines,
    ReportLine,
    cells,
    is_heading,
    json_lines,
    plain_line,
    row_line,
)
from runs.ycsb.readers.go_run_builder import GoDraft
from runs.ycsb.readers.results import Format, ReadRun
from runs.ycsb.readers.unparsed_lines import keep_first

_POINTS: Final = "operation,timestamp_us,latency_us"
_POINTS_BEGIN: Final = re.compile(rb"^operation,timestamp_us,latency_us\n", re.MULTILINE)
_NEXT_RUN: Final = re.compile(rb"\n(?=Using request distribution|\*{9,} properties)")
_PROPERTIES: Final = re.compile(r"\*{9,} properties \*{9,}")
_PROPERTY: Final = re.compile(r"\"([^\"]{1,200})\"=\"(.*)\"")
_FINISHED: Final = re.compile(r"(Run|Load) finished, takes (\S{1,40})")
_COMMAND: Final = re.compile(r"\bgo-ycsb(?:\.exe)? (?:load|run) ")
_COUNT: Final = b"Count: "
_MAX_COMMAND: Final = 20_000  # characters
_USING: Final = "Using request distribution"
_SIGNAL: Final = "Got signal ["
# Of every line that tells anything one of these is a part; the others are chatter and only counted.
_TELLING: Final = re.compile(
    rb'[Cc]ount"?: ?"?\d|^\s*[|\xe2]|^\s*"|finished, takes|properties \*|Using request d|Got signal|go-ycsb'
    rb"|timestamp_us|^\s*[A-Z][A-Z0-9_]*:$|^\s*\w[\w. ]*(?:\(\w+\))? *: *\d"
)


class GoYcsbReader:
    """Reads the blocks of one file."""

    def __init__(self) -> None:
        self._runs: list[ReadRun] = []
        self._draft = GoDraft(1)
        self._heading: Sequence[str] = ()
        self._block = BlockLines()
        self._in_points = False
        self._last_line = 0

    @property
    def closest(self) -> tuple[Note, ...]:
        """The lines that looked most like a result."""
        return tuple(self._draft.unparsed)

    def feed(self, block: Block) -> None:
        data, line = block.data, block.first_line
        while data:
            if self._in_points:
                take, mark = self._feed_points, _NEXT_RUN.search(data)
            else:
                take, mark = self._feed_lines, _POINTS_BEGIN.search(data)
            end = mark.end() if mark else len(data)
            part, data = data[:end], data[end:]
            take(part, line, unterminated=block.unterminated and not data)
            line += part.count(b"\n")
            if mark:
                self._in_points = not self._in_points
        self._last_line = line - 1

    def done(self) -> tuple[ReadRun, ...]:
        self._end_block(self._last_line)
        self._close(self._last_line)
        return tuple(self._runs)

    def _close(self, last_line: int) -> None:
        if self._draft.says_something:
            self._runs.append(self._draft.done(last_line))

    def _begin(self, number: int) -> None:
        """Another run begins, unless nothing of the one at hand was seen yet."""
        if self._draft.has_begun:
            self._close(number - 1)
            self._draft = GoDraft(number)

    def _feed_points(self, data: bytes, first_line: int, *, unterminated: bool) -> None:
        """Rows of points, and whatever stands between them. Of the last row of a file digits may be missing."""
        if unterminated:
            self._draft.is_cut = True
            data = data[: data.rstrip(b"\n").rfind(b"\n") + 1]
        for other in self._draft.points.feed(data):
            self._feed_lines(other.text + b"\n", first_line + other.number, unterminated=False)

    # --- lines ---

    def _feed_lines(self, data: bytes, first_line: int, *, unterminated: bool) -> None:
        lines = data.split(b"\n")[:-1]
        last = first_line + len(lines) - 1
        for number, line in enumerate(lines, first_line):
            may_be_cut = unterminated and number == last
            report_line = None
            if _COUNT in line and not may_be_cut:
                report_line = plain_line(line.decode(errors="replace"))
            if report_line is not None:
                self._end_block(number)
                self._add("go-ycsb", report_line, number)
            elif _TELLING.search(line):
                self._take(line.decode(errors="replace").strip(), number, may_be_cut=may_be_cut)
            elif line:
                self._end_block(number)
                keep_first(self._draft.unparsed, line, number)

    def _take(self, text: str, number: int, *, may_be_cut: bool) -> None:
        self._draft.is_cut |= may_be_cut
        is_taken = self._block.take(text)
        if not is_taken:
            self._end_block(number)
            is_taken = (
                self._block.take(text)
                or self._take_frame(text, number, may_be_cut=may_be_cut)
                or self._take_report(text, number, may_be_cut=may_be_cut)
            )
        if not is_taken:
            keep_first(self._draft.unparsed, text.encode(), number)

        if may_be_cut:
            # The last row of a block may lack digits: the block is left out.
            self._block = BlockLines()

    def _take_frame(self, text: str, number: int, *, may_be_cut: bool) -> bool:
        """Whether the line is one of those around the reports."""
        stated, finished = _PROPERTY.fullmatch(text), _FINISHED.search(text)
        if stated:
            self._draft.take_property(*stated.groups())
        elif finished:
            if self._draft.is_finished:
                self._begin(number)
            phase, duration = finished.groups()
            self._draft.finish(None if may_be_cut else duration, is_load=phase == "Load")
        elif text.startswith(_USING) or _PROPERTIES.search(text):
            self._begin(number)
        elif _COMMAND.search(text):
            self._begin(number)
            self._draft.command = text[:_MAX_COMMAND]
        elif _SIGNAL in text:
            self._draft.stopped(number)
        else:
            return text == _POINTS
        return True

    def _take_report(self, text: str, number: int, *, may_be_cut: bool) -> bool:
        """Whether the line is of a report: one operation in plain or in a table, all of them in JSON."""
        line = plain_line(text, may_be_cut=may_be_cut)
        if line is not None:
            self._add("go-ycsb", line, number)
            return True

        _, begin, rest = text.partition('[{"')
        lines = json_lines(begin + rest)
        for line in lines:
            self._add("go-ycsb-json", line, number)
        if lines:
            return True

        row = cells(text)
        if is_heading(row):
            self._heading = row
        line = row_line(self._heading, row)
        if line is not None:
            self._add("go-ycsb-table", line, number)
        return bool(row)

    def _end_block(self, number: int) -> None:
        line = self._block.end()
        if line is not None:
            self._add("go-ycsb", line, number)

    def _add(self, run_format: Format, line: ReportLine, number: int) -> None:
        if self._draft.is_reported(line.operation) or self._draft.is_over(line):
            self._begin(number)
        self._draft.report(run_format, line)

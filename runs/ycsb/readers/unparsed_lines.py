"""The lines of a file that are no measurement: the first of them are kept, so that a person can see what was there."""

from abc import ABC, abstractmethod
from typing import Final

from runs.ycsb.block import Block
from runs.ycsb.operation import OtherLine
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.redact import redact_beginning

_MAX_LINES: Final = 300
_MAX_LINE_LENGTH: Final = 1_000  # characters of one
_SHOWN: Final = 3  # where there is no result


class Chatter:
    """Of one run, redacted."""

    def __init__(self) -> None:
        self._lines: list[OtherLine] = []

    @property
    def closest(self) -> tuple[OtherLine, ...]:
        """The first lines, for a file without any result."""
        return tuple(self._lines[:_SHOWN])

    def keep(self, line: bytes, number: int) -> None:
        if len(self._lines) < _MAX_LINES and not line.isspace():
            self._lines.append(OtherLine(number, redact_beginning(line.decode(errors="replace"), _MAX_LINE_LENGTH)))

    def lines(self) -> tuple[OtherLine, ...]:
        return tuple(self._lines)


class LineReader(ABC):
    """Reads the blocks of one file line by line, for formats in which each line says by itself what it is."""

    def __init__(self) -> None:
        self._runs: list[ReadRun] = []
        self._chatter = Chatter()  # of the run at hand
        self._last_line = 0

    @property
    def closest(self) -> tuple[OtherLine, ...]:
        """The lines that looked most like a result."""
        return self._chatter.closest

    def feed(self, block: Block) -> None:
        lines = block.data.split(b"\n")[:-1]
        for number, line in enumerate(lines, block.first_line):
            self._last_line = number
            may_be_cut = block.unterminated and number == block.first_line + len(lines) - 1
            if not self.take(line, number, may_be_cut=may_be_cut) and line:
                self._chatter.keep(line, number)

    def done(self) -> tuple[ReadRun, ...]:
        self._end(self._last_line)
        return tuple(self._runs)

    @abstractmethod
    def take(self, line: bytes, number: int, *, may_be_cut: bool) -> bool:
        """Whether the line tells anything. Of the last line of a file the end `may_be_cut`."""

    @abstractmethod
    def run(self, last_line: int, others: tuple[OtherLine, ...]) -> ReadRun | None:
        """The run at hand, which ends here; None where there is none."""

    def _end(self, last_line: int) -> None:
        run = self.run(last_line, self._chatter.lines())
        if run is not None:
            self._runs.append(run)
            self._chatter = Chatter()

"""The lines of a file that are no measurement: a person is shown the first of them where there is no result."""

from abc import ABC, abstractmethod
from typing import Final

from runs.ycsb.block import Block, Note
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.redact import redact_beginning

_MAX_LINE_LENGTH: Final = 1_000  # characters of one
_SHOWN: Final = 3


def keep_first(lines: list[Note], line: bytes, number: int) -> None:
    """Keep the line, redacted, where it is one of the first."""
    if len(lines) < _SHOWN and not line.isspace():
        lines.append(Note(redact_beginning(line.decode(errors="replace"), _MAX_LINE_LENGTH), number))


class LineReader(ABC):
    """Reads the blocks of one file line by line, for formats in which each line says by itself what it is."""

    def __init__(self) -> None:
        self._runs: list[ReadRun] = []
        self._unparsed: list[Note] = []  # of the run at hand
        self._last_line = 0

    @property
    def closest(self) -> tuple[Note, ...]:
        """The lines that looked most like a result."""
        return tuple(self._unparsed)

    def feed(self, block: Block) -> None:
        lines = block.data.split(b"\n")[:-1]
        for number, line in enumerate(lines, block.first_line):
            self._last_line = number
            may_be_cut = block.unterminated and number == block.first_line + len(lines) - 1
            if not self.take(line, number, may_be_cut=may_be_cut) and line:
                keep_first(self._unparsed, line, number)

    def done(self) -> tuple[ReadRun, ...]:
        self._end(self._last_line)
        return tuple(self._runs)

    @abstractmethod
    def take(self, line: bytes, number: int, *, may_be_cut: bool) -> bool:
        """Whether the line tells anything. Of the last line of a file the end `may_be_cut`."""

    @abstractmethod
    def run(self, last_line: int) -> ReadRun | None:
        """The run at hand, which ends here; None where there is none."""

    def _end(self, last_line: int) -> None:
        run = self.run(last_line)
        if run is not None:
            self._runs.append(run)
            self._unparsed = []

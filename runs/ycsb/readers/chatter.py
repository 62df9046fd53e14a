"""The lines of a file that are no measurement: the first of them are kept, so that a person can see what was there."""

from typing import Final

from runs.ycsb.operation import OtherLine
from runs.ycsb.redact import redact_beginning

_MOST: Final = 300
_LONGEST: Final = 1_000  # characters of one
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
        if len(self._lines) < _MOST and not line.isspace():
            self._lines.append(OtherLine(number, redact_beginning(line.decode(errors="replace"), _LONGEST)))

    def lines(self) -> tuple[OtherLine, ...]:
        return tuple(self._lines)

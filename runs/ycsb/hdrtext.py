"""The text of interval histogram logs: what the comments say, and the columns of every line. Nothing is decoded here.

One log may hold several measurements: a line with a tag (`Tag=READ,...`) belongs to the measurement of that name, and
a heading in the middle of a file (of logs that were put together) is the name and the clock of what follows it.
"""

import math
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from runs.ycsb.errors import HistogramError
from runs.ycsb.messages import NO_OPERATION_IN_LOG
from runs.ycsb.numbers import EARLIEST_S, LATEST_S

# No histogram of microseconds needs a longer line.
MAX_LINE_LENGTH: Final = 4 << 20
_NAME: Final = re.compile(rb"#\[Logging for: (.+?)\]")
_START_TIME: Final = re.compile(rb"#\[StartTime: ([-+0-9.eE]+)")
_BASE_TIME: Final = re.compile(rb"#\[BaseTime: ([-+0-9.eE]+)")
_VERSION: Final = b"#[Histogram log format version"
_COLUMNS: Final = b'"StartTimestamp"'
_TAG: Final = b"Tag="
_MARK: Final = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of a file
_HOLE: Final = b"\0"
_YEAR_S: Final = 365 * 24 * 3600.0


class Row(NamedTuple):
    """One line. Its interval began `start_s` after `origin_s`, seconds since the epoch on the client's clock."""

    name: str
    origin_s: float
    start_s: float
    length_s: float  # negative where the clock was set back meanwhile
    max_s: float  # the column is divided by a million, so microseconds come as seconds
    payload: bytes
    line_number: int


class LogText:
    """Takes a log apart, in pieces of any size; it keeps no more than a line and what the comments said.

    With `damage` at the end the last line broke off: it is left out. A damaged line before others raises HistogramError
    with its number; so does a text in which nothing is a log.
    """

    def __init__(self, operation: str | None = None) -> None:
        """`operation` is the name to use (of the file) where the log itself does not say it."""
        self.start_times: dict[str, float] = {}  # of every measurement seen, in order: its log's start, or origin
        self._operation = operation
        self._name: str | None = None
        self._start_time_s: float | None = None
        self._base_time_s: float | None = None
        self._origin_s: float | None = None  # known with the first line after a heading
        self._is_log = False
        self._line_number = 0
        self._rest: list[bytes] = []  # of a line that has not ended yet
        self.damage: HistogramError | None = None  # also of a row that could not be decoded, as the caller says

    def feed(self, piece: bytes) -> Iterator[Row]:
        """The lines that end within this piece."""
        cut = piece.rfind(b"\n") + 1
        if cut:
            whole = b"".join([*self._rest, piece[:cut]])
            self._rest = []
            # Of bytes this splits at line feeds and carriage returns, and nothing else.
            yield from self._rows(whole.splitlines())
        if cut < len(piece):
            self._rest.append(piece[cut:])
            self._check_length(sum(map(len, self._rest)), self._line_number + 1)

    def done(self) -> Iterator[Row]:
        """The last line, where nothing ends it."""
        rest = b"".join(self._rest)
        self._rest = []
        yield from self._rows([rest])
        if not self.start_times and not self._is_log:
            raise self.damage or HistogramError("this is not a histogram log: it has neither a heading nor an interval")
        if not self.start_times:
            self._measurement(None, 0.0)

    def _rows(self, lines: Iterable[bytes]) -> Iterator[Row]:
        for line in lines:
            self._line_number += 1
            self._check_length(len(line), self._line_number)
            if not line[:1].isdigit():
                # When two threads of YCSB measure the first operation of a kind at once, each opens the log, and the
                # second one empties it: what the first had written is then a hole of zero bytes before its next line.
                line = line.strip().lstrip(_HOLE).removeprefix(_MARK)
                if not line or self._is_comment(line):
                    continue

            if self.damage is not None:
                raise self.damage

            try:
                row = self._row(line)
            except HistogramError as error:
                self.damage = error
            else:
                yield row

    def _check_length(self, length: int, line_number: int) -> None:
        if length > MAX_LINE_LENGTH:
            raise HistogramError(f"the line is longer than {MAX_LINE_LENGTH >> 20} MiB: no histogram is", line_number)

    def _is_comment(self, text: bytes) -> bool:
        """Whether the line was a comment or the heading of the columns, and what it said."""
        if text.startswith(_COLUMNS):
            self._is_log = True
            return True
        if not text.startswith(b"#"):
            return False

        name = _NAME.match(text)
        start = _START_TIME.match(text)
        base = _BASE_TIME.match(text)
        if self._origin_s is not None and (name or start or base or text.startswith(_VERSION)):
            # A heading after lines: another log begins.
            self._name = self._start_time_s = self._base_time_s = self._origin_s = None

        if name:
            self._name = name[1].decode("utf-8", errors="replace")
            self._is_log = True
        elif start:
            self._start_time_s = _number(start[1])
            self._is_log = True
        elif base:
            self._base_time_s = _number(base[1])

        return True

    def _row(self, text: bytes) -> Row:
        tag = None
        if text.startswith(_TAG):
            label, _, text = text[len(_TAG) :].partition(b",")
            tag = label.decode("utf-8", errors="replace")

        columns = text.split(b",")
        if len(columns) != 4:
            raise HistogramError(f"an interval has 4 columns, here are {len(columns)}", self._line_number)

        try:
            start, length, longest = float(columns[0]), float(columns[1]), float(columns[2])
        except ValueError:
            start = length = longest = math.nan

        if not (-math.inf < start < math.inf and -math.inf < length < math.inf and -math.inf < longest < math.inf):
            raise HistogramError("the times of the interval are not numbers", self._line_number)

        name, origin_s = self._measurement(tag, start)
        if not all(EARLIEST_S <= origin_s + at <= LATEST_S for at in (start, start + length)):
            raise HistogramError("the time of the interval is no date", self._line_number)

        return Row(name, origin_s, start, length, longest, columns[3].rstrip(), self._line_number)

    def _measurement(self, tag: str | None, first_start_s: float) -> tuple[str, float]:
        """The name of the line's measurement, and the instant from which its log counts."""
        if self._origin_s is None:
            self._origin_s = self._origin(first_start_s)
        name = tag or self._name or self._operation
        if name is None:
            raise HistogramError(NO_OPERATION_IN_LOG)
        if name not in self.start_times:
            # Lines of old logs carry absolute times: then they count from the log's own start time here too.
            self.start_times[name] = self._origin_s if self._start_time_s is None else self._start_time_s
        return name, self._origin_s

    def _origin(self, first_start_s: float) -> float:
        """HdrHistogram's rule for logs that do not name their base time."""
        if self._base_time_s is not None:
            return self._base_time_s
        start = self._start_time_s or 0.0
        if first_start_s < start - _YEAR_S:
            return start
        return 0.0


def _number(text: bytes) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if math.isfinite(value):
        return value
    return None

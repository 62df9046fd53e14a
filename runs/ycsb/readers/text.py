"""The text that YCSB prints, in every version from 0.1.0 on, and that of the Thumbtack lineage.

Summaries, status lines, commands and chatter come mixed in one stream, several runs in one file, with whatever log
shippers and people put in front of a line. A line that is nothing known is kept, and never an error.
"""

import re
from itertools import chain, pairwise
from typing import Final

from runs.ycsb.block import Block, Note
from runs.ycsb.failure_symptoms import WORDS
from runs.ycsb.metric import is_row, split_line
from runs.ycsb.numbers import finite
from runs.ycsb.readers.mixed_clients import MARKS as HEADLINE_MARKS, Writers, has_front
from runs.ycsb.readers.preamble import BANNER, COMMAND_LINE, CONNECTED, is_echo
from runs.ycsb.readers.results import Format, ReadRun
from runs.ycsb.readers.segments import Segments
from runs.ycsb.readers.statuses import DIGITS, StatusReader, strip_digits
from runs.ycsb.redact import redact_beginning
from runs.ycsb.stated_failures import BEGINNING
from runs.ycsb.status import CONTINUED, HEAD

_METRIC: Final = re.compile(r"[A-Za-z][\w.%-]{0,79}", re.ASCII)
_BRACKETED: Final = re.compile(r"(?<=[ \t|:>=,;+])\[[A-Za-z][\w.%-]{0,79}\],", re.ASCII)
_STOCK_KEY: Final = re.compile(
    r">?\d{1,18}|Operations|Total Operations|Retries|Return=\S{1,80}|(?:Average|Min|Max)(?:Latency\((?:us|ms)\))?"
    r"|LatencyVariance\(us\)|[\d.]{1,12}(?:st|nd|rd|th)?PercentileLatency\((?:us|ms)\)|p[\d.]{1,8}"
    r"|RunTime\(ms\)|Throughput\(ops/sec\)|Reconnections|Count|Time\((?:ms|%)\)|MBs|Load",
    re.ASCII,
)
# What else is looked at in a line that is neither status nor summary.
_SHORTENED: Final = re.compile(re.escape(COMMAND_LINE) + r" -\.\.\.")  # PowerShell quotes it a second time
_TOLD: Final = (
    b"YCSB Client ",
    COMMAND_LINE.encode(),
    b".ycsb.Client",
    b"Maximum execution time specified",
    CONNECTED.encode(),
)
_GOES_ON: Final = (b"AverageLatency(us)=", b"average latency(us): ")
_MARKS: Final = (*_TOLD, *_GOES_ON, *HEADLINE_MARKS, *(word.encode() for word in WORDS))
_MARKED: Final = re.compile(b"|".join(map(re.escape, _MARKS)))
_CHATTER: Final = 1
_STATUS: Final = 2
_TELLING: Final = 3
_MAX_SHAPES: Final = 10_000
_MAX_SHAPE: Final = 1_000
_MAX_COUNT: Final = 18  # digits, as in `HEAD`
_POINTS_BEGIN: Final = b" latency raw data: op, timestamp(ms), latency(us)"
_TOTALS: Final = b"[OVERALL],"
_ROW: Final = re.compile(rb"[A-Za-z][\w.-]{0,99},\d{10,16},\d{1,16}\n")
_NUMBER: Final = rb"\d{1,18}(?:\.\d{1,20})?(?:E-?\d{1,2})?"
_ROW_LINE: Final = re.compile(
    rb"\[([A-Za-z][\w.%-]{0,79})\], (\d{1,18}), (" + _NUMBER + rb")(?:, (" + _NUMBER + rb"))?"
)
_MAX_ROWS: Final = 600_000  # of printed series and buckets
_MAX_MEASUREMENTS: Final = 200_000
_MAX_SOURCES: Final = 64
_SHOWN: Final = 3  # lines quoted where there is no result
_MAX_SHOWN: Final = 200  # characters of them
_MAX_LOOKED_AT: Final = 300  # lines among which they are looked for
_NO_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")


class TextReader:
    """Reads the blocks of one file. Without a run, `closest` has the lines that looked most like a result."""

    def __init__(self, run_format: Format = "ycsb-text") -> None:
        self.run_format: Format = run_format
        self._statuses = StatusReader()
        self._sources: dict[str, Segments] = {}
        self._measurements = 0
        self._rows = 0
        self._in_points = False  # the lines at hand are raw points
        self._shapes: dict[bytes, int] = {}
        self._writers = Writers()
        self._main = self._segments("")  # of the lines that have nothing in front
        self._bracketed: list[Note] = []
        self._first: list[Note] = []
        self._looked_at = 0

    @property
    def closest(self) -> tuple[Note, ...]:
        """The first lines in brackets, or else the first lines."""
        return tuple(self._bracketed or self._first)

    def feed(self, block: Block) -> None:
        if block.first_line == 1 and _ROW.match(block.data):
            self._in_points = True
        if self._in_points or _POINTS_BEGIN in block.data:
            self._feed_parts(block)
        else:
            self._feed_lines(block)

    def _feed_parts(self, block: Block) -> None:
        """Raw points come in stretches, each with a headline, before the totals of their run."""
        line = block.first_line
        cuts = _cuts(block.data)
        for start, end in pairwise(cuts):
            part = Block(block.data[start:end], line, block.unterminated and end == cuts[-1])
            headline = part.data.partition(b"\n")[0]
            if _POINTS_BEGIN in headline:
                self._in_points = True
                self._main.begin_points(line)
            elif headline.startswith(_TOTALS):
                self._in_points = False

            if self._in_points:
                self._feed_points(part)
            else:
                self._feed_lines(part)

            if end != cuts[-1]:
                line += part.data.count(b"\n")

    def _feed_points(self, block: Block) -> None:
        """Other lines than points are text, and so is a last line that may have been cut."""
        end = block.data.rstrip(b"\n").rfind(b"\n") + 1 if block.unterminated else len(block.data)
        for odd in self._main.points.feed(block.data[:end]):
            self._feed_lines(Block(odd.text + b"\n", block.first_line + odd.number))
        if end < len(block.data):
            self._feed_lines(Block(block.data[end:], block.first_line + block.data.count(b"\n", 0, end), True))

    def _feed_lines(self, block: Block) -> None:
        lines = block.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        last = None
        if block.unterminated and lines:
            last = lines.pop()
        shapes, status = self._shapes, self._main.status
        for number, line in enumerate(lines, block.first_line):
            shape = line.translate(None, DIGITS)
            looks_like = shapes.get(shape) or self._shape(shape)
            if looks_like == _CHATTER:
                if self._writers.awaits_name:
                    self._writers.take_name(line)
                if self._looked_at < _MAX_LOOKED_AT and line and not line.isspace():
                    self._keep(line, number)
            elif looks_like == _STATUS and _has_digits(line):
                status(line, shape, number)
            else:
                self._look_closer(line, shape, number)
                status = self._main.status

        if last is not None:
            self._last(last, block.first_line + len(lines))

    def done(self) -> tuple[ReadRun, ...]:
        with_results = [segments for segments in self._sources.values() if segments.has_results]
        if len(with_results) == 1:
            # PowerShell puts the name of the program in front of the first line alone.
            for segments in self._sources.values():
                with_results[0].take_preface(segments)
        runs = chain.from_iterable(segments.done(self.run_format) for segments in self._sources.values())
        return tuple(sorted(runs, key=lambda run: run.first_line))

    # --- lines ---------------------------------------------------------------------------------------------------

    def _measurement(self, line: bytes, number: int) -> bool:
        """Whether the line was one of a summary, and not chatter."""
        if (row := _ROW_LINE.fullmatch(line)) and self._row(row, number):
            return True

        text = line.decode(errors="replace")
        measurement = _measurement_in(text)
        if measurement is None:
            return False

        metric, key, value = measurement
        segments = self._find_segments(line)
        if not segments.knows(metric) and not _begins_metric(text, metric, key, value):
            return False

        if self._has_room(segments, number):
            segments.measurement(metric, key, value, number)
        return True

    def _row(self, row: re.Match[bytes], number: int) -> bool:
        """The short way for rows, of which a file may have very many; totals after too many of them are still read."""
        self._rows += 1
        if self._rows == _MAX_ROWS:
            self._main.rows_overflow(number)
        if self._rows >= _MAX_ROWS:
            return True

        metric, key, value, rate = row.groups()
        return self._main.row(
            metric.decode(),
            int(key),
            float(value),
            is_double=b"." in value,
            rate=None if rate is None else float(rate),
            number=number,
        )

    def _has_room(self, segments: Segments, number: int) -> bool:
        self._measurements += 1
        if self._measurements == _MAX_MEASUREMENTS:
            segments.overflows(number)
        return self._measurements < _MAX_MEASUREMENTS

    def _shape(self, shape: bytes) -> int:
        """The kind of a line by its text without digits; remembered, since lines repeat."""
        if (
            shape.count(b" sec: ") == 1
            and b" sec:  operations;" in shape
            and not (self._writers.names or has_front(shape))
        ):
            looks_like = _STATUS
        elif b" sec: " in shape or b"]," in shape or _MARKED.search(shape) or BEGINNING.match(shape):
            looks_like = _TELLING
        else:
            looks_like = _CHATTER

        if len(shape) <= _MAX_SHAPE and len(self._shapes) < _MAX_SHAPES:
            self._shapes[shape] = looks_like
        return looks_like

    def _look_closer(self, line: bytes, shape: bytes, number: int) -> None:
        if b" sec: " in line and HEAD.search(line):
            self._find_segments(line).status(line, shape, number)
        elif b"]," not in line or not self._measurement(line, number):
            self._marked(line, number)

    def _marked(self, line: bytes, number: int) -> None:
        """A line that may tell something, or nothing."""
        text = line.decode(errors="replace")
        if self._writers.begins_section(line):
            self._main = self._segments(self._writers.section)
            return

        segments = self._find_segments(line)
        if banner := BANNER.search(text):
            segments.banner(banner[1], number)
        elif COMMAND_LINE in text and not _SHORTENED.search(text):
            segments.command_line(text.partition(COMMAND_LINE)[2], number)
        elif is_echo(text):
            segments.echo(text, number)
        elif CONTINUED.match(line) is None or not segments.continued(line):
            segments.sentence(text)
            segments.symptom(text)
            self._keep(line, number)

    def _last(self, line: bytes, number: int) -> None:
        """The last line of a file that ends without a line end: it may have been cut in its middle."""
        measurement = _measurement_in(line.decode(errors="replace"))
        if HEAD.search(line):
            self._find_segments(line).status(line, strip_digits(line), number)
        elif measurement is not None:
            self._find_segments(line).cut(*measurement, number)
        else:
            segments = self._find_segments(line)
            doubtful = [segments] if b"[" in line else []
            if self._writers.names and not segments.has_results:
                # It ends within what stands in front of lines: it may be of any of the writers.
                doubtful = list(self._sources.values())
            for part in doubtful:
                part.broke_off()
            self._marked(line, number)

    def _keep(self, line: bytes, number: int) -> None:
        self._looked_at += 1
        closest = self._bracketed if line.lstrip().startswith(b"[") else self._first
        if len(closest) < _SHOWN:
            text = redact_beginning(line.decode(errors="replace").strip(), _MAX_SHOWN)
            closest.append(Note(text, number))

    # --- writers -------------------------------------------------------------------------------------------------

    def _find_segments(self, line: bytes) -> Segments:
        """The runs of the one who wrote the line."""
        if not self._writers.names and line.startswith(b"[") and line.find(b"]") == line.find(b"],"):
            return self._main
        if not self._has_front(line):
            return self._main
        return self._segments(self._writers.name(line))

    def _has_front(self, line: bytes) -> bool:
        """Whether something in front of the line may tell who wrote it. From the first that does on all lines may."""
        if self._writers.names:
            return True
        if has_front(line):
            self._writers.name(line)
        if self._writers.names:
            self._shapes = {}
            return True
        return False

    def _segments(self, source: str) -> Segments:
        if source not in self._sources and len(self._sources) > _MAX_SOURCES:
            source = ""
        return self._sources.setdefault(source, Segments(source, self._statuses))


def _cuts(data: bytes) -> list[int]:
    """The beginnings of the lines at which raw points begin or end, with both ends of the data."""
    cuts = {0, len(data)}
    for mark in (_POINTS_BEGIN, b"\n" + _TOTALS):
        at = data.find(mark)
        while at >= 0:
            cuts.add(data.rfind(b"\n", 0, at + 1) + 1)
            at = data.find(mark, at + 1)
    return sorted(cuts)


def _has_digits(line: bytes) -> bool:
    """Whether a line that is one of status but for its digits has them where `HEAD` wants them; several times as fast.

    Between ` sec: ` and the next blank there can be nothing but digits then; digits within words are damage.
    """
    second = line.find(b" sec: ")
    if second < 0 or not line[second - 1 : second].isdigit():
        return False
    blank = line.find(b" ", second + 6)
    return 0 < blank - second - 6 <= _MAX_COUNT and line.startswith(b" operations;", blank)


def _begins_metric(text: str, metric: str, key: str, value: str) -> bool:
    """Only what YCSB prints for certain begins a metric: other programs' lines look alike."""
    if is_row(key) and not text.lstrip().startswith(f"[{metric}]"):
        return False
    return _STOCK_KEY.fullmatch(key) is not None or finite(value) is not None


def _measurement_in(text: str) -> tuple[str, str, str] | None:
    """Metric, key and value; behind what a log shipper wrote only those that YCSB itself prints."""
    measurement = split_line(text)
    if measurement is not None and _METRIC.fullmatch(measurement[0]):
        return measurement

    bracketed = _BRACKETED.search(text)
    if bracketed is None:
        return None

    measurement = split_line(text[bracketed.start() :])
    if measurement is None or _STOCK_KEY.fullmatch(measurement[1]) is None:
        return None
    if measurement[2][:1].isdigit() or finite(measurement[2]) is not None or measurement[2] in _NO_NUMBERS:
        return measurement

    return None

"""The text that YCSB prints, in every version from 0.1.0 on, and that of the Thumbtack lineage.

Summaries, status lines, commands and chatter come mixed in one stream, several runs in one file, with whatever log
shippers and people put in front of a line. A line that is nothing known is kept, and never an error.
"""

import re
from typing import Final

from runs.ycsb.metric import split_line
from runs.ycsb.numbers import finite
from runs.ycsb.readers.preamble import BANNER, COMMAND_LINE, is_echo
from runs.ycsb.readers.results import Block, Format, OtherLine, ReadRun
from runs.ycsb.readers.segments import Segments
from runs.ycsb.readers.statuses import StatusReader
from runs.ycsb.redact import redact
from runs.ycsb.status import CONTINUED, HEAD
from runs.ycsb.symptoms import WORDS

_TIME: Final = rb"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\s{1,8})?"
# Who wrote a line, as docker compose, kubectl and their like tell it.
_SOURCE: Final = re.compile(
    rb"\s{0,80}" + _TIME + rb"(?:(?P<piped>[^\s|]{1,100})\s{0,80}\|(?=\s)|\[(?P<pod>pod/[^\]\s]{1,200})\](?=\s))"
)
_METRIC: Final = re.compile(r"[A-Za-z][\w.%-]{0,79}", re.ASCII)
_STOCK_KEY: Final = re.compile(
    r">?\d{1,18}|Operations|Total Operations|Retries|Return=\S{1,80}|(?:Average|Min|Max)(?:Latency\((?:us|ms)\))?"
    r"|LatencyVariance\(us\)|[\d.]{1,12}(?:st|nd|rd|th)?PercentileLatency\((?:us|ms)\)|p[\d.]{1,8}"
    r"|RunTime\(ms\)|Throughput\(ops/sec\)|Reconnections|Count|Time\((?:ms|%)\)|MBs|Load",
    re.ASCII,
)
# What else is looked at in a line that is neither status nor summary.
_TOLD: Final = (b"YCSB Client ", COMMAND_LINE.encode(), b".ycsb.Client", b"Maximum execution time specified")
_GOES_ON: Final = (b"AverageLatency(us)=", b"average latency(us): ", b": Count=")
_SIGNS: Final = tuple(word.encode() for word in WORDS)
_MARKS: Final = _TOLD + _GOES_ON + _SIGNS
_MOST_SOURCES: Final = 64
_SHOWN: Final = 3  # lines quoted where there is no result
_LONGEST_SHOWN: Final = 200  # characters of them
_NO_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")


class TextReader:
    """Reads the blocks of one file. Without a run, `closest` has the lines that looked most like a result."""

    def __init__(self, run_format: Format = "ycsb-text") -> None:
        self._format: Format = run_format
        self._statuses = StatusReader()
        self._sources: dict[str, Segments] = {}
        self._main = self._segments("")
        self._bracketed: list[OtherLine] = []
        self._first: list[OtherLine] = []

    @property
    def closest(self) -> tuple[OtherLine, ...]:
        """The first lines in brackets, or else the first lines."""
        return tuple(self._bracketed or self._first)

    def feed(self, block: Block) -> None:
        lines = block.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        last = lines.pop() if block.unterminated and lines else None
        marks = [mark for mark in _MARKS if mark in block.data]
        number = block.first_line
        for number, line in enumerate(lines, block.first_line):
            if b" sec: " in line and HEAD.search(line):
                self._of(line).status(line, number)
            elif b"]," not in line or not self._measurement(line, number):
                self._other(line, number, marks)
        if last is not None:
            self._last(last, block.first_line + len(lines), marks)

    def done(self) -> tuple[ReadRun, ...]:
        runs = [run for segments in self._sources.values() for run in segments.done(self._format)]
        return tuple(sorted(runs, key=lambda run: run.first_line))

    # --- lines ---------------------------------------------------------------------------------------------------

    def _measurement(self, line: bytes, number: int) -> bool:
        """Whether the line was one of a summary."""
        found = _measurement_in(line.decode(errors="replace"))
        if found is None:
            return False
        metric, key, value = found
        segments = self._of(line)
        if _STOCK_KEY.fullmatch(key) is None and finite(value) is None and not segments.knows(metric):
            return False
        segments.measurement(metric, key, value, number)
        return True

    def _other(self, line: bytes, number: int, marks: list[bytes]) -> None:
        for mark in marks:
            if mark in line:
                self._marked(line, number)
                return
        segments = self._writer(line)
        if segments.wants_others and not line.isspace() and line:
            self._keep(segments, line.decode(errors="replace"), number)

    def _marked(self, line: bytes, number: int) -> None:
        """A line with a word in it that may tell something."""
        text = line.decode(errors="replace")
        segments = self._of(line)
        if found := BANNER.search(text):
            segments.banner(found[1], number)
        elif COMMAND_LINE in text:
            segments.command_line(text.partition(COMMAND_LINE)[2], number)
        elif is_echo(text):
            segments.echo(text, number)
        elif CONTINUED.match(line) is None or not segments.continued(line):
            segments.limit(text)
            segments.symptom(text)
            self._keep(segments, text, number)

    def _last(self, line: bytes, number: int, marks: list[bytes]) -> None:
        """The last line of a file that ends without a line end: it may have been cut in its middle."""
        found = _measurement_in(line.decode(errors="replace"))
        if HEAD.search(line):
            self._of(line).status(line, number)
        elif found is not None:
            self._of(line).cut(*found, number)
        else:
            if b"[" in line:
                self._of(line).broke_off()
            self._other(line, number, marks)

    def _keep(self, segments: Segments, text: str, number: int) -> None:
        segments.other(text, number)
        closest = self._bracketed if text.lstrip().startswith("[") else self._first
        if len(closest) < _SHOWN:
            closest.append(OtherLine(number, redact(text.strip()[:_LONGEST_SHOWN])))

    # --- writers -------------------------------------------------------------------------------------------------

    def _of(self, line: bytes) -> Segments:
        """The runs of the one who wrote the line."""
        if b"|" not in line and b"[pod/" not in line:
            return self._main
        return self._segments(_source_of(line))

    def _writer(self, line: bytes) -> Segments:
        """As _of, but chatter is no proof that there is another writer."""
        if len(self._sources) == 1:
            return self._main
        return self._sources.get(_source_of(line), self._main)

    def _segments(self, source: str) -> Segments:
        if source not in self._sources and len(self._sources) > _MOST_SOURCES:
            source = ""
        return self._sources.setdefault(source, Segments(source, self._statuses))


def _source_of(line: bytes) -> str:
    found = _SOURCE.match(line)
    return (found["piped"] or found["pod"]).decode(errors="replace") if found else ""


def _measurement_in(text: str) -> tuple[str, str, str] | None:
    """Metric, key and value; behind what a log shipper wrote only those that YCSB itself prints."""
    found = split_line(text)
    if found is not None and _METRIC.fullmatch(found[0]):
        return found
    start = text.rfind("[", 0, text.find("],"))
    if start < 1 or text[start - 1] not in " \t|:>":
        return None
    found = split_line(text[start:])
    if found is None or _METRIC.fullmatch(found[0]) is None or _STOCK_KEY.fullmatch(found[1]) is None:
        return None
    return found if found[2][:1].isdigit() or finite(found[2]) is not None or found[2] in _NO_NUMBERS else None

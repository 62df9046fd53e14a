"""Which format a file is in: told by the first line that only one of them has.

A signature is some bytes that are quickly found, and a pattern that the line around them must match.
"""

import re
from typing import Final

from runs.ycsb.readers.properties import is_properties
from runs.ycsb.readers.results import Format

# Lines may be indented, or stand behind what a log shipper put in front.
_FRONT: Final = rb"(?:[^\[#\"]{0,200}[ \t|:>`])?\s{0,80}"
_METRIC: Final = _FRONT + rb"\[[A-Za-z][\w.%-]{0,79}\],[ \t]{0,4}[^\s,]"
_PATTERNS: Final[tuple[tuple[Format, bytes, bytes], ...]] = (
    ("hdr-log", b"#[Logging for: ", _FRONT + rb"#\[Logging for: "),
    ("hdr-log", b"#[Histogram log format version", _FRONT + rb"#\[Histogram log format version"),
    ("hdr-log", b'"StartTimestamp"', _FRONT + rb'"StartTimestamp","Interval_Length"'),
    ("hdr-log", b",HIST", rb"(?:Tag=[^,]{1,200},)?[-+0-9.eE]{1,40},[0-9.eE]{1,40},[-+0-9.eE]{1,40},HIST"),
    ("ycsb-json", b'"metric"', rb'.{0,2000}"metric"\s{0,8}:\s{0,8}"'),
    ("go-ycsb-json", b'"Operation":', rb'.{0,2000}\[\{.{0,2000}"(?:Takes\(s\)|Count)":'),
    ("go-ycsb-csv", b"operation,timestamp_us", rb"operation,timestamp_us,latency_us"),
    ("go-ycsb-table", b"OPERATION", _FRONT + rb"(?:\||\xe2\x94[\x82\x83])[ \t]{1,80}OPERATION[ \t]"),
    ("go-ycsb", b"- Takes(s): ", rb".{0,400}[A-Za-z] {1,40}- Takes\(s\): \d(?!.{0,100}TPM: )"),
    ("go-ycsb", b"- Count: ", rb".{0,400}[A-Za-z] {1,40}- Count: \d"),
    ("go-ycsb", b"Using request distribution '", _FRONT + rb"Using request distribution '"),
    ("go-ycsb", b"* properties *", _FRONT + rb"\*{9,} properties \*{9,}"),
    ("go-ycsb", b" finished, takes ", _FRONT + rb"(?:Run|Load) finished, takes \d"),
    ("go-ycsb", b"Lan(us)", rb"\s{0,80}(?:Avg|Min|Max|\d{2}th) {1,4}Lan\(us\) {0,8}:"),
    ("load-generator", b"[OVERALL] ", _FRONT + rb"\[OVERALL\] (?:RunTime|Throughput)"),
    ("load-generator", b"] AverageLatency, ", _FRONT + rb"\[\w{1,80}\] AverageLatency, [\d.]{1,40}[mu]?s"),
    ("ycsb-cpp", b" runtime(sec): ", _FRONT + rb"(?:Load|Run) runtime\(sec\): "),
    ("ycsb-cpp", b" operations(ops): ", _FRONT + rb"(?:Load|Run) operations\(ops\): "),
    ("ycsb-cpp", b" throughput(ops/sec): ", _FRONT + rb"(?:Load|Run) throughput\(ops/sec\): "),
    # Java writes the milliseconds behind the seconds.
    ("ycsb-cpp", b" sec: ", rb".{0,400}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d{1,12} sec: \d{1,18} operations;"),
    ("ycsb-c", b"# Loading records:", _FRONT + rb"# Loading records:"),
    ("ycsb-c", b" throughput (KTPS)", _FRONT + rb"# (?:Load|Transaction) throughput \(KTPS\)"),
    ("ycsb-raw", b" latency raw data: op, ", rb"\S{1,80} latency raw data: op, timestamp\(ms\), latency\(us\)"),
    ("ycsb-text", b" sec: ", rb".{0,1000}(?<!\d)\d{1,12} sec: \d{1,18} operations;"),
    ("ycsb-text", b"], ", _METRIC),
    ("ycsb-text", b"[OVERALL],", _METRIC),
    ("ycsb-text", b"YCSB Client ", rb".{0,400}YCSB Client \d"),
    ("ycsb-text", b"Command line:", rb".{0,400}Command line:"),
    ("ycsb-text", b".ycsb.", rb".{0,20000}\b(?:com\.yahoo|site)\.ycsb\.[A-Za-z]"),
    ("ycsb-text", b"Raw data measurement: ", rb".{0,400}Raw data measurement: will output to "),
)
_SIGNATURES: Final = tuple((name, literal, re.compile(line)) for name, literal, line in _PATTERNS)
_RAW_ROWS: Final = re.compile(rb"(?:[A-Za-z][\w.-]{0,99},\d{12,14},\d{1,10}\n){1,2}", re.ASCII)
_SPAN: Final = 64 * 1024  # bytes looked at together: most files show what they are within the first
_MAX_TRIES: Final = 100  # lines of one span with the same bytes that are something else


def detect(text: bytes, *, is_beginning: bool = False) -> Format | None:
    """The format whose signature comes first in these lines; None where there is none of any."""
    if is_beginning and _RAW_ROWS.match(text):
        return "ycsb-raw"
    if is_beginning and is_properties(text):
        return "properties"
    start = 0
    while start < len(text):
        end = text.find(b"\n", min(start + _SPAN, len(text) - 1)) + 1 or len(text)
        if format_ := _detect(text[start:end]):
            return format_
        start = end
    return None


def _detect(text: bytes) -> Format | None:
    first: tuple[int, Format] | None = None
    for name, literal, line in _SIGNATURES:
        at = _find(literal, line, text, len(text) if first is None else first[0])
        if at is not None:
            first = at, name
    if first:
        return first[1]
    return None


def _find(literal: bytes, line: re.Pattern[bytes], text: bytes, end: int) -> int | None:
    """Where the first line with this signature begins, if before `end`."""
    at = text.find(literal, 0, end)
    for _ in range(_MAX_TRIES):
        if at < 0:
            return None
        start = text.rfind(b"\n", 0, at) + 1
        until = text.find(b"\n", at)
        line_end = until if until >= 0 else len(text)
        if line.match(text, start, line_end):
            if start < end:
                return start
            return None
        at = text.find(literal, line_end, end)

    return None

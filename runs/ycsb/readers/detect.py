"""Which format a file is in, by the first line that only one of them has."""

import re
from typing import Final

from runs.ycsb.readers.results import Format

# Each pattern begins at a line's first sign, which may be indented or stand behind what a log shipper put in front.
_FRONT: Final = rb"^(?:[^\n\[#]{0,200}[ \t|:])?"
_SIGNATURES: Final[tuple[tuple[Format, bytes], ...]] = (
    ("hdr-log", _FRONT + rb'(?:#\[Logging for: |#\[Histogram log format version |"StartTimestamp","Interval_Length")'),
    ("hdr-log", rb"^(?:Tag=[^,\n]{1,200},)?[-+0-9.eE]{1,40},[0-9.eE]{1,40},[-+0-9.eE]{1,40},HIST[A-Za-z0-9+/]"),
    ("ycsb-json", rb'"metric"\s{0,8}:\s{0,8}"[^"\n]{1,200}"\s{0,8},\s{0,80}"measurement"\s{0,8}:'),
    ("go-ycsb-json", _FRONT + rb'\[\{(?="[^\n]{0,2000}"Operation":")(?="[^\n]{0,2000}"(?:Takes\(s\)|Count)":")'),
    ("go-ycsb-csv", rb"^operation,timestamp_us,latency_us"),
    ("go-ycsb-table", _FRONT + rb"\|[ \t]+OPERATION[ \t]+\|[ \t]+(?:TAKES|COUNT)"),
    ("go-ycsb", _FRONT + rb"[A-Z][A-Z_]{0,60} {1,8}- (?:Takes\(s\)|Count): [0-9]"),
    ("go-ycsb", rb"^Using request distribution '|^\*{9,} properties \*{9,}|^(?:Run|Load) finished, takes [0-9]"),
    ("go-ycsb", rb"^[A-Z][A-Z_]{0,60}:\r?\nOperations {1,8}: [0-9]"),
    ("load-generator", rb"^\s{0,8}\[[A-Z]{1,40}\] [A-Za-z0-9/()]{1,80} {0,8}, {0,8}[0-9]"),
    ("ycsb-cpp", rb"^(?:Load|Run) (?:runtime\(sec\)|operations\(ops\)|throughput\(ops/sec\)): "),
    ("ycsb-c", rb"^# (?:Loading records:|Transaction throughput \(KTPS\))"),
    ("ycsb-text", rb"-?\d{1,12} sec: \d{1,18} operations; "),
    ("ycsb-text", rb"^(?:[^\n]{0,400}[ \t|:])?\[[A-Za-z][A-Za-z0-9_%-]{0,80}\],[ \t]{0,4}[^\s,][^,\n]{0,80}, {0,4}\S"),
    (
        "ycsb-text",
        rb"YCSB Client \d|\bCommand line:|(?:com\.yahoo|site)\.ycsb\.|^Raw data measurement: will output to ",
    ),
    (
        "ycsb-raw",
        rb"^(?:\S{1,80} latency raw data: op, timestamp\(ms\), latency\(us\)|[A-Z][A-Z_-]{1,60},\d{12,14},\d{1,10}$)",
    ),
)
_KNOWN: Final = tuple((name, re.compile(pattern, re.MULTILINE)) for name, pattern in _SIGNATURES)


def detect(text: bytes) -> Format | None:
    """The format whose signature comes first in the text; None where there is none of any."""
    found: tuple[int, Format] | None = None
    for name, pattern in _KNOWN:
        match = pattern.search(text)
        if match is not None and (found is None or match.start() < found[0]):
            found = match.start(), name
    return found[1] if found else None

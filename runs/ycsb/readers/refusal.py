"""Why a file gave no result, and what in it came closest to one: for the person who brought it."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from runs.ycsb.block import Block, Note
from runs.ycsb.messages import (
    BINARY_FILE,
    CLIENT_PROPERTIES,
    CLOSEST,
    EMPTY_FILE,
    NO_RESULT_PRINTED,
    NO_YCSB_OUTPUT,
    PRINTED_INSTEAD,
    TABLE_OF_OUTPUTS,
    TPC_C,
    USAGE,
)
from runs.ycsb.readers.results import Format
from runs.ycsb.redact import redact

_SHOWN: Final = 3  # lines
_MAX_LINE_LENGTH: Final = 160  # characters of one
_LOOKED_AT: Final = 5_000  # lines of the beginning
_MAX_SEARCHED: Final = 1_000  # characters of a line
_UNPACK: Final = "It is packed in a way that is not read here: unpack it, or pack it with gzip, zstd or zip."
_TEXT: Final = "Upload the text that the client printed, its exporter's file, or its histogram logs."

# How files begin that are no text. Only what people mix up with results, or pack them in, is named.
_BINARY: Final[tuple[tuple[bytes, str, str], ...]] = (
    (b"BZh", "a bzip2 file", _UNPACK),
    (b"\xfd7zXZ\x00", "an xz file", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    (b"\x04\x22\x4d\x18", "an lz4 file", _UNPACK),
    (b"%PDF-", "a PDF", _TEXT),
    (b"\x89PNG\r\n", "an image", _TEXT),
    (b"\xff\xd8\xff", "an image", _TEXT),
    (b"GIF8", "an image", _TEXT),
    (b"\xd0\xcf\x11\xe0\xa1\xb1", "an office document", _TEXT),
    (b"\x7fELF", "a program", _TEXT),
    (b"MZ\x90\x00", "a program", _TEXT),
    (b"\xca\xfe\xba\xbe", "a Java class", _TEXT),
    (b"SQLite format 3\x00", "an SQLite database", _TEXT),
    (b"PAR1", "a Parquet file", _TEXT),
    (b"\x1c\x84\x93", "a bare encoded histogram", _TEXT),
)
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\f\r\x08\x1b\0"))
_MAX_CONTROLS: Final = 0.02  # of the bytes of a text
_SCRIPTED: Final = re.compile(
    r"\[[A-Z][\w-]*\][ _.]+(?:AverageLatency|Operations|Throughput|RunTime)|^\s{0,80}\|.{0,200}\[[A-Z][\w-]*\], [A-Z]"
)
_TPC: Final = re.compile(r"- Takes\(s\): .{0,200}\bTPM: ")
_USAGE: Final = re.compile(r"\s*usage: .{0,100}ycsb", re.IGNORECASE)
_PROPERTY: Final = re.compile(r"\s*[#!]|\s*[A-Za-z][\w.]*\s*[=:]")
# What a line has that may be part of a result, the more telling first: one of the words, which are looked for before
# the pattern since that is faster, and a match. Both are of small letters.
_HINTS: Final = (
    (("[",), re.compile(r"\s*\[[a-z]")),
    (("ycsb", "throughput", "latency", "percentile", "ops/sec", "runtime"), re.compile("")),
    (("read", "update", "insert", "scan", "op"), re.compile(r".*?\b(?:read|update|insert|scan|operations?|ops)\b.*\d")),
    (("",), re.compile(r"\D*\d")),
)


def kind_of_binary(head: bytes) -> str | None:
    """Why a file that begins like this is not read; None where it may be a text."""
    for magic, kind, instead in _BINARY:
        if head.startswith(magic):
            return f"This is {kind}. {instead}"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if len(head) >= 32 and controls > _MAX_CONTROLS * len(head):
        return BINARY_FILE.format(remedy=_TEXT)
    return None


def closest_lines(block: Block) -> tuple[Note, ...]:
    """The lines of the beginning of a file that have most of a result, in their order."""
    lines = block.data.decode(errors="replace").split("\n")[:_LOOKED_AT]
    others = [
        (number, line, line[:_MAX_SEARCHED].lower())
        for number, line in enumerate(lines, block.first_line)
        if line.strip()
    ]
    closest: list[tuple[int, str, str]] = []
    for words, pattern in _HINTS:
        matching = (entry for entry in others if any(map(entry[2].__contains__, words)) and pattern.match(entry[2]))
        closest += islice(matching, _SHOWN - len(closest))
        others = [entry for entry in others if entry not in closest]

    best = sorted([*closest, *others][:_SHOWN])
    return tuple(Note(redact(line), number) for number, line, _ in best)


def refusal(lines: int, closest: Sequence[Note], name: Format | None) -> tuple[str, str, tuple[str, ...]]:
    """A sentence for the reason, what the lines are that looked closest, and these with their numbers."""
    if not closest and name is None:
        return EMPTY_FILE, "", ()

    quotation = CLOSEST
    if any(_SCRIPTED.search(line.text) for line in closest):
        reason = TABLE_OF_OUTPUTS
    elif any(_TPC.search(line.text) for line in closest):
        reason = TPC_C
    elif any(_USAGE.match(line.text) for line in closest):
        reason = USAGE
    elif closest and all(_PROPERTY.match(line.text) for line in closest):
        reason = CLIENT_PROPERTIES
    elif name is None:
        number = "its only line"
        if lines != 1:
            number = f"its {lines:,} lines"
        reason = NO_YCSB_OUTPUT.format(lines=number)
    else:
        reason = NO_RESULT_PRINTED
        if not any(line.text.lstrip().startswith("[") for line in closest):
            quotation = PRINTED_INSTEAD

    quoted = [f"line {line.line}: {line.text.strip()[:_MAX_LINE_LENGTH]}" for line in closest[:_SHOWN]]
    return reason, quotation, tuple(quoted)

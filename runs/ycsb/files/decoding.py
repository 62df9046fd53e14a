"""Whatever bytes a text was stored as, made into lines of UTF-8.

Nothing is done to a piece of plain UTF-8 but to look for what would need work: those searches run at several GB/s.
"""

import codecs
import re
from typing import Final

_MOSTLY: Final = 0.3  # of the characters of a UTF-16 text are ASCII, and have a NUL beside them
_FEWER: Final = 3  # times as many have it in the high byte as in the low one, where a foreign letter may have a NUL
_BOM: Final = codecs.BOM_UTF8
# Colours and movements of the cursor; titles of windows.
_ESCAPE: Final = re.compile(
    rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[ -/]{0,8}[0-Z\\^-~])"
)
_RETURNS: Final = re.compile(rb"\r+\n?")
# A hole that a crash or a rotated log left at the beginning of a line, and one where something stood.
_HOLE_IN_FRONT: Final = re.compile(rb"^\0+", re.MULTILINE)
_HOLE: Final = re.compile(rb"\0+")
_REPLACEMENT: Final = "\ufffd".encode()


def encoding_of(head: bytes) -> str:
    """utf-8, utf-16-le or utf-16-be by the first bytes; PowerShell writes UTF-16 without a mark now and then."""
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    even, odd = head[0::2], head[1::2]
    pairs = len(head) // 2
    if pairs and b"\0" in head:
        low, high = odd.count(0) / pairs, even.count(0) / pairs
        if low >= _MOSTLY and low > high * _FEWER:
            return "utf-16-le"
        if high >= _MOSTLY and high > low * _FEWER:
            return "utf-16-be"
    return "utf-8"


class Decoder:
    """The pieces of one file in order, as UTF-8 whose lines all end with a line feed."""

    def __init__(self, head: bytes) -> None:
        """`head` is how the file begins; it is not taken."""
        encoding = encoding_of(head)
        self._wide = codecs.getincrementaldecoder(encoding)("replace") if encoding != "utf-8" else None
        self._return = b""  # a carriage return at the end of a piece: the next may begin with the line feed

    def decode(self, piece: bytes, *, is_last: bool = False) -> bytes:
        """Sequences that invalid bytes or escapes are part of may be cut: `clean` takes whole lines."""
        if self._wide is not None:
            piece = self._wide.decode(piece, is_last).encode()
        if self._return:
            piece, self._return = self._return + piece, b""
        if b"\r" in piece:
            if not is_last and piece.endswith(b"\r"):
                piece, self._return = piece.rstrip(b"\r"), b"\r"
            piece = piece.replace(b"\r\n", b"\n")
            if b"\r" in piece:
                piece = _RETURNS.sub(b"\n", piece)
        return piece


def clean(lines: bytes) -> bytes:
    """Whole lines without escape sequences, NUL bytes, byte order marks and bytes that are not UTF-8."""
    if b"\x1b" in lines:
        lines = _ESCAPE.sub(b"", lines)
    if b"\0" in lines:
        # A hole inside of a line may have swallowed digits: what is left of the line must not look whole.
        lines = _HOLE.sub(_REPLACEMENT, _HOLE_IN_FRONT.sub(b"", lines))
    if lines.isascii():
        return lines
    try:
        lines.decode()
    except UnicodeDecodeError:
        lines = lines.decode(errors="replace").encode()
    return lines.replace(_BOM, b"")

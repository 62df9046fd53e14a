"""A file opened: itself, or what is packed in it; its text decoded, and cut into blocks of whole lines.

Nothing is done to a piece of plain UTF-8 but to look for what would need work: those searches run at several GB/s.
"""

import codecs
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

import numpy as np

from runs.ycsb.block import Block, Note
from runs.ycsb.errors import DamagedFile, UnreadableFile
from runs.ycsb.files import limits
from runs.ycsb.files.archives import is_tar, is_zip, tar_members, zip_members
from runs.ycsb.files.byte_sources import Counted, Metered, Refused, Rewound, Source, read_full
from runs.ycsb.files.compression import Unpacked, detect_packing
from runs.ycsb.files.limits import MIB, Meter

_MOSTLY: Final = 0.3  # of the characters of a UTF-16 text are ASCII, and have a NUL beside them
_FEWER: Final = 3  # times as many have it in the high byte as in the low one, where a foreign letter may have a NUL
_PLAIN: Final = 64  # bytes without any NUL: what follows in UTF-16 was appended
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
_LINE_FEED: Final = 10
BLOCK: Final = MIB
_HEAD: Final = 4096


def detect_encoding(head: bytes) -> str:
    """utf-8, utf-16-le or utf-16-be by the first bytes; PowerShell writes UTF-16 without a mark now and then."""
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"

    even, odd = head[0::2], head[1::2]
    pairs = len(head) // 2
    if pairs and b"\0" in head[:_PLAIN]:
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
        encoding = detect_encoding(head)
        self._wide = None
        if encoding != "utf-8":
            self._wide = codecs.getincrementaldecoder(encoding)("replace")
        self._return = b""  # a carriage return at the end of a piece: the next may begin with the line feed

    def decode(self, piece: bytes, *, is_last: bool = False) -> bytes:
        """Sequences that invalid bytes or escapes are part of may be cut: `clean` takes whole lines."""
        if self._wide is not None:
            piece = self._wide.decode(piece, is_last).encode()
        elif b"\0" in piece:
            piece = self._appended(piece)

        if self._return:
            piece, self._return = self._return + piece, b""
        if b"\r" in piece:
            if not is_last and piece.endswith(b"\r"):
                piece, self._return = piece.rstrip(b"\r"), b"\r"
            piece = piece.replace(b"\r\n", b"\n")
            if b"\r" in piece:
                piece = _RETURNS.sub(b"\n", piece)

        return piece

    def _appended(self, piece: bytes) -> bytes:
        """PowerShell's >> appends UTF-16 to whatever the file holds: from its first letter on it is that."""
        at = max(piece.find(b"\0") - 1, 0)
        if detect_encoding(piece[at : at + _HEAD]) != "utf-16-le":
            return piece
        self._wide = codecs.getincrementaldecoder("utf-16-le")("replace")
        return piece[:at] + self._wide.decode(piece[at:]).encode()


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


class Member:
    """One file with nothing packed in it any more. Members are read one after the other, each only once.

    `size`, `notes` and `damage` say what it was like as far as it was read.
    """

    def __init__(self, name: str, head: bytes, source: Source) -> None:
        self.name = name
        self.head = head  # its first bytes as they are stored
        self._source = source
        self._decoder = Decoder(head)
        self._longest = limits.MAX_LINE_LENGTH
        self._piece = min(BLOCK, self._longest)  # so no line that lies in one piece can be too long
        self._lines = 0  # given out
        self._begun: list[bytes] = []  # of a line whose end was not seen yet
        self._begun_size = 0  # of all of that line, kept or not
        self.size = 0  # bytes, unpacked but not decoded
        self.notes: list[Note] = []  # what was odd
        self.damage: DamagedFile | None = None  # why its end is missing

    def blocks(self) -> Iterator[Block]:
        """Its text. Raises UnreadableFile where there is none to be had."""
        while piece := self._read():
            yield from self._take(self._decoder.decode(piece))
        yield from self._take(self._decoder.decode(b"", is_last=True))
        if self._begun_size:
            yield self._block(b"\n", unterminated=True)

    def _read(self) -> bytes:
        try:
            piece = read_full(self._source, self._piece)
        except DamagedFile as error:
            self.damage = error
            self.notes.append(Note(str(error), self._lines + 1))
            return b""
        self.size += len(piece)
        return piece

    def _take(self, text: bytes) -> Iterator[Block]:
        end = text.rfind(b"\n") + 1
        if end:
            yield self._block(text[:end])
        self._begin(text[end:])

    def _begin(self, text: bytes) -> None:
        """Keep the beginning of a line; of one that is too long the rest is dropped."""
        room = max(self._longest - self._begun_size, 0)
        if text and room:
            self._begun.append(text[:room])
        self._begun_size += len(text)

    def _block(self, data: bytes, *, unterminated: bool = False) -> Block:
        if self._begun:
            end = data.find(b"\n")
            self._begin(data[:end])
            if self._begun_size > self._longest:
                text = f"The line has {self._begun_size:,} bytes; only the first {self._longest:,} of them were read."
                self.notes.append(Note(text, self._lines + 1))
            data = b"".join([*self._begun, data[end:]])
            self._begun, self._begun_size = [], 0

        block = Block(clean(data), self._lines + 1, unterminated)
        # Several times as fast as bytes.count, which starts anew at every line feed.
        self._lines += int(np.count_nonzero(np.frombuffer(data, dtype=np.uint8) == _LINE_FEED))
        return block


def open_members(name: str, stream: BinaryIO, *, progress: Callable[[int], None] | None = None) -> Iterator[Member]:
    """The file itself, unpacked, or one member after the other of an archive.

    `progress` is told how many bytes of the file were read. Raises UnreadableFile where the members, or the rest of
    them, cannot be had.
    """
    meter = Meter()
    return _open(name, Counted(stream, meter, progress), meter)


def _open(name: str, source: Source, meter: Meter, layer: int = 0) -> Iterator[Member]:
    try:
        head = read_full(source, _HEAD)
    except UnreadableFile as error:
        yield Member(name, b"", Refused(error))
        return

    packing = detect_packing(head)
    is_archive = is_zip(head) or is_tar(head)
    whole = Rewound(head, source)
    if packing is None and not is_archive:
        yield Member(name, head, whole)
    elif layer == limits.MAX_LAYERS:
        refusal = UnreadableFile(f"It is packed more than {limits.MAX_LAYERS} times over. Unpack it first.")
        yield Member(name, b"", Refused(refusal))
    elif packing is not None:
        yield from _open(name, Unpacked(packing, whole, meter), meter, layer + 1)
    elif is_tar(head):
        for path, part in tar_members(whole):
            meter.enter()
            yield from _open(f"{name}/{path}", part, meter, layer + 1)
    else:
        for path, part in zip_members(source if isinstance(source, Counted) and source.seekable() else whole):
            meter.enter()
            yield from _open(f"{name}/{path}", Metered(part, meter), meter, layer + 1)

"""Pieces of a file cut into blocks of whole lines."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from runs.ycsb.block import Block, Note
from runs.ycsb.errors import DamagedFile
from runs.ycsb.files.decoding import Decoder, clean
from runs.ycsb.files.limits import MIB
from runs.ycsb.files.sources import Source, read_full

BLOCK: Final = MIB
_LINE_FEED: Final = 10


class BlockCutter:
    """Reads a source to its end. `size`, `notes` and `damage` say afterwards what it was like."""

    def __init__(self, head: bytes, source: Source, longest_line: int) -> None:
        self._source = source
        self._decoder = Decoder(head)
        self._longest = longest_line
        self._piece = min(BLOCK, longest_line)  # so no line that lies in one piece can be too long
        self._lines = 0  # given out
        self._begun: list[bytes] = []  # of a line whose end was not seen yet
        self._begun_size = 0  # of all of that line, kept or not
        self.size = 0  # bytes as they were stored
        self.notes: list[Note] = []
        self.damage: DamagedFile | None = None

    def __iter__(self) -> Iterator[Block]:
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

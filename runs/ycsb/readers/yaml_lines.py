"""Lines of a client that stand in scalars of YAML: results of Ansible, exports of log stores, dumps of any tool.

A scalar stands behind a dash or a key, or among others between brackets, plain or between quotes, and goes on over
further lines (YAML 1.2.2, chapter 7). The lines of literal blocks are those of the client already; those of folded
blocks are parts of one.
"""

import re
from itertools import chain, islice
from typing import Final

from runs.ycsb.block import Block
from runs.ycsb.readers.wrapped_lines import CLIENT, opens_quote, unescape

_KEY: Final = r"[\"']?[\w./-]{1,80}[\"']?:"
_FRONT: Final = rf"([ \t]*)(?=- |{_KEY} )((?:- +)*)({_KEY} +)?"
_BARE: Final = rf"(?:\d{{4}}-\d\d-\d\d [\d:]{{8,12}} )?(?:{CLIENT.pattern.decode()})"  # a client's line
_OPENED: Final = re.compile(rf"(['\"]){_BARE}".encode())
_BEHIND: Final = re.compile(rb"(?:\n[ \t]+|- +|[\[{,:][ \t]*)\Z")  # in front of the quote that opens a scalar
_LINE: Final = re.compile(rf"[ \t]*{_BARE}")
# A collection between brackets, and its parts: a bracket, a scalar between quotes, a plain one.
_FLOW: Final = re.compile(rf"[ \t]*(?:- +)*(?:{_KEY} +)?(?=[\[{{])")
_PART: Final = re.compile(r"([\[{])|([\]}])|(['\"])|([^\s,:\[\]{}](?:[^,:\[\]{}]|:(?! |$))*)")
_IS_KEY: Final = re.compile(r"\s*:")
_COMMENT: Final = re.compile(r"\s*(?:#.*)?")
_SCALAR: Final = re.compile(_FRONT + r"(['\"]?)(.*)")
_ENTRY: Final = re.compile(rf"[ \t]*(?:- |-$|{_KEY}(?: |$))")
_FOLDED: Final = re.compile(r">[+-]?\d?[+-]?")
_PIECES: Final = {"'": re.compile(r"((?:[^']|'')*)('?)"), '"': re.compile(r'((?:[^"\\]|\\.)*)([\\"]?)')}
_LOOKED_AT: Final = 1 << 16  # bytes of a block
_MAX_TRIES: Final = 20
_MAX_FRONT: Final = 100  # bytes
_MAX_SCALAR: Final = 1 << 20  # characters without an end of line


def is_yaml(data: bytes) -> bool:
    """Whether a line of a client stands behind a dash, key or bracket, between quotes that not all end in that line.

    Double quotes that end in their line are those of JSON, too.
    """
    if data.find(b"'", 0, _LOOKED_AT) < 0 and data.find(b'"', 0, _LOOKED_AT) < 0:
        return False
    return any(_opens_scalar(data, opened) for opened in islice(_OPENED.finditer(data, 0, _LOOKED_AT), _MAX_TRIES))


def _opens_scalar(data: bytes, opened: re.Match[bytes]) -> bool:
    begin = data.rfind(b"\n", 0, opened.start()) + 1
    if _BEHIND.search(data, max(begin - 1, opened.start() - _MAX_FRONT, 0), opened.start()) is None:
        return False
    end = data.find(b"\n", opened.end())
    return opened[1] == b"'" or opens_quote(data[begin : len(data) if end < 0 else end])


class YamlLines:
    """Takes the lines out of the scalars of one file. A scalar over several lines is in the place of its last one."""

    def __init__(self) -> None:
        self._quote: str | None = None  # of the scalar that is open; empty: it has none
        self._indent = 0  # of a scalar without quotes
        self._is_block = False  # a folded one
        self._text = ""  # of the open scalar, behind its last whole line
        self._joins = False  # the line before ended with an escaped break
        self._depth = 0  # brackets that are open

    def feed(self, block: Block) -> Block:
        """The block with its scalars as lines."""
        lines = block.data.decode(errors="replace").removesuffix("\n").split("\n")
        texts = chain.from_iterable(map(self._read, lines))
        return Block(
            "".join(f"{text}\n" for text in texts).encode(errors="replace"), block.first_line, block.unterminated
        )

    def rest(self) -> bytes:
        """The text of a scalar that has no end."""
        return self._text.encode(errors="replace") + b"\n" if self._text else b""

    def _read(self, line: str) -> list[str]:
        """The lines of the client that end in this line of the file; an empty one where none does."""
        ended: list[str] = []
        if self._quote == "":
            if self._continues(line):
                self._add_break(line)
                self._text += line.strip()
                return [""]
            ended, self._quote = [self._text], None

        if self._quote is not None:
            self._add_break(line)
            line = line.strip()
            texts, end = self._take(self._quote, line)
            return [*texts, *self._take_parts(line, end)[0]] or [""]
        if self._depth and _LINE.match(line) is None:
            return self._take_parts(line)[0] or [""]

        self._depth = 0
        if flow := _FLOW.match(line):
            self._depth = 1
            texts, end = self._take_parts(line, flow.end() + 1)
            if self._depth or _COMMENT.fullmatch(line, end):
                return [*ended, *texts] or [""]

        scalar = _SCALAR.match(line)
        if scalar is None:
            return [*ended, line]

        indent, dashes, key, quote, text = scalar.groups()
        self._text, self._joins = "", False
        if quote:
            return [*ended, *(self._take(quote, text)[0] or [""])]

        self._is_block = _FOLDED.fullmatch(text) is not None
        if self._is_block:
            self._quote = ""
            self._indent = len(indent)
            if key:
                self._indent += len(dashes)
            return ended or [""]
        if not dashes or _ENTRY.match(line, len(indent) + len(dashes)):
            return [*ended, line]

        self._quote = ""
        self._indent = len(indent)
        self._text = text
        return ended or [""]

    def _continues(self, line: str) -> bool:
        """Whether the line belongs to the scalar without quotes."""
        indent = len(line) - len(line.lstrip())
        is_part = self._is_block or _ENTRY.match(line) is None
        return indent > self._indent and is_part and len(self._text) < _MAX_SCALAR

    def _add_break(self, line: str) -> None:
        """What the end of the line before stands for: a blank, or a line where this one is empty."""
        if not line.strip():
            self._text += "\n"
        elif self._text and not self._joins and not self._text.endswith("\n"):
            self._text += " "

    def _take_parts(self, text: str, at: int = 0) -> tuple[list[str], int]:
        """The lines of the scalars of a collection that end in this text, and where its last bracket closes."""
        ended: list[str] = []
        while self._depth and self._quote is None and (part := _PART.search(text, at)):
            opening, closing, quote, plain = part.groups()
            at = part.end()
            self._depth += bool(opening) - bool(closing)
            self._text, self._joins = "", False
            texts = [plain.rstrip()] if plain else []
            if quote:
                texts, at = self._take(quote, text, at)
            if not _IS_KEY.match(text, at):
                ended += texts

        return ended, at

    def _take(self, quote: str, text: str, at: int = 0) -> tuple[list[str], int]:
        """The whole lines of the scalar so far, or all of it where this text closes it; and where it ends there."""
        piece = _PIECES[quote].match(text, at)
        assert piece is not None
        content, end = piece.groups()
        self._joins = end == "\\"
        self._text += content.replace("''", "'") if quote == "'" else unescape(content)
        *lines, self._text = self._text.split("\n")
        self._quote = quote
        if end == quote or len(self._text) > _MAX_SCALAR:
            lines.append(self._text)
            self._quote, self._text = None, ""
        return lines, piece.end()

"""Lines of a client that stand in scalars of YAML: results of Ansible, exports of log stores, dumps of any tool.

A scalar stands behind a dash or a key, plain or between quotes, and goes on over further lines (YAML 1.2.2, chapter 7).
The lines of literal blocks are those of the client already; those of folded blocks are parts of one.
"""

import re
from typing import Final

from runs.ycsb.block import Block
from runs.ycsb.readers.wrapped_lines import CLIENT, opens_quote

_KEY: Final = r"[\"']?[\w./-]{1,80}[\"']?:"
_FRONT: Final = rf"([ \t]*)(?=- |{_KEY} )((?:- +)*)({_KEY} +)?"
_OPENED: Final = re.compile(rf"{_FRONT}(['\"])(?:\d{{4}}-\d\d-\d\d [\d:]{{8,12}} )?".encode())
_SCALAR: Final = re.compile(_FRONT + r"(['\"]?)(.*)")
_ENTRY: Final = re.compile(rf"[ \t]*(?:- |-$|{_KEY}(?: |$))")
_FOLDED: Final = re.compile(r">[+-]?\d?[+-]?")
_PIECES: Final = {"'": re.compile(r"((?:[^']|'')*)('?)"), '"': re.compile(r'((?:[^"\\]|\\.)*)([\\"]?)')}
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_CONTROLS: Final = {
    "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "N": "\x85",
    "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_LOOKED_AT: Final = 1 << 16  # bytes of a block
_MAX_SCALAR: Final = 1 << 20  # characters without an end of line


def is_yaml(data: bytes) -> bool:
    """Whether a line of a client stands behind a dash or a key, between quotes that not all end in that line.

    Double quotes that end in their line are those of JSON, too.
    """
    data = data[:_LOOKED_AT]
    if b"'" not in data and b'"' not in data:
        return False
    return any(map(_opens_scalar, data.split(b"\n")))


def _opens_scalar(line: bytes) -> bool:
    opened = _OPENED.match(line)
    if opened is None or CLIENT.match(line, opened.end()) is None:
        return False
    return opened[4] == b"'" or opens_quote(line)


class YamlLines:
    """Takes the lines out of the scalars of one file. A scalar over several lines is in the place of its last one."""

    def __init__(self) -> None:
        self._quote: str | None = None  # of the scalar that is open; empty: it has none
        self._indent = 0  # of a scalar without quotes
        self._is_block = False  # a folded one
        self._text = ""  # of the open scalar, behind its last whole line
        self._joins = False  # the line before ended with an escaped break

    def feed(self, block: Block) -> Block:
        """The block with its scalars as lines."""
        lines = block.data.decode(errors="replace").removesuffix("\n").split("\n")
        texts = [text for line in lines for text in self._read(line)]
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
            return self._take(self._quote, line.strip())
        scalar = _SCALAR.match(line)
        if scalar is None:
            return [*ended, line]
        indent, dashes, key, quote, text = scalar.groups()
        self._text, self._joins = "", False
        if quote:
            return [*ended, *self._take(quote, text)]
        self._is_block = _FOLDED.fullmatch(text) is not None
        if self._is_block:
            self._quote, self._indent = "", len(indent)
            if key:
                self._indent += len(dashes)
            return ended or [""]
        if not dashes or _ENTRY.match(line, len(indent) + len(dashes)):
            return [*ended, line]
        self._quote, self._indent, self._text = "", len(indent), text
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

    def _take(self, quote: str, text: str) -> list[str]:
        """The whole lines of the scalar so far; all of it where this text closes it."""
        piece = _PIECES[quote].match(text)
        assert piece is not None
        content, end = piece.groups()
        self._joins = end == "\\"
        self._text += content.replace("''", "'") if quote == "'" else _ESCAPE.sub(_unescape, content)
        *lines, self._text = self._text.split("\n")
        self._quote = quote
        if end == quote or len(self._text) > _MAX_SCALAR:
            lines.append(self._text)
            self._quote, self._text = None, ""
        return lines or [""]


def _unescape(escape: re.Match[str]) -> str:
    *codes, character = escape.groups()
    code = next(filter(None, codes), "")
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    return _CONTROLS.get(character, character)

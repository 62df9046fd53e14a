"""Lines of a client that stand in strings: of JSON (docker's json-file, exports of log stores, results of Ansible), and
as Python prints its own.

Nothing here knows a product: a string that holds what a client writes is a line of it, or several.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from runs.ycsb.block import Block

_TEXT: Final = (
    rb"\[OVERALL\], |Command line:|YCSB Client \d|Starting test\.|\d{1,18} sec: \d{1,18} operations;"
    rb"|\[[A-Z][\w-]{0,79}\], (?:Operations|AverageLatency|Return=)|(?:Run|Load) finished, takes \d"
)
CLIENT: Final = re.compile(_TEXT)
# Each match has one of these: looking for them first is much faster.
_WORDS: Final = (b"], ", b"Command line:", b"YCSB Client ", b"Starting test.", b" sec: ", b" finished, takes ")
_QUOTE: Final = re.compile(rb'\\.|(")')
_MAX_TRIES: Final = 20
_LOOKED_AT: Final = 1 << 16  # bytes of a block
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
# A string without an end goes to the end of its line: each quote in it would be tried anew otherwise.
_PRINTED: Final = re.compile(r"""'((?:[^'\\]|\\.)*)(?:'|\\?\Z)|"((?:[^"\\]|\\.)*)(?:"|\\?\Z)""")
_OPENS_PRINTED: Final = re.compile(rb"(?:^|[\s\[({,:=b])'(?:" + _TEXT + rb")[^\n]*\\n")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_CONTROLS: Final = {
    "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "N": "\x85",
    "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
# Whose line it is, where an entry says so beside it.
_WRITER: Final = re.compile(
    r'"(?:[\w./-]*(?:pod|container|host|instance|task|source|unit|logstream|stream_name|service)[\w./-]*)"\s*:\s*'
    r'("(?:[^"\\]|\\.){1,200}")',
    re.IGNORECASE,
)
_NO_WRITER: Final = frozenset({"stdout", "stderr"})
_MAX_WRITERS: Final = 3


def is_wrapped(data: bytes) -> bool:
    """Whether lines of a client stand in strings: whether a quote is open before the first of them."""
    data = data[:_LOOKED_AT]
    if b'"' not in data or b'"metric"' in data:
        return False
    return any(opens_quote(front) for front in islice(_fronts(data), _MAX_TRIES))


def is_printed(data: bytes) -> bool:
    """Whether lines of a client stand in strings as Python prints them, with their ends as escapes."""
    data = data[:_LOOKED_AT]
    return b"\\n" in data and _OPENS_PRINTED.search(data) is not None


def unwrapped_printed(block: Block) -> Block:
    """The block with the lines of each string of Python that a client wrote."""
    lines = block.data.decode(errors="replace").split("\n")
    return Block("\n".join(map(_unwrapped_printed, lines)).encode(), block.first_line, block.unterminated)


def _unwrapped_printed(line: str) -> str:
    texts = [unescape(single or double) for single, double in _PRINTED.findall(line)]
    own = [text.rstrip("\n") for text in texts if "\n" in text or _is_text(text, len(texts))]
    return "\n".join(own) or line


def unescape(text: str) -> str:
    """Escapes of YAML and Python, which has some of them."""
    return _ESCAPE.sub(_unescape, text)


def _unescape(escape: re.Match[str]) -> str:
    *codes, character = escape.groups()
    code = next(filter(None, codes), "")
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    return _CONTROLS.get(character, character)


def _fronts(data: bytes) -> Iterator[bytes]:
    """In lines with a quote, which are few: the text in front of what a client writes."""
    for line in data.split(b"\n"):
        if b'"' in line and any(word in line for word in _WORDS):
            yield from (line[: match.start()] for match in CLIENT.finditer(line))


def opens_quote(front: bytes) -> bool:
    """Whether a double quote is open behind the text."""
    return sum(1 for match in _QUOTE.finditer(front) if match[1]) % 2 == 1


def unwrapped(block: Block) -> Block:
    """The block with each string that stands in a line as a line; of an entry with one text, only that.

    Numbers of lines are those of the file where each string is one line.
    """
    lines = block.data.decode(errors="replace").split("\n")
    return Block("\n".join(map(_unwrapped, lines)).encode(), block.first_line, block.unterminated)


def _unwrapped(line: str) -> str:
    strings = list(_STRING.finditer(line))
    texts = [text for match in strings if (text := _decoded(match[0])) and _is_text(text, len(strings))]
    if not texts:
        return line
    front = ""
    if line.lstrip().startswith("{"):
        front = _front(line)
    parts = "\n".join(texts).rstrip("\n").split("\n")
    return "\n".join(front + part for part in parts)


def _is_text(text: str, strings: int) -> bool:
    """Among several strings of a line only those that a client wrote; a single string may be any line of it."""
    return strings == 1 or re.search(_TEXT.decode(), text) is not None


def _decoded(string: str) -> str:
    try:
        return str(json.loads(string, strict=False))
    except ValueError:
        return ""


def _front(line: str) -> str:
    """The writer in front of the line, as docker compose names it."""
    names = [_decoded(match[1]) for match in _WRITER.finditer(line)]
    writers = list(dict.fromkeys(name.replace(" ", "_") for name in names if name not in _NO_WRITER))[:_MAX_WRITERS]
    if writers:
        return f"{'/'.join(writers)} | "
    return ""

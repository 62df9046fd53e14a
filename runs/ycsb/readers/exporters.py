"""What YCSB's JSON exporters write: an object for each measurement.

JSONMeasurementsExporter writes a sequence of objects that is no JSON document, JSONArrayMeasurementsExporter an array,
and people wrap either in something of their own. So the objects are looked for one by one; whatever stands between
them, status lines for example, is text.
"""

import json
import re
from typing import Final

from runs.ycsb.readers.results import Block, OtherLine, ReadRun
from runs.ycsb.readers.text import TextReader

_OBJECT: Final = re.compile(rb"\{[^{}]{0,4000}\}")
_LONGEST: Final = 4_002  # bytes of an object
_PUNCTUATION: Final = b" \t\r\n,[]"


class ExporterReader:
    """Reads the blocks of one file."""

    def __init__(self) -> None:
        self._text = TextReader("ycsb-json")
        self._rest = b""  # of the block before: it may be the beginning of an object
        self._rest_line = 1
        self._is_array = False
        self._is_closed = True  # the array, or the last object
        self._has_objects = False

    @property
    def closest(self) -> tuple[OtherLine, ...]:
        """The lines that looked most like a result."""
        return self._text.closest

    def feed(self, block: Block) -> None:
        data = self._rest + block.data
        line = self._rest_line if self._rest else block.first_line
        start = 0
        for found in _OBJECT.finditer(data):
            self._between(data[start : found.start()], line)
            line += data.count(b"\n", start, found.end())
            start = found.end()
            self._object(found[0], line)
        rest = data[start:]
        opened = rest.rfind(b"{")
        if opened < 0 or len(rest) - opened > _LONGEST:
            opened = len(rest)
        self._between(rest[:opened], line)
        self._rest, self._rest_line = rest[opened:], line + rest.count(b"\n", 0, opened)

    def done(self) -> tuple[ReadRun, ...]:
        if self._rest or (self._is_array and not self._is_closed):
            self._text.broke_off()
        return self._text.done()

    def _object(self, data: bytes, line: int) -> None:
        self._is_closed = False
        try:
            found = json.loads(data, parse_float=str, parse_int=str, parse_constant=str)
        except (ValueError, RecursionError):
            found = {}
        metric, key = found.get("metric"), found.get("measurement")
        if isinstance(metric, str) and isinstance(key, str) and "value" in found:
            self._has_objects = True
            self._text.measurement(metric, key, str(found["value"]), line)
        else:
            self._text.feed(Block(data + b"\n", line))

    def _between(self, data: bytes, line: int) -> None:
        """What stands between two objects: of the array that they are in, or lines of text."""
        self._is_array |= b"[" in data and not self._has_objects
        self._is_closed |= b"]" in data
        if data.strip(_PUNCTUATION):
            self._text.feed(Block(data if data.endswith(b"\n") else data + b"\n", line))

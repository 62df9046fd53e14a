"""What YCSB's JSON exporters write: an object for each measurement.

JSONMeasurementsExporter writes a sequence of objects that is no JSON document, JSONArrayMeasurementsExporter an array,
and people wrap either in something of their own. So the objects are looked for one by one; whatever stands between
them, status lines for example, is text.
"""

import json
import re
from typing import Final

from runs.ycsb.block import Block
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.readers.text import TextReader

_OBJECT: Final = re.compile(rb"\{[^{}]{0,4000}\}")
_MAX_OBJECT_BYTES: Final = 4_002  # bytes of an object
_PUNCTUATION: Final = b" \t\r\n,[]"
_METRIC: Final = b'"metric"'


class ExporterReader(TextReader):
    """Reads the blocks of one file, which may be text alone: what a client says on the way comes before its objects."""

    def __init__(self) -> None:
        super().__init__()
        self._rest = b""  # of the block before: it may be the beginning of an object
        self._rest_line = 1
        self._is_array = False
        self._is_closed = True  # the array, or the last object
        self._has_objects = False
        self._is_cut = False  # the last line ends without a line end

    def feed(self, block: Block) -> None:
        if self._rest or _METRIC in block.data or block.data.rstrip().endswith(b"{"):
            self._feed_objects(block)
        else:
            super().feed(block)

    def _feed_objects(self, block: Block) -> None:
        self._is_cut = block.unterminated
        data = self._rest + block.data
        line = self._rest_line if self._rest else block.first_line
        start = 0
        for match in _OBJECT.finditer(data):
            if _METRIC not in match[0]:
                continue
            self._between(data[start : match.start()], line)
            line += data.count(b"\n", start, match.end())
            start = match.end()
            self._object(match[0], line)

        rest = data[start:]
        opened = rest.rfind(b"{")
        if opened < 0 or len(rest) - opened > _MAX_OBJECT_BYTES:
            opened = len(rest)
        self._between(rest[:opened], line, is_cut=block.unterminated and opened == len(rest))
        self._rest = rest[opened:]
        self._rest_line = line + rest.count(b"\n", 0, opened)

    def done(self) -> tuple[ReadRun, ...]:
        if self._has_objects and (self._rest or (self._is_array and not self._is_closed)):
            self._main.broke_off()
        if self._rest:
            super().feed(Block(self._rest, self._rest_line, self._is_cut))
        return super().done()

    def _object(self, data: bytes, line: int) -> None:
        self._is_closed = False
        try:
            fields = json.loads(data, parse_float=str, parse_int=str, parse_constant=str)
        except (ValueError, RecursionError):
            fields = {}

        metric, key = fields.get("metric"), fields.get("measurement")
        if isinstance(metric, str) and isinstance(key, str) and "value" in fields:
            self._has_objects = True
            self.run_format = "ycsb-json"
            if self._has_room(self._main, line):
                self._main.measurement(metric, key, str(fields["value"]), line)
        else:
            super().feed(Block(data + b"\n", line))

    def _between(self, data: bytes, line: int, *, is_cut: bool = False) -> None:
        """Text between two objects: of their array, or lines."""
        self._is_array |= data.rstrip().endswith(b"[") and not self._has_objects
        self._is_closed |= b"]" in data
        if data.strip(_PUNCTUATION):
            super().feed(Block(data if data.endswith(b"\n") else data + b"\n", line, is_cut))

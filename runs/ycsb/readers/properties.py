"""Files of properties for a client, as `-P client.properties` names them: what it was asked for, and no result."""

import re
from typing import Final

from runs.ycsb.block import Block
from runs.ycsb.operation import OtherLine
from runs.ycsb.properties import CLIENT_PROPERTIES, REFUSED_PROPERTIES, WORKLOAD_PROPERTIES
from runs.ycsb.readers.refusal import closest_lines
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.redact import redact

# A program's own configuration looks the same: one name must be YCSB's, or begin like those of its bindings.
_OF_YCSB: Final = frozenset({*WORKLOAD_PROPERTIES, *CLIENT_PROPERTIES, *REFUSED_PROPERTIES})
_OF_BINDING: Final = re.compile(
    r"(?:aerospike|as|cassandra|couchbase|db|hbase|jdbc|memcached|mongodb|postgresql|redis)\.\w|hosts$"
)
_LINE: Final = re.compile(rb"[ \t]*(?:[#!].*|([A-Za-z][\w.-]{0,99})[ \t]*=.*)?", re.ASCII)


def is_properties(text: bytes) -> bool:
    """Whether every line is a property or a comment, and some property is meant for YCSB."""
    names = []
    for line in text.split(b"\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            return False
        names += [match[1].decode()] if match[1] else []
    return any(name in _OF_YCSB or _OF_BINDING.match(name) for name in names)


class PropertiesReader:
    """Reads the blocks of one file."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self.closest: tuple[OtherLine, ...] = ()  # the first lines, which say why the file alone makes no run

    def feed(self, block: Block) -> None:
        self.closest = self.closest or closest_lines(block)
        for line in redact(block.data.decode(errors="replace")).split("\n"):
            name, equals, value = line.partition("=")
            if equals and not name.lstrip().startswith(("#", "!")):
                self._properties[name.strip()] = value.strip()

    def done(self) -> tuple[ReadRun, ...]:
        return (ReadRun(format="properties", properties=self._properties),)

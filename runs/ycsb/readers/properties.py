"""Files of properties for a client, as `-P client.properties` names them: what it was asked for, and no result."""

import re
from typing import Final

from runs.ycsb.block import Block, Note
from runs.ycsb.properties import CLIENT_PROPERTIES, REFUSED_PROPERTIES, WORKLOAD_PROPERTIES, parse_properties
from runs.ycsb.property_names import NAMES
from runs.ycsb.readers.preamble import redacted
from runs.ycsb.readers.refusal import closest_lines
from runs.ycsb.readers.results import ReadRun

# A program's own configuration looks the same: one name must be YCSB's, or begin like those of its bindings.
_OF_YCSB: Final = frozenset({*WORKLOAD_PROPERTIES, *CLIENT_PROPERTIES, *REFUSED_PROPERTIES})
_OF_BINDING: Final = re.compile(
    r"(?:aerospike|as|cassandra|couchbase|db|hbase|jdbc|memcached|mongodb|postgresql|redis)\.\w|hosts$"
)
_BEGIN: Final = re.compile(rb"[ \t]*(?:[#!].*|([A-Za-z][\w.-]{0,99})[ \t]*([=:]?).*)?", re.ASCII)
_LOOKED_AT: Final = 4_000  # bytes
_MAX_LINES: Final = 20
_NAME: Final = re.compile(r"[A-Za-z][\w.-]{0,99}", re.ASCII)
_OTHER: Final = re.compile(rb"[ \t]*[#!]")
_ASSIGNED: Final = re.compile(rb"[ \t]*[A-Za-z][\w.-]{0,99}[ \t]*[=:]", re.ASCII)


def is_properties(text: bytes) -> bool:
    """Whether every line is a property or a comment, and some property is meant for YCSB."""
    if not _may_be(text[:_LOOKED_AT]):
        return False

    names = []
    for _, name, _ in parse_properties(text.decode(errors="replace")):
        if not _NAME.fullmatch(name):
            return False
        names.append(name)

    # With a blank between name and value any words would do.
    lines = [line for line in text.split(b"\n") if line.strip() and not _OTHER.match(line)]
    are_assigned = all(_ASSIGNED.match(line) for line in lines)
    if not are_assigned and not all(name in NAMES for name in names):
        return False

    return any(name in _OF_YCSB or _OF_BINDING.match(name) for name in names)


def _may_be(beginning: bytes) -> bool:
    """Whether nothing in the first lines tells that they are none; a line that continues another may be anything."""
    goes_on = False
    for line in beginning.split(b"\n")[:_MAX_LINES]:
        match = None
        if not goes_on:
            match = _BEGIN.fullmatch(line)
        if not goes_on and (match is None or (match[1] and not match[2] and match[1].decode() not in NAMES)):
            return False
        goes_on = line.endswith(b"\\")
    return True


class PropertiesReader:
    """Reads the blocks of one file."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self.closest: tuple[Note, ...] = ()  # the first lines, which say why the file alone makes no run

    def feed(self, block: Block) -> None:
        self.closest = self.closest or closest_lines(block)
        for _, name, value in parse_properties(block.data.decode(errors="replace")):
            self._properties |= redacted({name: value.strip()})

    def done(self) -> tuple[ReadRun, ...]:
        return (ReadRun(format="properties", properties=self._properties),)

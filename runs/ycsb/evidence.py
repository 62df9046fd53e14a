"""What one client's files say of that client beside its numbers, as far as the checks use it. It is stored as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runs.ycsb.properties import CLIENT_COUNT, CLIENT_NUMBER, FIRST_INSERT

# What a client states of its own load, of which that of a run is the sum; and of its binding and its share of the work.
LOAD: Final[tuple[str, ...]] = ("threadcount", "target")
OWN: Final[tuple[str, ...]] = (
    *LOAD, "db", "operationcount", "status.interval", "insertstart", "insertcount", CLIENT_NUMBER, CLIENT_COUNT,
    FIRST_INSERT,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClientEvidence:
    """One client of an upload. `properties` are those of its workload, load, database and durability mode."""

    properties: Mapping[str, str] = field(default_factory=dict)
    written: Sequence[str] = ()  # the properties that its own lines state; YCSB's file of a workload is a guess
    has_properties: bool = False
    has_messages: bool = False  # its standard error is among the files
    messages: Sequence[str] = ()  # its exceptions and other signs of trouble, redacted
    gc_share: float | None = None  # of its run time, collecting garbage
    elsewhere: bool = False  # it names servers, and none of those that the first client names
    unknown: Sequence[tuple[str, str]] = ()  # properties that nothing reads, and the nearest one that is read
    copy_of: int | None = None  # the number of the client whose numbers these are
    clock_steps: Sequence[Sequence[float]] = ()  # of its status lines: seconds since its start, and by how many seconds

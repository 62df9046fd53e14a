"""Which acknowledged writes a server has lost: the ledger of a client against what was read after the fault. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# What `benchsite.LedgerClient` reads beside a version.
ABSENT, DAMAGED, UNREADABLE = 0, -1, -2


@dataclass(frozen=True, slots=True)
class Write:
    """One acknowledged write. `version` 0 is a delete; instants are microseconds since 1970."""

    key: str
    version: int
    sent_us: int
    acknowledged_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The acknowledged writes before a fault, and those of them that are lost.

    Every key counts once as present (its last acknowledged write or a later one is there), older, absent, damaged or
    unreadable. `unacknowledged` keys hold a write that was sent and not acknowledged, which is no error. A lost write
    is a hole where a write that was sent after its acknowledgement survived.
    """

    acknowledged: int
    lost: int
    oldest_lost_s: float  # from the acknowledgement of the oldest lost write to the fault; 0 without one
    holes: int
    present: int
    older: int
    absent: int
    damaged: int
    unreadable: int
    unacknowledged: int


def parse_ledger(lines: Iterable[str]) -> list[Write]:
    """The writes of `org.benchsite.ycsb.AcknowledgedWrites`. Raises ValueError for a line that is none."""
    writes = []
    for line in lines:
        key, version, sent, acknowledged = line.split()
        writes.append(Write(key, int(version), int(sent), int(acknowledged)))
    return writes


def classify(writes: Iterable[Write], versions: Mapping[str, int], fault_us: int) -> Loss:
    """Compares the writes acknowledged before `fault_us` with the versions that were read afterwards.

    A write is lost where the surviving version of its key was acknowledged before it was sent, so writes that
    overlapped in time may survive in either order. A key without a surviving version has lost all its writes.
    """
    by_key: dict[str, list[Write]] = defaultdict(list)  # those that were acknowledged
    by_version: dict[tuple[str, int], Write] = {}
    for write in writes:
        by_version[write.key, write.version] = write  # the last of several deletes
        if write.acknowledged_us < fault_us:
            by_key[write.key].append(write)

    lost: list[Write] = []
    last_survivor_us = 0
    counts = dict.fromkeys(("present", "older", "absent", "damaged", "unreadable", "unacknowledged"), 0)
    for key, acknowledged in by_key.items():
        version = versions[key]
        survivor = by_version.get((key, version))
        if survivor is not None:
            last_survivor_us = max(last_survivor_us, survivor.sent_us)
            lost_of_key = [write for write in acknowledged if write.sent_us > survivor.acknowledged_us]
            outcome = "older" if lost_of_key else "present"
        elif version > 0:
            lost_of_key = []
            outcome = "unacknowledged"
        else:
            lost_of_key = acknowledged
            outcome = {ABSENT: "absent", DAMAGED: "damaged"}.get(version, "unreadable")
        lost += lost_of_key
        counts[outcome] += 1

    return Loss(
        acknowledged=sum(len(acknowledged) for acknowledged in by_key.values()),
        lost=len(lost),
        oldest_lost_s=max((fault_us - write.acknowledged_us for write in lost), default=0) / 1e6,
        holes=sum(write.acknowledged_us < last_survivor_us for write in lost),
        **counts,
    )

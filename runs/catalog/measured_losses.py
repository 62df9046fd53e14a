"""What durability modes were measured to lose at faults: the evidence behind the records of the catalog.

`measured/*.json` are results of `make durability` as it writes them (docs/durability.md). Pure: no Django.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

from benchsite.core.formatting import exact, percent, significant
from runs.catalog.durability import Durability
from runs.catalog.messages import (
    FSYNC_TAKES,
    NAMES_KEPT_BY_FOLDER_SYNC,
    RECORD_LOSES_LESS,
    RECORD_SURVIVES,
    UNSYNCED_WRITES_KEPT,
)

FOLDER: Final = Path(__file__).parent / "measured"


class Fault(StrEnum):
    """Of all nodes at once, except where another number is named."""

    PROCESS_CRASH = "process crash"
    POWER_CUT = "power cut"
    NODE_POWER_CUT = "power cut of one node"  # which starts again
    NODE_LOSS = "loss of one node"  # the primary; its disk never comes back
    CUT_OFF_LOSS = "loss of one node, cut off before"  # the same, and its replica received nothing in the last second
    MINORITY_CUT = "one node cut off"  # by the network, from the others and from the clients
    MAJORITY_CUT = "all but one cut off"


NODE_LOSSES: Final = (Fault.NODE_LOSS, Fault.CUT_OFF_LOSS)
NETWORK_CUTS: Final = (Fault.MINORITY_CUT, Fault.MAJORITY_CUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """How the volatile disk behaved: `workers.durability.fuse_server` describes each option."""

    strict: bool = False
    fsync_ms: float = 0.0
    lying: bool = False
    writeback: float = 0.0

    def __str__(self) -> str:
        """Differences from a journalled disk that syncs at once; empty for that one."""
        parts = [
            NAMES_KEPT_BY_FOLDER_SYNC if self.strict else "",
            FSYNC_TAKES.format(ms=exact(self.fsync_ms)) if self.fsync_ms else "",
            "fsync keeps nothing" if self.lying else "",
            UNSYNCED_WRITES_KEPT.format(share=percent(self.writeback)) if self.writeback else "",
        ]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLoss:
    """One mode and one kind of fault, many times. Seconds are None where no fault has the value."""

    system: str  # slugs
    version: str
    mode: str
    nodes: int = 1  # a primary and its replica, or equal nodes that each have all records
    fault: Fault
    disk: Disk
    faults: int
    with_loss: int
    acknowledged: int
    lost_median: float
    lost_max: int
    oldest_lost_median_s: float | None  # over the faults with loss
    oldest_lost_max_s: float | None
    holes: int
    damaged: int
    unreadable: int
    unacknowledged: int
    not_started: int
    recovery_median_s: float | None
    recovery_max_s: float | None

    @property
    def max_loss_share(self) -> float | None:
        """The largest share of losing faults, with 95 % confidence, where none lost anything.

        The exact binomial bound: a larger share p has no loss in n faults with a probability (1 - p)^n below 5 %.
        """
        if self.with_loss:
            return None
        return float(1 - 0.05 ** (1 / self.faults))

    def contradiction(self, record: Durability) -> str:
        """How the measurement contradicts the record of its mode; empty where it does not, or the disk was faulty."""
        if not self.with_loss or self.disk.lying:
            return ""

        survives = record.survives
        stated = {Fault.PROCESS_CRASH: survives["process_crash"]} | dict.fromkeys(NODE_LOSSES, survives["node_loss"])
        stated |= dict.fromkeys(NETWORK_CUTS, record.ack != "none")  # no process ends
        if self.nodes > 1 and survives["node_loss"]:
            # Its window is that of one node, which the other copies outlive.
            stated[Fault.POWER_CUT] = survives["power_loss"]

        if self.fault in stated:
            if stated[self.fault]:
                return RECORD_SURVIVES
            return ""

        window_s = record.worst_loss_window_s or record.loss_window_s
        if window_s is None or self.oldest_lost_max_s is None or self.oldest_lost_max_s <= window_s:
            return ""

        return RECORD_LOSES_LESS.format(window_s=exact(window_s), measured_s=significant(self.oldest_lost_max_s))


@cache
def load_measured_losses() -> tuple[MeasuredLoss, ...]:
    """All results, in the order of their files."""
    losses: list[MeasuredLoss] = []
    for path in sorted(FOLDER.glob("*.json")):
        losses += map(measured_loss, json.loads(path.read_text("utf-8"))["losses"])
    return tuple(losses)


@cache
def power_cut_loss(system: str, mode: str, nodes: int = 1) -> MeasuredLoss | None:
    """The newest result of power cuts with an ordinary disk, of so many nodes if there is one, else of a single node;
    None where the mode was not measured.
    """
    results = {
        loss.nodes: loss
        for loss in load_measured_losses()
        if (loss.system, loss.mode, loss.fault, loss.disk) == (system, mode, Fault.POWER_CUT, Disk())
    }
    return results.get(nodes, results.get(1))


def find_contradiction(system: str, mode: str, record: Mapping[str, object]) -> str:
    """How a measurement contradicts a record that `Durability.as_dict` wrote; empty where none does or is known."""
    losses = [loss for loss in load_measured_losses() if (loss.system, loss.mode) == (system, mode)]
    try:
        stated = Durability.from_dict(record)
    except ValueError:
        return ""
    return next((text for loss in losses if (text := loss.contradiction(stated))), "")


def measured_loss(content: dict[str, Any]) -> MeasuredLoss:
    """The result of plain JSON, as `dataclasses.asdict` made it."""
    return MeasuredLoss(**{**content, "fault": Fault(content["fault"]), "disk": Disk(**content["disk"])})

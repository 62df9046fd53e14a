"""A drawing of the servers of a database: where they stand, whom clients ask, and which copies which."""

from dataclasses import dataclass
from typing import Final

from runs.catalog import System
from runs.models import Database, Provisioner

BOX_PX: Final = 150
GAP_PX: Final = 20
MAX_BOXES: Final = 16


@dataclass(frozen=True, slots=True)
class Box:
    """A server; `left` is where its box begins, in pixels."""

    name: str
    machine: str
    role: str  # "primary", "replica", or empty: all are equal
    left: int

    @property
    def middle(self) -> int:
        return self.left + BOX_PX // 2

    @property
    def is_asked(self) -> bool:
        """Whether clients connect to it."""
        return self.role != "replica"


@dataclass(frozen=True, slots=True)
class Topology:
    boxes: tuple[Box, ...]
    servers: int  # of which `MAX_BOXES` are drawn at most
    replication_factor: int
    box_px: int = BOX_PX

    @property
    def width(self) -> int:
        return len(self.boxes) * (BOX_PX + GAP_PX) - GAP_PX

    @property
    def replicas(self) -> list[Box]:
        return [box for box in self.boxes if box.role == "replica"]


def build_topology(database: Database, system: System | None) -> Topology | None:
    """None where nothing is known to stand anywhere. No query where its nodes with machines were fetched before."""
    nodes = list(database.cluster.nodes.all())
    servers = database.count_servers()
    if not nodes or not servers:
        return None

    is_started = database.cluster.provisioner != Provisioner.EXTERNAL
    has_primary = bool(is_started and servers > 1 and system and system.process and system.process.replica)
    boxes = []
    for number in range(min(servers, MAX_BOXES)):
        node = nodes[min(number, len(nodes) - 1)]
        role = ""
        if has_primary:
            role = "replica" if number else "primary"
        name = node.address or f"node {number + 1}"
        boxes.append(Box(name, node.machine.name, role, number * (BOX_PX + GAP_PX)))

    copies = database.replication_factor
    if has_primary:  # Each replica copies everything.
        copies = servers
    return Topology(tuple(boxes), servers, copies)

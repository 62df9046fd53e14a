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
    def right(self) -> int:
        return self.left + BOX_PX

    @property
    def middle(self) -> int:
        return self.left + BOX_PX // 2

    @property
    def is_asked(self) -> bool:
        """Whether clients connect to it."""
        return self.role != "replica"


def draw_servers(database: Database, system: System | None) -> list[Box]:
    """The boxes of at most `MAX_BOXES` servers; none where nothing is known to stand anywhere.

    No query where its nodes with machines were fetched before.
    """
    nodes = list(database.cluster.nodes.all())
    servers = database.count_servers()
    if not nodes:
        return []

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
    return boxes

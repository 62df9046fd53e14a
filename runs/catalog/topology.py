"""A drawing of the servers of a database: where they stand, whom clients ask, and which copies which."""

from typing import Any, Final

from runs.catalog import System
from runs.models import Database, Provisioner

BOX_PX: Final = 150
GAP_PX: Final = 20
MAX_BOXES: Final = 16


def draw_servers(database: Database, system: System | None) -> list[dict[str, Any]]:
    """The boxes of at most `MAX_BOXES` servers, in pixels; none where nothing is known to stand anywhere.

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
        left = number * (BOX_PX + GAP_PX)
        box = {
            "name": node.address or f"node {number + 1}",
            "machine": node.machine.name,
            "role": role,  # empty: all are equal
            "is_asked": role != "replica",  # whether clients connect to it
            "left": left,
            "middle": left + BOX_PX // 2,
            "right": left + BOX_PX,
        }
        boxes.append(box)
    return boxes

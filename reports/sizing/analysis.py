"""How many nodes a need takes, and which resource decides it (analysis 9)."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

HEADROOM = 0.7  # of the measured throughput that is used, so that a node's loss or a peak is survived
FILL = 0.7  # of a node's capacity that data may take
# Quotients of measured numbers that lie this little above a whole number are that number.
ROUNDING = 1e-9


def per_node(throughput_ops_s: float, nodes: int | None) -> float | None:
    """X / n in operations per second; None without nodes."""
    if nodes and nodes > 0:
        return throughput_ops_s / nodes
    return None


def operations_per_dollar(throughput_ops_s: float, price_per_hour: float | None) -> float | None:
    """X · 3600 / price, the price being that of all nodes together; None without a price."""
    if _positive(price_per_hour) and price_per_hour:
        return throughput_ops_s * 3600 / price_per_hour
    return None


def dollars_per_million(throughput_ops_s: float, price_per_hour: float | None) -> float | None:
    """price / (X · 3600 / 1,000,000) in US$ per million operations; None without a price or throughput."""
    if not _positive(price_per_hour) or not _positive(throughput_ops_s) or price_per_hour is None:
        return None
    return price_per_hour / (throughput_ops_s * 3600 / 1e6)


def _positive(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0


Resource = Literal["throughput", "storage", "copies"]


@dataclass(frozen=True, slots=True)
class Need:
    """What is asked for. Sizes are in GB, of one copy; `node_gb` None: nobody asks about storage."""

    throughput_ops_s: float
    data_gb: float = 0.0
    copies: int = 1
    node_gb: float | None = None
    headroom: float = HEADROOM
    fill: float = FILL


def nodes_needed(need: Need, node_ops_s: float) -> dict[Resource, int] | None:
    """The nodes that each resource alone needs with linear scaling; x is one node's throughput, and None where it is 0.

    ceil(X / (x · h)), ceil(D · copies / (c · f)), copies: the greatest of them is the number of nodes.
    """
    if not node_ops_s > 0:
        return None
    return compute_nodes(need, _up(need.throughput_ops_s / (node_ops_s * need.headroom)))


def compute_nodes(need: Need, for_throughput: int) -> dict[Resource, int]:
    """The nodes that each resource alone needs, given those that the throughput takes."""
    parts: dict[Resource, int] = {"throughput": for_throughput}
    if need.node_gb and need.node_gb > 0:
        parts["storage"] = _up(need.data_gb * need.copies / (need.node_gb * need.fill))
    parts["copies"] = need.copies
    return parts


@dataclass(frozen=True, slots=True)
class ByMeasurement:
    """How many nodes a throughput takes by what clusters of several sizes reached."""

    nodes: int
    extrapolated: bool  # beyond the largest cluster that was measured
    bound: Literal["", "at most", "open"] = ""  # what is known of the nodes; "open": they may be more or fewer


def nodes_by_measurement(
    throughputs: Mapping[int, float], required_ops_s: float, lower_bounds: Collection[int] = ()
) -> ByMeasurement | None:
    """The fewest nodes for a throughput, from nodes -> ops/s of at least two sizes.

    Between two measured sizes throughput is taken as a straight line, below the smallest as its share per node, beyond
    the largest with the gain per node of the last step. None with fewer sizes, and where the last step gained nothing
    and the need lies above what was measured.

    `lower_bounds` are the sizes that do as much at least. More of any of them takes fewer nodes, but for the last but
    one where the need lies beyond the largest: then the last step gains less.
    """
    sizes = sorted(nodes for nodes, value in throughputs.items() if nodes > 0 and value > 0)
    if len(sizes) < 2:
        return None

    at, reached = 0, 0.0
    for nodes in sizes:
        if required_ops_s <= throughputs[nodes]:
            share = (required_ops_s - reached) / (throughputs[nodes] - reached)
            bound: Literal["", "at most"] = ""
            if {at, nodes} & {*lower_bounds}:
                bound = "at most"
            return ByMeasurement(max(_up(at + share * (nodes - at)), 1), False, bound)
        # A size that brought less than a smaller one is no step towards more.
        if throughputs[nodes] > reached:
            at, reached = nodes, throughputs[nodes]

    before, last = sizes[-2:]
    gain = (throughputs[last] - throughputs[before]) / (last - before)
    if gain <= 0:
        return None

    beyond = _up(last + (required_ops_s - throughputs[last]) / gain)
    if before in lower_bounds:
        return ByMeasurement(beyond, True, "open")
    if last in lower_bounds:
        return ByMeasurement(beyond, True, "at most")

    return ByMeasurement(beyond, True, "")


def _up(value: float) -> int:
    return math.ceil(value - ROUNDING)


def product_as_published(storage_ratio: float, throughput_ratio: float) -> float:
    """Storage ratio times throughput ratio, as the study of 2017 multiplies them: no ratio of nodes.

    Nodes that are added for storage bring throughput too; the product needs both to consume separate hardware.
    """
    return storage_ratio * throughput_ratio


def binding_ratio(storage_ratio: float, throughput_ratio: float) -> float:
    """How many times the nodes are needed: the larger of both, for one node brings both. Assumes linear scaling."""
    return max(storage_ratio, throughput_ratio)

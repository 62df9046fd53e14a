"""How many nodes a need takes, and which resource decides it (analysis 9)."""

import math
from collections.abc import Collection, Mapping
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
Bound = Literal["", "at most", "open"]  # what is known of a number of nodes; "open": they may be more or fewer


def count_nodes(
    for_throughput: int, *, data_gb: float = 0.0, copies: int = 1, node_gb: float | None = None, fill: float = FILL
) -> dict[Resource, int]:
    """The nodes that each resource alone needs: ceil(D · copies / (c · f)) for storage, copies.

    The greatest of them is the number of nodes. Sizes are of one copy; `node_gb` None: nobody asks about storage.
    """
    parts: dict[Resource, int] = {"throughput": for_throughput}
    if node_gb:
        parts["storage"] = _up(data_gb * copies / (node_gb * fill))
    parts["copies"] = copies
    return parts


def scale_linearly(required_ops_s: float, node_ops_s: float) -> int | None:
    """ceil(X / x), x the throughput of one node; None where it is 0."""
    if node_ops_s <= 0:
        return None
    return _up(required_ops_s / node_ops_s)


def nodes_by_measurement(
    throughputs: Mapping[int, float], required_ops_s: float, lower_bounds: Collection[int] = ()
) -> tuple[int, bool, Bound] | None:
    """The fewest nodes for a throughput, from nodes -> ops/s of at least two sizes; whether they are beyond the largest
    that was measured, and what is known of them.

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
            is_bound = bool({at, nodes} & {*lower_bounds})
            return max(_up(at + share * (nodes - at)), 1), False, "at most" if is_bound else ""
        # A size that brought less than a smaller one is no step towards more.
        if throughputs[nodes] > reached:
            at, reached = nodes, throughputs[nodes]

    before, last = sizes[-2:]
    gain = (throughputs[last] - throughputs[before]) / (last - before)
    if gain <= 0:
        return None

    beyond = _up(last + (required_ops_s - throughputs[last]) / gain)
    if before in lower_bounds:
        return beyond, True, "open"
    return beyond, True, "at most" if last in lower_bounds else ""


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

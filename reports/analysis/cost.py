"""What throughput costs: per node, per dollar, per million operations (analysis 9). Prices are US$ per hour."""

import math


def per_node(throughput_ops_s: float, nodes: int | None) -> float | None:
    """X / n in operations per second; None without nodes."""
    return throughput_ops_s / nodes if nodes and nodes > 0 else None


def operations_per_dollar(throughput_ops_s: float, price_per_hour: float | None) -> float | None:
    """X · 3600 / price, the price being that of all nodes together; None without a price."""
    return throughput_ops_s * 3600 / price_per_hour if _positive(price_per_hour) and price_per_hour else None


def dollars_per_million(throughput_ops_s: float, price_per_hour: float | None) -> float | None:
    """price / (X · 3600 / 1,000,000) in US$ per million operations; None without a price or throughput."""
    if not _positive(price_per_hour) or not _positive(throughput_ops_s) or price_per_hour is None:
        return None
    return price_per_hour / (throughput_ops_s * 3600 / 1e6)


def _positive(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0

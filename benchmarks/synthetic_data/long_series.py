"""Second-by-second series of generated runs, and their coarser levels."""

import random

import numpy as np

from runs.ycsb.rollups import COLUMNS, LEVELS
from runs.ycsb.series import POINT, Points, Series, coarser, pack


def packed_levels(
    operation: str, base_s: float, seconds: int, rate_ops_s: float, mean_us: float, rng: random.Random
) -> list[tuple[int, int, bytes]]:
    """(interval in seconds, points, packed) of every level with at least two points."""
    finest = _seconds(seconds, rate_ops_s, mean_us, np.random.default_rng(rng.getrandbits(64)))
    levels = []
    for level in LEVELS:
        points = finest if level == 1 else _coarser(finest, level)
        if level == 1 or points.size > 1:
            series = Series(operation, "service", base_s, level, 2, points)
            levels.append((level, int(points.size), pack(series)))
    return levels


def _seconds(seconds: int, rate_ops_s: float, mean_us: float, rng: np.random.Generator) -> Points:
    """A warm-up of a minute, a slow wave, scatter, and a dip now and then, as when a server writes a checkpoint."""
    at = np.arange(seconds)
    level = 1 - 0.4 * np.exp(-at / 20) + 0.02 * np.sin(at / 180)
    level *= np.where(at % 300 > 295, 0.7, 1.0) * rng.lognormal(0.0, 0.015, seconds)
    points = np.zeros(seconds, dtype=POINT)
    points["second"] = at
    points["covered_s"] = 2.0
    points["rate_ops_s"] = rate_ops_s * level
    points["count"] = points["rate_ops_s"].round()
    points["mean_us"] = mean_us / level
    tail = rng.lognormal(0.0, 0.1, seconds)
    for column, factor in (("p50_us", 0.85), ("p95_us", 2.0), ("p99_us", 3.4), ("max_us", 25.0)):
        points[column] = points["mean_us"] * (factor if factor < 1 else 1 + (factor - 1) * tail)
    points["rate_min_ops_s"] = points["rate_max_ops_s"] = points["rate_ops_s"]
    return points


def _coarser(finest: Points, level: int) -> Points:
    """Rates as a real run has them; latencies, which need histograms, by the worst second of each interval."""
    points = coarser(finest, level)
    first = np.searchsorted(finest["second"], points["second"])
    for column in COLUMNS:
        points[column] = np.maximum.reduceat(finest[column], first)
    return points

"""Curves for tests of figures and words: plain values, no rows."""

import uuid
from collections.abc import Sequence
from typing import Any

from reports.compare.analysis.points import Spread
from reports.compare.curves import Curve, MachineFacts, Operation, Point, Setup, Standing

SHAPE = {"mean": 1.0, "p50": 0.9, "p90": 1.6, "p95": 2.0, "p99": 3.0, "p999": 7.0, "p9999": 12.0, "max": 20.0}
DISK = {"ack": "disk", "replicas_acked": 0, "replica_ack": "none", "reads": "primary", "loss_window_s": 0.0}
DISK |= {"worst_loss_window_s": None}
MEMORY = {"ack": "memory", "replicas_acked": 0, "replica_ack": "none", "reads": "primary", "loss_window_s": None}
ONE_MACHINE = MachineFacts("m1", "one", 2)


def one(value: float) -> Spread:
    return Spread(value, value, value, 1)


def operation(name: str, mean_us: float, *, kind: str = "service", ok: int = 1000) -> Operation:
    return Operation(name, kind, ok, 0, {statistic: one(mean_us * factor) for statistic, factor in SHAPE.items()})


def point(threads: int, throughput: float, **changes: Any) -> Point:
    mean_us = threads / throughput * 1e6 if throughput else 1.0
    values: dict[str, Any] = {
        "threads": threads,
        "target_ops_s": None,
        "throughput_ops_s": one(throughput),
        "operations": (operation("READ", mean_us * 0.8), operation("UPDATE", mean_us * 1.2)),
        "standing": Standing.COUNTED,
        "verdict": "pass",
        "clients_merged": 2,
        "clients_expected": 2,
        "window_s": 10.0,
        "warmup_s": 2.0,
        "mode_verified": True,
        "run_ids": (uuid.uuid4(),),
    }
    return Point(**{**values, **changes})


LADDER = ((2, 1000.0), (4, 1900.0), (8, 3300.0), (16, 3900.0), (32, 3800.0))


def curve(
    database: str = "Redis 7.0",
    mode: str = "always",
    points: Sequence[Point] | None = None,
    **changes: Any,
) -> Curve:
    values: dict[str, Any] = {
        "sweep_id": uuid.uuid4(),
        "name": f"{database} {mode} A",
        "database_name": database,
        "system": "redis",
        "system_name": "Redis",
        "mode": mode,
        "mode_name": f"the mode {mode}",
        "durability": DISK if mode in ("always", "on") else MEMORY,
        "workload": "Workload A",
        "purpose": "measured",
        "points": tuple(point(*rung) for rung in LADDER) if points is None else tuple(points),
        "setup": Setup(cluster_machines=(ONE_MACHINE,), generator_machines=(MachineFacts("m2", "two", 8),)),
    }
    return Curve(**{**values, **changes})

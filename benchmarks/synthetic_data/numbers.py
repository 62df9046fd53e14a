"""Throughputs that saturate and latencies that follow Little's law: what generated runs claim to have measured."""

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

# Percentiles as multiples of the mean: the shape of an unremarkable service-time distribution.
SHAPE: Final = {
    "min_us": 0.3,
    "p50_us": 0.85,
    "p90_us": 1.6,
    "p95_us": 2.0,
    "p99_us": 3.4,
    "p999_us": 7.0,
    "p9999_us": 14.0,
    "max_us": 25.0,
}
WAITS: Final = {"none": 1.2, "memory": 1.0, "os_buffer": 0.9, "disk": 0.35}  # of throughput, by what a write waits for
OPERATIONS: Final = ("READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE", "DELETE")


@dataclass(frozen=True, slots=True)
class Law:
    """Gunther's universal scalability law of one configuration: X(n) in ops/s of n threads."""

    first_ops_s: float  # of one thread
    contention: float
    coherence: float

    def throughput_ops_s(self, threads: int) -> float:
        others = threads - 1
        return self.first_ops_s * threads / (1 + self.contention * others + self.coherence * threads * others)

    @property
    def ceiling_ops_s(self) -> float:
        best = max(1, round(((1 - self.contention) / self.coherence) ** 0.5))
        return self.throughput_ops_s(best)


def build_law(database: str, mode: str, workload: str, nodes: int, ack: str) -> Law:
    """The law of a configuration: the same whenever it is asked for, so that a history has a level."""
    digest = hashlib.sha256(f"{database}|{mode}|{workload}".encode()).digest()
    first, contention, coherence = (int.from_bytes(digest[i : i + 4], "big") / 2**32 for i in (0, 4, 8))
    return Law(
        first_ops_s=(600 + 2_400 * first) * max(nodes, 1) ** 0.8 * WAITS.get(ack, 1.0),
        contention=0.005 + 0.03 * contention,
        coherence=0.00001 + 0.00012 * coherence,
    )


def measured(law: Law, threads: int, target_ops_s: int | None, rng: random.Random) -> float:
    """Throughput of one run in ops/s, with a scatter of two hundredths."""
    limit = law.throughput_ops_s(threads)
    wanted = limit if target_ops_s is None else min(target_ops_s, limit)
    return wanted * rng.lognormvariate(0.0, 0.02 if target_ops_s is None else 0.004)


def mean_us(law: Law, threads: int, target_ops_s: int | None, throughput_ops_s: float) -> float:
    """Mean latency in µs: Little's law without a target, a queue that grows with the load with one."""
    if target_ops_s is None:
        return threads / throughput_ops_s * 1e6
    busy = min(throughput_ops_s / law.ceiling_ops_s, 0.985)
    return 1e6 / law.first_ops_s / (1 - busy)


def latencies_us(mean: float, rng: random.Random) -> Mapping[str, float]:
    """A row of percentiles, ascending whatever the scatter."""
    tail = rng.lognormvariate(0.0, 0.15)
    return {name: mean * (factor if factor < 1 else 1 + (factor - 1) * tail) for name, factor in SHAPE.items()}

"""Predicted operations per client, and the number of clients that keeps each within what YCSB can count.

YCSB counts a client's operations in an int, so a client that reaches 2,147,483,647 ends, whatever time is left.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from benchsite.core.formatting import duration, short, throughput
from runs.plans.messages import RATE_ASSUMED, RUN_ENDS_EARLY, TOO_MANY_OPERATIONS
from runs.plans.plan import Plan, PlannedGenerator
from runs.ycsb.properties import MAX_INT

# The prediction may be 40 % too low before a client ends early.
MAX_PREDICTED_OPERATIONS: Final = 1_500_000_000
# Where nothing has been measured. One client of a cache on the same machine reached 205,000 ops/s; a thread waits for
# each answer, which takes 40 µs or more.
ASSUMED_GENERATOR_OPS_S: Final = 205_000
ASSUMED_THREAD_OPS_S: Final = 25_000


@dataclass(frozen=True, slots=True)
class Prediction:
    """Throughput of one run over all its clients, and what the figure rests on."""

    ops_s: float
    source: Literal["target", "measured", "assumed"]

    def __str__(self) -> str:
        rate = throughput(self.ops_s)
        return {
            "target": f"its target is {rate}",
            "measured": f"earlier runs reached {rate}",
            "assumed": RATE_ASSUMED.format(rate=rate),
        }[self.source]


def predict(
    plan: Plan, cell: tuple[str, ...], *, threads: int, target_ops_s: int | None, generators: int
) -> Prediction:
    """The target; else what was measured of the cell (database, mode, workload) at `threads`, or at most at any number
    of threads; else an assumption.
    """
    if target_ops_s:
        return Prediction(target_ops_s, "target")
    rates = plan.measured_ops_s.get(cell)
    if rates:
        return Prediction(rates.get(threads) or max(rates.values()), "measured")
    return Prediction(min(threads * ASSUMED_THREAD_OPS_S, generators * ASSUMED_GENERATOR_OPS_S), "assumed")


def split_processes(
    plan: Plan,
    prediction: Prediction,
    *,
    seconds: float,
    threads: int,
    generators: Sequence[PlannedGenerator],
    inserts_same_keys: bool,
) -> int:
    """Clients per generator: those of the plan, or as many more as the limit needs and slots and threads allow.

    `inserts_same_keys`: several clients would, so the run is never split.
    """
    if not generators or inserts_same_keys:
        return plan.processes_per_generator
    needed = math.ceil(prediction.ops_s * seconds / len(generators) / MAX_PREDICTED_OPERATIONS)
    allowed = min(*(generator.slots for generator in generators), threads // len(generators))
    return max(plan.processes_per_generator, min(needed, allowed))


def limit_message(name: str, prediction: Prediction, *, seconds: float, clients: int) -> str:
    """Why a run may end early, with its numbers; empty where each client stays within the limit."""
    per_client = prediction.ops_s * seconds / clients
    if per_client <= MAX_PREDICTED_OPERATIONS:
        return ""

    ends_s = MAX_INT / (prediction.ops_s / clients)
    ends = "might end early"
    if ends_s < seconds:
        ends = RUN_ENDS_EARLY.format(ends=duration(ends_s), length=duration(seconds))

    return TOO_MANY_OPERATIONS.format(
        run=name,
        operations=short(per_client),
        prediction=prediction,
        limit=MAX_INT,
        ends=ends,
        needed=math.ceil(per_client * clients / MAX_PREDICTED_OPERATIONS),
        clients=clients,
    )

"""What the load generators of a run can generate at most, and how many more clients it needs. Pure.

Two figures bound a load generator: the throughput of its clients without a database, and the operations per second of
CPU time in earlier runs with the same binding, times the cores that its clients may use.
"""

import math
from collections.abc import Iterator
from typing import Final

from benchsite.formatting import counted, throughput
from runs.generators import capacity_of
from runs.planning.expansion import PlannedRun
from runs.planning.plan import PlannedGenerator

# The share of its cores from which check V03 warns that the clients may be the limit.
MAX_CPU_SHARE: Final = 0.80


def capacity_ops_s(generator: PlannedGenerator, binding: str, *, processes: int, cores_share: float) -> float | None:
    """The highest throughput of `processes` clients that may use that share of the cores; None where it is unknown."""
    known = capacity_of(generator.capacity, binding, generator.bindings.get(binding))
    bounds = []
    if "ops_s" in known:
        bounds.append(min(processes * known["client_ops_s"], known["ops_s"] * cores_share))
    if "core_ops_s" in known and generator.cores:
        bounds.append(known["core_ops_s"] * generator.cores * cores_share * MAX_CPU_SHARE)
    return min(bounds, default=None)


def capacity_warnings(runs: list[PlannedRun]) -> Iterator[str]:
    """For each binding the run that lacks most clients for its target, or for the throughput of earlier runs."""
    lacking: dict[str, tuple[int, str]] = {}
    for run in runs:
        if run.prediction is None or run.prediction.source == "assumed" or not run.clients:
            continue
        binding = run.sweep.entry.database.binding
        total = _total(run, binding, run.processes)
        if total is None or run.prediction.ops_s <= total:
            continue
        needed = math.ceil(run.clients * (run.prediction.ops_s / total - 1))
        if needed > lacking.get(binding, (0, ""))[0]:
            lacking[binding] = (needed, _sentence(run, binding, total, needed))
    yield from (sentence for _, sentence in lacking.values())


def _total(run: PlannedRun, binding: str, processes: int) -> float | None:
    database = run.sweep.entry.database
    bounds = []
    for generator in run.generators:
        is_shared = database.separates_cpus and generator.machine_id in database.machine_ids
        share = 0.5 if is_shared and generator.cores > 1 else 1.0
        bounds.append(capacity_ops_s(generator, binding, processes=processes, cores_share=share))
    known = [bound for bound in bounds if bound is not None]
    return sum(known) if len(known) == len(bounds) else None


def _sentence(run: PlannedRun, binding: str, total: float, needed: int) -> str:
    """ "2 more clients needed for 400k ops/s: ..." """
    assert run.prediction is not None
    slots = min(generator.slots for generator in run.generators)
    enough = (n for n in range(run.processes + 1, slots + 1) if (_total(run, binding, n) or 0) >= run.prediction.ops_s)
    processes = next(enough, None)
    remedy = f"Set the clients per generator to {processes}." if processes else "Use more load generators."
    clients = counted(run.clients, "client")
    return (
        f"{counted(needed, 'more client')} needed for {throughput(run.prediction.ops_s)} ({run.name}): its {clients} "
        f"with the {binding} binding have generated {throughput(total)} at most so far. {remedy}"
    )

"""What a plan asks of machines: whether the clients of its load generators suffice, and the disks of its nodes. Pure.

Two figures bound a load generator: the throughput of its clients without a database, and the operations per second of
CPU time in earlier runs with the same binding, times the cores that its clients may use.

Where Benchsite starts the servers, data that an empty node could not hold is refused. Data that does not fit into what
is free now is a warning, for other plans may end meanwhile; so is everything about external servers, which may
compress, or keep their data on another disk than the one that is known.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchsite.core.formatting import counted, percent, size, throughput
from runs.catalog import load_catalog
from runs.catalog.generators import get_capacity
from runs.models import Provisioner
from runs.plans.expansion import PlannedRun
from runs.plans.messages import (
    MORE_CLIENTS_NEEDED,
    SET_CLIENTS_PER_GENERATOR,
    TOO_LITTLE_DISK,
    TOO_LITTLE_MEMORY,
    USE_MORE_GENERATORS,
)
from runs.plans.plan import PlannedDatabase, PlannedGenerator
from runs.results.measures.host import MAX_DISK_SHARE

# The share of its cores from which check V03 warns that the clients may be the limit.
MAX_CPU_SHARE: Final = 0.80
# Keys, indexes and logs beside the field values; measured on Redis and PostgreSQL with 1 KB records.
STORAGE_FACTOR: Final = 1.6


def capacity_ops_s(generator: PlannedGenerator, binding: str, *, processes: int, cores_share: float) -> float | None:
    """The highest throughput of `processes` clients that may use that share of the cores; None where it is unknown."""
    capacity = get_capacity(generator.capacity, binding, generator.bindings.get(binding))
    bounds = []
    if "ops_s" in capacity:
        bounds.append(min(processes * capacity["client_ops_s"], capacity["ops_s"] * cores_share))
    if "core_ops_s" in capacity and generator.cores:
        bounds.append(capacity["core_ops_s"] * generator.cores * cores_share * MAX_CPU_SHARE)
    return min(bounds, default=None)


def capacity_warnings(runs: list[PlannedRun]) -> Iterator[str]:
    """For each binding the run that lacks most clients for its target, or for the throughput of earlier runs."""
    most_needed: dict[str, int] = {}  # by binding
    warnings: dict[str, str] = {}
    for run in runs:
        if run.prediction is None or run.prediction.source == "assumed" or not run.clients:
            continue
        binding = run.sweep.entry.database.binding
        total = _compute_total_ops_s(run, binding, run.processes)
        if total is None or run.prediction.ops_s <= total:
            continue
        needed = math.ceil(run.clients * (run.prediction.ops_s / total - 1))
        if needed > most_needed.get(binding, 0):
            most_needed[binding] = needed
            warnings[binding] = _warn_of_capacity(run, binding, total, needed)
    yield from warnings.values()


def _compute_total_ops_s(run: PlannedRun, binding: str, processes: int) -> float | None:
    """The capacity of all generators of a run; None where that of one is unknown."""
    database = run.sweep.entry.database
    divides = database.separates_cpus and database.provisioner != Provisioner.EXTERNAL
    total = 0.0
    for generator in run.generators:
        is_shared = divides and generator.machine_id in database.machine_ids
        share = 0.5 if is_shared and generator.cores > 1 else 1.0
        capacity = capacity_ops_s(generator, binding, processes=processes, cores_share=share)
        if capacity is None:
            return None
        total += capacity
    return total


def _warn_of_capacity(run: PlannedRun, binding: str, total: float, needed: int) -> str:
    """ "2 more clients needed for 400k ops/s: ..." """
    assert run.prediction is not None
    slots = min(generator.slots for generator in run.generators)
    remedy = USE_MORE_GENERATORS
    for processes in range(run.processes + 1, slots + 1):
        if (_compute_total_ops_s(run, binding, processes) or 0) >= run.prediction.ops_s:
            remedy = SET_CLIENTS_PER_GENERATOR.format(clients=processes)
            break
    clients = counted(run.clients, "client")
    return MORE_CLIENTS_NEEDED.format(
        needed=counted(needed, "more client"),
        throughput=throughput(run.prediction.ops_s),
        run=run.name,
        clients=clients,
        binding=binding,
        most=throughput(total),
        remedy=remedy,
    )


def disk_by_cluster(runs: Sequence[PlannedRun]) -> dict[str, float]:
    """Cluster id -> bytes on each of its nodes. Every database and mode keeps its own data folder until the matrix
    ends.
    """
    folders: defaultdict[tuple[str, str, str, str], float] = defaultdict(float)
    for run in runs:
        entry = run.sweep.entry
        folder = (entry.database.cluster_id, entry.database.id, entry.mode, entry.build_name)
        folders[folder] = max(folders[folder], node_bytes(run))
    clusters: defaultdict[str, float] = defaultdict(float)
    for (cluster_id, *_), needed in folders.items():
        clusters[cluster_id] += needed
    return dict(clusters)


def node_bytes(run: PlannedRun) -> float:
    """What the data set of a run takes on each node."""
    database = run.sweep.entry.database
    copies = database.stored_copies / max(1, len(database.machine_ids))
    return run.dataset.records * run.dataset.record_bytes * STORAGE_FACTOR * copies


def capacity_messages(runs: Sequence[PlannedRun]) -> Iterator[tuple[bool, str]]:
    """For each cluster with too little disk, and each database with too little memory: whether it is refused, and a
    sentence with the numbers.
    """
    databases: dict[str, PlannedDatabase] = {}
    largest: defaultdict[str, float] = defaultdict(float)  # by database
    for run in runs:
        database = run.sweep.entry.database
        databases[database.id] = database
        largest[database.id] = max(largest[database.id], node_bytes(run))

    disks = disk_by_cluster(runs)
    by_cluster = {database.cluster_id: database for database in databases.values()}
    for cluster_id, database in by_cluster.items():
        yield from _check_disk(database, disks[cluster_id])
    for database in databases.values():
        if load_catalog().system(database.system).in_memory:
            yield from _check_memory(database, largest[database.id])


def _check_disk(database: PlannedDatabase, needed: float) -> Iterator[tuple[bool, str]]:
    """By the fullest disk of its nodes."""
    spare_bytes = {name: _compute_spare_bytes(facts) for name, facts in database.nodes if "disk_free_bytes" in facts}
    if not spare_bytes:
        return
    name = min(spare_bytes, key=spare_bytes.__getitem__)
    spare, total = spare_bytes[name], dict(database.nodes)[name].get("disk_total_bytes")
    if needed <= spare:
        return
    is_refused = database.provisioner != "external" and total is not None and needed > MAX_DISK_SHARE * total
    message = TOO_LITTLE_DISK.format(
        needed=size(needed),
        cluster=database.cluster_name,
        node=name,
        spare=size(spare),
        total=f" of {size(total)}" if total else "",
        share=percent(MAX_DISK_SHARE),
    )
    yield is_refused, message


def _check_memory(database: PlannedDatabase, needed: float) -> Iterator[tuple[bool, str]]:
    """By the smallest memory of its nodes."""
    nodes = [(facts["memory_bytes"], name) for name, facts in database.nodes if facts.get("memory_bytes")]
    if not nodes:
        return
    total, name = min(nodes)
    if needed > total:
        message = TOO_LITTLE_MEMORY.format(database=database.name, needed=size(needed), node=name, total=size(total))
        yield database.provisioner != "external", message


def _compute_spare_bytes(facts: Mapping[str, float]) -> float:
    return max(0.0, facts["disk_free_bytes"] - (1 - MAX_DISK_SHARE) * facts.get("disk_total_bytes", 0.0))

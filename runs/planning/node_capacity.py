"""Whether the nodes of a plan's clusters have the disk and the memory for its data sets. Pure.

Where Benchsite starts the servers, data that an empty node could not hold is refused. Data that does not fit into what
is free now is a warning, for other plans may end meanwhile; so is everything about external servers, which may
compress, or keep their data on another disk than the one that is known.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchsite.formatting import percent, size
from runs.catalog import load_catalog
from runs.measures.host import MAX_DISK_SHARE
from runs.planning.expansion import PlannedRun

# Keys, indexes and logs beside the field values; measured on Redis and PostgreSQL with 1 KB records.
STORAGE_FACTOR: Final = 1.6


def disk_by_cluster(runs: Sequence[PlannedRun]) -> dict[str, float]:
    """Cluster id -> bytes on each of its nodes. Every database and mode keeps its own data folder until the matrix
    ends.
    """
    largest: dict[tuple[str, str, str], float] = {}
    for run in runs:
        database = run.sweep.entry.database
        place = (database.cluster_id, database.id, run.sweep.entry.mode)
        largest[place] = max(largest.get(place, 0), node_bytes(run))
    clusters: dict[str, float] = {}
    for (cluster, _, _), needed in largest.items():
        clusters[cluster] = clusters.get(cluster, 0) + needed
    return clusters


def node_bytes(run: PlannedRun) -> float:
    """What the data set of a run takes on each node."""
    database = run.sweep.entry.database
    copies = database.replication_factor / max(1, len(database.machine_ids))
    return run.dataset.records * run.dataset.record_bytes * STORAGE_FACTOR * copies


def capacity_messages(runs: Sequence[PlannedRun]) -> Iterator[tuple[bool, str]]:
    """For each cluster with too little disk, and each database with too little memory: whether it is refused, and a
    sentence with the numbers.
    """
    databases = {run.sweep.entry.database.id: run.sweep.entry.database for run in runs}
    disks = disk_by_cluster(runs)
    by_cluster = {database.cluster_id: database for database in databases.values()}
    for cluster, database in by_cluster.items():
        known = [(_to_spare(facts), name, facts) for name, facts in database.nodes if "disk_free_bytes" in facts]
        if not known or disks[cluster] <= (fullest := min(known, key=lambda node: node[0]))[0]:
            continue
        spare, name, facts = fullest
        total = facts.get("disk_total_bytes")
        yield (
            database.provisioner != "external" and total is not None and disks[cluster] > MAX_DISK_SHARE * total,
            f"The data needs {size(disks[cluster])} of disk on each node of {database.cluster_name}, and {name} has "
            f"{size(spare)} to spare{f' of {size(total)}' if total else ''} (runs end where a disk is "
            f"{percent(MAX_DISK_SHARE)} full). Load fewer records, plan fewer modes in one matrix, or free space.",
        )
    for database in databases.values():
        needed = max(node_bytes(run) for run in runs if run.sweep.entry.database.id == database.id)
        memory = [(value, name) for name, facts in database.nodes if (value := facts.get("memory_bytes"))]
        if load_catalog().system(database.system).in_memory and memory and needed > min(memory)[0]:
            total, name = min(memory)
            yield (
                database.provisioner != "external",
                f"{database.name} holds its data in memory and needs {size(needed)} on each node; {name} has "
                f"{size(total)} in all. Load fewer records, or use nodes with more memory.",
            )


def _to_spare(facts: Mapping[str, float]) -> float:
    return max(0.0, facts["disk_free_bytes"] - (1 - MAX_DISK_SHARE) * facts.get("disk_total_bytes", 0.0))

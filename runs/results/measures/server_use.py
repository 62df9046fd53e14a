"""How busy the servers' machines were, and what the servers counted, within the window of a run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchsite.core.formatting import percent
from runs.results.measures.host import HostSamples, Samples

# A single busy core says more than the CPU as a whole where it is this much busier, as with servers of one thread.
MIN_CORE_EXCESS: Final = 0.15
MIN_MEMORY_SHARE: Final = 0.9  # in use without caches: below it memory holds nothing up
HITS, MISSES = "cache_hits_per_s", "cache_misses_per_s"
PARTS: Final = 3  # of a window; the trend is from the first to the last

Array = npt.NDArray[np.float64]


def rank_uses(hosts: Sequence[HostSamples]) -> list[dict[str, Any]]:
    """How busy each resource of all machines that run servers was, as a share of what it can do, the busiest first.

    `hosts` are within the window. A machine's `node` is the position of its first node in the cluster, from 1.
    """
    uses = []
    for host in hosts:
        if host.node is None or not len(host):
            continue
        for resource, share in _compute_shares(host):
            if np.isfinite(share):
                uses.append({"machine": host.machine, "node": host.node, "resource": resource, "share": share})
    return sorted(uses, key=lambda use: -use["share"])


def _compute_shares(host: HostSamples) -> Iterator[tuple[str, float]]:
    columns = [f"core{core}_busy" for core in host.server_cpus or range(host.cores)]
    cores = [host.mean(column) for column in columns if column in host.columns]
    if cores:
        cpu, busiest_core = float(np.mean(cores)), max(cores)
        if busiest_core > cpu + MIN_CORE_EXCESS:
            yield "a core", busiest_core
        else:
            yield "CPU", cpu

    if "disk_busy" in host.columns:
        yield "disk", host.mean("disk_busy")
    if host.nic_bits_per_s and "network_sent_bytes_s" in host.columns:
        busier = max(host.mean(f"network_{way}_bytes_s") for way in ("received", "sent"))
        yield "network", busier * 8 / host.nic_bits_per_s

    if "memory_bytes" in host.columns:
        used = 1 - host.mean("memory_available_bytes") / max(1.0, host.mean("memory_bytes"))
        if used >= MIN_MEMORY_SHARE:
            yield "memory", used


def busiest_sentence(uses: Sequence[Mapping[str, Any]]) -> str:
    """ "Busiest: disk of node 1 (db-1), 97 % utilised; CPU 41 %, network 3 %." Empty without samples."""
    if not uses:
        return ""
    busiest, *others = uses
    node = busiest["machine"]
    if any(use["node"] != busiest["node"] for use in others):
        node = f"node {busiest['node']} ({busiest['machine']})"
    rest = [f"{use['resource']} {percent(round(use['share'], 3))}" for use in others if use["node"] == busiest["node"]]
    sentence = f"Busiest: {busiest['resource']} of {node}, {percent(round(busiest['share'], 3))} utilised"
    if rest:
        sentence += f"; {', '.join(rest)}"
    return f"{sentence}."


def hit_ratio(counters: Samples | None) -> tuple[float | None, float | None]:
    """The share of reads that the servers answered from memory, and by how much it changed from the first third of the
    window to the last; None where it was not counted.
    """
    if counters is None or not {HITS, MISSES} <= set(counters.columns):
        return None, None

    hits, misses = (counters.columns[name] * counters.columns["interval_s"] for name in (HITS, MISSES))
    finite = np.isfinite(hits) & np.isfinite(misses)
    hits, misses = hits[finite], misses[finite]
    parts = zip(np.array_split(hits, PARTS), np.array_split(misses, PARTS), strict=True)
    first, *_, last = (_compute_hit_share(part_hits, part_misses) for part_hits, part_misses in parts)
    trend = None
    if first is not None and last is not None:
        trend = last - first
    return _compute_hit_share(hits, misses), trend


def _compute_hit_share(hits: Array, misses: Array) -> float | None:
    total = hits.sum() + misses.sum()
    return float(hits.sum() / total) if total > 0 else None


def summary(hosts: Sequence[HostSamples], counters: Samples | None) -> dict[str, Any]:
    """The summary that a measurement set stores, as plain JSON; empty without samples. Both are within the window."""
    means = {}
    if counters is not None and len(counters):
        means = {name: counters.mean(name) for name in counters.columns if name not in ("at_s", "interval_s")}
    ratio, trend = hit_ratio(counters)
    entries = {
        "uses": rank_uses(hosts),
        "counters": {name: value for name, value in means.items() if np.isfinite(value)},
        "hit_ratio": ratio,
        "hit_ratio_trend": trend,
    }
    return {name: value for name, value in entries.items() if value not in (None, [], {})}

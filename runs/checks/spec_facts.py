"""What a run's spec says of where it ran, as facts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from benchsite.core.formatting import counted, exact, percent, throughput
from runs.catalog import OWN_FLAVOUR, count_servers, load_catalog
from runs.checks.facts import ClusterFacts
from runs.checks.pairs import SideFacts
from runs.queue.spec import GroupSpec, RunSpec, list_generators, list_groups, max_warmup_s
from runs.ycsb.key_shares import KeyShares, find_key_shares


def cluster_facts(spec: RunSpec) -> ClusterFacts:
    """The nodes that the database stood on; of an uploaded run as far as somebody stated them."""
    database, cluster = spec["database"], spec["cluster"]
    system = load_catalog().systems.get(spec["system"])
    machines = cluster["machines"]
    return ClusterFacts(
        nodes=count_servers(system, cluster["provisioner"], database["settings"], len(machines)) or None,
        replication_factor=database["replication_factor"],
        machines=tuple(machine["facts"] for machine in machines),
    )


def shared_machine(spec: RunSpec) -> bool | None:
    """Whether a client ran on a machine of the database; None where nobody knows which machines there were."""
    stated = spec.get("stated")
    if stated is not None:
        return stated["client_on_database_host"]
    hosts = {machine["id"] for machine in spec["cluster"]["machines"]}
    if not hosts or not spec["generators"]:
        return None
    return any(generator["machine"]["id"] in hosts for generator in list_generators(spec))


def get_key_shares(spec: RunSpec) -> KeyShares | None:
    """How much of the requests of a measured run the hottest keys get; None where nobody knows."""
    if spec["phase"] != "measure":
        return None
    clients = 1
    if spec["client"]["flavour"] == OWN_FLAVOUR:
        clients = max(len(spec["generators"]), 1) * spec["load"]["processes"]
    return find_key_shares(
        spec["workload"]["properties"],
        clients=clients,
        warmup_s=max_warmup_s(spec["window"]),
        measure_s=spec["window"]["max_measure_s"],
    )


def describe_key_share(spec: RunSpec, name: str) -> str | None:
    """One field of its key shares in per cent."""
    shares = get_key_shares(spec)
    if shares is None:
        return None
    return percent(getattr(shares, name))


def describe_groups(spec: RunSpec) -> dict[str, str]:
    """By name what stands beside the ladder: "Scans, 4 threads, 5 ops/s"; equal for loads that are alike."""
    return {group["name"]: _describe_group(group) for group in list_groups(spec)}


def _describe_group(group: GroupSpec) -> str:
    load = group["load"]
    parts = [group["workload"]["name"], counted(load["threads"], "thread")]
    if load["target_ops_s"]:
        parts.append(throughput(load["target_ops_s"]))
    if "open" in load:
        parts.append(load["open"]["arrivals"])
        patience_ms = load["open"]["patience_ms"]
        if patience_ms is None:
            parts.append("none dropped")
        else:
            parts.append(f"dropped after {exact(patience_ms)} ms")

    if group["start_s"] is not None:
        parts.append(f"from second {exact(group['start_s'])}")
    if group["length_s"] is not None:
        parts.append(f"for {exact(group['length_s'])} s")
    return ", ".join(parts)


def side_facts(
    label: str, spec: RunSpec, server_version: str = "", *, server_use: Mapping[str, Any] = MappingProxyType({})
) -> SideFacts:
    """One side of a comparison; what the server said of its version outweighs what was stated.

    `server_use` is that of its measurement set, or means of several.
    """
    client = spec["client"]
    client_version = ""
    if client["ycsb_version"]:
        client_version = f"{client['flavour']} {client['ycsb_version']}"

    return SideFacts(
        label=label,
        system=spec["system"],
        version=server_version or spec["database"]["version"],
        client_version=client_version,
        durability=spec["mode"]["record"],
        cluster=cluster_facts(spec),
        records=spec["dataset"]["records"],
        record_bytes=spec["dataset"]["record_bytes"],
        client_on_database_host=shared_machine(spec),
        hit_ratio=server_use.get("hit_ratio"),
        hit_ratio_trend=server_use.get("hit_ratio_trend"),
    )

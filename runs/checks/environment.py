"""Could it be so, where it ran? V20 durability, V21 physical plausibility, V24 environment, V25 interference,
V30 data set size.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from benchsite.core.formatting import counted, exact, grouped, percent, significant, size, throughput
from runs.checks.check import Outcome, check, not_assessed, sentence
from runs.checks.default_thresholds import Profile
from runs.checks.facts import ClusterFacts, RunFacts, fact, parse_number
from runs.checks.messages import (
    CPU_RATIONED,
    HUGE_PAGES,
    MACHINES_OF_CLIENTS,
    NOTHING_SAMPLED,
    SERVERS_UNSEEN,
    TOO_MANY_COPIES,
)
from runs.checks.results import Severity, warn_if
from runs.results.measures.host import FOREIGN, HostSamples

# Families of virtual machines whose CPU is rationed: what they do in the first minutes they do not do for long.
_BURSTABLE: Final = (
    "t1.",
    "t2.",
    "t3.",
    "t3a.",
    "t4g.",
    "standard_b",
    "f1-",
    "g1-",
    "e2-micro",
    "e2-small",
    "e2-medium",
)
# Fewer cores taken by the hypervisor are not worth words.
_STEAL_SHOWN: Final = 0.02
KEY_BYTES: Final = 23  # "user" and up to nineteen digits
_WRITES: Final = frozenset({"UPDATE", "INSERT", "READ-MODIFY-WRITE", "DELETE"})

# Values that promise the same within one data centre, or that leave the choice to the server.
_SAME: Final = {"local_quorum": "quorum", "local_one": "one", "yes": "true", "no": "false"}
_UNSTATED: Final = "use_default"


@check("V20", "Durability", "the stated mode, and acknowledged writes", loads=True)
def durability(facts: RunFacts, profile: Profile) -> Outcome | None:
    """What the command lines say against the stated mode, and writes that the server never answers.

    How two runs differ in durability is a matter of pairs.

    Formula: the client properties of the stated mode against each client's command line (`w=0` under `majority`);
        the mode acknowledges nothing, and the workload writes; a scheduled run whose system Benchsite cannot ask
        for its mode
    Warns: the command line states another property for reads; nothing is acknowledged; the mode was not read back
    Rejects: the command line states another property for writes
    Not assessed without: an upload whose command line states none of the mode's properties; see below for pairs
    """
    unacknowledged = _judge_acknowledgement(facts)
    if facts.mode_stated:
        return unacknowledged or _NOT_READ_BACK
    stated = [client.evidence.properties for client in facts.clients if client.evidence is not None]
    if not facts.mode_properties or not stated:
        return unacknowledged

    contradictions: dict[str, str] = {}
    for properties in stated:
        for name, expected in facts.mode_properties.items():
            if name in properties and _contradicts(name, properties[name], expected, facts.durability):
                contradictions[name] = f"{name}={properties[name]} instead of {expected}"
    if contradictions:
        listed = ", ".join(contradictions.values())
        # What a read waits for is a weaker claim than what a write waits for.
        severity: Severity = "reject"
        if all("read" in name for name in contradictions):
            severity = "warn"
        return Outcome(
            severity, listed,
            f"The command line contradicts the stated durability mode: {listed}.",
            "State the mode that the command line asks for.",
        )  # fmt: skip
    if unacknowledged is not None:
        return unacknowledged

    stated_by_all = set.intersection(*map(set, stated))
    confirmed = [name for name in facts.mode_properties if name in stated_by_all]
    if not confirmed:
        return not_assessed(f"The command lines do not state what the mode sets: {', '.join(facts.mode_properties)}.")
    return Outcome(
        "pass", ", ".join(f"{name}={stated[0][name]}" for name in confirmed),
        "The command lines agree with the stated durability mode.",
    )  # fmt: skip


_NOT_READ_BACK: Final = Outcome(
    "warn", "the stated mode",
    "The durability mode was not read back: Benchsite cannot ask the servers of this system.",
    "Compare the servers' settings with those of the mode on the page of the database.",
    limits="the mode as the servers say it",
)  # fmt: skip


def _contradicts(name: str, value: str, expected: str, record: Mapping[str, object]) -> bool:
    stated = _normalise(value)
    if stated in (_normalise(expected), _UNSTATED):
        return False
    # Members of a majority have the write in their journals anyway.
    return not (name == "journal" and stated == "true" and record.get("ack") == "disk")


def _normalise(value: str) -> str:
    value = value.strip().lower()
    return _SAME.get(value, value)


def _judge_acknowledgement(facts: RunFacts) -> Outcome | None:
    """A warning where the run's writes are not acknowledged."""
    writes = facts.phase == "load" or _WRITES & set(facts.proportions or {})
    if facts.durability.get("ack") != "none" or not writes:
        return None
    return Outcome(
        "warn", "acknowledged: nothing",
        "Writes count as done when they are sent: their latency is that of sending, and lost ones are not noticed.",
        "Compare it with nothing that waits for an answer, or choose a mode that does.",
        limits="writes are acknowledged",
    )  # fmt: skip


@check(
    "V21", "Physically possible",
    "{network_usable} of the nodes' network; {payload_least} of the payload seen on network and disk", untrusted=True,
)  # fmt: skip
def plausibility(facts: RunFacts, profile: Profile) -> Outcome | None:
    """What the reads carried must fit through the network and be seen on it; what waits for a disk must be seen there.

    Within one machine there is no network, and a load reads nothing.

    Formula: X of reads x record size x 8 <= {network_usable} x nodes x network. `readallfields=false`: one field.
        Where every node was sampled: bytes sent by the nodes >= {payload_least} of that payload; in a mode that waits
        for the disk, bytes written to the nodes' disks >= {payload_least} x X of updates and inserts x their values.
        `writeallfields=false`: one field of an update
    Warns: one field does not fit; the disks wrote less
    Rejects: records do not fit; the nodes sent less
    Not assessed without: record size, and `nic_bits_per_s` or samples of every node. Disks without any write are not
        seen by the sampler
    """
    outcomes = [_fits_network(facts, profile), _was_sent(facts, profile), _was_written(facts, profile)]
    applying = [outcome for outcome in outcomes if outcome is not None]
    for severity in ("reject", "warn", "not_assessed"):
        for outcome in applying:
            if outcome.severity == severity:
                return outcome
    return applying[-1] if applying else None


def _fits_network(facts: RunFacts, profile: Profile) -> Outcome | None:
    if facts.phase == "load" or facts.client_on_database_host:
        return None
    link, nodes = facts.cluster.least("nic_bits_per_s"), facts.cluster.nodes
    reads_ops_s, read_bytes = _per_second(facts, "READ"), _compute_bytes(facts, "readallfields", "true")
    if reads_ops_s is None or read_bytes is None:
        return not_assessed("It is not known how many reads there were and how large their records are.")
    if link is None or not nodes:
        # What was seen on the network says more than its rate.
        if _nodes(facts):
            return None
        return not_assessed("It is not known how fast each node's network is (nic_bits_per_s of its machine).")
    carried, capacity = reads_ops_s * read_bytes * 8, nodes * link
    measured = f"{significant(carried / 1e9)} Gbit/s of payload, {exact(capacity / 1e9)} Gbit/s of network"
    if carried <= profile.network_usable * capacity:
        return Outcome("pass", measured, "The network can carry what was read.")
    # YCSB reads all fields unless it is told not to; of a single field the size is only a mean.
    severity: Severity = "reject"
    if facts.properties.get("readallfields") == "false":
        severity = "warn"
    return Outcome(
        severity, measured,
        f"{throughput(reads_ops_s)} of {grouped(read_bytes)} B each are {significant(carried / 1e9)} Gbit/s, more than "
        "the nodes' network carries: reads return less than whole records, or a number is wrong.",
        "Find out whether reads fetch all fields and find their records, and how fast the network really is.",
    )  # fmt: skip


def _was_sent(facts: RunFacts, profile: Profile) -> Outcome | None:
    """What the reads carried against what the nodes sent."""
    reads_ops_s, read_bytes = _per_second(facts, "READ"), _compute_bytes(facts, "readallfields", "true")
    nodes = _nodes(facts)
    # Within one machine the answers are on loopback, which is not counted.
    if facts.phase == "load" or facts.client_on_database_host is not False or not nodes or not reads_ops_s:
        return None
    if read_bytes is None or not all("network_sent_bytes_s" in node.columns for node in nodes):
        return None
    carried, sent = reads_ops_s * read_bytes, sum(node.mean("network_sent_bytes_s") for node in nodes)
    measured = f"{size(carried)}/s of payload read, {size(sent)}/s sent by the nodes"
    if sent >= profile.payload_least * carried:
        return Outcome("pass", measured, "The nodes sent what was read.")
    return Outcome(
        "reject", measured,
        f"{throughput(reads_ops_s)} of {grouped(read_bytes)} B each are {size(carried)}/s, and the nodes sent "
        f"{size(sent)}/s: reads return less than whole records, or other machines answered them.",
        "Find out whether reads find their records and fetch all fields, and which machines answer the clients.",
    )  # fmt: skip


def _was_written(facts: RunFacts, profile: Profile) -> Outcome | None:
    """What was acknowledged as on disk against what the nodes' disks wrote."""
    nodes = _nodes(facts)
    if facts.durability.get("ack") != "disk" or not nodes or facts.record_bytes is None:
        return None
    if not all("disk_written_bytes_s" in node.columns for node in nodes):
        return None
    written = sum(node.mean("disk_written_bytes_s") for node in nodes)
    update_bytes = _compute_bytes(facts, "writeallfields", "false") or 0.0
    acknowledged = (_per_second(facts, "INSERT") or 0.0) * facts.record_bytes
    acknowledged += (_per_second(facts, "UPDATE") or 0.0) * update_bytes
    # A disk without a single write is one that the sampler does not see: a network file system, for example.
    if not acknowledged or not written:
        return None
    measured = f"{size(acknowledged)}/s of values acknowledged, {size(written)}/s written to disks"
    if written >= profile.payload_least * acknowledged:
        return Outcome("pass", measured, "The disks wrote what was acknowledged as on disk.")
    return Outcome(
        "warn", measured,
        f"Writes of {size(acknowledged)}/s were acknowledged as on disk, and the nodes' disks wrote {size(written)}/s: "
        "the data goes elsewhere, is compressed well, or does not wait for the disk.",
        "Find out where the servers keep their data, and whether the durability mode holds.",
    )  # fmt: skip


def _nodes(facts: RunFacts) -> list[HostSamples]:
    """The samples of all machines that ran servers; empty unless each of them was sampled."""
    nodes = {host.machine: host for host in facts.hosts if host.node is not None and len(host)}
    if facts.cluster.machines and len(nodes) == len(facts.cluster.machines):
        return list(nodes.values())
    return []


def _per_second(facts: RunFacts, operation: str) -> float | None:
    """Successful operations of this name; where operations are not told apart in time, by their share."""
    done = next((service.ok for service in facts.service if service.operation == operation), 0)
    if facts.throughput_ops_s is None or not facts.ok_operations or done is None:
        return None
    return facts.throughput_ops_s * done / facts.ok_operations


def _compute_bytes(facts: RunFacts, all_fields: str, usual: str) -> float | None:
    """Field values of one operation only: what comes with them makes it more."""
    if facts.record_bytes is None:
        return None
    fields = parse_number(facts.properties.get("fieldcount")) or 1.0
    if facts.properties.get(all_fields, usual) == "true":
        return facts.record_bytes
    return facts.record_bytes / fields


@check("V30", "Data set size", "more than {cpu_cache_mib} MiB on each node")
def data_set_size(facts: RunFacts, profile: Profile) -> Outcome | None:
    """A data set in the processor's cache is no measure of a database. Records with their keys, on one node.

    Formula: records x (values + 23 B key) x copies / nodes
    Warns: {cpu_cache_mib} MiB or less on each node: it fits a CPU's cache
    Not assessed without: records, record size
    """
    if facts.phase == "load":
        return None
    if facts.recordcount is None or facts.record_bytes is None:
        return not_assessed("The number of records and their size are not known.")
    copies = facts.cluster.stored_copies / (facts.cluster.nodes or 1)
    size_mib = facts.recordcount * (facts.record_bytes + KEY_BYTES) * copies / 2**20
    is_small = size_mib <= profile.cpu_cache_mib
    return Outcome(
        warn_if(is_small), f"{significant(size_mib)} MiB on each node",
        f"The records of a node take {significant(size_mib)} MiB: they fit the cache of a CPU, so neither memory nor "
        "disk was measured.",
        "Load more or larger records.",
        good="The data set is larger than a CPU's cache.",
    )  # fmt: skip


@check("V24", "Environment", "machines of its own, not rationed, as many nodes as copies", loads=True)
def environment(facts: RunFacts, profile: Profile) -> Outcome:
    """What else the machines did, and whether they are what they seem.

    Formula: clients on the database's machine (the finding says how its cores were divided); more copies than
        nodes; rationed (burstable) CPU, swap, transparent huge pages on a node
    Warns: any of them
    Not assessed without: where the clients and the database ran
    """
    complaints = []
    if facts.client_on_database_host:
        complaint = "clients and database ran on one machine"
        if facts.divided_cpus:
            servers, clients = facts.divided_cpus
            complaint += f", the database on {counted(servers, 'core')}, the clients on {counted(clients, 'other')}"
        complaints.append(complaint)
    complaints += complaints_about(facts.cluster)
    if facts.client_on_database_host is None and not complaints:
        return not_assessed("Where the clients and the database ran is not known.")
    return Outcome(
        warn_if(complaints), "; ".join(complaints)[:120] or "separate machines",
        f"{sentence(complaints)}: compare the shapes, not the numbers.",
        "Put the load generators on machines of their own, and the database on machines that are its own.",
        good="The clients ran on machines of their own, and nothing speaks against the database's.",
    )  # fmt: skip


@check(
    "V25", "Interference",
    "above {interference_level} of the cores in {interference_warn} of the window warn, above "
    "{interference_reject} on average reject", loads=True, untrusted=True,
)  # fmt: skip
def interference(facts: RunFacts, profile: Profile) -> Outcome:
    """CPU that other processes of the machines used within the window, with what the hypervisor took away.

    Formula: CPU of other processes and steal, second by second of the window, on the machine where it is highest
    Warns: above {interference_level} of the cores in more than {interference_warn} of the window
    Rejects: above {interference_reject} of the cores on average
    Not assessed without: samples of every load generator, in which its servers and clients are seen
    """
    hosts = [host for host in facts.hosts if len(host) and host.is_attributed and not _unseen(host)]
    unknown = _not_sampled(facts)
    if not hosts:
        return not_assessed(unknown)
    host = max(hosts, key=lambda host: host.mean(*FOREIGN) / host.cores)
    mean_cores = host.mean(*FOREIGN)
    foreign = host.columns["other_cores"] + host.columns["steal_cores"]
    disturbed = foreign > profile.interference_level * host.cores
    share = float(np.average(disturbed, weights=host.columns["interval_s"]))
    severity = warn_if(share > profile.interference_warn)
    if mean_cores > profile.interference_reject * host.cores:
        severity = "reject"
    if severity == "pass" and unknown:
        return not_assessed(unknown)
    cores, when = mean_cores, "on average"
    if share:
        cores, when = float(foreign[disturbed].mean()), f"during {percent(share)} of the window"
    used = f"{exact(round(cores, 2))} of {host.cores} cores"
    steal = host.mean("steal_cores")
    stolen = ""
    if steal >= _STEAL_SHOWN:
        stolen = f" ({exact(round(steal, 2))} on average by the hypervisor's other guests)"
    return Outcome(
        severity, f"{used} {when}",
        f"On {host.machine} other processes used {used} {when}{stolen}.",
        "Stop what else runs on the machine, or reserve it, and run this again.",
    )  # fmt: skip


def _unseen(host: HostSamples) -> list[str]:
    """Whose processes ran on the host and were not seen there: their CPU cannot be told from that of others."""
    return [owner.removesuffix("_cores") for owner in host.owners if host.mean(owner) == 0]


def _not_sampled(facts: RunFacts) -> str:
    """Of which machine nothing is known, as a sentence; empty where every one was sampled."""
    hosts = [host for host in facts.hosts if len(host) and host.is_attributed]
    for host in hosts:
        unseen = _unseen(host)
        if unseen:
            return SERVERS_UNSEEN.format(machine=host.machine, unseen=" and ".join(unseen))
    unsampled = sorted({client.machine for client in facts.clients} - {host.machine for host in hosts})
    if any(unsampled):
        return NOTHING_SAMPLED.format(machine=unsampled[0])
    if unsampled or not hosts:
        return NOTHING_SAMPLED.format(machine=MACHINES_OF_CLIENTS)
    return ""


def complaints_about(cluster: ClusterFacts) -> list[str]:
    """What of a cluster makes its numbers hard to repeat, as far as it is known."""
    complaints = []
    if cluster.replication_factor and cluster.nodes and cluster.replication_factor > cluster.nodes:
        complaints.append(
            TOO_MANY_COPIES.format(copies=cluster.replication_factor, nodes=counted(cluster.nodes, "node"))
        )
    if any(map(_is_burstable, cluster.machines)):
        complaints.append(CPU_RATIONED)
    if any(map(_has_swap, cluster.machines)):
        complaints.append("a node has swap")
    if any(map(_has_huge_pages, cluster.machines)):
        complaints.append(HUGE_PAGES)
    return complaints


def _is_burstable(machine: Mapping[str, object]) -> bool:
    kind = str(fact(machine, "instance_type") or "").lower()
    return str(fact(machine, "burstable")).lower() in ("yes", "true", "1") or kind.startswith(_BURSTABLE)


def _has_swap(machine: Mapping[str, object]) -> bool:
    return (parse_number(fact(machine, "swap_bytes")) or 0.0) > 0


def _has_huge_pages(machine: Mapping[str, object]) -> bool:
    return fact(machine, "transparent_huge_pages") == "always"

"""The teams of a generated site and what they own: machines, clusters, databases, workloads."""

from dataclasses import dataclass, field
from typing import Final

from benchsite.accounts.models import Membership, Role, Team, User
from runs.catalog import System, load_catalog
from runs.models import Cluster, Database, LoadGenerator, Machine, Node, Workload
from runs.models.plan import Provisioner
from runs.queue.spec import ClusterSpec, GeneratorSpec, MachineSpec
from runs.ycsb.properties import CORE_WORKLOADS, check_workload

TEAMS: Final = (("generated", "Generated results"), ("generated-2", "Generated results 2"))
CLUSTER_NODES: Final = {"lab 1": 1, "lab 3": 3, "lab 4": 4, "lab 6": 6, "lab 8": 8, "cloud 3": 3}
VERSIONS: Final = ("1.8", "2.0", "2.1")
RECORDS: Final = "10000000"
MIX_NAMES: Final = {
    "A": "update heavy",
    "B": "read mostly",
    "C": "read only",
    "D": "read latest",
    "E": "short ranges",
    "F": "read-modify-write",
}
GENERATORS: Final = 2


@dataclass(frozen=True, slots=True)
class Equipment:
    """What one team can run its plans on."""

    team: Team
    user: User
    clusters: dict[str, ClusterSpec]  # by id
    generators: tuple[GeneratorSpec, ...]
    databases: tuple[Database, ...]
    workloads: tuple[Workload, ...]
    systems: dict[str, System] = field(repr=False)


def equipment() -> list[Equipment]:
    """For every team of a generated site; what is there from an earlier time is used again."""
    systems = {slug: system for slug, system in load_catalog().systems.items() if system.modes}
    generators = [_generator(number) for number in range(1, GENERATORS + 1)]
    return [_of_team(slug, name, systems, generators) for slug, name in TEAMS]


def _of_team(slug: str, name: str, systems: dict[str, System], generators: list[LoadGenerator]) -> Equipment:
    team, _ = Team.objects.get_or_create(slug=slug, defaults={"name": name})
    user, made = User.objects.get_or_create(username=slug)
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    Membership.objects.get_or_create(user=user, team=team, defaults={"role": Role.RUNNER})
    clusters = [_cluster(team, label, nodes) for label, nodes in CLUSTER_NODES.items()]
    Database.objects.bulk_create(
        (
            Database(
                team=team,
                cluster=cluster,
                name=f"{system.name} {version} on {cluster.name}",
                system=system.slug,
                version=version,
                replication_factor=min(3, CLUSTER_NODES[cluster.name]),
            )
            for cluster in clusters
            for system in systems.values()
            for version in VERSIONS
        ),
        ignore_conflicts=True,
    )
    return Equipment(
        team,
        user,
        {str(cluster.pk): _cluster_spec(cluster) for cluster in clusters},
        tuple({"id": str(g.pk), "name": g.name, "machine": _machine_spec(g.machine)} for g in generators),
        tuple(Database.objects.filter(team=team).order_by("name")),
        tuple(_workload(team, letter) for letter in CORE_WORKLOADS),
        systems,
    )


def _cluster(team: Team, label: str, nodes: int) -> Cluster:
    cluster, made = Cluster.objects.get_or_create(
        team=team, name=label, defaults={"provisioner": Provisioner.EXTERNAL, "notes": "Generated: no such machines."}
    )
    for position in range(nodes) if made else ():
        machine = _machine(f"{label.replace(' ', '-')}-{position + 1}", price="cloud" in label)
        Node.objects.create(cluster=cluster, machine=machine, position=position, address=f"{machine.name}:7000")
    return cluster


def _machine(name: str, *, price: bool = False) -> Machine:
    observed = {
        "os": "Debian GNU/Linux 12 (bookworm)",
        "host": name,
        "cores": 16,
        "kernel": "Linux 6.1.0-28-amd64",
        "cpu_model": "AMD EPYC 7302P 16-Core Processor",
        "swap_bytes": 0,
        "disk_device": "/dev/nvme0n1",
        "virtualised": "none",
        "architecture": "x86_64",
        "cores_usable": 16,
        "memory_bytes": 137_438_953_472,
        "cores_physical": 16,
        "disk_file_system": "ext4",
        "disk_total_bytes": 1_920_383_410_176,
        "transparent_huge_pages": "madvise",
    }
    facts = {fact: {"how": "observed", "value": value} for fact, value in observed.items()}
    if price:
        facts["price_per_hour"] = {"how": "stated", "value": 1.204}
    return Machine.objects.get_or_create(name=f"generated {name}", defaults={"facts": facts})[0]


def _generator(number: int) -> LoadGenerator:
    machine = _machine(f"load-{number}")
    return LoadGenerator.objects.select_related("machine").get_or_create(
        name=f"generated-{number}", defaults={"machine": machine, "enabled": False}
    )[0]


def _workload(team: Team, letter: str) -> Workload:
    properties = check_workload(
        {**CORE_WORKLOADS[letter], "recordcount": RECORDS, "fieldcount": "10", "fieldlength": "100"}
    )
    return Workload.objects.get_or_create(
        team=team,
        name=f"{letter}: {MIX_NAMES[letter]}, 10,000,000 records",
        defaults={"short_name": letter, "properties": properties},
    )[0]


def _cluster_spec(cluster: Cluster) -> ClusterSpec:
    nodes = cluster.nodes.select_related("machine")
    return {
        "id": str(cluster.pk),
        "name": cluster.name,
        "provisioner": cluster.provisioner,
        "machines": [_machine_spec(node.machine) for node in nodes],
    }


def _machine_spec(machine: Machine) -> MachineSpec:
    return {"id": str(machine.pk), "name": machine.name, "facts": machine.facts}

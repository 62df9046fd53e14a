"""What of a plan no longer fits the clusters and load generators that somebody chose for its roles."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from benchsite.core.formatting import counted, exact, size
from runs.catalog import UnknownSystem, load_catalog
from runs.checks import THRESHOLDS, profile
from runs.checks.short_windows import find_min_window_s
from runs.checks.team_thresholds import get_thresholds
from runs.models import Cluster, Database, LoadGenerator, Machine, Provisioner
from runs.plans import Plan, PlannedRun, expand, preview
from runs.plans.capacity import STORAGE_FACTOR
from runs.plans.files.plan import Facts, PlanFile, planned, twice_the_same
from runs.plans.messages import RUN_BY_OTHERS
from runs.plans.plan import Entry, read_cluster, read_generator
from runs.ycsb.property_schema import PropertyError


@dataclass(frozen=True, slots=True)
class Chosen:
    """Whose machines take the roles of a plan. `secrets` are by database and property."""

    clusters: Mapping[str, Cluster]
    generators: Mapping[str, LoadGenerator]
    secrets: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Misfit:
    """One thing that is otherwise than the plan says: "stop" keeps it from being run, "note" is to be known."""

    tone: Literal["stop", "note"]
    about: str  # a role, or empty
    text: str
    code: str = ""  # of a check that will reject runs


def misfits(file: PlanFile, chosen: Chosen) -> tuple[Misfit, ...]:
    """Everything at once, those that stop it first."""
    all_ = [*_roles_lacking(file, chosen), *_clusters(file, chosen), *_databases(file, chosen), *_site(file, chosen)]
    if not any(misfit.tone == "stop" for misfit in all_):
        planned_here = preview(plan_on(file, chosen))
        all_ += [Misfit("stop", "", problem.message) for problem in planned_here.problems]
        all_ += [Misfit("note", "", check.message, check.check_id) for check in planned_here.rejections]
        if twice := twice_the_same(_runs(file)):
            all_.append(Misfit("stop", "", twice))
    return tuple(sorted(all_, key=lambda misfit: misfit.tone != "stop"))


def plan_on(file: PlanFile, chosen: Chosen) -> Plan:
    """The plan with the chosen machines in its roles. Names and ids of the rest are still the roles' own."""
    bare = planned(file)
    databases = {}
    for entry in bare.entries:
        database = entry.database
        secrets = {name: value for (role, name), value in chosen.secrets.items() if role == database.id and value}
        databases[database.id] = replace(
            database,
            binding_properties={**database.binding_properties, **secrets},
            **read_cluster(chosen.clusters[database.cluster_id], database.system, database.flavour),
        )
    min_window_s = 0
    for cluster in chosen.clusters.values():
        min_window_s = find_min_window_s(cluster.team_id, file.matrix.purpose)
    generators = tuple(replace(read_generator(chosen.generators[role]), name=role) for role in file.generators)
    entries = tuple(Entry(databases[entry.database.id], entry.mode) for entry in bare.entries)
    return bare.model_copy(update={"entries": entries, "generators": generators, "min_window_s": min_window_s})


def _roles_lacking(file: PlanFile, chosen: Chosen) -> Iterator[Misfit]:
    for role in file.clusters:
        if role not in chosen.clusters:
            yield Misfit("stop", role, f"Choose a cluster for {role}.")
    for role in file.generators:
        if role not in chosen.generators:
            yield Misfit("stop", role, f"Choose a load generator for {role}.")
    taken: dict[object, str] = {}
    for role, generator in chosen.generators.items():
        if generator.pk in taken:
            text = f"{generator.name} is chosen for {taken[generator.pk]} and {role}: each role needs one of its own."
            yield Misfit("stop", role, text)
        taken.setdefault(generator.pk, role)
        yield from _weaker(role, f"Load generator {generator.name}", file.generators[role].facts, generator.machine)


def _clusters(file: PlanFile, chosen: Chosen) -> Iterator[Misfit]:
    for role, cluster in chosen.clusters.items():
        meant, nodes = file.clusters[role], list(cluster.nodes.all())
        if len(nodes) != len(meant.nodes):
            there, here = counted(len(meant.nodes), "node"), counted(len(nodes), "node")
            yield Misfit("note", role, f"The plan has {there} and {cluster.name} has {here}: the numbers will differ.")
        if cluster.provisioner != meant.provisioner:
            text = f"The plan's servers were {_started(meant.provisioner)}, those of {cluster.name} are "
            yield Misfit("note", role, f"{text}{_started(cluster.provisioner)}.")
        elif cluster.separates_cpus != meant.separates_cpus and cluster.provisioner != Provisioner.EXTERNAL:
            divided = "separated" if meant.separates_cpus else "not separated"
            there = f"The cores of servers and clients on one machine were {divided} in the plan"
            text = f"{there}; those of {cluster.name} are"
            yield Misfit("note", role, f"{text}{' not' if meant.separates_cpus else ''}: the numbers will differ.")
        for node, facts in zip(nodes, meant.nodes, strict=False):
            yield from _weaker(role, f"Node {node.position + 1} of {cluster.name}", facts, node.machine)
        yield from _memory(file, role, cluster)
        machines = {node.machine_id for node in nodes}
        for name, generator in chosen.generators.items():
            if generator.machine_id in machines and role not in file.generators[name].shares:
                text = f"{generator.name} runs on a machine of {cluster.name}; in the plan they were apart. "
                yield Misfit("note", name, f"{text}Compare shapes, not numbers.")


def _started(provisioner: str) -> str:
    return {"external": RUN_BY_OTHERS, "docker": "containers"}.get(provisioner, "started by Benchsite")


def _weaker(role: str, name: str, facts: Facts, machine: Machine) -> Iterator[Misfit]:
    cores = machine.facts.get("cores", {}).get("value")
    if facts.cores and cores and cores != facts.cores:
        yield Misfit("note", role, f"{name} has {exact(cores)} cores, the plan's had {facts.cores}.")


def _memory(file: PlanFile, role: str, cluster: Cluster) -> Iterator[Misfit]:
    """The data set against the memory of the nodes that hold it."""
    sizes = [node.machine.facts.get("memory_bytes", {}).get("value") for node in cluster.nodes.all()]
    runs = [run for run in _runs(file) if run.sweep.entry.database.cluster_id == role]
    if not runs or not sizes or not all(sizes):
        return
    need = max(r.dataset.records * r.dataset.record_bytes * r.sweep.entry.database.stored_copies for r in runs)
    held, there = need * STORAGE_FACTOR, sum(sizes)
    meant = sum(facts.memory_bytes or 0 for facts in file.clusters[role].nodes)
    if held > there and not (meant and held > meant):
        yield Misfit(
            "note", role,
            f"The data set takes about {size(held)} and {cluster.name} has {size(there)} of memory: "
            "where the plan read from memory, this will read from disk or fail.",
        )  # fmt: skip


def _runs(file: PlanFile) -> tuple[PlannedRun, ...]:
    try:
        return expand(planned(file)).runs
    except PropertyError:
        return ()


def _databases(file: PlanFile, chosen: Chosen) -> Iterator[Misfit]:
    here = Database.objects.filter(cluster__in=list(chosen.clusters.values())).values_list(
        "cluster_id", "system", "version", "name"
    )
    for role, database in file.databases.items():
        cluster = chosen.clusters.get(database.cluster)
        for cluster_id, system, version, name in here:
            if cluster and cluster_id == cluster.pk and system == database.system and version != database.version:
                planned_version = database.version or "of unknown version"
                yield Misfit(
                    "note", role,
                    f"The plan ran {system} {planned_version}; {name} on {cluster.name} states {version or 'none'}.",
                )  # fmt: skip
        for secret in database.secrets:
            if not chosen.secrets.get((role, secret)):
                yield Misfit("stop", role, f"{database.name}: fill in {secret} again, for plan files hold no secrets.")
        try:
            load_catalog().system(database.system)
        except UnknownSystem as error:
            yield Misfit("stop", role, f"{database.name}: {error}")


def _site(file: PlanFile, chosen: Chosen) -> Iterator[Misfit]:
    if file.catalog and file.catalog != load_catalog().digest:
        text = "The plan was made with another release of the catalog: its modes and settings may be defined otherwise."
        yield Misfit("note", "", text)
    team = next((cluster.team_id for cluster in chosen.clusters.values()), None)
    mine = get_thresholds(team, file.matrix.purpose) if team else profile(file.matrix.purpose)
    for name in sorted(THRESHOLDS):
        theirs = file.thresholds.get(name, getattr(profile(file.matrix.purpose), name))
        if theirs != getattr(mine, name):
            yield Misfit(
                "note", "",
                f"Check {THRESHOLDS[name].check_id} ({name}) had the limit {exact(theirs)} there, "
                f"and {exact(getattr(mine, name))} here.",
            )  # fmt: skip

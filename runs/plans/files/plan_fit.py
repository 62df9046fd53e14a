"""What of a plan no longer fits the clusters and load generators that somebody chose for its roles."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID

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
    """Whose machines take the roles of a plan. `secrets` are by the role of a database and by property."""

    clusters: Mapping[str, Cluster]
    generators: Mapping[str, LoadGenerator]
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def team_id(self) -> UUID | None:
        """Whose clusters these are; None where none is chosen yet."""
        return next((cluster.team_id for cluster in self.clusters.values()), None)


@dataclass(frozen=True, slots=True)
class Misfit:
    """One thing that is otherwise than the plan says: "stop" keeps it from being run, "note" is to be known."""

    tone: Literal["stop", "note"]
    about: str  # a role, or empty
    text: str
    code: str = ""  # of a check that will reject runs


def misfits(file: PlanFile, chosen: Chosen) -> tuple[Misfit, ...]:
    """Everything at once, those that stop it first."""
    runs = _expand_runs(file)
    all_misfits = [
        *_check_roles(file, chosen),
        *_check_clusters(file, chosen, runs),
        *_check_databases(file, chosen),
        *_check_site(file, chosen),
    ]
    if not any(misfit.tone == "stop" for misfit in all_misfits):
        planned_here = preview(plan_on(file, chosen))
        all_misfits += [Misfit("stop", "", problem.message) for problem in planned_here.problems]
        all_misfits += [Misfit("note", "", check.message, check.code) for check in planned_here.rejections]
        problem = twice_the_same(runs)
        if problem:
            all_misfits.append(Misfit("stop", "", problem))
    return tuple(sorted(all_misfits, key=lambda misfit: misfit.tone != "stop"))


def plan_on(file: PlanFile, chosen: Chosen) -> Plan:
    """The plan with the chosen machines in its roles. Names and ids of the rest are still the roles' own."""
    plan = planned(file)
    entries = []
    for entry in plan.entries:
        database = entry.database
        database = replace(
            database,
            binding_properties={**database.binding_properties, **chosen.secrets.get(database.id, {})},
            **read_cluster(chosen.clusters[database.cluster_id], database.system, database.flavour),
        )
        entries.append(Entry(database, entry.mode))
    min_window_s = 0
    if chosen.team_id:
        min_window_s = find_min_window_s(chosen.team_id, file.matrix.purpose)
    generators = tuple(replace(read_generator(chosen.generators[role]), name=role) for role in file.generators)
    changes = {"entries": tuple(entries), "generators": generators, "min_window_s": min_window_s}
    return plan.model_copy(update=changes)


def _check_roles(file: PlanFile, chosen: Chosen) -> Iterator[Misfit]:
    for role in file.clusters:
        if role not in chosen.clusters:
            yield Misfit("stop", role, f"Choose a cluster for {role}.")
    for role in file.generators:
        if role not in chosen.generators:
            yield Misfit("stop", role, f"Choose a load generator for {role}.")
    roles: dict[object, str] = {}  # by load generator
    for role, generator in chosen.generators.items():
        first = roles.setdefault(generator.pk, role)
        if first != role:
            text = f"{generator.name} is chosen for {first} and {role}: each role needs one of its own."
            yield Misfit("stop", role, text)
        name = f"Load generator {generator.name}"
        yield from _compare_cores(role, name, file.generators[role].facts, generator.machine)


def _check_clusters(file: PlanFile, chosen: Chosen, runs: Sequence[PlannedRun]) -> Iterator[Misfit]:
    for role, cluster in chosen.clusters.items():
        stated, nodes = file.clusters[role], list(cluster.nodes.all())
        if len(nodes) != len(stated.nodes):
            stated_nodes, chosen_nodes = counted(len(stated.nodes), "node"), counted(len(nodes), "node")
            text = f"The plan has {stated_nodes} and {cluster.name} has {chosen_nodes}: the numbers will differ."
            yield Misfit("note", role, text)
        if cluster.provisioner != stated.provisioner:
            text = f"The plan's servers were {_describe_start(stated.provisioner)}, those of {cluster.name} are "
            yield Misfit("note", role, f"{text}{_describe_start(cluster.provisioner)}.")
        elif cluster.separates_cpus != stated.separates_cpus and cluster.provisioner != Provisioner.EXTERNAL:
            plan_state, cluster_state = "not separated", "are"
            if stated.separates_cpus:
                plan_state, cluster_state = "separated", "are not"
            text = f"The cores of servers and clients on one machine were {plan_state} in the plan"
            yield Misfit("note", role, f"{text}; those of {cluster.name} {cluster_state}: the numbers will differ.")
        for node, facts in zip(nodes, stated.nodes, strict=False):
            yield from _compare_cores(role, f"Node {node.position + 1} of {cluster.name}", facts, node.machine)
        yield from _check_memory(file, role, cluster, runs)
        machines = {node.machine_id for node in nodes}
        for name, generator in chosen.generators.items():
            if generator.machine_id in machines and role not in file.generators[name].shares:
                text = f"{generator.name} runs on a machine of {cluster.name}; in the plan they were apart. "
                yield Misfit("note", name, f"{text}Compare shapes, not numbers.")


def _describe_start(provisioner: str) -> str:
    return {"external": RUN_BY_OTHERS, "docker": "containers"}.get(provisioner, "started by Benchsite")


def _compare_cores(role: str, name: str, facts: Facts, machine: Machine) -> Iterator[Misfit]:
    cores = machine.facts.get("cores", {}).get("value")
    if facts.cores and cores and cores != facts.cores:
        yield Misfit("note", role, f"{name} has {exact(cores)} cores, the plan's had {facts.cores}.")


def _check_memory(file: PlanFile, role: str, cluster: Cluster, runs: Sequence[PlannedRun]) -> Iterator[Misfit]:
    """The data set against the memory of the nodes that hold it."""
    sizes = [node.machine.facts.get("memory_bytes", {}).get("value") for node in cluster.nodes.all()]
    needed = 0.0
    for run in runs:
        database = run.sweep.entry.database
        if database.cluster_id == role:
            stored = run.dataset.records * run.dataset.record_bytes * database.stored_copies
            needed = max(needed, stored * STORAGE_FACTOR)
    if not sizes or not all(sizes):
        return
    available = sum(sizes)
    stated = sum(facts.memory_bytes or 0 for facts in file.clusters[role].nodes)
    if needed > available and not (stated and needed > stated):
        yield Misfit(
            "note", role,
            f"The data set takes about {size(needed)} and {cluster.name} has {size(available)} of memory: "
            "where the plan read from memory, this will read from disk or fail.",
        )  # fmt: skip


def _expand_runs(file: PlanFile) -> tuple[PlannedRun, ...]:
    try:
        return expand(planned(file)).runs
    except (PropertyError, UnknownSystem):
        return ()


def _check_databases(file: PlanFile, chosen: Chosen) -> Iterator[Misfit]:
    rows = Database.objects.filter(cluster__in=list(chosen.clusters.values()))
    stored = rows.values_list("cluster_id", "system", "version", "name")
    for role, database in file.databases.items():
        cluster = chosen.clusters.get(database.cluster)
        for cluster_id, system, version, name in stored:
            if cluster and cluster_id == cluster.pk and system == database.system and version != database.version:
                planned_version = database.version or "of unknown version"
                yield Misfit(
                    "note", role,
                    f"The plan ran {system} {planned_version}; {name} on {cluster.name} states {version or 'none'}.",
                )  # fmt: skip
        for secret in database.secrets:
            if not chosen.secrets.get(role, {}).get(secret):
                yield Misfit("stop", role, f"{database.name}: fill in {secret} again, for plan files hold no secrets.")
        try:
            load_catalog().system(database.system)
        except UnknownSystem as error:
            yield Misfit("stop", role, f"{database.name}: {error}")


def _check_site(file: PlanFile, chosen: Chosen) -> Iterator[Misfit]:
    if file.catalog and file.catalog != load_catalog().digest:
        text = "The plan was made with another release of the catalog: its modes and settings may be defined otherwise."
        yield Misfit("note", "", text)
    default = team_profile = profile(file.matrix.purpose)
    if chosen.team_id:
        team_profile = get_thresholds(chosen.team_id, file.matrix.purpose)
    for name in sorted(THRESHOLDS):
        stated = file.thresholds.get(name, getattr(default, name))
        limit = getattr(team_profile, name)
        if stated != limit:
            yield Misfit(
                "note", "",
                f"Check {THRESHOLDS[name].check_id} ({name}) had the limit {exact(stated)} there, "
                f"and {exact(limit)} here.",
            )  # fmt: skip

"""A stored matrix as one plan file without host names, and a plan file as a matrix of another team or cluster."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

from runs.builds import has_own_builds
from runs.catalog import UnknownSystem, load_catalog, secret_properties
from runs.checks import THRESHOLDS, profile
from runs.checks.team_thresholds import get_thresholds
from runs.models import Cluster, Database, LoadGenerator, Machine, Matrix, Provisioner, Workload
from runs.plans.drafts import read_stored
from runs.plans.files.plan import (
    Cells,
    Changes,
    ClusterRole,
    Exclusion,
    Facts,
    GeneratorRole,
    Override,
    PlanDatabase,
    PlanDurability,
    PlanEntry,
    PlanFile,
    PlanMatrix,
    PlanMode,
    PlanRefused,
    PlanWorkload,
)
from runs.plans.files.plan_file import as_text
from runs.plans.messages import OWN_BUILDS_NOT_EXPORTED, WORKLOAD_OF_GROUP_GONE
from runs.plans.plan_spec import PlanFault, PlanGroup, PlanSearch
from runs.ycsb.properties import check_workload
from runs.ycsb.property_schema import PropertyError

Row = TypeVar("Row", Database, Cluster, Workload, LoadGenerator)
# Properties in which other systems' clients are told where their servers are.
ADDRESS: Final = re.compile(r"(url|uri|hosts?|port|quorum|address(es)?)$")


def export_plan(matrix: Matrix) -> str:
    """The plan file of a stored matrix. Raises PlanRefused where it has nothing to export, or own builds."""
    if has_own_builds(matrix.builds):
        raise PlanRefused(OWN_BUILDS_NOT_EXPORTED)
    return as_text(build_plan_file(matrix))


def build_plan_file(matrix: Matrix) -> PlanFile:
    """Read in a constant number of queries. Nothing is validated: a draft may lack what an import asks for."""
    draft = read_stored(matrix)
    workloads, generators = _roles("workload", draft.workloads), _roles("generator", draft.generators)
    if not draft.entries or not workloads or not generators:
        raise PlanRefused("This matrix names no databases, workloads or load generators, so it has no plan to export.")

    databases = _roles("database", [database for database, _ in draft.entries])
    clusters = _roles("cluster", [database.cluster for database in databases.values()])
    roles = {str(row.pk): role for role, row in chain(databases.items(), workloads.items())}
    roles_by_name = {generator.name: role for role, generator in generators.items()}
    cluster_roles = {cluster.pk: role for role, cluster in clusters.items()}
    columns = {name: getattr(matrix, name) for name in PlanMatrix.model_fields}
    search = None
    if matrix.search:
        search = PlanSearch.read_stored(matrix.search)

    return PlanFile.model_construct(
        catalog=load_catalog().digest,
        matrix=PlanMatrix.model_construct(**columns),
        clusters={role: _export_cluster(cluster) for role, cluster in clusters.items()},
        generators={role: _export_generator(generator, clusters) for role, generator in generators.items()},
        databases={role: _export_database(row, cluster_roles[row.cluster_id]) for role, row in databases.items()},
        workloads={role: _export_workload(workload) for role, workload in workloads.items()},
        entries=[
            PlanEntry.model_construct(database=roles[str(database.pk)], mode=mode) for database, mode in draft.entries
        ],
        exclusions=[
            Exclusion.model_construct(reason=str(rule.get("reason", "")), match=_export_cells(rule, roles))
            for rule in matrix.exclusions
            if _covers(rule, roles)
        ],
        overrides=[
            Override.model_construct(
                rule=rule.get("rule") or "",
                match=_export_cells(rule, roles),
                set=_export_changes(rule["set"], roles_by_name),
            )
            for rule in matrix.overrides
            if _covers(rule, roles)
        ],
        thresholds=_list_replaced_thresholds(matrix),
        search=search,
        faults=[PlanFault.model_construct(**fault) for fault in matrix.faults],
        groups=[PlanGroup.model_construct(**group) for group in matrix.groups],
        group_workloads=_export_group_workloads(matrix),
    )


def _export_cluster(cluster: Cluster) -> ClusterRole:
    return ClusterRole.model_construct(
        provisioner=cluster.provisioner,
        separates_cpus=cluster.separates_cpus or cluster.provisioner == Provisioner.EXTERNAL,
        nodes=[_export_facts(node.machine) for node in cluster.nodes.all()],
    )


def _export_generator(generator: LoadGenerator, clusters: Mapping[str, Cluster]) -> GeneratorRole:
    """With the roles of the clusters that have a node on its machine."""
    shares = []
    for role, cluster in clusters.items():
        if any(node.machine_id == generator.machine_id for node in cluster.nodes.all()):
            shares.append(role)
    return GeneratorRole.model_construct(slots=generator.slots, shares=shares, facts=_export_facts(generator.machine))


def _list_replaced_thresholds(matrix: Matrix) -> dict[str, float]:
    """Those of the team that are not the purpose's own."""
    default, replaced = profile(matrix.purpose), get_thresholds(matrix.team, matrix.purpose)
    thresholds = {name: getattr(replaced, name) for name in THRESHOLDS}
    return {name: value for name, value in thresholds.items() if value != getattr(default, name)}


def _export_group_workloads(matrix: Matrix) -> dict[str, PlanWorkload]:
    if not matrix.groups:
        return {}
    names = {group["workload"] for group in matrix.groups}
    rows = Workload.objects.filter(team=matrix.team_id, name__in=names).order_by("name")
    missing = sorted(names - {row.name for row in rows})
    if missing:
        raise PlanRefused(WORKLOAD_OF_GROUP_GONE.format(workload=missing[0]))
    return {row.name: _export_workload(row) for row in rows}


def _roles(kind: str, rows: Sequence[Row]) -> dict[str, Row]:
    """Each row once, numbered as it comes."""
    distinct = {row.pk: row for row in rows}
    return {f"{kind}-{number}": row for number, row in enumerate(distinct.values(), 1)}


def _export_facts(machine: Machine) -> Facts:
    facts: dict[str, Any] = {}
    for name in Facts.model_fields:
        value = machine.facts.get(name, {}).get("value")
        if isinstance(value, int | float) and value >= 0:
            facts[name] = int(value)
    return Facts.model_construct(**facts)


def _export_database(database: Database, cluster: str) -> PlanDatabase:
    settings, properties = dict(database.settings), dict(database.binding_properties)
    secrets: list[str] = []
    try:
        system = load_catalog().system(database.system, database.flavour, database.own_modes)
    except UnknownSystem:
        properties = {}  # Nobody knows which of them is an address or a secret.
    else:
        hidden = secret_properties(system)
        addresses = system.binding.endpoint.addresses
        secrets = [name for name in hidden if properties.get(name)]
        left_out = {*hidden, *addresses}
        public = {
            name: value for name, value in properties.items() if name not in left_out and not ADDRESS.search(name)
        }
        try:
            settings, properties = system.check_settings(settings), system.check_binding_properties(public)
        except PropertyError as error:
            raise PlanRefused(f"{database.name}: {error}") from None

    columns: dict[str, Any] = {name: getattr(database, name, None) for name in PlanDatabase.model_fields}
    own_modes = {}
    for slug, mode in database.own_modes.items():
        durability = PlanDurability.model_construct(**mode["durability"])
        own_modes[slug] = PlanMode.model_construct(**{**mode, "durability": durability})
    columns |= {"cluster": cluster, "own_modes": own_modes, "settings": settings, "secrets": secrets}
    columns["binding_properties"] = properties
    return PlanDatabase.model_construct(**columns)


def _export_workload(workload: Workload) -> PlanWorkload:
    try:
        properties = check_workload(workload.properties)
    except PropertyError as error:
        raise PlanRefused(f"Workload {workload.name}: {error}") from None
    return PlanWorkload.model_construct(name=workload.name, short_name=workload.short_name, properties=properties)


def _covers(rule: Mapping[str, Any], roles: Mapping[str, str]) -> bool:
    """A rule about what the matrix does not cross covers nothing, here or there."""
    keys = [rule["match"].get(axis) for axis in ("database", "workload")]
    return all(key is None or str(key) in roles for key in keys)


def _export_cells(rule: Mapping[str, Any], roles: Mapping[str, str]) -> Cells:
    match: dict[str, Any] = {}
    for axis, value in rule["match"].items():
        if value is None:
            continue
        match[axis] = value
        if axis in ("database", "workload"):
            match[axis] = roles[str(value)]
        elif axis in ("rung", "repeat"):
            match[axis] = int(value)
    return Cells.model_construct(**match)


def _export_changes(changes: Mapping[str, Any], roles: Mapping[str, str]) -> Changes:
    changes = dict(changes)
    if "generators" in changes:
        changes["generators"] = [roles[name] for name in changes["generators"] if name in roles]
    return Changes.model_construct(**changes)

"""A stored matrix as one plan file without host names, and a plan file as a matrix of another team or cluster."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from benchsite.teams.models import Team
from runs.catalog import UnknownSystem, load_catalog, secret_properties
from runs.kits.plan import (
    AXES,
    COLUMNS,
    FACTS,
    ClusterRole,
    GeneratorRole,
    PlanDatabase,
    PlanFile,
    PlanRefused,
    PlanWorkload,
    digest_of,
)
from runs.kits.plan_import import Chosen, import_plan
from runs.kits.plan_text import as_text, read_plan
from runs.models import Cluster, Database, LoadGenerator, Machine, Matrix, Workload
from runs.property_schema import PropertyError
from runs.thresholds import thresholds_of
from runs.validity import THRESHOLDS, profile
from runs.ycsb.properties import check_workload

__all__ = ["Chosen", "PlanFile", "PlanRefused", "digest_of", "export_plan", "import_plan", "plan_file_of", "read_plan"]

Row = TypeVar("Row", Database, Cluster, Workload, LoadGenerator)
# Properties in which other systems' clients are told where their servers are.
ADDRESS: Final = re.compile(r"(url|uri|hosts?|port|quorum|address(es)?)$")
STUDY: Final = ("study", "scenario", "scale", "deviations", "not_run")


def export_plan(matrix: Matrix) -> str:
    """The plan file of a stored matrix. Raises PlanRefused where it has nothing to export."""
    return matrix.plan or as_text(plan_file_of(matrix))


def plan_file_of(matrix: Matrix) -> PlanFile:
    """Read in a constant number of queries."""
    if matrix.plan:
        return read_plan(matrix.plan)
    entries = list(
        matrix.entries.select_related("database__cluster").prefetch_related("database__cluster__nodes__machine")
    )
    workloads = list(matrix.workloads.order_by("name"))
    generators = list(matrix.load_generators.select_related("machine").order_by("name"))
    if not entries or not workloads or not generators:
        raise PlanRefused("This matrix names no databases, workloads or load generators, so it has no plan to export.")
    databases = _roles("database", [entry.database for entry in entries])
    clusters = _roles("cluster", [database.cluster for database in databases.values()])
    by_workload = _roles("workload", workloads)
    by_generator = _roles("generator", generators)
    role = {str(one.pk): name for group in (databases, by_workload) for name, one in group.items()}
    names = {one.name: name for name, one in by_generator.items()}
    cluster_of = {one.pk: name for name, one in clusters.items()}
    return PlanFile(
        catalog=load_catalog().digest,
        tags=tuple(matrix.tags),
        rungs=tuple(matrix.rungs),
        looks=tuple(matrix.looks),
        resets={level: str(policy) for level, policy in (matrix.resets or {}).items()},
        clusters={name: _cluster(one) for name, one in clusters.items()},
        generators={name: _generator(one, clusters) for name, one in by_generator.items()},
        databases={name: _database(one, cluster_of[one.cluster_id]) for name, one in databases.items()},
        workloads={name: _workload(one) for name, one in by_workload.items()},
        entries=tuple((role[str(entry.database_id)], entry.mode) for entry in entries),
        exclusions=tuple(
            {"reason": str(rule.get("reason", "")), "match": _match(rule, role)}
            for rule in matrix.exclusions
            if _covers(rule, role)
        ),
        overrides=tuple(_override(rule, role, names) for rule in matrix.overrides if _covers(rule, role)),
        thresholds=_thresholds(matrix.team, matrix.purpose),
        search=matrix.search,
        study={name: (matrix.template or {})[name] for name in STUDY if (matrix.template or {}).get(name)},
        **{name: getattr(matrix, name) for name in COLUMNS},
    )


def _roles(kind: str, rows: Sequence[Row]) -> dict[str, Row]:
    """Each row once, numbered as it comes."""
    distinct = {row.pk: row for row in rows}
    return {f"{kind}-{number}": row for number, row in enumerate(distinct.values(), 1)}


def _facts(machine: Machine) -> dict[str, int]:
    found = {name: machine.facts.get(name, {}).get("value") for name in FACTS}
    return {name: int(value) for name, value in found.items() if isinstance(value, int | float) and value >= 0}


def _cluster(cluster: Cluster) -> ClusterRole:
    return ClusterRole(cluster.provisioner, tuple(_facts(node.machine) for node in cluster.nodes.all()))


def _generator(generator: LoadGenerator, clusters: Mapping[str, Cluster]) -> GeneratorRole:
    shares = tuple(
        name
        for name, cluster in clusters.items()
        if generator.machine_id in {node.machine_id for node in cluster.nodes.all()}
    )
    return GeneratorRole(generator.slots, _facts(generator.machine), shares)


def _database(database: Database, cluster: str) -> PlanDatabase:
    settings, properties = dict(database.settings), dict(database.binding_properties)
    secrets: tuple[str, ...] = ()
    try:
        system = load_catalog().system(database.system, database.flavour)
    except UnknownSystem:
        properties = {}  # Nobody knows which of them is an address or a secret.
    else:
        hidden, addresses = secret_properties(system), system.binding.endpoint.addresses
        secrets = tuple(name for name in hidden if properties.get(name))
        left_out = {*hidden, *addresses}
        kept = {name: value for name, value in properties.items() if name not in left_out and not ADDRESS.search(name)}
        try:
            settings, properties = system.check_settings(settings), system.check_binding_properties(kept)
        except PropertyError as error:
            raise PlanRefused(f"{database.name}: {error}") from None
    return PlanDatabase(
        name=database.name,
        system=database.system,
        version=database.version,
        replication_factor=database.replication_factor,
        flavour=database.flavour,
        client=database.client,
        cluster=cluster,
        settings=settings,
        binding_properties=properties,
        secrets=secrets,
    )


def _workload(workload: Workload) -> PlanWorkload:
    try:
        return PlanWorkload(workload.name, workload.short_name, check_workload(workload.properties))
    except PropertyError as error:
        raise PlanRefused(f"Workload {workload.name}: {error}") from None


def _covers(rule: Mapping[str, Any], role: Mapping[str, str]) -> bool:
    """A rule about what the matrix does not cross covers nothing, here or there."""
    named = [rule["match"].get(axis) for axis in ("database", "workload")]
    return all(value is None or str(value) in role for value in named)


def _match(rule: Mapping[str, Any], role: Mapping[str, str]) -> dict[str, Any]:
    found = {axis: value for axis, value in rule["match"].items() if value is not None}
    found |= {axis: role[str(found[axis])] for axis in ("database", "workload") if axis in found}
    # In one order: the database keeps none.
    return {axis: int(found[axis]) if axis in ("rung", "repeat") else found[axis] for axis in AXES if axis in found}


def _override(rule: Mapping[str, Any], role: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    changed = dict(rule["set"])
    if "generators" in changed:
        changed["generators"] = [names[name] for name in changed["generators"] if name in names]
    kept = {"rule": rule["rule"]} if rule.get("rule") else {}
    return {**kept, "match": _match(rule, role), "set": {name: changed[name] for name in sorted(changed)}}


def _thresholds(team: Team, purpose: str) -> dict[str, float]:
    mine, usual = thresholds_of(team, purpose), profile(purpose)
    return {name: getattr(mine, name) for name in THRESHOLDS if getattr(mine, name) != getattr(usual, name)}

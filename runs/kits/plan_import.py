"""A plan file becomes a matrix of a team, on the clusters and load generators chosen for its roles. All or nothing."""

import itertools
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q

from benchsite.teams.models import Team, User
from runs.kits.plan import COLUMNS, PlanDatabase, PlanFile, PlanWorkload
from runs.kits.plan_fit import Chosen, misfits
from runs.models import Cluster, Database, Matrix, MatrixEntry, Workload
from runs.planning import PlanError, Problem

__all__ = ["Chosen", "import_plan", "matrix_of"]


def import_plan(team: Team, plan: PlanFile, mapping: Chosen, user: User | None) -> Matrix:
    """Store the plan as a matrix that is not submitted. Raises PlanError with what keeps it; nothing is stored then.

    Databases and workloads that the team has already, to the letter, are used again; others are made, under a name of
    their own where theirs is taken.
    """
    stops = [one for one in misfits(plan, mapping) if one.tone == "stop"]
    if stops:
        raise PlanError([Problem(one.about, one.text) for one in stops])
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)  # Two imports at once would choose the same free name.
        databases = {
            role: _database(team, one, mapping.clusters[one.cluster], _secrets(mapping, role))
            for role, one in plan.databases.items()
        }
        workloads = {role: _workload(team, one) for role, one in plan.workloads.items()}
        keys = {role: str(row.pk) for rows in (databases, workloads) for role, row in rows.items()}
        names = {role: generator.name for role, generator in mapping.generators.items()}
        matrix = matrix_of(team, plan, user)
        matrix.exclusions = [_named(rule, keys, names) for rule in plan.exclusions]
        matrix.overrides = [_named(rule, keys, names) for rule in plan.overrides]
        matrix.save()
        matrix.workloads.set(workloads.values())
        matrix.load_generators.set(mapping.generators.values())
        MatrixEntry.objects.bulk_create(
            MatrixEntry(matrix=matrix, database=databases[role], mode=mode, position=position)
            for position, (role, mode) in enumerate(plan.entries)
        )
    return matrix


def matrix_of(team: Team, plan: PlanFile, user: User | None) -> Matrix:
    """The matrix's own columns, not saved."""
    return Matrix(
        team=team,
        created_by=user,
        rungs=list(plan.rungs),
        looks=list(plan.looks),
        tags=list(plan.tags),
        search=dict(plan.search) if plan.search is not None else None,
        resets=dict(plan.resets),
        template=dict(plan.study) or None,
        **{name: getattr(plan, name) for name in COLUMNS},
    )


def _secrets(mapping: Chosen, role: str) -> dict[str, str]:
    return {name: value for (database, name), value in mapping.secrets.items() if database == role and value}


def _named(rule: Mapping[str, Any], keys: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    """A rule about the stored rows instead of the roles."""
    said = {**rule, "match": {axis: keys.get(str(value), value) for axis, value in rule["match"].items()}}
    if "set" in rule and "generators" in rule["set"]:
        said["set"] = {**rule["set"], "generators": [names[role] for role in rule["set"]["generators"]]}
    return said


def _database(team: Team, one: PlanDatabase, cluster: Cluster, secrets: Mapping[str, str]) -> Database:
    says: dict[str, Any] = {
        "system": one.system,
        "version": one.version,
        "replication_factor": one.replication_factor,
        "flavour": one.flavour,
        "client": one.client,
        "settings": dict(one.settings),
        "binding_properties": {**one.binding_properties, **secrets},
    }
    same = Database.objects.filter(team=team, cluster=cluster, **says)
    on = f"{one.name[:60]} on {cluster.name}"[:80]
    known = same.filter(name__in=[one.name, on]).order_by("created_at").first()
    if known is not None:
        return known
    taken = set(Database.objects.filter(team=team).values_list("name", flat=True))
    return Database.objects.create(team=team, cluster=cluster, name=_free((one.name, on), 80, taken), **says)


def _workload(team: Team, one: PlanWorkload) -> Workload:
    same = Workload.objects.filter(team=team, short_name=one.short_name, properties=dict(one.properties))
    known = same.filter(Q(name=one.name)).first()
    if known is not None:
        return known
    taken = set(Workload.objects.filter(team=team).values_list("name", flat=True))
    name = _free((one.name,), 80, taken)
    return Workload.objects.create(team=team, name=name, short_name=one.short_name, properties=dict(one.properties))


def _free(wanted: tuple[str, ...], longest: int, taken: set[str]) -> str:
    numbered = (f"{wanted[-1][: longest - 6]} ({number})" for number in itertools.count(2))
    return next(name for name in itertools.chain(wanted, numbered) if name not in taken)

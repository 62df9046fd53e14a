"""A plan file becomes a matrix of a team, on the clusters and load generators chosen for its roles. All or nothing."""

import itertools
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from benchsite.accounts.models import Team, User
from runs.models import Cluster, Database, Matrix, Workload
from runs.plans import Draft, PlanError, Problem, submit
from runs.plans.files.plan import Exclusion, Override, PlanDatabase, PlanFile, PlanWorkload
from runs.plans.files.plan_fit import Chosen, misfits


def import_plan(team: Team, plan: PlanFile, mapping: Chosen, user: User | None, *, submits: bool = False) -> Matrix:
    """Store the plan as a matrix that is not submitted. Raises PlanError with what keeps it; nothing is stored then.

    Databases and workloads that the team has already, to the letter, are used again; others are made, under a name of
    their own where theirs is taken.
    """
    stops = [misfit for misfit in misfits(plan, mapping) if misfit.tone == "stop"]
    if stops:
        raise PlanError([Problem(misfit.about, misfit.text) for misfit in stops])

    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)  # Two imports at once would choose the same free name.
        databases = {
            role: _database(team, database, mapping.clusters[database.cluster], mapping.secrets.get(role, {}))
            for role, database in plan.databases.items()
        }
        workloads = {role: _workload(team, workload) for role, workload in plan.workloads.items()}
        keys = {role: str(row.pk) for role, row in itertools.chain(databases.items(), workloads.items())}
        names = {role: generator.name for role, generator in mapping.generators.items()}
        group_names = {name: _workload(team, workload).name for name, workload in plan.group_workloads.items()}
        matrix = build_matrix(team, plan)
        matrix.groups = [{**group, "workload": group_names[group["workload"]]} for group in matrix.groups]
        matrix.exclusions = [_rule(rule, keys, names) for rule in plan.exclusions]
        matrix.overrides = [_rule(rule, keys, names) for rule in plan.overrides]
        entries = [(databases[entry.database], entry.mode) for entry in plan.entries]
        generators = list(mapping.generators.values())
        Draft(matrix, entries, list(workloads.values()), generators).store(user)
        if submits:
            submit(matrix, user)

    return matrix


def build_matrix(team: Team, plan: PlanFile) -> Matrix:
    """The matrix's own columns, not saved."""
    columns = {**dict(plan.matrix), **plan.procedure}
    if plan.search and plan.matrix.ladder == Matrix.Ladder.TARGET:
        columns["rungs"] = []  # It begins at a probe.
    return Matrix(team=team, **columns)


def _rule(rule: Exclusion | Override, keys: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    """A rule about the stored rows instead of the roles."""
    stored = rule.model_dump(exclude_none=True)
    stored["match"] = {axis: keys.get(str(value), value) for axis, value in stored["match"].items()}
    if generators := stored.get("set", {}).get("generators"):
        stored["set"]["generators"] = [names[role] for role in generators]
    return stored


def _database(team: Team, plan: PlanDatabase, cluster: Cluster, secrets: Mapping[str, str]) -> Database:
    columns: dict[str, Any] = {
        "client": "",
        "own_modes": {},
        **plan.model_dump(exclude={"name", "cluster", "secrets"}),
        "binding_properties": {**plan.binding_properties, **secrets},
    }
    same = Database.objects.filter(team=team, cluster=cluster, **columns)
    on_cluster = f"{plan.name[:60]} on {cluster.name}"[:80]
    stored = same.filter(name__in=[plan.name, on_cluster]).order_by("created_at").first()
    if stored is not None:
        return stored

    name = _free(Database.objects.filter(team=team), plan.name, on_cluster)
    return Database.objects.create(team=team, cluster=cluster, name=name, **columns)


def _workload(team: Team, plan: PlanWorkload) -> Workload:
    stored = Workload.objects.filter(team=team, **plan.model_dump()).first()
    if stored is not None:
        return stored
    name = _free(Workload.objects.filter(team=team), plan.name)
    return Workload.objects.create(team=team, **{**plan.model_dump(), "name": name})


def _free(rows: QuerySet[Any], *names: str) -> str:
    """The first of the names that no row has, else the last one with a number."""
    taken = set(rows.values_list("name", flat=True))
    numbered = (f"{names[-1][:74]} ({number})" for number in itertools.count(2))
    return next(name for name in itertools.chain(names, numbered) if name not in taken)

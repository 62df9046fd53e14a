"""Matrices as definitions: as the body of POST /matrices without the name."""

from typing import Any, Final

from runs.definitions.kinds import Definition
from runs.models import Matrix
from runs.plans import Draft, sizes
from runs.plans.forms.overrides import is_row
from runs.plans.plan_spec import PlanSearch, PlanSpec

NAMES: Final = {"tags": "labels", "min_measure_s": "measure_s"}  # as PlanRequest calls them


def read_stored(matrix: Matrix) -> Draft:
    """A stored matrix with what it crosses."""
    entries = matrix.entries.select_related("database__cluster").prefetch_related("database__cluster__nodes__machine")
    return Draft(
        matrix,
        [(entry.database, entry.mode) for entry in entries],
        list(matrix.workloads.order_by("name")),
        list(matrix.load_generators.select_related("machine").order_by("name")),
    )


def describe_plan(draft: Draft) -> Definition:
    """Every value that a request can state, with names in the place of keys."""
    matrix = draft.matrix
    rows: list[Any] = [*(database for database, _ in draft.entries), *draft.workloads]
    names = {str(row.pk): row.name for row in rows}
    columns = {name: getattr(matrix, name) for name in (*PlanSpec.model_fields, "priority", "notes")}
    del columns["name"]
    search = None
    if matrix.search:
        search = PlanSearch.read_stored(matrix.search).model_dump()
    definition = {
        **{NAMES.get(name, name): value for name, value in columns.items()},
        "search": search,
        "faults": matrix.faults,
        "builds": matrix.builds,
        "groups": matrix.groups,
        **{f"between_{level}s": matrix.resets.get(level, Matrix.Reset.KEEP.value) for level in ("rung", "workload")},
        "records_rule": sizes.get_rule(matrix.overrides),
        "entries": [{"database": database.name, "mode": mode} for database, mode in draft.entries],
        "workloads": sorted(workload.name for workload in draft.workloads),
        "load_generators": sorted(generator.name for generator in draft.generators),
        "exclusions": [_name_rows(rule, names) for rule in matrix.exclusions],
        "overrides": [_name_override(rule, names) for rule in matrix.overrides if is_row(rule)],
    }
    if search and matrix.ladder == Matrix.Ladder.TARGET:
        del definition["rungs"]  # It begins at a probe.
    return definition


def _name_match(rule: dict[str, Any], names: dict[str, str]) -> Definition:
    return {axis: names.get(str(value), value) for axis, value in rule["match"].items()}


def _name_rows(rule: dict[str, Any], names: dict[str, str]) -> Definition:
    return {**_name_match(rule, names), "reason": rule["reason"]}


def _name_override(rule: dict[str, Any], names: dict[str, str]) -> Definition:
    ((name, value),) = rule["set"].items()
    return {**_name_match(rule, names), "property": name, "value": str(value)}

"""A plan file that names its machines, clusters, databases and workloads, and may define them."""

from itertools import chain
from typing import Any, Final

import tomli_w
from pydantic import Field

from benchsite.rest.problems import Fault
from benchsite.rest.schemas import Word
from runs.definitions.kinds import KINDS, ClusterSpec, DatabaseSpec, Definition, MachineSpec, WorkloadSpec
from runs.models import Matrix
from runs.plans import Draft, read_stored, sizes
from runs.plans.api.plans import NAMES, MatrixPlan
from runs.plans.files.plan import FORMAT, MAX_ROLES, NAMED_VERSION, PlanRefused
from runs.plans.files.plan_file import locate, parse_plan, refuse_plan, validate_plan
from runs.plans.forms.rows import is_row
from runs.plans.plan_spec import PlanSearch, PlanSpec, Table

HEAD: Final = """\
# A benchmark of Benchsite with all that it names. `benchsite apply` changes what differs from it.

"""


class DefinitionFile(Table):
    """Tables by names. `matrix` is the body of POST /matrices."""

    format: str
    version: int
    machines: dict[Word, MachineSpec] = Field({}, max_length=MAX_ROLES)
    clusters: dict[Word, ClusterSpec] = Field({}, max_length=MAX_ROLES)
    databases: dict[Word, DatabaseSpec] = Field({}, max_length=MAX_ROLES)
    workloads: dict[Word, WorkloadSpec] = Field({}, max_length=MAX_ROLES)
    matrix: MatrixPlan | None = None

    def get_specs(self, plural: str) -> dict[str, Table]:
        specs: dict[str, Table] = getattr(self, plural)
        return specs


def read_definition_file(text: str) -> DefinitionFile:
    """Raises PlanRefused, which names the line."""
    content = parse_plan(text)
    if content.get("version") != NAMED_VERSION:
        message = f"version must be {NAMED_VERSION}: earlier versions name no machines and are imported"
        raise refuse_plan(text, ["version"], message)
    file = validate_plan(DefinitionFile, content, text)
    if file.matrix is not None and not file.matrix.name.strip():
        raise refuse_plan(text, ["matrix", "name"], "name is missing: the next apply finds the matrix by it")
    return file


def add_line(fault: Fault, text: str) -> Fault:
    """The fault with the line of the file that its pointer leads to."""
    path = [part.replace("~1", "/").replace("~0", "~") for part in fault["pointer"].split("/")[1:]]
    if not path:
        return fault
    depth = 3  # databases, Redis, settings
    if path[0] == "matrix":
        depth = 2
    return {**fault, "detail": locate(text, path[:depth], fault["detail"])}


def export_definitions(matrix: Matrix) -> str:
    """A stored matrix with all that it names, as a file that changes nothing where it is applied at once.

    Raises PlanRefused.
    """
    draft = read_stored(matrix)
    if not all(sizes.is_by_rule(rule) for rule in matrix.overrides):
        raise PlanRefused("This matrix has overrides, which only a plan file with roles has.")

    databases = {database.pk: database for database, _ in draft.entries}.values()
    clusters = {database.cluster_id: database.cluster for database in databases}.values()
    nodes = chain.from_iterable(cluster.nodes.all() for cluster in clusters)
    machines = {node.machine_id: node.machine for node in nodes}.values()
    rows: dict[str, Any] = {
        "machines": machines,
        "clusters": clusters,
        "databases": databases,
        "workloads": draft.workloads,
    }
    tables = {
        kind.plural: {
            row.name: _without_defaults(kind.spec, kind.hide_secrets(kind.read(row))) for row in rows[kind.plural]
        }
        for kind in KINDS
    }
    plan = _without_defaults(MatrixPlan, describe_plan(draft))
    content = {"format": FORMAT, "version": NAMED_VERSION, **tables, "matrix": {"name": matrix.name, **plan}}
    return HEAD + tomli_w.dumps(_without_none(content))


def _without_defaults(model: type[Table], definition: Definition) -> Definition:
    """The definition without its defaults."""
    defaults = {
        field.alias or name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()
    }
    return {name: value for name, value in definition.items() if name not in defaults or value != defaults[name]}


def _without_none(value: Any) -> Any:
    """TOML has no null."""
    if isinstance(value, dict):
        return {name: _without_none(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_none(part) for part in value]
    return value


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
        "exclusions": [{**_name_match(rule, names), "reason": rule["reason"]} for rule in matrix.exclusions],
        "overrides": [_name_override(rule, names) for rule in matrix.overrides if is_row(rule)],
    }
    if search and matrix.ladder == Matrix.Ladder.TARGET:
        del definition["rungs"]  # It begins at a probe.
    return definition


def _name_match(rule: dict[str, Any], names: dict[str, str]) -> Definition:
    return {axis: names.get(str(value), value) for axis, value in rule["match"].items()}


def _name_override(rule: dict[str, Any], names: dict[str, str]) -> Definition:
    ((name, value),) = rule["set"].items()
    return {**_name_match(rule, names), "property": name, "value": str(value)}

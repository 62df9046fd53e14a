"""What a matrix changes for some of its cells, row by row as it was written in the builder."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from runs.models import Matrix
from runs.plans import sizes
from runs.plans.messages import CHOOSE_OVERRIDDEN, DATABASE_GONE, WORKLOAD_GONE
from runs.plans.plan_spec import MAX_OPERATIONS, MIN_OPERATIONS
from runs.ycsb.properties import WORKLOAD_PROPERTIES
from runs.ycsb.property_schema import Property, PropertyError, unknown_name

MAX_OVERRIDES: Final = 200
AXES: Final = ("database", "workload")
OVERRIDABLE: Final[Mapping[str, Property]] = {
    **WORKLOAD_PROPERTIES,
    MIN_OPERATIONS: Property(name=MIN_OPERATIONS, type="int", least=0, most=MAX_OPERATIONS),
}
COLUMNS: Final = (*AXES, "name", "value")


@dataclass(slots=True)
class Override:
    """Another value of a workload's property or of min_operations, on a database, under a workload, or both.

    These are named by their keys.
    """

    database: str = ""
    workload: str = ""
    name: str = ""
    value: str = ""
    error: str = ""

    @property
    def blank(self) -> bool:
        return not (self.database or self.workload or self.value)

    def rule(self) -> dict[str, Any]:
        """The rule of `Matrix.overrides` that this row means."""
        match = {axis: key for axis in AXES if (key := getattr(self, axis))}
        value = int(self.value) if self.name == MIN_OPERATIONS else self.value
        return {"match": match, "set": {self.name: value}}


def is_row(rule: Mapping[str, Any]) -> bool:
    """Whether a row of the builder can say the same."""
    if sizes.is_by_rule(rule) or not rule["match"] or len(rule["set"]) != 1:
        return False
    return set(rule["match"]) <= set(AXES) and set(rule["set"]) <= set(OVERRIDABLE)


def get_overrides(source: Matrix | None) -> list[Override]:
    rows = []
    for rule in filter(is_row, source.overrides if source else []):
        ((name, value),) = rule["set"].items()
        database, workload = (str(rule["match"].get(axis, "")) for axis in AXES)
        rows.append(Override(database, workload, name, str(value)))
    return rows


def problem_with(row: Override, databases: Collection[str], workloads: Collection[str]) -> str:
    """The problem with a row, as a sentence; empty when there is none."""
    if not (row.database or row.workload):
        return CHOOSE_OVERRIDDEN
    if row.database and row.database not in databases:
        return DATABASE_GONE
    if row.workload and row.workload not in workloads:
        return WORKLOAD_GONE
    if row.name not in OVERRIDABLE:
        return unknown_name(row.name, OVERRIDABLE)

    try:
        row.value = OVERRIDABLE[row.name].check(row.value)
    except PropertyError as error:
        return str(error)

    return ""

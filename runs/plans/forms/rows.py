"""Rows of the builder's tables (what is left out, changed for some, faults, client groups), as they were written."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar

from pydantic import ValidationError

from benchsite.core.formatting import exact
from runs.identifiers import parse_uuid
from runs.plans import sizes
from runs.plans.messages import (
    CHOOSE_EXCLUDED,
    CHOOSE_OVERRIDDEN,
    DATABASE_GONE,
    MODE_GONE,
    NOT_A_RUNG,
    RATES_NEED_LADDER,
    REASON_NOT_PLAIN,
    REASON_TOO_LONG,
    WORKLOAD_GONE,
    WRITE_REASON,
)
from runs.plans.plan_spec import MAX_OPERATIONS, MIN_OPERATIONS, PlanFault, PlanGroup
from runs.plans.profiles import ProfileError, parse_profile
from runs.ycsb.properties import WORKLOAD_PROPERTIES
from runs.ycsb.property_schema import Property, PropertyError, unknown_name

M = TypeVar("M", PlanFault, PlanGroup)
Rule = Mapping[str, Any]  # of `Matrix.exclusions` or `Matrix.overrides`
# A person may send any number of rows.
MAX_ROWS: Final = 100
MAX_EXCLUSIONS: Final = 200
MAX_OVERRIDES: Final = 200
MAX_REASON_LENGTH: Final = 300
NO_REASON: Final = "the reason is still to be written"
AXES: Final = ("database", "workload")
OVERRIDABLE: Final[Mapping[str, Property]] = {
    **WORKLOAD_PROPERTIES,
    MIN_OPERATIONS: Property(name=MIN_OPERATIONS, type="int", least=0, most=MAX_OPERATIONS),
}
MEASURED: Final = "true"
LABELS: Final = {
    "kind": "kind of fault",
    "at_s": "begin",
    "threads": "number of threads",
    "target_ops_s": "target",
    "patience_ms": "patience",
    "generators": "number of load generators",
    "start_s": "start",
    "duration_s": "duration",
    "length_s": "length",
}
UNREADABLE: Final = {
    "kind": "is none: choose one from the list",
    "node": "is none: write its number, or leave it empty for all",
}


@dataclass(slots=True)
class Exclusion:
    """What is left out. `entry` is "database:mode", empty for any of them."""

    COLUMNS: ClassVar = ("entry", "workload", "rung", "reason")

    entry: str = ""
    workload: str = ""
    rung: str = ""
    reason: str = ""
    error: str = ""

    @property
    def rule(self) -> dict[str, Any]:
        match: dict[str, object] = {}
        if self.entry:
            match["database"], match["mode"] = self.entry.split(":", 1)
        if self.workload:
            match["workload"] = self.workload
        if self.rung:
            match["rung"] = int(self.rung)
        return {"match": match, "reason": self.reason or NO_REASON}

    def find_problem(self, entries: Collection[str], workloads: Collection[str], *, needs_reason: bool) -> str:
        """The problem with this row, as a sentence; empty when there is none."""
        if self.entry and self.entry not in entries:
            return MODE_GONE
        if self.workload and (parse_uuid(self.workload) is None or self.workload not in workloads):
            return WORKLOAD_GONE
        if self.rung and not (self.rung.isascii() and self.rung.isdigit() and len(self.rung) < 11):
            return NOT_A_RUNG.format(text=self.rung[:20])
        if not (self.entry or self.workload or self.rung):
            return CHOOSE_EXCLUDED
        if not self.reason.replace("\t", " ").isprintable():
            return REASON_NOT_PLAIN
        if len(self.reason) > MAX_REASON_LENGTH:
            return REASON_TOO_LONG.format(length=len(self.reason), limit=MAX_REASON_LENGTH)
        if needs_reason and not self.reason:
            return WRITE_REASON

        return ""


@dataclass(slots=True)
class Override:
    """Another value of a workload's property or of min_operations, on a database, under a workload, or both.

    These are named by their keys.
    """

    COLUMNS: ClassVar = (*AXES, "name", "value")

    database: str = ""
    workload: str = ""
    name: str = ""
    value: str = ""
    error: str = ""

    @property
    def is_blank(self) -> bool:
        return not (self.database or self.workload or self.value)

    @property
    def rule(self) -> dict[str, Any]:
        match = {axis: key for axis in AXES if (key := getattr(self, axis))}
        value = int(self.value) if self.name == MIN_OPERATIONS else self.value
        return {"match": match, "set": {self.name: value}}

    def find_problem(self, databases: Collection[str], workloads: Collection[str]) -> str:
        """The problem with this row, as a sentence; empty when there is none. The value gets its usual spelling."""
        if not (self.database or self.workload):
            return CHOOSE_OVERRIDDEN
        if self.database and self.database not in databases:
            return DATABASE_GONE
        if self.workload and self.workload not in workloads:
            return WORKLOAD_GONE
        if self.name not in OVERRIDABLE:
            return unknown_name(self.name, OVERRIDABLE)

        try:
            self.value = OVERRIDABLE[self.name].check(self.value)
        except PropertyError as error:
            return str(error)

        return ""


def get_exclusions(rules: Iterable[Rule]) -> list[Exclusion]:
    rows = []
    for rule in rules:
        match = rule["match"]
        entry = ""
        if "database" in match and "mode" in match:
            entry = f"{match['database']}:{match['mode']}"
        rows.append(Exclusion(entry, str(match.get("workload", "")), str(match.get("rung", "")), rule["reason"]))
    return rows


def is_row(rule: Rule) -> bool:
    """Whether a row of the builder can say the same as an override."""
    if sizes.is_by_rule(rule) or not rule["match"] or len(rule["set"]) != 1:
        return False
    return set(rule["match"]) <= set(AXES) and set(rule["set"]) <= set(OVERRIDABLE)


def get_overrides(rules: Iterable[Rule]) -> list[Override]:
    rows = []
    for rule in filter(is_row, rules):
        ((name, value),) = rule["set"].items()
        database, workload = (str(rule["match"].get(axis, "")) for axis in AXES)
        rows.append(Override(database, workload, name, str(value)))
    return rows


@dataclass(slots=True)
class Row(Generic[M]):
    """One row: the text of each cell by the name of its column; what is empty has the default."""

    model: type[M]
    cells: Mapping[str, str]
    error: str = ""

    def read(self) -> M | None:
        """What this row means; None, and `error` says why, where it means nothing."""
        values: dict[str, Any] = {name: text for name, text in self.cells.items() if text}
        try:
            if "profile" in values:
                values["profile"] = _parse_points(values["profile"])
            return self.model.model_validate(values)
        except ProfileError as error:
            self.error = str(error)
            return None
        except ValidationError as refusal:
            problem = refusal.errors()[0]

        column = str(problem["loc"][0])
        label = LABELS.get(column, column)
        if problem["type"] == "missing":
            self.error = f"Give the {label}, or clear the row."
        else:
            limit = problem.get("ctx", {}).get("error", "cannot be read: write a number as in 5 or 0.5")
            self.error = f"The {label} “{self.cells[column][:40]}” {UNREADABLE.get(column, limit)}."

        return None


def get_rows(model: type[M], stored: Iterable[Mapping[str, Any]]) -> list[Row[M]]:
    """Stored faults or groups as rows of the builder."""
    return [Row(model, {name: _as_typed(values.get(name)) for name in model.model_fields}) for values in stored]


def _parse_points(text: str) -> list[list[float]]:
    """Points of a cell, between semicolons. Raises ProfileError."""
    points, peak_ops_s = parse_profile(text.replace(";", "\n"))
    if peak_ops_s is not None:
        raise ProfileError(f"The profile {RATES_NEED_LADDER}.")
    return points


def _as_typed(value: str | bool | float | list[list[float]] | None) -> str:
    if isinstance(value, list):
        return "; ".join(f"{_as_typed(second)} {_as_typed(percent)}" for second, percent in value)
    if value is None or value is False:
        return ""
    if value is True:
        return MEASURED
    if isinstance(value, str):
        return value
    return exact(value).replace(",", "")

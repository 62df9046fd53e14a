"""Rows of the builder's tables of faults and client groups, as they were written, and what is wrong with a row."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import ValidationError

from benchsite.core.formatting import exact
from runs.plans.messages import RATES_NEED_LADDER
from runs.plans.plan_spec import PlanFault, PlanGroup
from runs.plans.profiles import ProfileError, parse_profile

M = TypeVar("M", PlanFault, PlanGroup)
# A person may send any number of rows.
MAX_ROWS: Final = 100
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

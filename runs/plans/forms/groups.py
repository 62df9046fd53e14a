"""The client groups of a matrix, row by row as they were written in the builder, and what is wrong with a row."""

from dataclasses import asdict, astuple, dataclass
from typing import Any, Final

from pydantic import ValidationError

from benchsite.core.formatting import exact
from runs.plans.plan_spec import PlanGroup

COLUMNS: Final = tuple(PlanGroup.model_fields)
# A person may send any number of rows.
MAX_ROWS: Final = 100
MEASURED: Final = "true"
LABELS: Final = {
    "name": "name",
    "workload": "workload",
    "threads": "number of threads",
    "target_ops_s": "target",
    "patience_ms": "patience",
    "generators": "number of load generators",
    "start_s": "start",
    "length_s": "length",
}


@dataclass(slots=True)
class GroupRow:
    """One client group as it was written; what is empty has the default."""

    name: str = ""
    workload: str = ""
    threads: str = ""
    target_ops_s: str = ""
    arrivals: str = ""
    patience_ms: str = ""
    generators: str = ""
    start_s: str = ""
    length_s: str = ""
    measured: str = ""
    error: str = ""

    @property
    def blank(self) -> bool:
        """Whether nothing was written: the others are chosen from lists."""
        return not any(astuple(self))

    def group(self) -> PlanGroup | None:
        """The group that this row means; None, and `error` says why, where it means none."""
        cells = {name: text for name, text in asdict(self).items() if text and name in COLUMNS}
        try:
            return PlanGroup.model_validate(cells)
        except ValidationError as refusal:
            problem = refusal.errors()[0]
        column = str(problem["loc"][0])
        label = LABELS.get(column, column)
        if problem["type"] == "missing":
            self.error = f"Give the {label} of the group, or clear the row."
        else:
            limit = problem.get("ctx", {}).get("error", "cannot be read: write a number as in 5 or 0.5")
            self.error = f"The {label} “{cells[column][:40]}” {limit}."
        return None


def get_rows(groups: list[dict[str, Any]]) -> list[GroupRow]:
    """Stored groups as rows of the builder."""
    return [GroupRow(**{name: _as_typed(group[name]) for name in COLUMNS}) for group in groups]


def _as_typed(value: str | bool | float | None) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return MEASURED
    if isinstance(value, str):
        return value
    return exact(value).replace(",", "")
